"""Arguments of the launch files, and the programs that they ask for."""

from dataclasses import dataclass
from pathlib import Path

from flex_robot_sim.rig.wire.line import BAUD
from flex_robot_sim.ros import topics
from flex_robot_sim.shaping.impulses import AUTO, NODE_SHAPERS
from flex_robot_sim.system import processes
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import Settings, setting

PARAMS_FILE = 'simulation.yaml'

NETWORK_HELP = (
    'whether other machines may listen and command; false: all sockets are bound to this one'
)


@dataclass(frozen=True)
class SystemArguments(Settings):
    """Arguments that simulation.launch.py and hil.launch.py share."""

    robot: str = setting('', 'URDF or xacro file, or a shipped robot')
    xacro_arguments: str = setting('', 'NAME:=VALUE for a xacro file, with spaces between')
    tool: str = setting('', 'link that is the tool; empty: the one that flexsim check shows')
    namespace: str = setting('', 'of all nodes, topics and services')
    trajectory_action: bool = setting(
        True,
        'whether controller/follow_joint_trajectory is offered, where control_msgs is installed',
    )
    use_rviz: bool = setting(True, 'whether rviz2 shows the arm')
    rviz_config_file: str = setting(
        '', 'settings of rviz2, or one of config/; empty: simulation.rviz, fitted to the robot'
    )
    view: bool = setting(
        False, 'whether the arm is shown in a browser, at an address that the terminal shows'
    )
    drift: bool = setting(
        False,
        'whether it is watched that the arm rings as its model says, which /diagnostics tells',
    )
    record: bool = setting(False, 'whether all that is sent is written into a file')
    record_file: str = setting(
        '', 'the file, which must be new; empty: record_ and the time, in the current folder'
    )
    network: bool = setting(False, NETWORK_HELP)
    log_level: str = setting('info', 'of all nodes', choices=processes.LOG_LEVELS)

    @property
    def recording(self) -> str | None:
        """File that is to be written; '': one named after the time; None: none."""
        return self.record_file if self.record or self.record_file else None


@dataclass(frozen=True)
class SimulationArguments(SystemArguments):
    """Arguments of simulation.launch.py."""

    robot: str = setting(
        'two_link',
        'URDF or xacro file, or a shipped robot; robot_description: what arrives on this topic',
    )
    params_file: str = setting(
        PARAMS_FILE,
        'YAML file with parameters, or one of config/; with '
        'this one, config/robots/ROBOT.yaml counts as well',
    )
    use_controller: str = setting(
        'auto',
        'whether the controller runs, or runs inside the process of the dynamics; auto: '
        'inside if the settings of the robot have the servo in the drives, else true',
        choices=tuple(processes.CONTROLLERS),
    )
    use_sim_time: bool = setting(
        False, 'whether the dynamics send /clock, and all other nodes live by it'
    )

    def programs(self) -> list[processes.Program]:
        """Return the Programs that these arguments ask for."""
        own = processes.robot_settings(self.robot) if self.params_file == PARAMS_FILE else {}
        controller = processes.CONTROLLERS[self.use_controller]
        if controller == 'auto':
            controller = 'inside' if own.get('servo') == 'drives' else 'process'
        return processes.simulation_system(
            self.robot,
            self.xacro_arguments.split(),
            self.namespace,
            controller,
            self.use_sim_time,
            self.params_file,
            self.log_level,
            rviz=self.use_rviz,
            rviz_config_file=self.rviz_config_file,
            view=self.view,
            record=self.recording,
            settings=dict.fromkeys(
                (
                    processes.DYNAMICS,
                    processes.CONTROLLER,
                    processes.VIEW,
                    processes.DRIFT,
                    processes.TRAJECTORY_ACTION,
                ),
                own,
            ),
            drift=self.drift,
            tool=self.tool,
            trajectory_action=self.trajectory_action and controller != 'none',
        )


@dataclass(frozen=True)
class HilArguments(SystemArguments):
    """Arguments of hil.launch.py."""

    robot: str = setting('rig', 'URDF or xacro file of the bench, or a shipped robot')
    params_file: str = setting('rig.yaml', 'YAML file with parameters, or one of config/')
    use_controller: bool = setting(True, 'whether the controller runs')
    serial_port: str = setting(
        'emulator',
        'device, symlink or socket://host:port of the board; '
        'emulator: an emulated bench, no board is needed',
    )
    baud: int = setting(BAUD, 'of the port', 'baud', above=0)
    twin: bool = setting(
        False, 'whether the model runs beside the bench, and how far both are apart is sent'
    )

    def programs(self) -> list[processes.Program]:
        """Return the Programs that these arguments ask for."""
        bridge = {'serial_port': self.serial_port, 'baud': self.baud, 'twin': self.twin}
        return processes.hil_system(
            self.robot,
            self.xacro_arguments.split(),
            self.namespace,
            self.use_controller,
            self.params_file,
            self.log_level,
            rviz=self.use_rviz,
            rviz_config_file=self.rviz_config_file,
            settings={processes.BRIDGE: bridge},
            view=self.view,
            record=self.recording,
            drift=self.drift,
            tool=self.tool,
            trajectory_action=self.trajectory_action and self.use_controller,
        )


@dataclass(frozen=True)
class ShaperArguments(Settings):
    """Arguments of shaper.launch.py."""

    robot: str = setting(
        processes.TOPIC,
        'URDF or xacro file, or a shipped robot; robot_description: what '
        'arrives on this topic; none: any robot, by frequencies',
    )
    xacro_arguments: str = setting('', 'NAME:=VALUE for a xacro file, with spaces between')
    tool: str = setting('', 'link that is the tool; empty: the one that flexsim check shows')
    frequencies: str = setting(
        '',
        'what the arm rings with [Hz], with spaces between; without them, the modes of the robot',
    )
    damping_ratios: str = setting('', 'of each of the frequencies, with spaces between')
    shaper: str = setting(
        AUTO, 'shaper of each mode; auto: what flexsim shape recommends', choices=NODE_SHAPERS
    )
    design_file: str = setting('', 'file of flexsim shape --output, in place of these')
    payload: str = setting(
        '', 'mass at the tool [kg]; several, with spaces between: anything between them'
    )
    controller_action: str = setting(
        '', 'FollowJointTrajectory of the controller, to which goals go on; without it, its topic'
    )
    stream: str = setting(
        'none',
        'messages of a stream of set points',
        choices=('none', 'commands', 'joint_state', 'joint_trajectory'),
    )
    stream_rate: float = setting(
        100.0, 'rate of the set points that are sent', 'Hz', above=0.0, at_most=2000.0
    )
    max_path_deviation: float = setting(
        0.0,
        'largest distance of the shaped tool path from the unshaped one; a trajectory above '
        'it is refused; 0: no limit',
        'm',
        at_least=0.0,
    )
    joints: str = setting(
        '', 'of a stream, in its order, with spaces between; without them, those of the robot'
    )
    input: str = setting(topics.SHAPER_TRAJECTORY.name, 'topic of those who send trajectories')
    output: str = setting(topics.TRAJECTORY.name, 'topic of the controller')
    stream_input: str = setting(topics.SHAPER_SET_POINTS.name, 'topic of the stream')
    stream_output: str = setting(topics.SET_POINTS.name, 'topic of the driver')
    joint_states: str = setting(topics.JOINT_STATES.name, 'topic that says where the arm is')
    namespace: str = setting('', 'of all nodes, topics and services')
    params_file: str = setting('', 'YAML file with parameters, or one of config/')
    use_sim_time: bool = setting(False, 'whether the node lives by /clock')
    network: bool = setting(False, NETWORK_HELP)
    log_level: str = setting('info', 'of the node', choices=processes.LOG_LEVELS)

    def programs(self) -> list[processes.Program]:
        """Return the Program that these arguments ask for."""
        if self.robot == 'none' and not self.frequencies and not self.design_file:
            raise SettingError('robot = "none" needs frequencies: say what the arm rings with')
        known = {processes.TOPIC: '', 'none': ''}.get(self.robot, self.robot)
        parameters = {
            **processes.robot_parameters(known, self.xacro_arguments.split(), self.tool),
            'use_sim_time': self.use_sim_time,
            'shaper': self.shaper,
            'stream': self.stream,
        }
        for name in ('stream_rate', 'max_path_deviation'):
            if getattr(self, name) != getattr(type(self), name):  # those of params_file count
                parameters[name] = getattr(self, name)
        if self.design_file:
            parameters['design_file'] = str(Path(self.design_file).absolute())
        if self.controller_action:
            parameters['controller_action'] = self.controller_action
        if self.joints:
            parameters['joints'] = self.joints.split()
        for name in ('frequencies', 'damping_ratios', 'payload'):
            if getattr(self, name):
                parameters[name] = _numbers(name, getattr(self, name))
        remappings = (
            (topics.SHAPER_TRAJECTORY.private.name, self.input),
            (topics.TRAJECTORY.name, self.output),
            (topics.SHAPER_SET_POINTS.private.name, self.stream_input),
            (topics.SET_POINTS.name, self.stream_output),
            (topics.JOINT_STATES.name, self.joint_states),
        )
        params_file = self.params_file and processes.config_file('params_file', self.params_file)
        return [
            processes.Program(
                processes.SHAPER,
                parameters,
                namespace=self.namespace,
                params_file=params_file,
                remappings=remappings,
                log_level=self.log_level,
            )
        ]


def _numbers(name, text):
    """List of the numbers in an argument."""
    try:
        return [float(word) for word in text.replace(',', ' ').strip('[] ').split()]
    except ValueError as error:
        raise SettingError(f'{name} = "{text}" must be numbers with spaces between') from error
