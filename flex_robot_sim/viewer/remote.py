"""Commands of a page to an arm in another process."""

from typing import Protocol

import numpy as np

PAUSE, STEP, RESET, DISARM = 'pause', 'step', 'reset', 'disarm'
COMMAND_JOINT, PUSH, PAYLOAD, SHAPER, FEEDBACK = (
    'lead', 'push', 'payload', 'shaper', 'vibration_feedback')


class Remote(Protocol):
    """Interface that forwards commands; its methods do not wait for a reply."""

    def unavailable_reason(self, command: str) -> str:
        """Return the reason why a command is unavailable; '' if it is available."""

    def choices(self, command: str) -> tuple[str, ...]:
        """Return the options of SHAPER or FEEDBACK."""

    def value(self, command: str) -> str:
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

    def attach_payload(self, link: str, mass: float, informs_controller: bool) -> None:
        """
        Attach a payload [kg] to a link.

        :param informs_controller: whether to set the payload of the controller, too.
        """

    def choose(self, command: str, value: str) -> None:
        """Set SHAPER or FEEDBACK."""

    def pop_message(self) -> str:
        """Return a line about the result of an earlier command, or ''."""
