"""Settings of every node: its robot, its execution, and the limits of its messages."""

from dataclasses import dataclass

from flex_robot_sim.model.assembly import COUPLINGS
from flex_robot_sim.util.settings import Settings, setting


@dataclass(frozen=True)
class RobotSettings(Settings):
    """Selection of the robot."""

    robot: str = setting(
        '',
        'URDF or xacro file, or name of a shipped robot; empty: the robot '
        'received on robot_description',
    )
    xacro_arguments: tuple = setting((), 'arguments of the xacro file, NAME:=VALUE', of=str)
    coupling: str = setting(
        'shortening',
        'elastic terms of the dynamics: with or without shortening by bending',
        choices=COUPLINGS,
    )
    gravity: tuple = setting(
        (),
        'gravity in the base frame; empty: that of the robot, 0 0 -9.81 without <gravity>',
        'm/s2',
        of=float,
    )
    tool: str = setting('', 'tool link; empty: the link that flexsim check prints')


@dataclass(frozen=True)
class NodeSettings(Settings):
    """Execution of a node."""

    executor: str = setting(
        'auto',
        'executor of rclpy; auto: the events executor if rclpy has one, otherwise single_threaded',
        choices=('auto', 'events', 'single_threaded'),
    )
    thread_priority: int = setting(
        10,
        'SCHED_FIFO priority of the threads of the node, if permitted; 0: normal scheduling',
        at_least=0,
    )


@dataclass(frozen=True)
class MessageSettings(Settings):
    """Size limits of messages; longer ones are refused before deserialization."""

    max_trajectory_points: int = setting(
        20_000, 'maximum number of points of a trajectory', at_least=1, at_most=10_000_000
    )
    max_names: int = setting(
        1000, 'maximum number of joint names in a message', at_least=1, at_most=1_000_000
    )
