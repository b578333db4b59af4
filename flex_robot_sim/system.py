"""
Which programs make a system, and what each is told: the one table that starts them.

The launch files and `flexsim demo` both read it, so that both start the same system. Nothing is
started here, and rclpy is not needed.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from flex_robot_sim.assembly import load
from flex_robot_sim.display.description import display_description
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.settings import Settings, setting
from flex_robot_sim.share import NAME, share_folder

DYNAMICS, CONTROLLER, BOTH, BRIDGE = 'dynamics', 'controller', 'simulation', 'bridge'
EXECUTABLES = {
    DYNAMICS: f'{NAME}.nodes.dynamics',
    CONTROLLER: f'{NAME}.nodes.controller',
    BOTH: f'{NAME}.nodes.simulation',
    BRIDGE: f'{NAME}.nodes.bridge',
}
"""Executables of this package and the modules whose `main` they are; BOTH are one process."""

CONTROLLERS = {'true': 'process', 'inside': 'inside', 'false': 'none'}
"""What use_controller says, and where the controller runs then."""

LOG_LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')

TF_OF_THE_NAMESPACE = (('/tf', 'tf'), ('/tf_static', 'tf_static'))
"""As in Nav2: two robots in two namespaces have frames of the same names."""


@dataclass(frozen=True)
class SimulationArguments(Settings):
    """Arguments of simulation.launch.py."""

    robot: str = setting('two_link', 'URDF or xacro file, or a shipped robot; empty: what arrives '
                                     'on robot_description')
    xacro_arguments: str = setting('', 'NAME:=VALUE for a xacro file, with spaces between')
    namespace: str = setting('', 'of all nodes, topics and services')
    params_file: str = setting('simulation.yaml', 'YAML file with parameters, or one of config/')
    use_controller: str = setting(
        'true', 'whether the controller runs, or runs inside the process of the dynamics',
        choices=tuple(CONTROLLERS))
    use_rviz: bool = setting(True, 'whether rviz2 shows the arm')
    rviz_config_file: str = setting('simulation.rviz', 'settings of rviz2, or one of config/')
    use_sim_time: bool = setting(
        False, 'whether the dynamics send /clock, and all other nodes live by it')
    log_level: str = setting('info', 'of all nodes', choices=LOG_LEVELS)

    def programs(self):
        """Return the Programs that these arguments ask for."""
        return simulation_system(
            self.robot, self.xacro_arguments.split(), self.namespace,
            CONTROLLERS[self.use_controller], self.use_sim_time, self.params_file,
            self.log_level, rviz=self.use_rviz, rviz_config_file=self.rviz_config_file)


@dataclass(frozen=True)
class HilArguments(Settings):
    """Arguments of hil.launch.py."""

    robot: str = setting('rig', 'URDF or xacro file of the bench, or a shipped robot')
    xacro_arguments: str = setting('', 'NAME:=VALUE for a xacro file, with spaces between')
    serial_port: str = setting('emulator', 'device, symlink or socket://host:port of the board; '
                                           'emulator: an emulated bench, no board is needed')
    baud: int = setting(921600, 'of the port', 'baud', above=0)
    twin: bool = setting(False, 'whether the model runs beside the bench, and how far both are '
                                'apart is sent')
    namespace: str = setting('', 'of all nodes, topics and services')
    params_file: str = setting('rig.yaml', 'YAML file with parameters, or one of config/')
    use_controller: bool = setting(True, 'whether the controller runs')
    use_rviz: bool = setting(True, 'whether rviz2 shows the arm')
    rviz_config_file: str = setting('simulation.rviz', 'settings of rviz2, or one of config/')
    log_level: str = setting('info', 'of all nodes', choices=LOG_LEVELS)

    def programs(self):
        """Return the Programs that these arguments ask for."""
        bridge = {'serial_port': self.serial_port, 'baud': self.baud, 'twin': self.twin}
        return hil_system(
            self.robot, self.xacro_arguments.split(), self.namespace, self.use_controller,
            self.params_file, self.log_level, rviz=self.use_rviz,
            rviz_config_file=self.rviz_config_file, settings={BRIDGE: bridge})


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
                      rviz=False, rviz_config_file='simulation.rviz', settings=None):
    """
    Return the Programs that simulate a robot.

    :param robot: URDF or xacro file, or a shipped robot; '' waits for the topic robot_description,
        and then the display is left to the one who sends it.
    :param xacro_arguments: 'NAME:=VALUE' for a xacro file.
    :param controller: 'process' of its own, 'inside' that of the dynamics, or 'none'.
    :param use_sim_time: whether the dynamics send /clock and everybody else lives by it.
    :param display: whether robot_state_publisher tells TF where the bent robot is.
    :param params_file: YAML file, or one of config/; '' for none.
    :param rviz: whether rviz2 shows it, with a settings file or one of config/.
    :param settings: {executable: {parameter: value}} beyond those.
    """
    assert controller in CONTROLLERS.values() and log_level in LOG_LEVELS
    shared = {'namespace': namespace, 'log_level': log_level}
    params_file = params_file and config_file('params_file', params_file)
    programs = [
        program._replace(params_file=params_file)
        for program in _own_programs(_robot_parameters(robot, xacro_arguments), controller,
                                     use_sim_time, settings or {}, shared)]
    return programs + _display_programs(robot, xacro_arguments, display,
                                        rviz and rviz_config_file, use_sim_time, shared)


def hil_system(robot, xacro_arguments=(), namespace='', controller=True, params_file='',
               log_level='info', display=True, rviz=False, rviz_config_file='simulation.rviz',
               settings=None):
    """Return the Programs that drive a bench; parameters as in `simulation_system`."""
    if not robot:
        raise SettingError('robot = "" must be the URDF of the bench, or rig')
    shared = {'namespace': namespace, 'log_level': log_level,
              'params_file': params_file and config_file('params_file', params_file)}
    known = _robot_parameters(robot, xacro_arguments)
    settings = settings or {}
    programs = [Program(BRIDGE, {**known, **settings.get(BRIDGE, {})}, **shared)]
    if controller:
        programs.append(Program(CONTROLLER, {**known, **settings.get(CONTROLLER, {})}, **shared))
    del shared['params_file']
    return programs + _display_programs(robot, xacro_arguments, display,
                                        rviz and rviz_config_file, False, shared)


def command(program):
    """Return the words that start a Program of this package, for machines without ros2 launch."""
    words = [sys.executable, '-m', f'{NAME}.nodes', program.executable, *program.arguments,
             '--ros-args', '--log-level', program.log_level]
    if program.namespace:
        words += ['-r', f'__ns:=/{program.namespace.strip("/")}']
    for source, target in program.remappings:
        words += ['-r', f'{source}:={target}']
    if program.params_file:
        words += ['--params-file', program.params_file]
    for name, value in program.parameters.items():
        # JSON is YAML, and keeps a robot called "1" or "yes" a text
        words += ['-p', f'{name}:={json.dumps(value, ensure_ascii=False)}']
    return words


def config_file(setting_name, wish):
    """Path of a file that a setting names: a path, or a file of config/."""
    shipped = share_folder() / 'config'
    for path in (Path(wish), shipped / wish):
        if path.is_file():
            return str(path.resolve())
    raise SettingError(f'{setting_name} = "{wish}" is no file, neither here nor in {shipped}')


def _own_programs(robot, controller, use_sim_time, settings, shared):
    """Programs of this package: the dynamics, and the controller beside or inside them."""
    # an arm that nobody holds yet would fall while the controller still starts
    dynamics = {**robot, 'publish_clock': use_sim_time,
                'wait_for_command': controller == 'process', **settings.get(DYNAMICS, {})}
    control = {**robot, 'use_sim_time': use_sim_time, **settings.get(CONTROLLER, {})}
    if controller == 'inside':
        # the controller is called by the simulation, so its time is that of the arm anyway
        return [Program(BOTH, {**control, **dynamics, 'use_sim_time': False}, **shared)]
    programs = [Program(DYNAMICS, dynamics, **shared)]
    if controller == 'process':
        programs.append(Program(CONTROLLER, control, **shared))
    return programs


def _display_programs(robot, xacro_arguments, display, rviz_config, use_sim_time, shared):
    """Programs that draw a robot: TF, and rviz2 if there are settings for it."""
    if not robot or not (display or rviz_config):
        return []
    programs, time = [], {'use_sim_time': use_sim_time}
    arm = load(robot, xacro_arguments=_pairs(xacro_arguments))
    if display:
        programs.append(_robot_state_publisher(arm, time, shared))
    if rviz_config:
        programs.append(_rviz(arm.description.links[0].name, rviz_config, time, shared))
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
    arguments = ('-d', config_file('rviz_config_file', config), '-f', base)
    return Program('rviz2', time, 'rviz2', remappings=TF_OF_THE_NAMESPACE, arguments=arguments,
                   is_needed=False, **shared)


def _pairs(xacro_arguments):
    wrong = [word for word in xacro_arguments if ':=' not in word]
    if wrong:
        raise SettingError(f'xacro_arguments: "{wrong[0]}" is not NAME:=VALUE')
    return dict(word.split(':=', 1) for word in xacro_arguments)
