"""
Table of the processes of a system, with their parameters; all programs start from it.

The launch files and `flexsim demo` both read it, so that both start the same system. Nothing is
started here, and rclpy is not needed.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from flex_robot_sim.display.base_frames import root_frame
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.rviz_layout import fitted_layout
from flex_robot_sim.model.assembly import load
from flex_robot_sim.ros import topics
from flex_robot_sim.start import run_module
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.files import why_unwritable
from flex_robot_sim.util.settings import read_yaml
from flex_robot_sim.util.share import NAME, share_folder, shipped_robots
from flex_robot_sim.util.xacro_arguments import xacro_arguments as parsed_arguments

DYNAMICS, CONTROLLER, BOTH, BRIDGE = 'dynamics', 'controller', 'simulation', 'bridge'
SHAPER, VIEW, RECORDER, DRIFT = 'shaper', 'view', 'recorder', 'drift'
TRAJECTORY_ACTION = 'trajectory_action'
EXECUTABLES = {
    DYNAMICS: 'DynamicsNode',
    CONTROLLER: 'ControllerNode',
    BOTH: 'make_nodes',
    BRIDGE: 'BridgeNode',
    SHAPER: 'ShaperNode',
    RECORDER: 'RecorderNode',
    VIEW: 'ViewNode',
    DRIFT: 'DriftNode',
    TRAJECTORY_ACTION: 'TrajectoryActionNode',
}
"""Executables, each a module of `nodes`, and what makes their nodes; BOTH are one process."""

CONTROLLERS = {'auto': 'auto', 'true': 'process', 'inside': 'inside', 'false': 'none'}
"""What use_controller says, and where the controller runs then."""

LOG_LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')

TOPIC = topics.ROBOT_DESCRIPTION.name
"""As `robot`: whatever arrives on this topic. ros2 launch takes no empty arguments."""

TF_OF_THE_NAMESPACE = tuple((f'/{name}', name) for name in (topics.TF.name, 'tf_static'))
"""As in Nav2: two robots in two namespaces have frames of the same names."""


class Program(NamedTuple):
    """A program of a system, with its parameters and remappings."""

    executable: str
    parameters: dict[str, Any]  # {name: value}; they override those of params_file
    package: str = NAME
    namespace: str = ''  # prefix of all its names
    params_file: str = ''  # YAML; '' for none
    remappings: tuple[tuple[str, str], ...] = ()  # (from, to)
    arguments: tuple[str, ...] = ()  # before --ros-args
    layout: str = ''  # text of the file for the option -d
    log_level: str = 'info'
    is_needed: bool = True  # whether the other programs need it


def simulation_system(
    robot: str | Path,
    xacro_arguments: Sequence[str] = (),
    namespace: str = '',
    controller: str = 'process',
    use_sim_time: bool = False,
    params_file: str = '',
    log_level: str = 'info',
    display: bool = True,
    rviz: bool = False,
    rviz_config_file: str = '',
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    view: bool = False,
    record: str | None = None,
    drift: bool = False,
    tool: str = '',
    trajectory_action: bool = False,
) -> list[Program]:
    """
    Return the Programs that simulate a robot.

    :param robot: URDF or xacro file, or name of a shipped robot; '' or TOPIC waits for the topic,
        whose publisher then provides the display.
    :param xacro_arguments: arguments of the xacro file, 'NAME:=VALUE'.
    :param controller: 'process' of its own, 'inside' that of the dynamics, or 'none'.
    :param use_sim_time: whether the dynamics publish /clock and all other nodes use it.
    :param display: whether robot_state_publisher publishes TF of the deformed robot.
    :param params_file: YAML file, or one of config/; '' for none.
    :param rviz: whether rviz2 shows it, with a settings file or one of config/; '' takes
        simulation.rviz and fits it to the robot.
    :param settings: {executable: {parameter: value}} beyond those.
    :param view: whether a browser shows it.
    :param record: file to which the recorder writes all messages; '' names it by the time.
    :param drift: whether the drift node compares the vibration with the model.
    :param tool: link that is the tool; '': see description/tool.py.
    :param trajectory_action: whether a node offers FollowJointTrajectory, if control_msgs is
        installed.
    """
    assert controller in CONTROLLERS.values() and log_level in LOG_LEVELS
    robot = '' if robot == TOPIC else robot
    shared: dict[str, Any] = {'namespace': namespace, 'log_level': log_level}
    params_file = params_file and config_file('params_file', params_file)
    known, settings = robot_parameters(robot, xacro_arguments, tool), settings or {}
    programs = _own_programs(known, controller, use_sim_time, settings, shared)
    programs += _optional(
        {VIEW: view, DRIFT: drift, TRAJECTORY_ACTION: trajectory_action},
        {**known, 'use_sim_time': use_sim_time},
        settings,
        shared,
    )
    programs = [program._replace(params_file=params_file) for program in programs]
    return (
        programs
        + _display_programs(
            robot, xacro_arguments, display, rviz, rviz_config_file, use_sim_time, shared, tool
        )
        + _recorder(record, shared)
    )


def hil_system(
    robot: str | Path,
    xacro_arguments: Sequence[str] = (),
    namespace: str = '',
    controller: bool = True,
    params_file: str = '',
    log_level: str = 'info',
    display: bool = True,
    rviz: bool = False,
    rviz_config_file: str = '',
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    view: bool = False,
    record: str | None = None,
    drift: bool = False,
    tool: str = '',
    trajectory_action: bool = False,
) -> list[Program]:
    """Return the Programs that drive a bench; parameters as in `simulation_system`."""
    if not robot:
        raise SettingError('robot = "" must be the URDF of the bench, or rig')
    shared: dict[str, Any] = {
        'namespace': namespace,
        'log_level': log_level,
        'params_file': params_file and config_file('params_file', params_file),
    }
    known = robot_parameters(robot, xacro_arguments, tool)
    settings = settings or {}
    programs = [Program(BRIDGE, {**known, **settings.get(BRIDGE, {})}, **shared)]
    if controller:
        programs.append(Program(CONTROLLER, {**known, **settings.get(CONTROLLER, {})}, **shared))
    programs += _optional(
        {VIEW: view, DRIFT: drift, TRAJECTORY_ACTION: trajectory_action}, known, settings, shared
    )
    del shared['params_file']
    return (
        programs
        + _display_programs(
            robot, xacro_arguments, display, rviz, rviz_config_file, False, shared, tool
        )
        + _recorder(record, shared)
    )


def command(program: Program) -> list[str]:
    """Return the words that start a Program of this package, for machines without ros2 launch."""
    words = [
        *run_module(f'{NAME}.nodes'),
        program.executable,
        *program.arguments,
        '--ros-args',
        '--log-level',
        program.log_level,
    ]
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


def has_control_msgs() -> bool:
    """Whether control_msgs is installed, which defines FollowJointTrajectory."""
    return find_spec('control_msgs') is not None


def config_file(setting_name: str, wish: str) -> str:
    """Path of a file that a setting names: a path, or a file of config/."""
    shipped = share_folder() / 'config'
    for path in (Path(wish), shipped / wish):
        if path.is_file():
            return str(path.resolve())
    raise SettingError(f'{setting_name} = "{wish}" is no file, neither here nor in {shipped}')


def robot_settings(robot: str) -> dict[str, Any]:
    """Return the parameters that a shipped robot needs in place of the default ones."""
    path = share_folder() / 'config' / 'robots' / f'{robot}.yaml'
    if robot not in shipped_robots() or not path.is_file():
        return {}
    return read_yaml(path)['/**']['ros__parameters']


def robot_parameters(
    robot: str | Path, xacro_arguments: Sequence[str], tool: str
) -> dict[str, Any]:
    """Return the parameters that select the robot of a node."""
    parameters: dict[str, Any] = {'robot': str(robot)} if robot else {}
    if tool:
        parameters['tool'] = tool
    if xacro_arguments:
        parameters['xacro_arguments'] = list(xacro_arguments)
    return parameters


def _recorder(path, shared):
    """Program that records; the others continue without it."""
    if path is None:
        return []
    if path and Path(path).exists():
        raise SettingError(f'record_file = "{path}" exists already: name a new one')
    problem = why_unwritable(path or 'record.mcap')
    if problem:
        raise SettingError(
            f'record_file = "{path}" cannot be written: {problem}. Name a file '
            'in a folder of yours'
        )
    return [Program(RECORDER, {'output': path} if path else {}, is_needed=False, **shared)]


def _own_programs(robot, controller, use_sim_time, settings, shared):
    """Programs of this package: the dynamics, and the controller in its own or their process."""
    # hold the arm until the controller has started; otherwise it would fall
    dynamics = {
        **robot,
        'publish_clock': use_sim_time,
        'wait_for_command': controller == 'process',
        **settings.get(DYNAMICS, {}),
    }
    control = {**robot, 'use_sim_time': use_sim_time, **settings.get(CONTROLLER, {})}
    if controller == 'inside':
        # the controller is called by the simulation, so its time is that of the arm anyway
        return [Program(BOTH, {**control, **dynamics, 'use_sim_time': False}, **shared)]
    programs = [Program(DYNAMICS, dynamics, **shared)]
    if controller == 'process':
        programs.append(Program(CONTROLLER, control, **shared))
    return programs


def _optional(chosen, robot, settings, shared):
    """Return the chosen Programs; the others run without them, too."""
    # ordinary priority: dynamics and controller run first
    return [
        Program(
            name,
            {**robot, 'thread_priority': 0, **settings.get(name, {})},
            is_needed=False,
            **shared,
        )
        for name, is_chosen in chosen.items()
        if is_chosen and (name != TRAJECTORY_ACTION or has_control_msgs())
    ]


def _display_programs(
    robot, xacro_arguments, display, rviz, rviz_config, use_sim_time, shared, tool
):
    """Programs that display a robot: robot_state_publisher, and rviz2 on request."""
    if not robot or not (display or rviz):
        return []
    programs, time = [], {'use_sim_time': use_sim_time}
    arm = load(robot, xacro_arguments=parsed_arguments(xacro_arguments), tool=tool)
    if display:
        programs.append(_robot_state_publisher(arm, time, shared))
    if rviz:
        programs.append(_rviz(arm, rviz_config, time, shared))
    return programs


def _robot_state_publisher(arm, time, shared):
    # the default of 20 Hz drops intermediate states, and stops publishing if stamps jump back
    parameters = {
        **time,
        TOPIC: display_description(arm),
        'publish_frequency': 1000.0,
        'ignore_timestamp': True,
    }
    remappings = (
        (topics.JOINT_STATES.name, topics.DISPLAY_JOINT_STATES.name),
        (TOPIC, 'display_description'),
        *TF_OF_THE_NAMESPACE,
    )
    return Program(
        'robot_state_publisher',
        parameters,
        'robot_state_publisher',
        remappings=remappings,
        is_needed=False,
        **shared,
    )


def _rviz(arm, config, time, shared):
    path = config_file('rviz_config_file', config or 'simulation.rviz')
    arguments, layout = ('-d', path), ''
    if not config:
        arguments, layout = (), fitted_layout(read_yaml(path), arm)
    return Program(
        'rviz2',
        time,
        'rviz2',
        remappings=TF_OF_THE_NAMESPACE,
        arguments=(*arguments, '-f', root_frame(arm.description)),
        layout=layout,
        is_needed=False,
        **shared,
    )
