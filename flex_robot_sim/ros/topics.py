"""Quality of service by kind of topic, as listed in docs/ros.md."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STATES = QoSProfile(depth=10)
"""Reliable, depth ten: compatible with any subscriber; a slow one misses old states only."""

COMMANDS = QoSProfile(depth=10)

COMMAND_TOPICS = 'joint_commands', 'effort_controller/commands'
"""Effort commands for an arm; only one node should publish them."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Published once and latched for later subscribers, such as robot_description."""

CLOCK = QoSProfile(depth=1)

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For subscribers that poll the newest message only."""

SAMPLES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For subscribers that poll all messages since the last poll."""
