"""docs/rig_bridge.md, config/rig.yaml and hil.launch.py have what the code has."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from project_files import ROOT
from test_launch_files import PACKAGES, about, launch_file, of_kind

from flex_robot_sim.nodes.bridge_settings import BRIDGE_SETTINGS
from flex_robot_sim.nodes.settings import CONTROLLER_SETTINGS
from flex_robot_sim.system.launch_arguments import HilArguments
from flex_robot_sim.system.processes import command, hil_system
from flex_robot_sim.util.exceptions import FlexRobotSimError

PAGE = (ROOT / 'docs' / 'rig_bridge.md').read_text('utf-8')
SETTINGS = {item.name: item for kind in BRIDGE_SETTINGS for item in fields(kind)}

__all__ = ['launch_file']  # a fixture


def test_links_of_the_page_lead_somewhere():
    for target in re.findall(r'\]\((?!https:)([^)#]+)', PAGE):
        assert (ROOT / 'docs' / target).exists(), target


def test_rig_yaml_has_every_parameter_with_its_default_and_meaning():
    text = (ROOT / 'config' / 'rig.yaml').read_text('utf-8').partition('/**/bridge:')[2]
    found = {}
    for block in re.split(r'\n\s*\n', text.partition('ros__parameters:\n')[2]):
        match = re.fullmatch(r'((?: *# .*\n)+) *(# )?(\w+): (.*)\n?', block)
        comment, is_comment, name, value = match.groups()
        meaning = ' '.join(line.strip(' #') for line in comment.splitlines())
        found[name] = meaning, bool(is_comment), yaml.safe_load(value)
    expected = {}
    for name, item in SETTINGS.items():
        value = list(item.default) if isinstance(item.default, tuple) else item.default
        expected[name] = about(item), value == [], value
    assert found == expected


def test_rig_yaml_sets_known_parameters_of_the_controller():
    everything = yaml.safe_load((ROOT / 'config' / 'rig.yaml').read_text('utf-8'))
    assert set(everything) == {'/**/controller', '/**/bridge'}
    known = {item.name for kind in CONTROLLER_SETTINGS for item in fields(kind)}
    assert set(everything['/**/controller']['ros__parameters']) <= known


def test_settings_of_the_bridge_have_names_of_their_own():
    names = [item.name for kind in BRIDGE_SETTINGS for item in fields(kind)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    'given',
    [
        {},
        {'use_controller': 'false', 'use_rviz': 'False'},
        {'namespace': 'lab', 'twin': 'true'},
        {'serial_port': '/dev/ttyUSB7', 'baud': '115200'},
        {'view': 'true'},
    ],
    ids=str,
)
def test_every_program_file_and_parameter_that_is_started_exists(launch_file, given):
    declared, actions = launch_file(ROOT / 'launch' / 'hil.launch.py', PACKAGES, **given)
    assert [item.positional[0] for item in declared] == [
        item.name for item in fields(HilArguments)
    ]
    nodes = of_kind(actions, 'Node')
    assert len(nodes) == len(actions)
    bridge = next(node for node in nodes if node.executable == 'bridge')
    assert [node.executable for node in nodes].count('controller') == (
        given.get('use_controller') != 'false'
    )
    assert [node.executable for node in nodes].count('view') == ('view' in given)
    for node in nodes:
        assert node.executable in PACKAGES[node.package]
        assert node.namespace == given.get('namespace', '')
        assert all(Path(file).is_file() for file in node.parameters[:-1])
    *_, parameters = bridge.parameters
    assert set(parameters) <= set(SETTINGS) and bridge.on_exit is not None
    assert parameters['serial_port'] == given.get('serial_port', 'emulator')
    assert parameters['baud'] == int(given.get('baud', 921600))
    assert parameters['twin'] is (given.get('twin') == 'true')


@pytest.mark.parametrize(
    'options, line',
    [
        ({'robot': ''}, 'robot = "" must be the URDF of the bench, or rig'),
        ({'baud': 'fast'}, "baud = 'fast' must be a number: baud rate of the port [baud]"),
        ({'params_file': 'no_such.yaml'}, 'params_file = "no_such.yaml" is no file'),
    ],
)
def test_wrong_argument_is_one_line(options, line):
    with pytest.raises(FlexRobotSimError) as caught:
        HilArguments(**options).programs()
    assert line in str(caught.value) and '\n' not in str(caught.value)


def test_bench_and_simulation_are_driven_by_the_same_controller():
    bridge, controller, publisher = hil_system('rig')
    assert (bridge.executable, controller.executable) == ('bridge', 'controller')
    assert publisher.executable == 'robot_state_publisher'
    assert command(controller)[3:] == [
        'controller',
        '--ros-args',
        '--log-level',
        'info',
        '-p',
        'robot:="rig"',
    ]
