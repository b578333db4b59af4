"""
Drift detection: compares residual vibration with the model. A softening link may be about to fail.

After each stop, the residual vibration without the motion of the drives yields a frequency
(`vibration_at_rest`). The motor efforts at rest yield the payload (`held_payload`). The linear
model with that payload in that pose predicts the frequency. A single stop may be wrong; several
consecutive stops that differ by more than their standard deviations are significant.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.signal import butter, sosfilt

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.identification.drift_settings import DriftSettings
from flex_robot_sim.identification.held_payload import UNKNOWN, PayloadEstimate, held_payload
from flex_robot_sim.identification.vibration_at_rest import fit_vibration, vibration_model
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.util.exceptions import SettingError

WINDOW_PERIODS = 10.0  # after a stop, in periods of the slowest mode
MIN_WINDOW_PERIODS = 5.0  # the same, if the next motion begins earlier
SETTLING_PERIODS = 0.5  # after a stop, before the window begins
REST_TOLERANCE = {'rad': 0.03, 'm': 0.01}  # range of a drive position at rest
MAX_MODE_RATIO = 3.0  # frequency of the highest fitted mode, over the slowest
BAND_RATIO = 1.5  # cutoff of the low-pass filter, over the highest fitted mode
SAMPLES_PER_PERIOD = 20
MIN_SIZE = 6.0  # vibration over the residual
MIN_EXPLAINED_VARIANCE = 0.9
MIN_CYCLES = 1.2  # duration of the vibration; some servos damp it at once
PHASE_ERROR_PERIODS = 0.005  # phase errors of filters and clocks
MAX_RELATIVE_STD = 0.02  # of the frequency
MIN_FREQUENCY_HZ = 0.2  # of the slowest mode
BUFFER_DURATION_S = 40.0
MAX_GAP_S = 0.1  # between samples; a longer gap resets the watch
MIN_CHANGE_STDS = 3.0  # change of the frequency, in standard deviations
MAX_PAYLOAD_CHANGE_STDS = 3.0  # change between stops, in standard deviations


class ObservedStop(NamedTuple):
    """Result of one stop."""

    time: float  # [s]
    frequency: float  # measured                                                     [Hz]
    deviation: float  # standard deviation of frequency / expected
    expected: float  # by the model, in this pose with this payload                 [Hz]
    payload: PayloadEstimate

    @property
    def share(self) -> float:
        """Frequency over the expected one."""
        return self.frequency / self.expected


class DriftWatch:
    """Drift monitor of an arm: it receives samples, and returns stops and an assessment."""

    def __init__(self, arm: ArmModel, settings: DriftSettings | None = None) -> None:
        """Monitor an ArmModel; SettingError if it has no flex sensor or no vibration mode."""
        self.arm, self.settings = arm, settings or DriftSettings()
        self._gauges = flex_sensors(arm).matrix
        if not len(self._gauges) or not arm.tips:
            raise SettingError(
                f'{arm.description.name}: has no flex sensor to watch it by. Give '
                'its links a <flex_sensor>'
            )
        self._link = self.settings.drift_payload_link or arm.tool
        with_payload(arm, self._link, 0.0)  # refuses an unknown link
        self.stops: deque[ObservedStop] = deque(maxlen=max(50, self.settings.drift_stops))
        self.rests = 0  # number of rests that were evaluated
        self.last: float | None = None  # time of the last sample
        tolerance = np.array([REST_TOLERANCE[unit] for unit in arm.units])
        self._rest_tolerance = np.where(arm.actuated, tolerance, np.inf)
        self._rows: deque[np.ndarray] = deque()
        self._sum, self._count = np.zeros(0), 0
        self._payload = UNKNOWN
        self._group_begin = self._rest_begin = self._last_rest = -np.inf
        self._min_position = self._max_position = np.zeros(0)
        self._pending_rest: tuple[float, float] | None = None
        self._no_efforts = np.full(len(arm.joint_names), np.nan)
        locked_modes = modes(arm, None, joints='locked')
        frequencies = locked_modes.frequencies[locked_modes.frequencies > MIN_FREQUENCY_HZ]
        if not frequencies.size:
            raise SettingError(
                f'{arm.description.name}: nothing vibrates above {MIN_FREQUENCY_HZ:g} Hz'
            )
        self._period = 1.0 / float(frequencies[0])

    @property
    def slowest(self) -> float:
        """Frequency of the slowest mode at the last stop, initially in the zero pose [Hz]."""
        return 1.0 / self._period

    def take(
        self,
        time: float,
        drives: np.ndarray,
        gauges: np.ndarray,
        efforts: np.ndarray | None = None,
    ) -> None:
        """
        Add a sample.

        :param time: [s]; drives: joint positions on the motor side (joints,) [rad, m].
        :param gauges: curvatures (c,) [1/m]; efforts: of the motors (joints,) [N m, N], if known.
        """
        if self.last is not None and not 0.0 < time - self.last < MAX_GAP_S:
            if time == self.last:
                return
            self._reset()
        self.last = time
        row = np.concatenate(
            [[time], drives, gauges, self._no_efforts if efforts is None else efforts]
        )
        self._sum = self._sum + row if self._count else row
        self._count += 1
        if time - self._group_begin > self._period / SAMPLES_PER_PERIOD:
            self._group_begin = time
            self._append(self._sum / self._count)
            self._count = 0

    def look(self) -> ObservedStop | None:
        """Return the ObservedStop since the last call, or None; call it about twice a second."""
        if self._pending_rest is None:
            return None
        rest, self._pending_rest = self._pending_rest, None
        self.rests += 1
        stop = self._stop(*rest)
        if stop is not None:
            self.stops.append(stop)
            self._period = 1.0 / stop.expected
        return stop

    def verdict(self) -> tuple[str, str]:
        """Return 'ok', 'warning' or 'stale', and a one-line message."""
        stops, count = [*self.stops], self.settings.drift_stops
        if not stops:
            return 'stale', 'no vibration measured yet' + (
                f': {self.rests} stops were too quiet or too short' if self.rests else ''
            )
        newest, last = stops[-1], stops[-count:]
        now = newest.time if self.last is None else self.last
        if now - newest.time > self.settings.drift_patience:
            return 'stale', f'no vibration measured for {now - newest.time:.0f} s'
        deviations = np.array([stop.share - 1 for stop in last])
        stds = np.array([stop.deviation for stop in last])
        for sign, word, cause in (
            (-1, 'slower', 'softer than described, or heavier than its motors say'),
            (1, 'faster', 'stiffer than described, or lighter than its motors say'),
        ):
            if (
                len(last) == count
                and (
                    sign * deviations
                    > np.maximum(self.settings.drift_share, MIN_CHANGE_STDS * stds)
                ).all()
            ):
                change = float(np.median(deviations))
                return 'warning', (
                    f'vibrates {abs(change):.1%} {word} than its model in {count} stops in a row: '
                    f'{cause}; stiffness {(1 + change) ** 2:.3g} of it'
                )
        return 'ok', (
            f'vibrates at {newest.frequency:.4g} Hz, {newest.share - 1:+.1%} from its model'
        )

    def figures(self) -> dict[str, object]:
        """Return diagnostic values of the last stop, by name."""
        out: dict[str, object] = {'stops': self.rests, 'stops with vibration': len(self.stops)}
        if self.stops:
            last = self.stops[-1]
            out |= {
                'frequency [Hz]': last.frequency,
                'expected frequency [Hz]': last.expected,
                'frequency over expected': last.share,
                'its deviation': last.deviation,
                'seconds since': (self.last or last.time) - last.time,
            }
            if np.isfinite(last.payload.deviation):
                out |= {
                    'payload [kg]': last.payload.mass,
                    'payload deviation [kg]': last.payload.deviation,
                }
        return out

    def _reset(self):
        self._rows.clear()
        self._count, self._group_begin = 0, -np.inf
        self._min_position = self._max_position = np.zeros(0)
        self._rest_begin = self._last_rest = -np.inf
        self._pending_rest = None

    def _append(self, row):
        """Append the mean of some samples; mark a rest that is long enough as pending."""
        self._rows.append(row)
        time, positions = row[0], row[1 : 1 + len(self._rest_tolerance)]
        while self._rows[0][0] < time - BUFFER_DURATION_S:
            self._rows.popleft()
        if not self._min_position.size:
            self._min_position, self._max_position, self._rest_begin = positions, positions, time
        self._min_position, self._max_position = (
            np.minimum(self._min_position, positions),
            np.maximum(self._max_position, positions),
        )
        rest_duration = time - self._rest_begin
        if (self._max_position - self._min_position > self._rest_tolerance).any():
            if self._rest_begin > self._last_rest and (
                rest_duration > MIN_WINDOW_PERIODS * self._period
            ):
                self._pending_rest = self._rest_begin, time - self._period / SAMPLES_PER_PERIOD
            self._min_position, self._max_position, self._rest_begin = positions, positions, time
        elif self._rest_begin > self._last_rest and rest_duration > WINDOW_PERIODS * self._period:
            self._pending_rest, self._last_rest = (self._rest_begin, time), self._rest_begin

    def _stop(self, begin, end):
        """Return the ObservedStop of the arm at rest from `begin` to `end`, or None."""
        early = begin - 3 * self._period
        rows = np.array([row for row in self._rows if early <= row[0] <= end])
        joints, gauges = len(self._rest_tolerance), len(self._gauges)
        time = np.arange(rows[0, 0], rows[-1, 0], self._period / SAMPLES_PER_PERIOD)
        table = np.column_stack([np.interp(time, rows[:, 0], column) for column in rows.T[1:]])
        is_at_rest = time > begin + SETTLING_PERIODS * self._period
        if (
            is_at_rest.sum() < 0.7 * MIN_WINDOW_PERIODS * SAMPLES_PER_PERIOD
            or not np.isfinite(table[:, : joints + gauges]).all()
        ):
            return None
        # with this window, vibration hardly changes the mean
        weights = np.hanning(is_at_rest.sum() + 2)[1:-1]
        drives, strains, efforts = np.split(
            weights @ table[is_at_rest] / weights.sum(), [joints, joints + gauges]
        )
        try:
            payload = self._payload_estimate(drives, efforts, strains)
            return self._vibration_stop(time, table, is_at_rest, drives, payload)
        except SettingError:  # the model buckles in this pose
            return None

    def _payload_estimate(self, drives, efforts, strains):
        """Return the payload at this stop, averaged with previous stops if they agree."""
        estimate = held_payload(
            self.arm,
            drives,
            efforts,
            strains,
            self.settings.drift_gauge_zero,
            self._link,
            np.array(self.settings.drift_payload_centre),
        )
        previous = self._payload
        if np.isfinite(previous.deviation) and abs(estimate.mass - previous.mass) < (
            MAX_PAYLOAD_CHANGE_STDS * np.hypot(estimate.deviation, previous.deviation)
        ):
            weight = previous.deviation**2 / (previous.deviation**2 + estimate.deviation**2)
            estimate = PayloadEstimate(
                previous.mass + weight * (estimate.mass - previous.mass),
                max(float(np.sqrt(weight)), 0.5) * estimate.deviation,
            )
        self._payload = estimate
        return estimate

    def _vibration_stop(self, time, table, is_at_rest, drives, payload):
        """Return the ObservedStop by the residual vibration, or None if it is not significant."""
        joints, step = len(drives), time[1] - time[0]
        model = vibration_model(self._with_payload(payload.mass), drives, MAX_MODE_RATIO)
        band = min(BAND_RATIO * model.frequencies[-1], 0.45 / step)
        sections = butter(3, band, fs=1 / step, output='sos')
        signals = table[:, : joints + len(self._gauges)]
        signals = sosfilt(sections, signals - signals[0], axis=0)[is_at_rest]
        fit = fit_vibration(
            time[is_at_rest], signals[:, joints:], signals[:, :joints], model, band
        )
        if (
            fit is None
            or fit.cycles < MIN_CYCLES
            or fit.size < MIN_SIZE
            or (fit.explained < MIN_EXPLAINED_VARIANCE)
        ):
            return None
        payload_std, phase_std = 0.0, PHASE_ERROR_PERIODS / fit.cycles
        if np.isfinite(payload.deviation):
            heavier_model = vibration_model(
                self._with_payload(payload.mass + payload.deviation), drives, 1.0
            )
            payload_std = abs(heavier_model.frequencies[0] / model.frequencies[0] - 1)
        deviation = np.sqrt(
            fit.deviation**2 + payload_std**2 + phase_std**2 + self.settings.drift_model**2
        )
        if deviation > MAX_RELATIVE_STD:
            return None
        expected = float(model.frequencies[0])
        return ObservedStop(
            float(time[-1]), fit.share * expected, float(deviation), expected, payload
        )

    def _with_payload(self, mass):
        """Return the arm with a payload; a negative mass counts as none."""
        if not mass > 0.0:
            return self.arm
        return with_payload(self.arm, self._link, mass, centre=self.settings.drift_payload_centre)
