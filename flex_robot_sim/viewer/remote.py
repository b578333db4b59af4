"""Commands of a page to an arm in another process."""

from __future__ import annotations

from typing import Protocol

import numpy as np

PAUSE, STEP, RESET, DISARM = 'pause', 'step', 'reset', 'disarm'
COMMAND_JOINT, PUSH, PAYLOAD, SHAPER, FEEDBACK = (
    'lead', 'push', 'payload', 'shaper', 'vibration_feedback')


class Remote(Protocol):
    """Interface that forwards commands; no method waits for an answer."""

    def why_not(self, what: str) -> str:
        """Return why a command is not available now; '' if it is."""

    def choices(self, what: str) -> tuple[str, ...]:
        """Return the options of SHAPER or FEEDBACK."""

    def value(self, what: str) -> str:
        """Return the value of SHAPER or FEEDBACK; '' if unknown."""

    def pause(self, is_paused: bool) -> None:
        """Pause or resume simulated time."""

    def step(self) -> None:
        """Take one step."""

    def reset(self) -> None:
        """Reset the arm to its start state."""

    def disarm(self) -> None:
        """Disable the motors of a bench."""

    def command_joint(self, joint: str, position: float) -> None:
        """Command a joint to a position [rad, m]."""

    def push(self, link: str, force: np.ndarray) -> None:
        """Push a link with a force (3,) in its frame [N] until the next call."""

    def carry(self, link: str, mass: float, informs_controller: bool) -> None:
        """
        Attach a payload [kg] to a link.

        :param informs_controller: whether to set the payload of the controller, too.
        """

    def choose(self, what: str, value: str) -> None:
        """Set SHAPER or FEEDBACK."""

    def news(self) -> str:
        """Return a line about the result of an earlier command, or ''."""
