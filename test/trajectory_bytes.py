"""JointTrajectory messages as bytes, without rclpy."""

import numpy as np

from flex_robot_sim.ros.cdr import encode
from flex_robot_sim.ros.definitions import message_type

LINE = f'{"=" * 80}\nMSG: '
JOINT_TRAJECTORY = message_type(
    'trajectory_msgs/msg/JointTrajectory',
    f"""
std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint[] points
{LINE}std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{LINE}builtin_interfaces/Time
int32 sec
uint32 nanosec
{LINE}builtin_interfaces/Duration
int32 sec
uint32 nanosec
{LINE}trajectory_msgs/JointTrajectoryPoint
float64[] positions
float64[] velocities
float64[] accelerations
float64[] effort
builtin_interfaces/Duration time_from_start
""",
)


def long_trajectory(points, names, size=0.02):
    """Return a smooth motion of 1 kHz out and back by 2 * size, with all its derivatives."""
    times = 1e-3 * np.arange(1, points + 1)
    rate = 2 * np.pi / times[-1]
    curves = size * np.array(
        [1 - np.cos(rate * times), rate * np.sin(rate * times), rate**2 * np.cos(rate * times)]
    )
    curves[1, -1] = 0.0
    rows = curves.T[:, :, None].repeat(len(names), axis=2)
    return encode(
        JOINT_TRAJECTORY,
        {
            'joint_names': list(names),
            'points': [
                {
                    'positions': row[0],
                    'velocities': row[1],
                    'accelerations': row[2],
                    'time_from_start': dict(zip(('sec', 'nanosec'), divmod(k * 10**6, 10**9))),
                }
                for k, row in enumerate(rows, 1)
            ],
        },
    )
