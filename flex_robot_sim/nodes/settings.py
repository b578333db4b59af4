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
        'surface strain at which the colour of bending_markers is full; 0: that of a link that '
        'bends by a tenth of its length',
        at_least=0.0,
        live=True,
    )
    wrench_joints: tuple = setting((), 'joints whose wrenches are published', of=str)
    publish_clock: bool = setting(
        False, 'publish /clock; stamps are then simulated time, as in lockstep'
    )
    clock_rate: float = setting(100.0, 'rate of /clock', 'Hz', above=0.0)


@dataclass(frozen=True)
class ShaperSettings(Settings):
    """Shaping of trajectories and streams by the shaper node."""

    shaper: str = setting(
        AUTO,
        'shaper of each mode; auto: the recommendation of flexsim shape; none: trajectories are '
        'only resampled',
        choices=NODE_SHAPERS,
        live=True,
    )
    design_file: str = setting(
        '',
        'file of flexsim shape --output, in place of shaper, frequencies and payload; empty: none',
    )
    frequencies: tuple = setting(
        (),
        'natural frequencies of the arm, slowest first; none: the '
        'modes of the robot, in each pose',
        'Hz',
        above=0.0,
        live=True,
    )
    damping_ratios: tuple = setting(
        (), 'one for each of frequencies; none: zero', at_least=0.0, live=True
    )
    payload: tuple = setting(
        (),
        'mass at the tool; several: any unknown mass between them; none: that of the robot',
        'kg',
        at_least=0.0,
        live=True,
    )
    period: float = setting(0.02, 'longest time between two points that are sent', 's', above=0.0)
    shortest_period: float = setting(
        0.0,
        'shortest time between two points that are sent, for drivers with small buffers',
        's',
        at_least=0.0,
    )
    max_path_deviation: float = setting(
        0.0,
        'largest distance of the shaped tool path from the unshaped one; a trajectory above '
        'it is refused; 0: no limit',
        'm',
        at_least=0.0,
        live=True,
    )
    start_tolerance: float = setting(
        0.1,
        'largest distance of the arm from the start of a trajectory or a stream',
        'rad, m',
        at_least=0.0,
        live=True,
    )
    controller_action: str = setting(
        '', 'FollowJointTrajectory of the controller, for shaped goals; empty: its topic'
    )
    stream: str = setting(
        'none',
        'messages of a stream of set points: Float64MultiArray, '
        'JointState, or JointTrajectory of one point',
        choices=('none', 'commands', 'joint_state', 'joint_trajectory'),
    )
    stream_rate: float = setting(
        100.0, 'of the set points that are sent', 'Hz', above=0.0, at_most=2000.0
    )
    joints: tuple = setting((), 'of a stream, in its order; none: those of the robot', of=str)


@dataclass(frozen=True)
class TrajectoryActionSettings(Settings):
    """Tolerances for goals of FollowJointTrajectory."""

    start_tolerance: float = setting(
        0.1, 'largest distance of the arm from the start of a trajectory', 'rad, m', at_least=0.0
    )
    goal_tolerance: float = setting(
        0.1,
        'largest distance from a goal at its end, for joints without a tolerance in the '
        'goal; 0: no limit',
        'rad, m',
        at_least=0.0,
    )


@dataclass(frozen=True)
class RecorderSettings(Settings):
    """Topics and file of the recorder."""

    output: str = setting(
        '', 'file to write, which must be new; empty: record_ and the time, in the current folder'
    )
    topics: tuple = setting(
        (),
        'topics to record, also with * and ?, relative to the namespace; '
        'none: all of the namespace, /clock, /diagnostics and /tf',
        of=str,
    )
    seconds: float = setting(0.0, 'after which it ends; 0: never', 's', at_least=0.0)


@dataclass(frozen=True)
class ViewSettings(Settings):
    """Page of the view node."""

    view_port: int = setting(
        0,
        'of the page, on this machine; 0: the first that is free from 8180 on',
        at_least=0,
        at_most=65535,
    )
    view_browser: bool = setting(True, 'whether a browser opens, where there is a display')
    view_rate: float = setting(30.0, 'of the pictures', 'Hz', at_least=1.0, at_most=60.0)
    view_span: float = setting(10.0, 'of the plots', 's', at_least=1.0, at_most=120.0)


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
