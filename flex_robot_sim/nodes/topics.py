"""Names of topics, their quality of service, and who talks to whom: what docs/ros.md lists."""

import re

from rclpy.qos import DurabilityPolicy, QoSProfile

STATES = QoSProfile(depth=10)
"""Reliable, the last ten: everybody can listen, and a slow one misses old states only."""

COMMANDS = QoSProfile(depth=10)

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""What is sent once and kept for those who come later, as robot_description is."""

CLOCK = QoSProfile(depth=1)


def topic_words(names):
    """{name: word} with letters, digits and _ only, each once, for names of links and joints."""
    words = {}
    for name in names:
        word = re.sub(r'[^A-Za-z0-9_]', '_', name)
        word = f'_{word}' if word[:1].isdigit() or not word else word
        while word in words.values():
            word += '_'
        words[name] = word
    return words
