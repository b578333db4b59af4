"""Settings that only nodes have, and which settings are the parameters of which node."""

from dataclasses import dataclass

from flex_robot_sim.assembly import COUPLINGS, GRAVITY
from flex_robot_sim.control.settings import ControllerSettings, ProfileSettings
from flex_robot_sim.realtime.settings import LoopSettings, PayloadSettings
from flex_robot_sim.settings import Settings, SimulationSettings, setting


@dataclass(frozen=True)
class RobotSettings(Settings):
    """Which robot."""

    robot: str = setting('', 'URDF or xacro file, or a shipped robot; empty: what arrives on '
                             'robot_description')
    xacro_arguments: tuple = setting((), 'NAME:=VALUE for a xacro file', of=str)
    coupling: str = setting('shortening', 'elastic terms that live', choices=COUPLINGS)
    gravity: tuple = setting(GRAVITY, 'in the base frame', 'm/s2')


@dataclass(frozen=True)
class OutputSettings(Settings):
    """What goes out, and how often."""

    joint_state_rate: float = setting(500.0, 'rate of joint_states and motor_states', 'Hz',
                                      at_least=0.0, live=True)
    flex_rate: float = setting(
        100.0, 'rate of flex_states, strain, tip deflections, tool_pose and joint wrenches', 'Hz',
        at_least=0.0, live=True)
    display_rate: float = setting(30.0, 'rate of bending_markers and display_joint_states', 'Hz',
                                  above=0.0, live=True)
    strain_scale: float = setting(
        0.0, 'surface strain at which the colour of bending_markers is full; 0: that at which a '
        'link bends by a tenth of its length', at_least=0.0, live=True)
    tool_link: str = setting('', 'link whose pose goes out as tool_pose; empty: "tool", or else '
                                 'the last link')
    wrench_joints: tuple = setting((), 'joints whose wrenches go out', of=str)
    publish_clock: bool = setting(
        False, 'send /clock; stamps are simulated time then, as they are in lockstep')
    clock_rate: float = setting(100.0, 'rate of /clock', 'Hz', above=0.0)


@dataclass(frozen=True)
class NodeSettings(Settings):
    """How a node runs."""

    executor: str = setting('auto', 'executor of rclpy; auto takes that of events, which needs '
                                    'least time, where there is one',
                            choices=('auto', 'events', 'single_threaded'))


DYNAMICS_SETTINGS = (RobotSettings, SimulationSettings, LoopSettings, PayloadSettings,
                     OutputSettings, NodeSettings)
CONTROLLER_SETTINGS = (RobotSettings, ControllerSettings, ProfileSettings, NodeSettings)
"""The parameters of the nodes; inside the process of the dynamics, the robot is theirs."""
