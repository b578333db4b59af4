"""
Joint positions and velocities from counts: no delay in the position, little in the velocity.

A second-order observer follows each position p, with both of its poles at z = exp(-w T):

    e = p - p',   p' += (1 - z^2) e,   v' += (1 - z)^2 / T e                                (1)

after p' += v' T. The known change of velocity, from the pulses of the stepper, is added before the
correction. Only the remaining motion lags behind, by about 2 / w. While the stepper holds the
joint, this is the motion of the rotor, which the vibrating link moves on its magnetic spring. A
controller that responds to it would excite the vibration, so w lies below that frequency then.
"""

import math
from typing import Any

from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.vocabulary import MOVING

MAX_READING_GAP = 0.05  # a longer gap between readings restarts the observer    [s]
RESTART_JUMPS = (0.005, 0.2)  # a larger observer error restarts it, too               [m, rad]
REST_TOLERANCES = (1e-4, 6e-3)  # range of a joint at rest; two counts of the turn       [m, rad]


class Tracker:
    """Observer (1) for one value; plain floats, because arrays this short take longer."""

    def __init__(self, bandwidth: float, jump: float = math.inf) -> None:
        """
        Prepare; the first reading starts the observer.

        :param bandwidth: w / (2 pi) [Hz], may be changed at any time.
        :param jump: observer error beyond which it restarts.
        """
        self.bandwidth, self._jump = bandwidth, jump
        self._gains: dict[tuple[int, float], tuple[float, float]] = {}
        self.restart()

    def restart(self) -> None:
        """Reset the state."""
        self.value, self.rate = math.nan, 0.0
        self.has_restarted = True  # with the last reading

    def take(self, value: float, duration: float, rate_change: float = 0.0) -> None:
        """
        Update with a measured value; nan if unknown.

        :param duration: since the last value [s].
        :param rate_change: known change of the rate since then.
        """
        predicted_rate = self.rate + rate_change
        expected = self.value + 0.5 * (self.rate + predicted_rate) * duration
        error = value - expected
        # comparisons with nan are false, so the first value and one after nan restart it
        if abs(error) < self._jump and 0.0 < duration <= MAX_READING_GAP:
            place, rate = self._gain(duration)
            self.value, self.rate = expected + place * error, predicted_rate + rate * error
            self.has_restarted = False
        else:
            self.value, self.rate, self.has_restarted = value, 0.0, True

    def _gain(self, duration):
        key = round(duration * 1e6), self.bandwidth
        gain = self._gains.get(key)
        if gain is None:
            if len(self._gains) > 100:
                self._gains.clear()
            z = math.exp(-2.0 * math.pi * self.bandwidth * duration)
            gain = self._gains[key] = 1.0 - z * z, (1.0 - z) ** 2 / duration
        return gain


class JointTracker:
    """Slide and turn of the bench from telemetry."""

    def __init__(self, calibration: Any, settings: EstimatorSettings) -> None:
        """Prepare for a Calibration, with the bandwidths of EstimatorSettings."""
        self._calibration = calibration
        self._settings = settings
        self._slide, self._turn = (
            Tracker(settings.velocity_bandwidth, jump) for jump in RESTART_JUMPS
        )
        self._pulses = 0.0
        # (slide, turn) [m, rad; m/s, rad/s]
        self.position = self.velocity = math.nan, math.nan
        self.has_restarted = True  # with the last reading: a gap, or a new origin of the counts
        self.rest_durations = [0.0, 0.0]  # time that each joint has been at rest        [s]
        self._rest_positions = [math.nan, math.nan]

    def take(self, message: Telemetry, duration: float) -> None:
        """Update with Telemetry, `duration` [s] of board time after the last one."""
        calibration, slide, turn = self._calibration, self._slide, self._turn
        self.position = (
            calibration.slide.position(message.slide_counts),
            calibration.turn.position(message.turn_counts),
        )
        pulses = message.step_rate / calibration.steps_per_radian
        turn.bandwidth = self._settings.velocity_bandwidth
        if message.state in MOVING:
            turn.bandwidth = self._settings.turn_velocity_bandwidth
        slide.take(self.position[0], duration)
        turn.take(self.position[1], duration, pulses - self._pulses)
        self._pulses = pulses
        self._update_rest_durations(min(duration, MAX_READING_GAP))  # a boot resets the clock
        self.velocity = slide.rate, turn.rate
        self.has_restarted = slide.has_restarted or turn.has_restarted

    def _update_rest_durations(self, duration):
        for joint, (place, width) in enumerate(zip(self.position, REST_TOLERANCES)):
            if abs(place - self._rest_positions[joint]) <= width:
                self.rest_durations[joint] += duration
            else:  # moved, or nan at the beginning
                self._rest_positions[joint], self.rest_durations[joint] = place, 0.0
