"""Parameters of a node: what is refused, what changes, and what a dump of them says."""

from dataclasses import dataclass

import pytest
import rclpy
import yaml
from rcl_interfaces.msg import ParameterType
from rclpy.parameter import Parameter, parameter_value_to_python

from flex_robot_sim.nodes.bridge_settings import BRIDGE_SETTINGS
from flex_robot_sim.nodes.settings import CONTROLLER_SETTINGS, DYNAMICS_SETTINGS
from flex_robot_sim.ros.node_parameters import Parameters
from flex_robot_sim.util.exceptions import SettingError, SimulationError
from flex_robot_sim.util.settings import Settings, setting

NODES = {
    'dynamics': DYNAMICS_SETTINGS,
    'controller': CONTROLLER_SETTINGS,
    'bridge': BRIDGE_SETTINGS,
}


@dataclass(frozen=True)
class First(Settings):
    """Settings of one part."""

    speed: float = setting(1.0, 'of it', live=True)
    places: tuple = setting((), 'of it', live=True)


@dataclass(frozen=True)
class Second(Settings):
    """Settings of another part."""

    size: float = setting(1.0, 'of it', live=True)
    names: tuple = setting((), 'of it', of=str)


@pytest.fixture
def make_node(no_observer):
    """Return a function that makes a node; all are gone after the test."""
    context = rclpy.Context()
    nodes: list = []
    rclpy.init(context=context)

    def make(*words):
        nodes.append(
            rclpy.create_node(
                f'node_{len(nodes)}',
                context=context,
                cli_args=['--ros-args', *words] if words else None,
            )
        )
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown(context=context)


def set_all(node, **values):
    return node.set_parameters_atomically(
        [Parameter(name, value=value) for name, value in values.items()]
    )


@pytest.mark.parametrize('refusal', [SettingError('too large'), SimulationError('too busy')])
def test_a_refused_request_changes_nothing(make_node, refusal):
    node = make_node()
    parameters, seen = Parameters(node, First, Second), {}

    def listener(kind, settings):
        if kind is Second and settings.size > 5.0:
            raise refusal
        seen[kind] = settings

    parameters.on_change(listener)
    # whichever of them comes first in the request
    for names in (('speed', 'size'), ('size', 'speed')):
        assert set_all(node, **dict.fromkeys(names, 3.0)).successful
        result = set_all(node, **dict.fromkeys(names, 7.0))
        assert not result.successful and result.reason == str(refusal)
        assert seen == {First: First(speed=3.0), Second: Second(size=3.0)}
        assert parameters[First].speed == parameters[Second].size == 3.0
        assert node.get_parameter('speed').value == node.get_parameter('size').value == 3.0


def test_what_cannot_be_taken_back_does_not_hide_the_reason(make_node):
    node = make_node()
    parameters, calls = Parameters(node, First, Second), []

    def listener(kind, settings):
        calls.append((kind, settings))
        if kind is Second or len(calls) > 2:
            raise SettingError(f'refused by {kind.__name__}')

    parameters.on_change(listener)
    result = set_all(node, size=2.0, speed=2.0)
    assert result.reason == 'refused by Second'
    assert calls == [(First, First(speed=2.0)), (Second, Second(size=2.0)), (First, First())]


@pytest.mark.parametrize('name', NODES)
def test_empty_lists_have_the_kind_of_what_they_hold(make_node, name):
    node, kinds = make_node(), NODES[name]
    parameters = Parameters(node, *kinds)
    for item in parameters._items.values():
        if item.default == ():
            kind = {
                float: ParameterType.PARAMETER_DOUBLE_ARRAY,
                str: ParameterType.PARAMETER_STRING_ARRAY,
            }[item.metadata['of']]
            about, value = node.describe_parameter(item.name), node.get_parameter(item.name)
            assert about.type == value.get_parameter_value().type == kind
            assert about.read_only is not item.metadata['live']


@pytest.mark.parametrize('name', NODES)
def test_a_dump_can_be_read_back(make_node, tmp_path, name):
    first, kinds = make_node(), NODES[name]
    declared = Parameters(first, *kinds)
    # as ros2 param dump does it
    values = {
        key: parameter_value_to_python(parameter.get_parameter_value())
        for key, parameter in first._parameters.items()
        if key in declared._items
    }
    plain = {
        key: list(value) if not isinstance(value, (str, bool, int, float)) else value
        for key, value in values.items()
    }
    assert [] in plain.values()
    file = tmp_path / 'dump.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': plain}}))
    again = Parameters(make_node('--params-file', str(file)), *kinds)
    for kind in kinds:
        assert again[kind] == declared[kind] == kind()


def test_a_list_may_be_emptied_again(make_node):
    node = make_node('-p', 'places:=[1.0, 2.0]', '-p', 'names:=["a"]')
    parameters = Parameters(node, First, Second)
    assert parameters[First].places == (1.0, 2.0) and parameters[Second].names == ('a',)
    for empty in (
        Parameter('places', Parameter.Type.BOOL_ARRAY, []),  # ros2 param set ... []
        Parameter('places', Parameter.Type.DOUBLE_ARRAY, []),
    ):
        assert set_all(node, places=[3.0]).successful and parameters[First].places == (3.0,)
        assert node.set_parameters([empty])[0].successful and parameters[First].places == ()
    assert not set_all(node, names=['b']).successful
