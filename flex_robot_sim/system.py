"""
Which programs make a system, and what each is told: the one table that starts them.

The launch files and `flexsim demo` both read it, so that both start the same system. Nothing is
started here, and rclpy is not needed.
"""

import json
import sys
from typing import NamedTuple

from flex_robot_sim.assembly import load
from flex_robot_sim.display.description import display_description
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.share import NAME, share_folder

DYNAMICS, CONTROLLER, BOTH = 'dynamics', 'controller', 'simulation'
EXECUTABLES = {
    DYNAMICS: f'{NAME}.nodes.dynamics',
    CONTROLLER: f'{NAME}.nodes.controller',
    BOTH: f'{NAME}.nodes.simulation',
}
"""Executables of this package and the modules whose `main` they are; BOTH are one process."""

CONTROLLERS = ('process', 'inside', 'none')
LOG_LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')

RVIZ_FILE = 'config/simulation.rviz'
TF_OF_THE_NAMESPACE = (('/tf', 'tf'), ('/tf_static', 'tf_static'))
"""As in Nav2: two robots in two namespaces have frames of the same names."""


class Program(NamedTuple):
    """A program of a system, and what it is told."""

    executable: str
    parameters: dict                    # {name: value}; they win over those of params_file
    package: str = NAME
    namespace: str = ''                 # of all its names
    params_file: str = ''               # YAML; '' for none
    remappings: tuple = ()              # (from, to)
    arguments: tuple = ()               # before --ros-args
    log_level: str = 'info'
    is_needed: bool = True              # without it, the others are of no use


def simulation_system(robot, xacro_arguments=(), namespace='', controller='process',
                      use_sim_time=False, params_file='', log_level='info', display=True,
                      rviz=False, rviz_config_file='', settings=None):
    """
    Return the Programs that simulate a robot.

    :param robot: URDF or xacro file, or a shipped robot; '' waits for the topic robot_description,
        and then the display is left to the one who sends it.
    :param xacro_arguments: 'NAME:=VALUE' for a xacro file.
    :param controller: in a process of its own, inside that of the dynamics, or none.
    :param use_sim_time: whether the dynamics send /clock and everybody else lives by it.
    :param display: whether robot_state_publisher tells TF where the bent robot is.
    :param rviz: whether rviz2 shows it.
    :param rviz_config_file: '' for that of the package.
    :param settings: {executable: {parameter: value}} beyond those.
    """
    _check_choice('controller', controller, CONTROLLERS)
    _check_choice('log_level', log_level, LOG_LEVELS)
    shared = {'namespace': namespace, 'log_level': log_level}
    programs = [
        program._replace(params_file=params_file)
        for program in _own_programs(_robot_parameters(robot, xacro_arguments), controller,
                                     use_sim_time, settings or {}, shared)]
    if robot and (display or rviz):
        arm = load(robot, xacro_arguments=_pairs(xacro_arguments))
        time = {'use_sim_time': use_sim_time}
        if display:
            programs.append(_robot_state_publisher(arm, time, shared))
        if rviz:
            base = arm.description.links[0].name
            programs.append(_rviz(base, rviz_config_file, time, shared))
    return programs


def command(program):
    """Return the words that start a Program of this package, for machines without ros2 launch."""
    words = [sys.executable, '-m', f'{NAME}.nodes', program.executable, *program.arguments,
             '--ros-args', '--log-level', program.log_level]
    if program.namespace:
        words += ['-r', f'__ns:=/{program.namespace.strip("/")}']
    for source, target in program.remappings:
        words += ['-r', f'{source}:={target}']
    if program.params_file:
        words += ['--params-file', str(program.params_file)]
    for name, value in program.parameters.items():
        # JSON is YAML, and keeps a robot called "1" or "yes" a text
        words += ['-p', f'{name}:={json.dumps(value, ensure_ascii=False)}']
    return words


def _own_programs(robot, controller, use_sim_time, settings, shared):
    """Programs of this package: the dynamics, and the controller beside or inside them."""
    dynamics = {**robot, 'publish_clock': use_sim_time, **settings.get(DYNAMICS, {})}
    control = {**robot, 'use_sim_time': use_sim_time, **settings.get(CONTROLLER, {})}
    if controller == 'inside':
        # the controller is called by the simulation, so its time is that of the arm anyway
        return [Program(BOTH, {**control, **dynamics, 'use_sim_time': False}, **shared)]
    programs = [Program(DYNAMICS, dynamics, **shared)]
    if controller == 'process':
        programs.append(Program(CONTROLLER, control, **shared))
    return programs


def _robot_parameters(robot, xacro_arguments):
    parameters = {'robot': str(robot)} if robot else {}
    if xacro_arguments:
        parameters['xacro_arguments'] = list(xacro_arguments)
    return parameters


def _robot_state_publisher(arm, time, shared):
    parameters = {**time, 'robot_description': display_description(arm)}
    remappings = (('joint_states', 'display_joint_states'), *TF_OF_THE_NAMESPACE)
    return Program('robot_state_publisher', parameters, 'robot_state_publisher',
                   remappings=remappings, is_needed=False, **shared)


def _rviz(base, config, time, shared):
    arguments = ('-d', str(config or share_folder() / RVIZ_FILE), '-f', base)
    return Program('rviz2', time, 'rviz2', remappings=TF_OF_THE_NAMESPACE, arguments=arguments,
                   is_needed=False, **shared)


def _pairs(xacro_arguments):
    wrong = [word for word in xacro_arguments if ':=' not in word]
    if wrong:
        raise SettingError(f'xacro_arguments: "{wrong[0]}" is not NAME:=VALUE')
    return dict(word.split(':=', 1) for word in xacro_arguments)


def _check_choice(name, value, choices):
    if value not in choices:
        raise SettingError(f'{name} = {value!r} must be one of {", ".join(choices)}')
