"""
Positions and velocities from counts: no delay in the position, little in the velocity.

An observer of second order follows each position p, with both of its poles at z = exp(-w T):

    e = p - p',   p' += (1 - z^2) e,   v' += (1 - z)^2 / T e                                (1)

after p' += v' T. What is known about the velocity, the pulses of the stepper, is added beforehand,
so that only what the pulses do not explain lags behind by about 2 / w.
"""

import numpy as np

LONGEST = 0.05              # between two readings, beyond which the observer starts anew     [s]
JUMP = np.array([0.005, 0.2])   # of a position against the observer, likewise           [m, rad]


class Tracker:
    """The observer (1) for some positions at once."""

    def __init__(self, bandwidth, jump=np.inf):
        """
        Prepare; the first reading starts it.

        :param bandwidth: w / (2 pi) [Hz]; jump: of a position beyond which it starts anew.
        """
        self._rate, self._jump = 2.0 * np.pi * bandwidth, jump
        self._gains = {}
        self.restart()

    def restart(self):
        """Forget everything."""
        self.position = self.velocity = None
        self.has_restarted = True       # with the last reading

    def take(self, position, duration, velocity_change=0.0):
        """
        Take positions in.

        :param duration: since the last ones [s].
        :param velocity_change: that is known to have happened since then.
        """
        if self.position is not None:
            known = self.velocity + velocity_change
            expected = self.position + 0.5 * (self.velocity + known) * duration
            error = position - expected
            if 0.0 < duration <= LONGEST and (np.abs(error) < self._jump).all():
                place, rate = self._gain(duration)
                self.position, self.velocity = expected + place * error, known + rate * error
                self.has_restarted = False
                return
        self.position, self.velocity = position, np.zeros_like(position)
        self.has_restarted = True

    def _gain(self, duration):
        key = round(duration * 1e6)
        if key not in self._gains:
            if len(self._gains) > 100:
                self._gains.clear()
            z = np.exp(-self._rate * duration)
            self._gains[key] = 1.0 - z * z, (1.0 - z)**2 / duration
        return self._gains[key]


class JointTracker:
    """Slide and turn of the bench from telemetry."""

    def __init__(self, calibration, bandwidth):
        """Prepare for a Calibration; bandwidth of the velocities [Hz]."""
        self._calibration = calibration
        self._tracker = Tracker(bandwidth, JUMP)
        self._pulses = 0.0
        self.position = self.velocity = None

    @property
    def has_restarted(self):
        """Whether the velocity began anew with the last reading: a gap, or another origin."""
        return self._tracker.has_restarted

    def take(self, message, duration):
        """Take Telemetry in, which came `duration` [s] of the board after the last one."""
        self.position = self._calibration.positions((message.slide_counts, message.turn_counts))
        pulses = message.step_rate / self._calibration.steps_per_radian
        self._tracker.take(self.position, duration, np.array([0.0, pulses - self._pulses]))
        self._pulses = pulses
        self.velocity = self._tracker.velocity
