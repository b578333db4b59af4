"""Commands of a page to an arm in another process."""

from typing import Protocol

import numpy as np


class Command:
    """Names of the commands."""

    PAUSE, STEP, RESET, DISARM = 'pause', 'step', 'reset', 'disarm'
    JOINT, PUSH, PAYLOAD = 'joint', 'push', 'payload'
    SHAPER, FEEDBACK = 'shaper', 'vibration_feedback'  # parameters of the controller


class Remote(Protocol):
    """Interface that forwards commands; its methods do not wait for a reply."""

    def unavailable_reason(self, command: str) -> str:
        """Return the reason why a command is unavailable; '' if it is available."""

    def value(self, command: str) -> str:
        """Return the value of SHAPER or FEEDBACK; '' if unknown."""

    def call(self, command: str, is_on: bool | None = None) -> None:
        """Pause (True), resume (False), step or reset a simulation, or disarm a bench (False)."""

    def command_joint(self, joint: str, position: float) -> None:
        """Command a joint to a position [rad, m]."""

    def push(self, link: str, force: np.ndarray) -> None:
        """Push a link with a force (3,) in its frame [N] until the next call."""

    def attach_payload(self, link: str, mass: float, informs_controller: bool) -> None:
        """Attach a payload [kg] to a link; the controller ignores it unless informed."""

    def choose(self, command: str, value: str) -> None:
        """Set SHAPER or FEEDBACK."""

    def pop_message(self) -> str:
        """Return a line about the result of an earlier command, or ''."""
