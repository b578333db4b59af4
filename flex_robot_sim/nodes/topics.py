"""Quality of service of our topics, one for each kind of message: what docs/ros.md lists."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STATES = QoSProfile(depth=10)
"""Reliable, depth ten: any subscriber matches, and a slow one misses old states only."""

COMMANDS = QoSProfile(depth=10)

COMMAND_TOPICS = 'joint_commands', 'effort_controller/commands'
"""By which one node, and no other, gives efforts to an arm."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Published once and latched for later subscribers, as robot_description is."""

CLOCK = QoSProfile(depth=1)

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For subscribers that poll the newest message only."""

SAMPLES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For subscribers that poll all messages since the last poll."""
