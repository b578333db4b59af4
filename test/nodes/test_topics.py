"""The tables of topics and services are those of the running nodes, quality included."""

import importlib.util
import re
from types import SimpleNamespace

import pytest
from project_files import ROOT
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from ros_observer import LATCHED
from security_policy import read_policy, refused
from std_msgs.msg import String

from flex_robot_sim.nodes.controller import TARGET_RATE_HZ
from flex_robot_sim.nodes.simulation_interfaces import SimulationInterfaces
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.reporting import DIAGNOSTICS_PERIOD_S
from flex_robot_sim.ros.services import SERVICES
from flex_robot_sim.ros.topics import published_by, subscribed_by
from flex_robot_sim.util.share import shipped_robots

PAGE = ROOT.joinpath('docs', 'ros.md').read_text('utf-8')
NODES = {  # parameters, and the line of a node that has started; the controller prints none
    'dynamics': ({'publish_clock': 'true', 'wrench_joints': '["elbow"]'}, 'coordinates'),
    'controller': ({}, 'waiting for robot_description'),
    'shaper': ({'stream': 'commands'}, 'shapes'),
    'view': ({'view_browser': 'false'}, ' at http://'),
    'drift': ({}, 'slowest mode'),
    'trajectory_action': ({}, 'offers '),
}
PLACEHOLDERS = {'LINK': ('upper_arm', 'forearm'), 'JOINT': ('elbow',), 'NAME': ()}  # two_link
SIMULATOR_SERVICES = (
    'GetSimulatorFeatures',
    'GetSimulationState',
    'SetSimulationState',
    'StepSimulation',
    'ResetSimulation',
)
EVERY_NODE_HAS = {'/rosout', '/parameter_events'}
SERVICE_OF_EVERY_NODE = re.compile(
    r'.*/((get|set|list|describe)_parameters|get_parameter_types|set_parameters_atomically|'
    r'get_type_description)'
)
OF_MOVING_BASES = {'/base_odometry', '/base_motion', '/tf'}  # this robot has a fixed base
HIDDEN = '/_'  # names of an action's services and topics, where control_msgs is installed


def full_names(topic):
    """Return the full names that a row of the table means."""
    for word, values in PLACEHOLDERS.items():
        if word in topic.name:
            return [f'/{topic.with_word(value).name}' for value in values]
    return [f'/{topic.name.lstrip("/")}']


def rows_of(uses):
    """{(topic, type, first word of its quality)} of pairs (Topic, quality)."""
    return {
        (name, topic.kind, str(quality).split()[0])
        for topic, quality in uses
        for name in full_names(topic)
        if name not in OF_MOVING_BASES
    }


def published(node):
    return rows_of((topic, topic.quality) for topic, _ in published_by(node))


def subscribed(node):
    return rows_of((topic, use.quality) for topic, use in subscribed_by(node))


def offered(node):
    """{(service, type)} of a node."""
    return {(f'/{service.name}', service.kind) for service in SERVICES if service.node == node}


def quality_of(endpoint):
    profile = endpoint.qos_profile
    if profile.reliability == ReliabilityPolicy.BEST_EFFORT:
        return 'best'
    assert profile.reliability == ReliabilityPolicy.RELIABLE
    return 'latched' if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL else 'reliable'


def endpoints(node, name, topics, list_endpoints):
    """{(topic, type, quality)} of the node `name`, as `node` discovers it."""
    return {
        (topic, endpoint.topic_type, quality_of(endpoint))
        for topic, _ in topics
        if HIDDEN not in topic
        for endpoint in list_endpoints(topic)
        if endpoint.node_name == name and topic not in EVERY_NODE_HAS
    }


def offered_beside_ours():
    """Services that `dynamics` offers where simulation_interfaces is installed."""
    if importlib.util.find_spec('simulation_interfaces') is None:
        return set()
    text = PAGE.partition('Where the package `simulation_interfaces`')[2].partition('\n\n')[0]
    return {
        (f'/{name}', f'simulation_interfaces/srv/{"".join(map(str.title, name.split("_")))}')
        for name in re.findall(r'`(\w+_\w+)`', text)
    }


@pytest.mark.long(after=2)
@pytest.mark.parametrize('name', NODES)
def test_a_node_starts_with_exactly_the_topics_and_services_of_the_table(
    start, observer, name, request
):
    parameters, line = NODES[name]
    if name == 'view':
        pytest.importorskip('viser')
    elif name == 'trajectory_action':
        parameters = {'environment': request.getfixturevalue('control_msgs')}
    node = observer.node
    process = start(name, **parameters)
    process.wait_for_line('waiting for robot_description')
    description = observer.publisher(String, 'robot_description', LATCHED)
    description.publish(String(data=shipped_robots()['two_link'].read_text('utf-8')))
    services = offered(name)
    if name == 'dynamics':
        services |= offered_beside_ours()
    # it came from that topic
    own = published(name) - {('/robot_description', 'std_msgs/msg/String', 'latched')}

    def of_the_node(kind):
        return getattr(node, f'get_{kind}_names_and_types_by_node')(name, '/')

    def present_services():
        return {
            (service, kinds[0])
            for service, kinds in of_the_node('service')
            if HIDDEN not in service and not SERVICE_OF_EVERY_NODE.fullmatch(service)
        }

    def publishers():
        return endpoints(node, name, of_the_node('publisher'), node.get_publishers_info_by_topic)

    def subscriptions():
        return endpoints(
            node, name, of_the_node('subscriber'), node.get_subscriptions_info_by_topic
        )

    observer.spin_until(
        lambda: (name, '/') in node.get_node_names_and_namespaces(),
        what=f'{name}, which said {process.lines},',
    )
    for ask, expected in (
        (present_services, services),
        (publishers, own),
        (subscriptions, subscribed(name)),
    ):
        observer.spin_until(
            lambda ask=ask, expected=expected: ask() >= expected, what=f'{expected} by {name}'
        )
        assert ask() == expected
    assert refused(read_policy(), node, name) == []
    process.wait_for_line(line)
    assert process.stop()[0] == 0 and process.count('Traceback') == 0


def test_rates_without_a_setting_are_those_of_the_nodes():
    (target,) = topics.TARGET.publishers
    assert target.rate == f'{TARGET_RATE_HZ:g} Hz'
    assert {item.rate for item in topics.DIAGNOSTICS.publishers} == {
        f'{1 / DIAGNOSTICS_PERIOD_S:g} Hz'
    }


def test_services_of_simulation_interfaces_are_named_on_the_page():
    text = PAGE.partition('Where the package `simulation_interfaces`')[2].partition('\n\n')[0]
    named = []
    SimulationInterfaces(
        SimpleNamespace(create_service=lambda kind, name, handler: named.append(name)),
        None,
        None,
        SimpleNamespace(**dict.fromkeys(SIMULATOR_SERVICES)),
    )
    # the page may name one of them again
    assert [*dict.fromkeys(re.findall(r'`(\w+_\w+)`', text))] == named


@pytest.mark.long(after=1)
@pytest.mark.parametrize('parameters, is_sent', [({'robot': 'two_link'}, True), ({}, False)])
def test_robot_description_is_the_robot_as_its_user_wrote_it(start, observer, parameters, is_sent):
    space = f'/own_{is_sent}'.lower()  # a node that was killed is still there for a while
    process = start('dynamics', '-r', f'__ns:={space}', **parameters)
    if not is_sent:
        process.wait_for_line('waiting for robot_description')
        observer.publisher(String, f'{space}/robot_description', LATCHED).publish(
            String(data=shipped_robots()['rig'].read_text('utf-8'))
        )
    process.wait_for_line('coordinates, real_time')
    senders = observer.node.get_publishers_info_by_topic(f'{space}/robot_description')
    if is_sent:
        message = observer.hear(String, f'{space}/robot_description', qos=LATCHED)
        assert message.data == shipped_robots()['two_link'].read_text('utf-8')
    else:
        assert [sender.node_name for sender in senders] == ['observer']


def test_services_of_every_node_are_distinct_from_those_of_simulation_interfaces():
    for name in (
        'get_parameters',
        'get_parameter_types',
        'list_parameters',
        'set_parameters',
        'set_parameters_atomically',
        'describe_parameters',
        'get_type_description',
    ):
        assert SERVICE_OF_EVERY_NODE.fullmatch(f'/dynamics/{name}'), name
    for name in ('get_simulator_features', 'get_simulation_state', 'set_simulation_state'):
        assert not SERVICE_OF_EVERY_NODE.fullmatch(f'/{name}'), name
