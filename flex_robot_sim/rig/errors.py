"""What a user of the rig can mend: cables, permissions, switches, and the order of commands."""

from flex_robot_sim.exceptions import FlexRobotSimError


class RigError(FlexRobotSimError):
    """The rig cannot be reached or used."""


class CommandRefused(RigError):
    """The board answered, and said no; `ack` is its answer."""

    def __init__(self, text, ack):
        self.ack = ack
        super().__init__(text)
