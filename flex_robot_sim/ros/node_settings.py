"""Settings of every node: its robot, its execution, and the limits of its messages."""

from dataclasses import dataclass

from flex_robot_sim.model.assembly import COUPLINGS, GRAVITY
from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class RobotSettings(Settings):
    """Selection of the robot."""

    robot: str = setting(
        '', 'URDF or xacro file, or a shipped robot; empty: from the topic robot_description'
    )
    xacro_arguments: tuple = setting((), 'NAME:=VALUE for a xacro file', of=str)
    coupling: str = setting('shortening', 'elastic terms of the model', choices=COUPLINGS)
    gravity: tuple = setting(GRAVITY, 'in the base frame', 'm/s2')
    tool: str = setting('', 'link that is the tool; empty: the one that flexsim check shows')


@dataclass(frozen=True)
class NodeSettings(Settings):
    """Execution of a node."""

    executor: str = setting(
        'auto',
        'executor of rclpy; auto: the events executor, which takes least time, if there is one',
        choices=('auto', 'events', 'single_threaded'),
    )
    thread_priority: int = setting(
        10, 'SCHED_FIFO priority of the threads of a node, if allowed; 0 asks for none', at_least=0
    )


@dataclass(frozen=True)
class MessageSettings(Settings):
    """Size limits of messages; longer ones are refused before deserialization."""

    max_trajectory_points: int = setting(
        20_000, 'points of a trajectory, at most', at_least=1, at_most=10_000_000
    )
    max_names: int = setting(
        1000, 'joints that a message names, at most', at_least=1, at_most=1_000_000
    )
