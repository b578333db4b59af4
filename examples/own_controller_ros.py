"""
Your own controller as a ROS 2 node: joint states in, efforts out.

It controls any arm that publishes joint_states, simulated or real. In another terminal, run:

    ros2 run flex_robot_sim dynamics --ros-args -p robot:=two_link
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import rclpy
from sensor_msgs.msg import JointState

TARGET = {'waist': 0.5, 'shoulder': 0.5, 'elbow': -0.8}  # [rad]
SECONDS = 3.0

rclpy.init()
node = rclpy.create_node('own_controller')
commands = node.create_publisher(JointState, 'joint_commands', 10)
times: list[float] = []
angles: list[np.ndarray] = []


def answer(state):
    """Send the efforts of a PD controller for a joint state."""
    position, velocity = np.array(state.position), np.array(state.velocity)
    error = np.array([TARGET[name] for name in state.name]) - position
    commands.publish(
        JointState(
            header=state.header, name=state.name, effort=(40.0 * error - 4.0 * velocity).tolist()
        )
    )
    times.append(state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec)
    angles.append(position)


node.create_subscription(JointState, 'joint_states', answer, 1)
while rclpy.ok() and (not times or times[-1] < times[0] + SECONDS):
    rclpy.spin_once(node, timeout_sec=0.1)
print(
    f'{len(times)} states answered; the joints are at '
    f'{", ".join(f"{angle:.2f}" for angle in angles[-1])} rad'
)

plt.plot(np.array(times) - times[0], angles, label=list(TARGET))
plt.xlabel('time [s]')
plt.ylabel('joints [rad]')
plt.legend()
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'own_controller_ros.png', dpi=120)
rclpy.try_shutdown()
