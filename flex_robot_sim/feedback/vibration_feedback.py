"""
A feedback law beside the servo of a joint controller, or in its place, on a grid of its own.

States may come early or late, and strain more rarely: a law is asked once for each of its periods
that is over, and what it has said last holds until then. It can be exchanged while the arm moves:
what adds to the servo is faded in and out, and where efforts would jump otherwise, because another
law leads the arm or knows of another payload, the difference fades.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from flex_robot_sim.feedback.feedback_design import Feedback

FADE = 0.2              # time constant in which a difference of efforts fades              [s]
NOTHING = 1e-9          # effort that is none                                          [N m, N]
MOST = 25               # periods of a law that are made up for at once


class VibrationFeedback:
    """What a joint controller asks beside its servo; at first nothing."""

    def __init__(self, joints: int, reports: list[str]) -> None:
        """Begin without a law; `reports` is the list for lines that are to be said once."""
        self.is_on = self.leads = False     # whether there is anything to do; if in its place
        self._reports = reports
        self._steps: list[_Step] = []
        self._bump = np.zeros(joints)
        self._is_smooth = True
        self._last: float | None = None
        self._place = np.zeros(joints)      # where encoders were in the state before
        self._curvature: np.ndarray | None = None
        self._is_fresh, self._seen = False, -math.inf

    @property
    def needs_strain(self) -> bool:
        """Whether the law in force goes by flex sensors."""
        return any(step.feedback.needs_strain for step in self._steps)

    @property
    def saturated(self) -> int:
        """Updates at a limit of the law in force, over all joints."""
        return int(sum(step.law.saturated.sum() for step in self._steps[-1:]))

    def take_strain(self, curvature: ArrayLike) -> None:
        """Take what flex sensors show, (k,) [1/m]."""
        self._curvature = np.array(curvature, float)
        self._is_fresh = True

    def use(self, feedback: Feedback | None) -> None:
        """Go over to a Feedback, or to None, without a jump."""
        for step in self._steps:
            step.law.stop()
            step.is_wanted = False
        self._steps = [step for step in self._steps if step.law.adds_to_servo]
        if feedback is not None:
            self._steps.append(_Step(feedback))
        self.smooth()

    def smooth(self) -> None:
        """Let the efforts of the next update be as they were, and what differs fade."""
        self._is_smooth, self.is_on = False, True

    def reset(self) -> None:
        """Let go of all: the arm is taken over anew, or others lead it."""
        self._steps = self._steps[-1:] if self._steps and self._steps[-1].is_wanted else []
        for step in self._steps:
            step.reset()
        self._bump[:] = 0.0
        self._is_smooth, self._last, self.leads = True, None, False
        self.is_on = bool(self._steps)

    def update(self, now: float, place: np.ndarray, points: Any, wanted: np.ndarray,
               effort: np.ndarray) -> None:
        """
        Add to the efforts of the servo, or replace them, at a state.

        :param place: of the joints as encoders see them, (joints,) [rad, m].
        :param points: what has `position` and `velocity` of the joints as they should be.
        :param wanted: efforts (joints,) that are changed; effort: as applied until now [N m, N].
        """
        is_new, self._is_fresh = self._is_fresh, False
        if is_new:
            self._seen = now
        self.leads = False
        for step in [*self._steps]:
            if not step.is_wanted and step.law.is_idle:
                self._steps.remove(step)
            elif not step.feedback.needs_strain or self._has_strain(now, step):
                if not step.is_started and step.is_wanted:
                    step.start(now, place, effort)
                # strain that has just come belongs to the state before
                is_paired = step.feedback.is_paired and is_new
                step.ask(now, self._place if is_paired else place, self._curvature, points, is_new)
                if step.law.adds_to_servo:
                    wanted += step.law.effort
                else:
                    wanted[:] = step.law.effort
                    self.leads = True
        self._place[:] = place

    def fade(self, now: float, wanted: np.ndarray, effort: np.ndarray) -> None:
        """Let what would be a jump fade, when all else is added; likewise."""
        bump, last = self._bump, self._last
        self._last = now
        if not self._is_smooth:
            np.subtract(effort, wanted, out=bump)
            self._is_smooth = True
        elif last is not None:
            bump *= math.exp(-max(now - last, 0.0) / FADE)
        if not (np.abs(bump) > NOTHING).any():
            bump[:] = 0.0
            self.is_on = bool(self._steps)
        wanted += bump

    def _has_strain(self, now, step):
        """Whether strain arrives; a law that goes by it waits until it does."""
        if now - self._seen <= step.feedback.patience:
            step.misses = None
            if step.is_told:
                step.is_told = False
                self._reports.append('strain arrives again: the feedback goes on')
            return True
        if step.misses is None:
            step.misses = now
        if step.is_started:
            self.smooth()
            step.reset()
        if not step.is_told and now - step.misses > step.feedback.patience:
            step.is_told = True
            self._reports.append('no strain arrives: the feedback waits, and the servo holds the '
                                 'arm')
        return False


class _Step:
    """A law, and when it was asked."""

    def __init__(self, feedback):
        self.feedback, self.law = feedback, feedback.law
        self.is_wanted, self.is_started, self.is_told, self.misses = True, False, False, None
        self._asked, self._velocity = 0.0, None

    def start(self, now, place, effort):
        """Begin at a state."""
        self.law.start(place, None, None, effort)
        self._asked, self._velocity = now - self.feedback.period, None
        self.is_started = True

    def reset(self):
        """Let go at once."""
        self.law.reset()
        self.is_started = False

    def ask(self, now, place, curvature, points, is_new):
        """Ask the law once for each period that is over."""
        period, law = self.feedback.period, self.law
        times = round((now - self._asked) / period)
        # what goes by strain waits for it, but not for long
        if times < 1 or (self.feedback.is_paired and not is_new and times < 2
                         and self._velocity is not None):
            return
        self._asked = now if self.feedback.is_paired or times > MOST else (
            self._asked + times * period)
        reference = None
        if not law.adds_to_servo:
            before = points.velocity if self._velocity is None else self._velocity
            change = (points.velocity - before) / (times * period)
            self._velocity = points.velocity.copy()
            reference = np.array([points.position, points.velocity, change])
        for _ in range(min(times, MOST)):
            law.update(place, None, curvature, reference)
