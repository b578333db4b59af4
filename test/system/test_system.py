"""The table of programs: which of them form a system, and with which settings."""

import json
import os
import re
from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree

import pytest
from project_files import ROOT

from flex_robot_sim.nodes.settings import (
    CONTROLLER_SETTINGS,
    DYNAMICS_SETTINGS,
    KNOWN_PARAMETERS,
    OutputSettings,
    ViewSettings,
)
from flex_robot_sim.start import run_module
from flex_robot_sim.system.launch_arguments import (
    HilArguments,
    ShaperArguments,
    SimulationArguments,
)
from flex_robot_sim.system.processes import (
    CONTROLLERS,
    EXECUTABLES,
    Program,
    command,
    hil_system,
    simulation_system,
)
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError
from flex_robot_sim.util.settings import read_yaml
from flex_robot_sim.util.share import share_folder, shipped_robots

OF_ROS = {'use_sim_time'}  # every node has it


def executables(*arguments, **options):
    return [program.executable for program in simulation_system(*arguments, **options)]


def test_a_system_has_the_programs_that_are_asked_for():
    parts, display = ['dynamics', 'controller'], 'robot_state_publisher'
    assert executables('two_link') == [*parts, display]
    assert executables('two_link', controller='none', display=False) == ['dynamics']
    inside = executables('two_link', controller='inside', rviz=True)
    assert inside == ['simulation', display, 'rviz2']
    for name in ('view', 'drift'):
        assert executables('two_link', **{name: True}) == [*parts, name, display]
    # the sender of robot_description also chooses what is shown
    assert executables('', rviz=True) == ['dynamics', 'controller']


@pytest.mark.parametrize('controller', CONTROLLERS.values())
def test_our_programs_accept_every_parameter_that_they_get(controller):
    known = {
        item.name for kind in (*DYNAMICS_SETTINGS, *CONTROLLER_SETTINGS) for item in fields(kind)
    } | OF_ROS
    known |= {item.name for item in fields(ViewSettings)}
    for program in simulation_system('two_link', controller=controller, display=False, view=True):
        assert set(program.parameters) <= known


def test_all_programs_use_the_clock_of_the_dynamics_on_request():
    dynamics, *others = simulation_system('two_link', use_sim_time=True, rviz=True)
    assert dynamics.parameters['publish_clock'] and 'use_sim_time' not in dynamics.parameters
    assert len(others) == 3 and all(each.parameters['use_sim_time'] for each in others)


def test_the_arm_waits_for_a_controller_that_is_sure_to_come():
    for controller, waits in (('process', True), ('inside', False), ('none', False)):
        dynamics = simulation_system('two_link', controller=controller, display=False)[0]
        assert dynamics.parameters['wait_for_command'] is waits


def test_the_display_shows_the_bent_robot_in_its_namespace():
    *_, publisher, rviz = simulation_system('two_link', namespace='left', rviz=True)
    description = ElementTree.fromstring(publisher.parameters['robot_description'])
    assert description.find('flexibility') is None and description.get('name') == 'two_link'
    assert ('joint_states', 'display_joint_states') in publisher.remappings
    for program in (publisher, rviz):
        assert program.namespace == 'left' and ('/tf', 'tf') in program.remappings
        assert not program.is_needed
    assert rviz.arguments == ('-f', 'base')
    assert 'Visualization Manager' in json.loads(rviz.layout)


def test_an_rviz_configuration_that_is_given_is_used_unchanged():
    rviz = simulation_system('two_link', rviz=True, rviz_config_file='simulation.rviz')[-1]
    assert rviz.arguments == (
        '-d',
        str(share_folder() / 'config' / 'simulation.rviz'),
        '-f',
        'base',
    )
    assert not rviz.layout


def test_robot_state_publisher_drops_no_state_and_leaves_robot_description_to_the_original():
    publisher = simulation_system('two_link')[-1]
    assert ('robot_description', 'display_description') in publisher.remappings
    highest = {item.name: item for item in fields(OutputSettings)}['display_rate'].default
    assert publisher.parameters['publish_frequency'] > 10 * float(highest)
    assert publisher.parameters['ignore_timestamp'] is True


@pytest.mark.parametrize('arguments', [SimulationArguments, HilArguments])
def test_the_trajectory_action_starts_with_a_controller_where_control_msgs_is_installed(
    arguments, install_control_msgs
):
    def actions(**options):
        return [
            program
            for program in arguments(use_rviz=False, **options).programs()
            if program.executable == 'trajectory_action'
        ]

    assert not actions()
    install_control_msgs()
    (action,) = actions(namespace='left')
    assert action.namespace == 'left' and 'robot' in action.parameters and not action.is_needed
    assert not actions(trajectory_action=False)
    assert not actions(use_controller='false' if arguments is SimulationArguments else False)


def test_arguments_of_the_shaper_win_over_params_file_only_where_they_are_given():
    def parameters(**options):
        (program,) = ShaperArguments(robot='none', frequencies='2.5', **options).programs()
        return program.parameters

    assert not {'stream_rate', 'max_path_deviation'} & set(parameters())
    given = parameters(stream_rate=500.0, max_path_deviation=0.01)
    assert (given['stream_rate'], given['max_path_deviation']) == (500.0, 0.01)


def test_a_robot_called_robot_description_is_what_arrives_on_the_topic():
    for given in ('', 'robot_description'):
        assert [
            ('robot' in program.parameters, program.executable)
            for program in SimulationArguments(robot=given).programs()
        ] == [(False, 'dynamics'), (False, 'controller')]


def test_view_and_drift_have_no_priority_and_nothing_ends_with_them():
    for name in ('view', 'drift'):
        for programs in (
            simulation_system('two_link', **{name: True}),
            hil_system('rig', **{name: True}),
        ):
            (one,) = (program for program in programs if program.executable == name)
            assert one.parameters['thread_priority'] == 0 and not one.is_needed


def test_settings_of_one_program_reach_it_and_no_other():
    settings = {'dynamics': {'flex_rate': 50.0}, 'controller': {'profile': 'swing'}}
    dynamics, controller, _ = simulation_system('two_link', settings=settings)
    assert dynamics.parameters['flex_rate'] == 50.0 and 'profile' not in dynamics.parameters
    assert controller.parameters['profile'] == 'swing'
    both, _ = simulation_system('two_link', controller='inside', settings=settings)
    assert (both.parameters['flex_rate'], both.parameters['profile']) == (50.0, 'swing')


def test_a_command_line_says_it_all_and_text_stays_text():
    parameters = {'robot': 'on', 'publish_clock': True, 'gravity': [0.0, 0.0, 1.0]}
    program = Program(
        'dynamics',
        parameters,
        namespace='/left',
        params_file='a.yaml',
        remappings=(('push', 'pull'),),
        log_level='warn',
    )
    assert command(program) == [
        *run_module('flex_robot_sim.nodes'),
        *('dynamics', '--ros-args', '--log-level', 'warn'),
        *('-r', '__ns:=/left', '-r', 'push:=pull', '--params-file', 'a.yaml'),
        *('-p', 'robot:="on"', '-p', 'publish_clock:=true', '-p', 'gravity:=[0.0, 0.0, 1.0]'),
    ]


@pytest.mark.parametrize(
    'options, line',
    [
        ({'robot': 'no_such'}, 'no_such'),
        (
            {'params_file': 'no_such.yaml'},
            'params_file = "no_such.yaml" is no file, neither here nor '
            f'in {share_folder() / "config"}',
        ),
        ({'xacro_arguments': 'length'}, '"length" is no argument for xacro. Write NAME:=VALUE.'),
        (
            {'log_level': 'loud'},
            "log_level = 'loud' must be one of debug, info, warn, error, fatal",
        ),
        (
            {'use_controller': 'maybe'},
            "use_controller = 'maybe' must be one of auto, true, inside, false",
        ),
    ],
)
def test_a_wrong_argument_is_one_line(options, line):
    with pytest.raises(FlexRobotSimError) as caught:
        SimulationArguments(**options).programs()
    assert line in str(caught.value) and '\n' not in str(caught.value)


def test_a_shipped_robot_has_settings_of_its_own_unless_a_file_is_given():
    program = SimulationArguments(robot='canadarm2', use_rviz=False).programs()[0]
    assert program.executable == 'simulation' and program.parameters['servo'] == 'drives'
    assert program.parameters['gravity'] == [0.0, 0.0, 0.0]
    for options, executable in (
        ({'robot': 'two_link'}, 'dynamics'),
        ({'robot': 'ella', 'params_file': 'rig.yaml'}, 'dynamics'),
        ({'robot': 'ella', 'use_controller': 'false'}, 'dynamics'),
    ):
        program = SimulationArguments(**options, use_rviz=False).programs()[0]
        assert program.executable == executable
        assert ('servo' in program.parameters) == (options.get('use_controller') == 'false')
    for path in (share_folder() / 'config' / 'robots').glob('*.yaml'):
        assert path.stem in shipped_robots()
        (of_all,), values = read_yaml(path), read_yaml(path)['/**']['ros__parameters']
        assert of_all == '/**' and set(values) <= KNOWN_PARAMETERS


def test_a_file_here_goes_before_a_shipped_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = simulation_system('', params_file='simulation.yaml')[0].params_file
    assert shipped == str(share_folder() / 'config' / 'simulation.yaml')
    Path('simulation.yaml').write_text('')
    assert simulation_system('', params_file='simulation.yaml')[0].params_file == str(
        tmp_path / 'simulation.yaml'
    )


def test_executables_are_those_that_setup_installs():
    assert {path.name for path in (ROOT / 'programs').iterdir()} == set(EXECUTABLES)
    for name, made_by in EXECUTABLES.items():
        program = ROOT / 'programs' / name
        assert os.access(program, os.X_OK) and f"start_node('{name}')" in program.read_text(
            'utf-8'
        )
        module = (ROOT / 'flex_robot_sim' / 'nodes' / f'{name}.py').read_text('utf-8')
        assert re.search(rf'^(class|def) {made_by}\(', module, re.MULTILINE)


@pytest.mark.parametrize(
    'given, output',
    [({'record': True}, {}), ({'record_file': 'run.mcap'}, {'output': 'run.mcap'})],
)
@pytest.mark.parametrize('arguments', [SimulationArguments, HilArguments])
def test_a_system_that_is_recorded_does_not_depend_on_the_recorder(arguments, given, output):
    programs = arguments(namespace='left', use_rviz=False, **given).programs()
    recorders = [program for program in programs if program.executable == 'recorder']
    assert [
        (program.parameters, program.namespace, program.is_needed) for program in recorders
    ] == [(output, 'left', False)]
    assert all(program.executable != 'recorder' for program in arguments().programs())


def test_a_recording_that_is_there_is_refused_before_anything_starts(tmp_path):
    path = tmp_path / 'old.mcap'
    path.touch()
    with pytest.raises(SettingError) as caught:
        SimulationArguments(record_file=str(path)).programs()
    assert str(caught.value) == f'record_file = "{path}" exists already: name a new one'


def test_setting_errors_are_raised_for_values_of_the_wrong_kind():
    with pytest.raises(SettingError, match='must be true or false'):
        SimulationArguments(use_rviz='yes')
