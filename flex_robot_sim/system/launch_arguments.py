"""Arguments of the launch files, and the programs that they request."""

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
    'allow other machines to subscribe and command; false: all sockets are bound to this machine'
)


@dataclass(frozen=True)
class SystemArguments(Settings):
    """Arguments that simulation.launch.py and hil.launch.py share."""

    robot: str = setting('', 'URDF or xacro file, or name of a shipped robot')
    xacro_arguments: str = setting(
        '', 'arguments of the xacro file, NAME:=VALUE, separated by spaces'
    )
    tool: str = setting('', 'tool link; empty: the link that flexsim check prints')
    namespace: str = setting('', 'namespace of all nodes, topics and services')
    trajectory_action: bool = setting(
        True, 'offer the action controller/follow_joint_trajectory, if control_msgs is installed'
    )
    use_rviz: bool = setting(True, 'start rviz2')
    rviz_config_file: str = setting(
        '',
        'configuration of rviz2, a path or a name in config/; empty: '
        'simulation.rviz, fitted to the robot',
    )
    view: bool = setting(False, 'show the arm in a browser; the terminal prints the address')
    drift: bool = setting(
        False, 'compare the residual vibration with the model, and report drift in /diagnostics'
    )
    record: bool = setting(False, 'record all topics')
    record_file: str = setting(
        '', 'file of the recording; it must not exist. Empty: record_TIME in the current folder'
    )
    network: bool = setting(False, NETWORK_HELP)
    log_level: str = setting('info', 'log level of all nodes', choices=processes.LOG_LEVELS)

    @property
    def recording(self) -> str | None:
        """File that is to be written; '': one named after the time; None: none."""
        return self.record_file if self.record or self.record_file else None


@dataclass(frozen=True)
class SimulationArguments(SystemArguments):
    """Arguments of simulation.launch.py."""

    robot: str = setting(
        'two_link',
        'URDF or xacro file, or name of a shipped robot; robot_description: the robot '
        'received on this topic',
    )
    params_file: str = setting(
        PARAMS_FILE,
        'YAML file with parameters, a path or a name in config/; the default also '
        'loads config/robots/ROBOT.yaml',
    )
    use_controller: str = setting(
        'auto',
        'start the controller; inside: in the process of the dynamics; auto: inside '
        'if the settings of the robot have servo: drives, otherwise true',
        choices=tuple(processes.CONTROLLERS),
    )
    use_sim_time: bool = setting(False, 'dynamics publishes /clock, and all other nodes use it')

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

    robot: str = setting('rig', 'URDF or xacro file of the bench, or name of a shipped robot')
    params_file: str = setting(
        'rig.yaml', 'YAML file with parameters, a path or a name in config/'
    )
    use_controller: bool = setting(True, 'start the controller')
    serial_port: str = setting(
        'emulator',
        'device, symlink or socket://host:port of the board; emulator: an emulated '
        'bench without a board',
    )
    baud: int = setting(BAUD, 'baud rate of the port', 'baud', above=0)
    twin: bool = setting(
        False, 'run the model in parallel with the bench, and publish the residual'
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
        'URDF or xacro file, or name of a shipped robot; robot_description: the robot '
        'received on this topic; none: no robot, frequencies only',
    )
    xacro_arguments: str = setting(
        '', 'arguments of the xacro file, NAME:=VALUE, separated by spaces'
    )
    tool: str = setting('', 'tool link; empty: the link that flexsim check prints')
    frequencies: str = setting(
        '',
        'natural frequencies of the arm [Hz], separated by spaces; empty: the modes of the robot',
    )
    damping_ratios: str = setting('', 'damping ratio of each frequency, separated by spaces')
    shaper: str = setting(
        AUTO,
        'shaper of each mode; auto: the recommendation of flexsim shape',
        choices=NODE_SHAPERS,
    )
    design_file: str = setting('', 'design of flexsim shape --output, which replaces these')
    payload: str = setting(
        '',
        'payload mass at the tool [kg]; several values, separated by spaces: any '
        'mass between them',
    )
    controller_action: str = setting(
        '',
        'FollowJointTrajectory action of the controller that receives the shaped '
        'goals; empty: the trajectory topic',
    )
    stream: str = setting(
        'none',
        'message type of streamed set points',
        choices=('none', 'commands', 'joint_state', 'joint_trajectory'),
    )
    stream_rate: float = setting(
        100.0, 'rate of the published set points', 'Hz', above=0.0, at_most=2000.0
    )
    max_path_deviation: float = setting(
        0.0,
        'largest distance of the shaped tool path from the unshaped path; '
        'trajectories above it are rejected; 0: no limit',
        'm',
        at_least=0.0,
    )
    joints: str = setting(
        '',
        'joints of a stream, in the order of its values, separated by spaces; '
        'empty: those of the robot with a motor',
    )
    input: str = setting(topics.SHAPER_TRAJECTORY.name, 'topic of the unshaped trajectories')
    output: str = setting(topics.TRAJECTORY.name, 'topic of the shaped trajectories')
    stream_input: str = setting(topics.SHAPER_SET_POINTS.name, 'topic of the unshaped set points')
    stream_output: str = setting(topics.SET_POINTS.name, 'topic of the shaped set points')
    joint_states: str = setting(topics.JOINT_STATES.name, 'topic of the joint states')
    namespace: str = setting('', 'namespace of all nodes, topics and services')
    params_file: str = setting('', 'YAML file with parameters, a path or a name in config/')
    use_sim_time: bool = setting(False, 'use /clock')
    network: bool = setting(False, NETWORK_HELP)
    log_level: str = setting('info', 'log level of the node', choices=processes.LOG_LEVELS)

    def programs(self) -> list[processes.Program]:
        """Return the Program that these arguments ask for."""
        if self.robot == 'none' and not self.frequencies and not self.design_file:
            raise SettingError(
                'robot = "none" needs frequencies: give the natural frequencies of the arm'
            )
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
