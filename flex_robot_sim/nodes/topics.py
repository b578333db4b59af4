"""Quality of service of our topics, one for each kind of message: what docs/ros.md lists."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STATES = QoSProfile(depth=10)
"""Reliable, the last ten: everybody can listen, and a slow one misses old states only."""

COMMANDS = QoSProfile(depth=10)

COMMAND_TOPICS = 'joint_commands', 'effort_controller/commands'
"""By which one node, and no other, gives efforts to an arm."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""What is sent once and kept for those who come later, as robot_description is."""

CLOCK = QoSProfile(depth=1)

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For who looks now and then, and wants the newest only: nobody waits for him."""

SAMPLES = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Likewise, for who wants all that have come since he looked last."""
