"""The newest positions and velocities of joints, from JointState messages."""

import math

from sensor_msgs.msg import JointState


class JointTable:
    """Values by joint name; messages may name any of the joints."""

    def __init__(self) -> None:
        self.positions: dict[str, float] = {}  # [rad, m]
        self.velocities: dict[str, float] = {}  # of the message, or from two positions [per s]
        self.times: dict[str, float] = {}  # when the values arrived                 [s]

    def update(self, message: JointState, now: float) -> None:
        """Store the values of a message that arrives now [s]; non-finite values are ignored."""
        has_velocity = len(message.velocity) == len(message.name)
        for k, (name, position) in enumerate(zip(message.name, message.position)):
            velocity = message.velocity[k] if has_velocity else self._slope(name, position, now)
            if math.isfinite(position) and math.isfinite(velocity):
                self.positions[name], self.velocities[name] = position, velocity
                self.times[name] = now

    def position_at(self, name: str, now: float) -> float:
        """Position of a joint at a time [s], extrapolated from the newest value [rad, m]."""
        return self.positions[name] + self.velocities[name] * (now - self.times[name])

    def _slope(self, name, position, now):
        elapsed = now - self.times.get(name, now)
        return (position - self.positions[name]) / elapsed if elapsed > 0.0 else 0.0
