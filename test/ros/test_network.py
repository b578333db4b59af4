"""ROS stays on this machine by default: its variables, and which processes receive messages."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from flex_robot_sim.ros.network import (
    FIRST_DOMAIN_PORT,
    FIRST_RESERVATION_PORT,
    PORTS_PER_DOMAIN,
    RANGE_VARIABLE,
    asks_for_network,
    choose_domain,
    loopback_profile,
    prepare_network,
    use_network,
)
from flex_robot_sim.ros.network_exposure import open_addresses

SHUT_IN = {
    'FASTRTPS_DEFAULT_PROFILES_FILE': loopback_profile(),
    'FASTDDS_DEFAULT_PROFILES_FILE': loopback_profile(),
    RANGE_VARIABLE: 'SYSTEM_DEFAULT',
    'SKIP_DEFAULT_XML_FILE': '1',
}
UDP = {'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}


@pytest.mark.parametrize(
    'given',
    [
        {},
        {RANGE_VARIABLE: 'LOCALHOST'},
        {'ROS_LOCALHOST_ONLY': '1'},
        {'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp'},
        {'ROS_STATIC_PEERS': ''},
        SHUT_IN,
    ],
    ids=str,
)
def test_ros_is_bound_to_this_machine_by_default(given):
    environment = dict(given)
    prepare_network(environment)
    environment.pop('RMW_IMPLEMENTATION', None)
    environment.pop('ROS_STATIC_PEERS', None)
    assert environment == SHUT_IN and not asks_for_network(environment)


@pytest.mark.parametrize(
    'given',
    [
        {RANGE_VARIABLE: 'SUBNET'},
        {RANGE_VARIABLE: 'SYSTEM_DEFAULT'},
        {RANGE_VARIABLE: 'LOCALHOST', 'ROS_STATIC_PEERS': '192.0.2.7'},
    ],
    ids=str,
)
def test_a_discovery_range_or_peers_open_the_network(given):
    environment = dict(given)
    prepare_network(environment)
    # shared memory is off in this case, too
    assert environment == {**given, **UDP} and asks_for_network(environment)


@pytest.mark.parametrize(
    'given, expected',
    [
        ({'FASTRTPS_DEFAULT_PROFILES_FILE': '/mine.xml'}, {RANGE_VARIABLE: 'LOCALHOST'}),
        ({'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, {RANGE_VARIABLE: 'LOCALHOST'}),
        ({'ROS_DISTRO': 'humble'}, {'ROS_LOCALHOST_ONLY': '1'}),
        ({RANGE_VARIABLE: 'OFF'}, {**SHUT_IN, RANGE_VARIABLE: 'OFF'}),
    ],
    ids=['a profile of the user', 'another middleware', 'humble', 'no discovery'],
)
def test_what_the_user_has_set_of_the_network_stays(given, expected):
    environment = dict(given)
    prepare_network(environment)
    assert environment == {**given, **expected}


@pytest.mark.parametrize(
    'given', [{}, {RANGE_VARIABLE: 'LOCALHOST'}, SHUT_IN, {'ROS_LOCALHOST_ONLY': '1'}], ids=str
)
def test_the_network_is_had_for_the_asking(given):
    environment = dict(given)
    use_network(environment)
    assert environment.pop('SKIP_DEFAULT_XML_FILE', '1') == '1'
    assert environment == {RANGE_VARIABLE: 'SUBNET', **UDP}


def test_a_domain_is_one_that_is_free_or_that_of_the_user():
    environment: dict = {}
    first = choose_domain(environment)
    assert environment == {'ROS_DOMAIN_ID': first}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(('127.0.0.1', FIRST_DOMAIN_PORT + PORTS_PER_DOMAIN * int(first)))
        assert choose_domain({}) != first
    assert choose_domain({'ROS_DOMAIN_ID': '7'}) == '7'


def test_simultaneous_processes_choose_different_domains():
    """No domain has a node yet; a process that has ended leaves nothing behind."""
    program = (
        'import sys; from flex_robot_sim.ros.network import choose_domain; '
        'print(choose_domain({}), flush=True); sys.stdin.read()'
    )
    processes = [
        subprocess.Popen(
            [sys.executable, '-c', program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    chosen = {process.stdout.readline() for process in processes}
    for process in processes:
        process.communicate()
    assert len(chosen) == len(processes)
    first = int(min(chosen))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as left:
        left.bind(('127.0.0.1', FIRST_RESERVATION_PORT + PORTS_PER_DOMAIN * first))


def test_the_profile_has_one_transport_and_it_is_bound_to_the_loopback_address():
    tree = ElementTree.parse(loopback_profile())
    space = {'f': 'http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles'}
    kinds = [item.text for item in tree.iterfind('.//f:transport_descriptor/f:type', space)]
    assert kinds == ['UDPv4']
    addresses = {item.text for item in tree.iterfind('.//f:address', space)}
    assert addresses == {'127.0.0.1'}
    assert tree.findtext('.//f:useBuiltinTransports', namespaces=space) == 'false'


@pytest.mark.skipif(not Path('/proc/self/net/udp').exists(), reason='the kernel of Linux tells')
@pytest.mark.parametrize(
    'family, address, is_open',
    [
        (socket.AF_INET, '127.0.0.1', False),
        (socket.AF_INET, '0.0.0.0', True),
        (socket.AF_INET, '127.5.6.7', False),
        (socket.AF_INET6, '::1', False),
        (socket.AF_INET6, '::', True),
    ],
)
@pytest.mark.parametrize('kind', [socket.SOCK_DGRAM, socket.SOCK_STREAM], ids=['udp', 'tcp'])
def test_open_addresses_are_those_of_this_process_beyond_this_machine(
    family, address, is_open, kind
):
    before = open_addresses()
    with socket.socket(family, kind) as listener:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip('no such addresses on this machine')
        assert open_addresses() == before or kind == socket.SOCK_DGRAM
        if kind == socket.SOCK_STREAM:
            listener.listen()
        port = listener.getsockname()[1]
        assert set(open_addresses()) - set(before) == ({f'{address}:{port}'} if is_open else set())
        child = os.fork()  # the child process first shares the socket, and then does not
        if child == 0:
            listener.close()
            os._exit(len(open_addresses()) != len(before))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert open_addresses() == before
