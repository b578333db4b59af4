"""What a page may ask of an arm that moves elsewhere."""

from __future__ import annotations

from typing import Protocol

import numpy as np

PAUSE, STEP, RESET, DISARM = 'pause', 'step', 'reset', 'disarm'
LEAD, PUSH, PAYLOAD, SHAPER, FEEDBACK = 'lead', 'push', 'payload', 'shaper', 'vibration_feedback'


class Remote(Protocol):
    """Who passes it on; nothing here waits for an answer."""

    def why_not(self, what: str) -> str:
        """Why something of the above cannot be asked for now; '' if it can."""

    def choices(self, what: str) -> tuple[str, ...]:
        """Return what SHAPER or FEEDBACK may be."""

    def value(self, what: str) -> str:
        """Return what SHAPER or FEEDBACK is, as far as anybody has told; ''."""

    def pause(self, is_paused: bool) -> None:
        """Let time stand still, or go on."""

    def step(self) -> None:
        """Take one step."""

    def reset(self) -> None:
        """Put the arm back to where it started."""

    def disarm(self) -> None:
        """Let commands no longer move a bench."""

    def lead(self, joint: str, position: float) -> None:
        """Lead a joint to a position [rad, m]."""

    def push(self, link: str, force: np.ndarray) -> None:
        """Push at a link with a force (3,) in its frame [N] until told otherwise."""

    def carry(self, link: str, mass: float, informs_controller: bool) -> None:
        """
        Hang a mass [kg] at a link.

        :param informs_controller: whether the controller gets the payload, too.
        """

    def choose(self, what: str, value: str) -> None:
        """Set SHAPER or FEEDBACK."""

    def news(self) -> str:
        """Return a line about what has become of something that was asked for, or ''."""
