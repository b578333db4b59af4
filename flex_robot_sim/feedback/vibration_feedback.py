"""
Vibration feedback of a joint controller: in parallel with its servo, or instead of it.

A law runs with its own period: once for each completed period, and its last efforts are held in
between. States may arrive early or late, and strain less often. The law can be exchanged while the
arm moves. Efforts added to the servo are faded in and out. If a change of the law or of the
payload would make the efforts step, the difference fades out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from flex_robot_sim.feedback.feedback_design import Feedback

FADE_TIME_S = 0.2  # time constant of the fade of effort differences              [s]
ZERO_EFFORT = 1e-9  # smaller efforts count as zero                          [N m, N]
MAX_CATCH_UP_PERIODS = 25  # periods that a law runs in one update


class VibrationFeedback:
    """Feedback laws of a joint controller; none at first."""

    def __init__(self, joints: int, reports: list[str]) -> None:
        """Begin without a law; `reports` is the list of lines for the log."""
        self.is_on = self.replaces_servo = False  # whether a law runs; replaces the servo
        self._reports = reports
        self._laws: list[_ScheduledLaw] = []
        self._transition_effort = np.zeros(joints)
        self._is_smooth = True
        self._last: float | None = None
        self._previous_position = np.zeros(joints)  # of the encoders, in the previous state
        self._curvature: np.ndarray | None = None
        self._has_new_strain, self._last_strain_time = False, -math.inf

    @property
    def needs_strain(self) -> bool:
        """Whether an active law uses flex sensors."""
        return any(scheduled.feedback.needs_strain for scheduled in self._laws)

    @property
    def saturated(self) -> int:
        """Number of updates at an effort limit of the active law, over all joints."""
        return int(sum(scheduled.law.saturated.sum() for scheduled in self._laws[-1:]))

    def receive_strain(self, curvature: ArrayLike) -> None:
        """Receive curvatures of the flex sensors, (k,) [1/m]."""
        self._curvature = np.array(curvature, float)
        self._has_new_strain = True

    def use(self, feedback: Feedback | None) -> None:
        """Change to a Feedback, or to None, without a step in the efforts."""
        for scheduled in self._laws:
            scheduled.law.stop()
            scheduled.is_wanted = False
        self._laws = [scheduled for scheduled in self._laws if scheduled.law.adds_to_servo]
        if feedback is not None:
            self._laws.append(_ScheduledLaw(feedback))
        self.smooth()

    def smooth(self) -> None:
        """Keep the present efforts in the next update, and fade out the difference."""
        self._is_smooth, self.is_on = False, True

    def reset(self) -> None:
        """Reset all laws, because the arm is taken over or another controller moves it."""
        self._laws = self._laws[-1:] if self._laws and self._laws[-1].is_wanted else []
        for scheduled in self._laws:
            scheduled.reset()
        self._transition_effort[:] = 0.0
        self._is_smooth, self._last, self.replaces_servo = True, None, False
        self.is_on = bool(self._laws)

    def update(
        self,
        now: float,
        position: np.ndarray,
        points: Any,
        unlimited: np.ndarray,
        effort: np.ndarray,
    ) -> None:
        """
        Add to the efforts of the servo, or replace them, at a state.

        :param position: of the joints, measured by encoders, (joints,) [rad, m].
        :param points: object with the target `position` and `velocity` of the joints.
        :param unlimited: efforts (joints,), updated in place; effort: applied last [N m, N].
        """
        is_new, self._has_new_strain = self._has_new_strain, False
        if is_new:
            self._last_strain_time = now
        self.replaces_servo = False
        for scheduled in [*self._laws]:
            if not scheduled.is_wanted and scheduled.law.is_idle:
                self._laws.remove(scheduled)
            elif not scheduled.feedback.needs_strain or self._strain_arrives(now, scheduled):
                if not scheduled.is_started and scheduled.is_wanted:
                    scheduled.start(now, position, effort)
                # new strain belongs to the previous state
                is_paired = scheduled.feedback.is_paired and is_new
                scheduled.run_due(
                    now,
                    self._previous_position if is_paired else position,
                    self._curvature,
                    points,
                    is_new,
                )
                if scheduled.law.warning and not scheduled.is_warned:
                    scheduled.is_warned = True
                    self._reports.append(scheduled.law.warning)
                if scheduled.law.adds_to_servo:
                    unlimited += scheduled.law.effort
                else:
                    unlimited[:] = scheduled.law.effort
                    self.replaces_servo = True
        self._previous_position[:] = position

    def fade(self, now: float, unlimited: np.ndarray, effort: np.ndarray) -> None:
        """Add the fading difference to `unlimited`, after all other efforts."""
        difference, last = self._transition_effort, self._last
        self._last = now
        if not self._is_smooth:
            np.subtract(effort, unlimited, out=difference)
            self._is_smooth = True
        elif last is not None:
            difference *= math.exp(-max(now - last, 0.0) / FADE_TIME_S)
        if not (np.abs(difference) > ZERO_EFFORT).any():
            difference[:] = 0.0
            self.is_on = bool(self._laws)
        unlimited += difference

    def _strain_arrives(self, now, scheduled):
        """Whether strain arrives; a law that uses it waits for it."""
        if now - self._last_strain_time <= scheduled.feedback.strain_timeout:
            scheduled.missing_since = None
            if scheduled.is_reported:
                scheduled.is_reported = False
                self._reports.append('strain arrives again: the feedback goes on')
            return True
        if scheduled.missing_since is None:
            scheduled.missing_since = now
        if scheduled.is_started:
            self.smooth()
            scheduled.reset()
        if not scheduled.is_reported and (
            now - scheduled.missing_since > scheduled.feedback.strain_timeout
        ):
            scheduled.is_reported = True
            self._reports.append(
                'no strain arrives: the feedback waits, and the servo holds the arm'
            )
        return False


class _ScheduledLaw:
    """A law, and the time of its last call."""

    def __init__(self, feedback):
        self.feedback, self.law = feedback, feedback.law
        self.is_wanted = True
        self.is_started = False
        self.is_reported = self.is_warned = False
        self.missing_since = None
        self._last_call, self._velocity = 0.0, None

    def start(self, now, position, effort):
        """Start at a state."""
        self.law.start(position, None, None, effort)
        self._last_call, self._velocity = now - self.feedback.period, None
        self.is_started = True

    def reset(self):
        """Reset without a fade."""
        self.law.reset()
        self.is_started = False

    def run_due(self, now, position, curvature, points, is_new):
        """Run the law once for each completed period."""
        period, law = self.feedback.period, self.law
        periods = round((now - self._last_call) / period)
        # a law with strain waits for it, for less than two periods
        if periods < 1 or (
            self.feedback.is_paired and not is_new and periods < 2 and self._velocity is not None
        ):
            return
        self._last_call = (
            now
            if self.feedback.is_paired or periods > MAX_CATCH_UP_PERIODS
            else (self._last_call + periods * period)
        )
        reference = None
        if not law.adds_to_servo:
            previous = points.velocity if self._velocity is None else self._velocity
            acceleration = (points.velocity - previous) / (periods * period)
            self._velocity = points.velocity.copy()
            reference = np.array([points.position, points.velocity, acceleration])
        for _ in range(min(periods, MAX_CATCH_UP_PERIODS)):
            law.update(position, None, curvature, reference)
