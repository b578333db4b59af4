"""
What the launch files and config/ name exists: arguments, executables, parameters, files.

ROS's launch is not on the registry of Python packages, so here a few recording classes stand in
for it; test/launch/ runs the real one wherever it is installed.
"""

import ast
import importlib.util
import re
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from project_files import ROOT
from refusals import refusal

from flex_robot_sim import read_description
from flex_robot_sim.nodes.settings import (
    CONTROLLER_SETTINGS,
    DRIFT_SETTINGS,
    DYNAMICS_SETTINGS,
    TRAJECTORY_ACTION_SETTINGS,
    VIEW_SETTINGS,
)
from flex_robot_sim.ros.network import (
    PEERS_VARIABLE,
    PROFILE_VARIABLES,
    RANGE_VARIABLE,
    loopback_profile,
)
from flex_robot_sim.system.launch_arguments import (
    HilArguments,
    ShaperArguments,
    SimulationArguments,
)
from flex_robot_sim.system.processes import EXECUTABLES
from flex_robot_sim.util.exceptions import SettingError

LAUNCH_FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
HIL, SHAPER, SIMULATION = (
    ROOT / 'launch' / f'{name}.launch.py' for name in ('hil', 'shaper', 'simulation')
)
PACKAGES = {
    'flex_robot_sim': list(EXECUTABLES),
    'rviz2': ['rviz2'],
    'robot_state_publisher': ['robot_state_publisher'],
}
KINDS = (
    *DYNAMICS_SETTINGS,
    *CONTROLLER_SETTINGS,
    *VIEW_SETTINGS,
    *DRIFT_SETTINGS,
    *TRAJECTORY_ACTION_SETTINGS,
)
SETTINGS = {item.name: item for kind in KINDS for item in fields(kind)}


class Record(SimpleNamespace):
    """What a class of launch was called with."""

    def __init__(self, *positional, **named):
        super().__init__(positional=positional, **named)


class Context(dict):
    """What launch knows while it runs a file: arguments, declared or not."""

    @property
    def launch_configurations(self):
        """Return the arguments as texts."""
        return self


class LaunchConfiguration(Record):
    """Looks the argument up in a plain dictionary."""

    def perform(self, context):
        """Return the text of the argument."""
        return context[self.positional[0]]


def stand_ins(installed):
    """Modules of launch, launch_ros and ament_index_python that record; {name: module}."""

    class PackageNotFoundError(Exception):
        pass

    def get_package_prefix(package):
        if package not in installed:
            raise PackageNotFoundError(package)
        return str(installed[package])

    contents: dict[str, dict] = {
        'launch': {'LaunchDescription': type('LaunchDescription', (Record,), {})},
        'launch.actions': {
            name: type(name, (Record,), {})
            for name in ('DeclareLaunchArgument', 'LogInfo', 'OpaqueFunction', 'Shutdown')
        },
        'launch.substitutions': {'LaunchConfiguration': LaunchConfiguration},
        'launch_ros': {},
        'launch_ros.actions': {'Node': type('Node', (Record,), {})},
        'launch_ros.parameter_descriptions': {
            'ParameterValue': lambda value, value_type: value_type(value)
        },
        'ament_index_python': {},
        'ament_index_python.packages': {
            'PackageNotFoundError': PackageNotFoundError,
            'get_package_prefix': get_package_prefix,
        },
    }
    modules = {}
    for name, items in contents.items():
        modules[name] = ModuleType(name)
        vars(modules[name]).update(items)
    return modules


@pytest.fixture
def launch_file(monkeypatch, tmp_path):
    """Return a function that imports a launch file and starts it with arguments."""
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))  # where settings of rviz2 go

    def start(path, installed=(), **given):
        prefixes = {}
        for package in installed:
            for name in PACKAGES[package]:
                program = tmp_path / 'lib' / package / name
                program.parent.mkdir(parents=True, exist_ok=True)
                program.touch()
            prefixes[package] = tmp_path
        for name, module in stand_ins(prefixes).items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.delitem(sys.modules, 'flex_robot_sim.system.launching', raising=False)
        spec = importlib.util.spec_from_file_location('launch_file', path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        *declared, opaque = module.generate_launch_description().positional[0]
        context = Context({item.positional[0]: item.default_value for item in declared})
        context.update(given)
        actions = opaque.function(context)
        monkeypatch.delitem(sys.modules, 'flex_robot_sim.system.launching')
        return declared, actions

    return start


@pytest.mark.parametrize(
    'path, given, meant',
    [
        (SIMULATION, 'robto', 'robot'),
        (HIL, 'serialport', 'serial_port'),
        (SHAPER, 'shapper', 'shaper'),
    ],
    ids=['simulation', 'hil', 'shaper'],
)
def test_a_misspelt_argument_is_named_by_every_launch_file(
    launch_file, monkeypatch, path, given, meant
):
    line = f'there is no launch argument "{given}". Did you mean "{meant}"?'
    monkeypatch.setattr(sys, 'argv', ['ros2', 'launch', 'flex_robot_sim', path.name])
    assert refusal(SettingError, launch_file, path, **{given: 'x'}) == line
    # a launch file that includes this one has arguments of its own
    monkeypatch.setattr(sys, 'argv', ['ros2', 'launch', 'a_cell', 'cell.launch.py'])
    launch_file(path, **{given: 'x'})


@pytest.mark.parametrize('path', [SIMULATION, HIL], ids=['simulation', 'hil'])
def test_a_recording_that_cannot_be_written_ends_the_launch(launch_file, tmp_path, path):
    for file, why in (
        (tmp_path / 'none' / 'run.mcap', 'No such file or directory'),
        (tmp_path, 'exists already'),
    ):
        line = refusal(SettingError, launch_file, path, record_file=str(file))
        assert f'record_file = "{file}"' in line and why in line


def of_kind(actions, kind):
    return [action for action in actions if type(action).__name__ == kind]


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_a_launch_file_is_thin_and_documented(path):
    tree = ast.parse(path.read_text('utf-8'))
    assert ast.get_docstring(tree) and len(path.read_text('utf-8').splitlines()) < 40


@pytest.mark.parametrize(
    'path, arguments',
    [(SIMULATION, SimulationArguments), (HIL, HilArguments), (SHAPER, ShaperArguments)],
    ids=['simulation', 'hil', 'shaper'],
)
def test_each_argument_has_a_default_a_description_and_the_right_choices(
    launch_file, path, arguments
):
    declared, _ = launch_file(path)
    # the command line of ros2 launch refuses NAME:= without a value
    assert not any('empty' in item.description and item.default_value for item in declared)
    assert [item.positional[0] for item in declared] == [item.name for item in fields(arguments)]
    for item in declared:
        assert item.description and isinstance(item.default_value, str)
        assert item.choices is None or item.default_value in item.choices


@pytest.mark.parametrize(
    'given',
    [
        {},
        {'use_controller': 'inside'},
        {'use_controller': 'false', 'use_rviz': 'False'},
        {'namespace': 'left', 'use_sim_time': 'true'},
        {'robot': 'robot_description'},
        {'robot': str(ROOT / 'urdf' / 'two_link_ros2_control.urdf.xacro'), 'view': 'true'},
        {'robot': 'robot_description', 'view': 'True', 'drift': 'true'},
    ],
    ids=str,
)
def test_every_program_file_and_parameter_that_is_started_exists(
    launch_file, given, install_control_msgs
):
    install_control_msgs()
    _, actions = launch_file(SIMULATION, PACKAGES, **given)
    nodes = of_kind(actions, 'Node')
    assert len(nodes) == len(actions)
    for node in nodes:
        assert node.executable in PACKAGES[node.package]
        assert node.namespace == given.get('namespace', '')
        *files, parameters = node.parameters
        assert all(Path(file).is_file() for file in files)
        if node.package == 'flex_robot_sim':
            assert set(parameters) <= {*SETTINGS, 'use_sim_time'}
            assert (node.on_exit is None) is (
                node.executable in ('view', 'drift', 'trajectory_action')
            )
        for word in node.arguments:
            assert not word.startswith('/') or Path(word).is_file()


@pytest.mark.parametrize(
    'word, executables',
    [('True', ['dynamics', 'controller']), ('False', ['dynamics']), ('inside', ['simulation'])],
)
def test_true_and_false_may_begin_with_a_capital_everywhere(launch_file, word, executables):
    declared, actions = launch_file(SIMULATION, use_controller=word, use_rviz='False')
    choices = {item.positional[0]: item.choices for item in declared}
    for name in ('use_controller', 'use_rviz', 'use_sim_time'):
        assert {'true', 'True', 'false', 'False'} <= {*choices[name]}
    assert [node.executable for node in of_kind(actions, 'Node')] == executables


def test_rviz_gets_a_file_with_settings_for_the_robot(launch_file, tmp_path):
    _, actions = launch_file(SIMULATION, ['rviz2'], robot='spin_up_8m')
    rviz = of_kind(actions, 'Node')[-1]
    assert rviz.arguments[0] == '-d' and rviz.arguments[2:] == ('-f', 'base')
    tree = yaml.safe_load(Path(rviz.arguments[1]).read_text('utf-8'))
    assert tree['Visualization Manager']['Views']['Current']['Distance'] > 8.0
    launch_file(SIMULATION)  # without rviz2 there is none
    assert len(list(tmp_path.glob('*.rviz'))) == 1


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_all_programs_are_bound_to_this_machine_unless_the_network_is_asked_for(
    launch_file, monkeypatch, path
):
    for name in (*PROFILE_VARIABLES, PEERS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(RANGE_VARIABLE, 'LOCALHOST')
    monkeypatch.setenv('ROS_LOCALHOST_ONLY', '1')
    here = dict.fromkeys(PROFILE_VARIABLES, loopback_profile())
    for given, expected in (
        ({}, {RANGE_VARIABLE: 'SYSTEM_DEFAULT', **here}),
        ({'network': 'true'}, {RANGE_VARIABLE: 'SUBNET', 'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}),
    ):
        _, actions = launch_file(path, PACKAGES, **given)
        nodes = of_kind(actions, 'Node')
        assert len(nodes) == (1 if path == SHAPER else 4)
        for node in nodes:
            # an empty one counts as none: launch cannot take one away
            assert node.additional_env.items() >= {**expected, 'ROS_LOCALHOST_ONLY': ''}.items()


@pytest.mark.parametrize(
    'path, first', [(SIMULATION, 'dynamics'), (HIL, 'bridge')], ids=['simulation', 'hil']
)
def test_what_is_not_installed_and_not_needed_is_named_and_left_out(launch_file, path, first):
    _, actions = launch_file(path, ['rviz2'])
    assert [node.executable for node in of_kind(actions, 'Node')] == [first, 'controller', 'rviz2']
    (line,) = of_kind(actions, 'LogInfo')
    assert line.msg == (
        'robot_state_publisher is not installed, so robot_state_publisher is left out'
    )


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_all_ends_with_a_program_that_is_needed_and_fails_if_that_has_failed(launch_file, path):
    _, actions = launch_file(path, PACKAGES)
    needed = [node for node in of_kind(actions, 'Node') if node.on_exit is not None]
    assert {node.package for node in needed} == {'flex_robot_sim'}
    assert len(needed) == (1 if path == SHAPER else 2)
    running, ending = SimpleNamespace(is_shutdown=False), SimpleNamespace(is_shutdown=True)
    for code, context in ((0, running), (0, ending), (-2, ending)):
        event = SimpleNamespace(process_name='bridge-1', returncode=code)
        for node in needed:
            assert node.on_exit(event, context).reason == 'bridge-1 has ended'
    failed = SimpleNamespace(process_name='bridge-1', returncode=2)
    line = 'bridge-1 has failed, and without it the others are of no use'
    assert refusal(RuntimeError, needed[0].on_exit, failed, running) == line


def test_every_package_that_is_started_is_a_dependency():
    text = (ROOT / 'package.xml').read_text('utf-8')
    depends = set(re.findall(r'<exec_depend>([\w-]+)</exec_depend>', text))
    assert {*PACKAGES} - {'flex_robot_sim'} <= depends
    assert {'launch', 'launch_ros', 'ros2launch', 'ament_index_python', 'rclpy'} <= depends


def about(item):
    """Return what simulation.yaml says about a parameter."""
    text = item.metadata['help']
    text += f' [{item.metadata["unit"]}]' if item.metadata['unit'] else ''
    choices = item.metadata['choices']
    return text + (f' ({", ".join(choices)})' if choices else '')


def test_simulation_yaml_has_every_parameter_with_its_default_and_meaning():
    text = (ROOT / 'config' / 'simulation.yaml').read_text('utf-8')
    documented = {}
    for block in re.split(r'\n\s*\n', text):
        match = re.fullmatch(r'((?: *# .*\n)+) *(# )?(\w+): (.*)\n?', block)
        if match:
            comment, is_comment, name, value = match.groups()
            meaning = ' '.join(line.strip(' #') for line in comment.splitlines())
            documented[name] = meaning, bool(is_comment), yaml.safe_load(value)
    assert list(documented) == sorted(documented, key=list(documented).index)
    for name, item in SETTINGS.items():
        value = list(item.default) if isinstance(item.default, tuple) else item.default
        # ROS has no empty lists
        assert documented.pop(name) == (about(item), value == [], value)
    assert not documented


def test_simulation_yaml_is_for_every_namespace_and_has_the_kinds_that_the_nodes_accept():
    everything = yaml.safe_load((ROOT / 'config' / 'simulation.yaml').read_text('utf-8'))
    parameters = everything.pop('/**').pop('ros__parameters')
    assert not everything
    for kind in KINDS:
        names = {item.name for item in fields(kind)}
        kind(**{name: value for name, value in parameters.items() if name in names})
    assert set(parameters) <= set(SETTINGS)


def test_the_ros2_control_example_names_joints_topics_and_parameters_that_exist():
    settings = yaml.safe_load((ROOT / 'config' / 'ros2_control.yaml').read_text('utf-8'))
    controller = settings['forward_effort_controller']['ros__parameters']
    path = ROOT / 'urdf' / 'two_link_ros2_control.urdf.xacro'
    description = read_description(path)
    assert description.warnings == ()
    driven = [joint.name for joint in description.joints if joint.kind != 'fixed']
    text = path.read_text('utf-8')
    assert controller['joints'] == driven == re.findall(r'driven_joint name="(\w+)"/', text)
    # commands come more often than they run out
    timeout = SETTINGS['command_timeout'].default
    assert settings['controller_manager']['ros__parameters']['update_rate'] > 5 / float(timeout)
    for name, value in (
        ('joint_states_topic', '/joint_states'),
        ('joint_commands_topic', '/joint_commands'),
        ('trigger_joint_command_threshold', '-1'),
    ):
        assert f'<param name="{name}">{value}</param>' in text
