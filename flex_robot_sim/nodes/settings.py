"""Settings of nodes, and the settings classes that are the parameters of each node."""

from dataclasses import dataclass, fields

from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.feedback.feedback_settings import FeedbackSettings
from flex_robot_sim.identification.drift_settings import DriftSettings
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.realtime.loop_settings import LoopSettings, PayloadSettings
from flex_robot_sim.ros.node_settings import MessageSettings, NodeSettings, RobotSettings
from flex_robot_sim.shaping.impulses import AUTO, NODE_SHAPERS, ShapingSettings
from flex_robot_sim.util.settings import Settings, SimulationSettings, setting


@dataclass(frozen=True)
class OutputSettings(Settings):
    """Outputs of the dynamics node, and their rates."""

    joint_state_rate: float = setting(
        500.0, 'rate of joint_states and motor_states', 'Hz', at_least=0.0, live=True
    )
    flex_rate: float = setting(
        100.0,
        'rate of flex_states, strain, tip deflections, tool_pose and joint wrenches',
        'Hz',
        at_least=0.0,
        live=True,
    )
    display_rate: float = setting(
        30.0,
        'rate of bending_markers and display_joint_states',
        'Hz',
        at_least=0.01,
        at_most=1000.0,
        live=True,
    )
    strain_scale: float = setting(
        0.0,
        'surface strain at full colour of bending_markers; 0: the strain at a '
        'deflection of a tenth of the length',
        at_least=0.0,
        live=True,
    )
    wrench_joints: tuple = setting((), 'joints whose wrenches are published', of=str)
    publish_clock: bool = setting(
        False, 'publish /clock; stamps are then simulated time, as in lockstep'
    )
    clock_rate: float = setting(100.0, 'rate of /clock', 'Hz', above=0.0)
    sensor_seed: int = setting(0, 'seed of the noise of IMUs and encoders', at_least=0)


@dataclass(frozen=True)
class ShaperSettings(Settings):
    """Shaping of trajectories and streams by the shaper node."""

    shaper: str = setting(
        AUTO,
        'shaper of each mode; auto: the recommendation of flexsim shape; none: '
        'trajectories are only resampled',
        choices=NODE_SHAPERS,
        live=True,
    )
    design_file: str = setting(
        '',
        'design of flexsim shape --output, which replaces shaper, frequencies and '
        'payload; empty: none',
    )
    frequencies: tuple = setting(
        (),
        'natural frequencies of the arm, lowest first; empty: the modes of the robot in each pose',
        'Hz',
        above=0.0,
        live=True,
    )
    damping_ratios: tuple = setting(
        (), 'damping ratio of each of the frequencies; empty: zero', at_least=0.0, live=True
    )
    payload: tuple = setting(
        (),
        'payload mass at the tool; several values: any mass between them; empty: the '
        'mass in the robot description',
        'kg',
        at_least=0.0,
        live=True,
    )
    period: float = setting(0.02, 'longest time between two published points', 's', above=0.0)
    shortest_period: float = setting(
        0.0,
        'shortest time between two published points, for drivers with small buffers',
        's',
        at_least=0.0,
    )
    max_path_deviation: float = setting(
        0.0,
        'largest distance of the shaped tool path from the unshaped path; '
        'trajectories above it are rejected; 0: no limit',
        'm',
        at_least=0.0,
        live=True,
    )
    start_tolerance: float = setting(
        0.1,
        'largest distance of the arm from the start of a trajectory or stream',
        'rad, m',
        at_least=0.0,
        live=True,
    )
    controller_action: str = setting(
        '',
        'FollowJointTrajectory action of the controller that receives the shaped '
        'goals; empty: the trajectory topic',
    )
    stream: str = setting(
        'none',
        'message type of streamed set points: Float64MultiArray, JointState, or '
        'JointTrajectory of one point',
        choices=('none', 'commands', 'joint_state', 'joint_trajectory'),
    )
    stream_rate: float = setting(
        100.0, 'rate of the published set points', 'Hz', above=0.0, at_most=2000.0
    )
    joints: tuple = setting(
        (),
        'joints of a stream, in the order of its values; empty: those of the robot with a motor',
        of=str,
    )


@dataclass(frozen=True)
class TrajectoryActionSettings(Settings):
    """Tolerances for goals of FollowJointTrajectory."""

    start_tolerance: float = setting(
        0.1, 'largest distance of the arm from the start of a trajectory', 'rad, m', at_least=0.0
    )
    goal_tolerance: float = setting(
        0.1,
        'largest distance from the goal at its end, for joints without a tolerance in '
        'the goal; 0: no limit',
        'rad, m',
        at_least=0.0,
    )


@dataclass(frozen=True)
class RecorderSettings(Settings):
    """Topics and file of the recorder."""

    output: str = setting(
        '', 'file to write; it must not exist. Empty: record_TIME in the current folder'
    )
    topics: tuple = setting(
        (),
        'topics to record, relative to the namespace, with wildcards * and ?; empty: '
        'all topics of the namespace, /clock, /diagnostics and /tf',
        of=str,
    )
    seconds: float = setting(0.0, 'duration of the recording; 0: unlimited', 's', at_least=0.0)


@dataclass(frozen=True)
class ViewSettings(Settings):
    """Page of the view node."""

    view_port: int = setting(
        0,
        'port of the page on this machine; 0: the first free port from 8180',
        at_least=0,
        at_most=65535,
    )
    view_browser: bool = setting(True, 'open a browser if there is a display')
    view_rate: float = setting(30.0, 'rate of the pictures', 'Hz', at_least=1.0, at_most=60.0)
    view_span: float = setting(10.0, 'time span of the plots', 's', at_least=1.0, at_most=120.0)


DYNAMICS_SETTINGS = (
    RobotSettings,
    SimulationSettings,
    LoopSettings,
    PayloadSettings,
    OutputSettings,
    MessageSettings,
    NodeSettings,
)
CONTROLLER_SETTINGS = (
    RobotSettings,
    PayloadSettings,
    ControllerSettings,
    ShapingSettings,
    FeedbackSettings,
    ProfileSettings,
    MessageSettings,
    NodeSettings,
)
SHAPER_SETTINGS = (RobotSettings, ShaperSettings, MessageSettings, NodeSettings)
TRAJECTORY_ACTION_SETTINGS = (
    RobotSettings,
    TrajectoryActionSettings,
    MessageSettings,
    NodeSettings,
)
RECORDER_SETTINGS = (RecorderSettings, NodeSettings)
VIEW_SETTINGS = (RobotSettings, ViewSettings, NodeSettings)
DRIFT_SETTINGS = (RobotSettings, DriftSettings, NodeSettings)
"""Parameters by node; a controller inside the dynamics process has no RobotSettings."""

KNOWN_PARAMETERS = {
    item.name
    for kind in (
        *DYNAMICS_SETTINGS,
        *CONTROLLER_SETTINGS,
        *VIEW_SETTINGS,
        *DRIFT_SETTINGS,
        *TRAJECTORY_ACTION_SETTINGS,
    )
    for item in fields(kind)
}
"""Parameters of the nodes that share simulation.yaml; each node reads its own ones."""
