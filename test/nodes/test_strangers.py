"""
A stranger at another address, which uses ours: a second machine, made of network namespaces.

The evidence is what the stranger receives, the lines of our nodes, and the sockets in `ss`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bridge_bench import CALM
from node_processes import PATIENCE, NodeProcess, Process

OURS, THEIRS = '10.213.77.1', '10.213.77.2'
STRANGER = str(Path(__file__).resolve().parents[1] / 'stranger.py')
pytestmark = pytest.mark.slow


def ip(*words):
    return subprocess.run(['ip', *words], capture_output=True, text=True)


@pytest.fixture(scope='module')
def machines():
    """Names of two network namespaces with a cable between them: ours and that of a stranger."""
    if os.getuid() != 0 or not shutil.which('ip') or not shutil.which('ss'):
        pytest.skip('two machines on one need root, and `ip` and `ss` of iproute2')
    names = [f'flex_{os.getpid()}_{who}' for who in ('us', 'them')]
    try:
        for name in names:
            if ip('netns', 'add', name).returncode:
                pytest.skip('this system gives root no network namespaces')
        ip('link', 'add', 'cable', 'netns', names[0], 'type', 'veth', 'peer', 'name', 'cable',
           'netns', names[1])  # fmt: skip
        for name, address in zip(names, (OURS, THEIRS)):
            ip('-n', name, 'addr', 'add', f'{address}/24', 'dev', 'cable')
            for device in ('lo', 'cable'):
                assert ip('-n', name, 'link', 'set', device, 'up').returncode == 0
        # the kernel reports every closed port, at any rate; else silence would prove nothing
        subprocess.run(
            at(names[0], 'sh', '-c', 'echo 0 >/proc/sys/net/ipv4/icmp_ratemask'), check=True
        )
        yield names
    finally:
        for name in names:
            ip('netns', 'del', name)


def at(machine, *words):
    """Words that run a program on a machine."""
    return ['ip', 'netns', 'exec', machine, *words]


def ran(machine, *words, text=None, **environment):
    """Run the stranger's program on a machine; return what it prints."""
    result = subprocess.run(
        at(machine, sys.executable, STRANGER, *words),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        input=text,
        env={**without_ours(), **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def without_ours():
    """Environment without anything that says how ROS is to be bound, but the domain."""
    names = (
        'ROS_AUTOMATIC_DISCOVERY_RANGE',
        'ROS_STATIC_PEERS',
        'FASTRTPS_DEFAULT_PROFILES_FILE',
        'FASTDDS_DEFAULT_PROFILES_FILE',
        'FASTDDS_BUILTIN_TRANSPORTS',
    )
    return {name: value for name, value in os.environ.items() if name not in names}


def listening(machine):
    """Addresses at which a socket of a machine listens."""
    lines = subprocess.run(
        at(machine, 'ss', '-H', '-l', '-u', '-t', '-n'), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {line.split()[4].rpartition(':')[0] for line in lines}


@contextmanager
def asleep(machine):
    """Suspend all processes of a machine: the kernel keeps their sockets, and answers for them."""
    processes = [int(number) for number in ip('netns', 'pids', machine).stdout.split()]
    assert processes
    try:
        _send(signal.SIGSTOP, processes)
        yield
    finally:
        _send(signal.SIGCONT, processes)


def _send(number, processes):
    for process in processes:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(process, number)


@contextmanager
def arm_and_bench(machine, **environment):
    """Processes of an arm in /sim and a bench in /rig on a machine, with no setting of ours."""
    processes = []
    try:
        for program, where, parameters in (
            ('dynamics', '/sim', {'robot': 'two_link'}),
            ('bridge', '/rig', CALM),
        ):
            here = {'prefix': at(machine), 'environment': {**without_ours(), **environment}}
            processes.append(NodeProcess(program, '-r', f'__ns:={where}', **here, **parameters))
        for process, line in zip(processes, ('coordinates', 'call ~/enable')):
            process.wait_for_line(line)
        yield processes
    finally:
        for process in processes:
            process.close()


# nodes with open ports come first, before the fixture `closed` starts the others
PROFILE_OF_A_USER = """<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
<profiles><participant profile_name="mine" is_default_profile="true"><rtps><name>mine</name></rtps>
</participant></profiles></dds>"""


@pytest.mark.long
@pytest.mark.parametrize('choice', ['SUBNET', 'a profile of the user'])
def test_on_request_strangers_reach_the_nodes_but_do_not_arm_the_bench(machines, choice, tmp_path):
    us, them = machines
    own = tmp_path / 'mine.xml'
    own.write_text(PROFILE_OF_A_USER)
    asked = choice == 'SUBNET'
    # what ran in a domain a moment ago may still be remembered there
    elsewhere = str(1 + (int(os.environ['ROS_DOMAIN_ID']) + (0 if asked else 1)) % 100)
    way = {'FASTRTPS_DEFAULT_PROFILES_FILE': str(own)}
    if asked:
        way = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
    with arm_and_bench(us, ROS_DOMAIN_ID=elsewhere, **way) as processes:
        assert '0.0.0.0' in listening(us)
        warning = 'other machines may subscribe and command, through '
        for process in processes:
            if asked:
                assert process.count(warning) == 0
            else:
                process.wait_for_line(warning)
        seen = json.loads(
            ran(them, 'take_part', '20', ROS_STATIC_PEERS=OURS, ROS_DOMAIN_ID=elsewhere)
        )
        assert seen['nodes'] and seen['heard']
        # asked again where the answer was slow
        assert set(seen['armed']) == {False} and set(seen['said']) == {
            'the bench is not armed from another machine. Call enable on its own, or start the '
            'bridge with enable_from_network'
        }
        processes[0].wait_for_line('refused: no joint "of_a_stranger"')
        line = processes[1].wait_for_line('refused: enable is called by ')
        assert line.endswith('), not on this machine')
        # the check for closed ports finds open ones
        assert json.loads(ran(them, 'look', OURS))['udp']


@pytest.fixture(scope='module')
def closed(machines):
    """Processes without any setting for the network."""
    with arm_and_bench(machines[0]) as processes:
        yield processes


def complaints(processes):
    """Lines of the nodes about what a stranger has sent."""
    return [
        line
        for process in processes
        for line in process.lines
        if 'of_a_stranger' in line or 'enable is called' in line
    ]


@pytest.mark.long
def test_no_shared_memory_is_used_that_other_processes_can_block(closed):
    for process in closed:
        assert '/dev/shm/fast' not in Path(f'/proc/{process.process.pid}/maps').read_text()


def test_nothing_listens_beyond_this_machine(machines, closed):
    addresses = listening(machines[0])
    assert addresses == {'127.0.0.1'}
    assert not [line for process in closed for line in process.lines if 'may listen' in line]


@pytest.mark.long
def test_a_port_scan_finds_no_open_port(machines, closed, tmp_path):
    us, them = machines
    alone = {name: value for name, value in without_ours().items() if name != 'ROS_DOMAIN_ID'}
    processes = []
    try:
        with asleep(us):  # those of before
            for line, *words in (
                ('moves in ROS_DOMAIN_ID', 'demo', '--json'),
                ('The rig listens at', 'rig', 'emulate', '--link', tmp_path / 'rig'),
            ):
                processes.append(
                    Process(at(us, sys.executable, '-m', 'flex_robot_sim', *words), alone)
                )
                processes[-1].wait_for_line(line)
        assert listening(us) == {'127.0.0.1'}
        with asleep(us):  # it takes a while
            assert json.loads(ran(them, 'scan', OURS)) == {'tcp': [], 'udp': []}
        for process in (*closed, *processes):
            assert process.process.poll() is None
    finally:
        for process in processes:
            process.stop()
            process.close()


@pytest.mark.long(after=1)
@pytest.mark.parametrize('reach', ['SUBNET', 'LOCALHOST'])
def test_a_stranger_with_our_address_finds_no_node_hears_nothing_and_moves_nothing(
    machines, closed, reach
):
    ways = {'ROS_STATIC_PEERS': OURS, 'ROS_AUTOMATIC_DISCOVERY_RANGE': reach}
    seen = json.loads(ran(machines[1], 'take_part', '4', **ways))
    assert seen == {'nodes': [], 'heard': False, 'armed': [], 'said': []}
    assert not complaints(closed)


@pytest.mark.long
def test_packets_of_this_machine_that_a_stranger_replays_reach_no_node(machines, closed):
    us, them = machines
    wire = subprocess.Popen(
        at(us, sys.executable, STRANGER, 'capture', '5'), text=True, stdout=subprocess.PIPE
    )
    # a node of this machine commands meanwhile, so that there are packets to replay
    seen = json.loads(ran(us, 'take_part', '4'))
    assert seen['heard'] and True in seen['armed']
    packets, _ = wire.communicate(timeout=PATIENCE)
    before = complaints(closed)
    assert before
    # to 127.0.0.1 by way of us: a kernel takes no such packet from a cable
    ip('-n', them, 'route', 'replace', '127.0.0.1/32', 'via', OURS)
    ip('-n', them, 'route', 'flush', 'table', 'local', '127.0.0.0/8')
    assert int(ran(them, 'replay', OURS, text=packets)) > 100
    for process in closed:
        process.forget_lines()
    time.sleep(1.5)  # a refusal is logged once a second
    assert not complaints(closed)
