"""Errors that you can fix at the rig: cables, permissions, switches, order of commands."""

from typing import Any

from flex_robot_sim.util.exceptions import FlexRobotSimError


class RigError(FlexRobotSimError):
    """The rig cannot be reached or used."""


class CommandRefused(RigError):
    """The board refused a command; `ack` is its answer, an Ack of the wire."""

    def __init__(self, text: str, ack: Any) -> None:
        self.ack = ack
        super().__init__(text)
