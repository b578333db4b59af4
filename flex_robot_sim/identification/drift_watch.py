"""
Whether an arm still rings as its model says: a link that gets softer is a link that breaks.

Each stop is looked at once. How the links ring after it, with the motion of the drives taken out,
gives a frequency (`ringing_at_rest`), what the motors hold at rest the payload (`held_payload`),
and the linear model of the arm with that payload in that pose the frequency that it should be.
One stop may deceive; several in a row that are off by more than their deviations do not.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.signal import butter, sosfilt

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.payload import with_payload
from flex_robot_sim.identification.drift_settings import DriftSettings
from flex_robot_sim.identification.held_payload import UNKNOWN, Payload, held_payload
from flex_robot_sim.identification.ringing_at_rest import ringing_at_rest, ringing_model
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

PERIODS = 10.0          # of the slowest mode, that are looked at after a stop
FEWEST = 5.0            # of them that are enough where the next motion begins earlier
SETTLED = 0.5           # periods after a stop, before which they are left out
MOVES = {'rad': 0.03, 'm': 0.01}        # by which a drive may move while it rests
HIGHEST = 3.0           # mode that rings along, over the slowest
BAND = 1.5              # of the low-pass, over the highest of them
PER_PERIOD = 20         # samples that are looked at
LOUD = 6.0              # ringing over what is left unexplained, at least
GOOD = 0.9              # share of the variance that is explained, at least
LASTS = 1.2             # periods that it rings for, at least: some servos take it away at once
PHASE = 0.005           # of a period, that filters and clocks may be wrong by
SURE = 0.02             # deviation of a frequency, over it, at most
SLOWEST = 0.2           # mode that is looked for                                           [Hz]
KEPT = 40.0             # of samples                                                        [s]
LONGEST_GAP = 0.1       # between two samples, after which all begins anew                  [s]
SURELY = 3.0            # deviations that a frequency is off
STEADY = 3.0            # deviations that a payload may differ from the one before


class Stop(NamedTuple):
    """What one stop told."""

    time: float             # [s]
    frequency: float        # that was seen                                                [Hz]
    deviation: float        # of frequency / expected
    expected: float         # by the model, in this pose with this payload                 [Hz]
    payload: Payload

    @property
    def share(self) -> float:
        """Frequency over the expected one."""
        return self.frequency / self.expected


class DriftWatch:
    """An arm under watch: samples in, stops and a verdict out."""

    def __init__(self, arm: ArmModel, settings: DriftSettings | None = None) -> None:
        """Watch an ArmModel; SettingError if it has nothing to watch it by."""
        self.arm, self.settings = arm, settings or DriftSettings()
        self._gauges = flex_sensors(arm).matrix
        if not len(self._gauges) or not arm.tips:
            raise SettingError(f'{arm.description.name}: has no flex sensor to watch it by. Give '
                               'its links a <flex_sensor>')
        self._link = self.settings.drift_payload_link or arm.tool
        with_payload(arm, self._link, 0.0)      # refuses a link that is none
        self.stops: deque[Stop] = deque(maxlen=max(50, self.settings.drift_stops))
        self.rests = 0                          # at which it was looked how it rings
        self.last: float | None = None          # time of the last sample
        self._moves = np.array([MOVES[unit] for unit in arm.units])
        self._rows: deque[np.ndarray] = deque()
        self._sum, self._count = np.zeros(0), 0
        self._payload = UNKNOWN
        self._first = self._begun = self._handled = -np.inf
        self._low = self._high = np.zeros(0)
        self._rest: tuple[float, float] | None = None
        self._no_efforts = np.full(len(arm.joint_names), np.nan)
        found = modes(arm, None, 'locked')
        slow = found.frequencies[found.frequencies > SLOWEST]
        if not slow.size:
            raise SettingError(f'{arm.description.name}: nothing rings above {SLOWEST:g} Hz')
        self._period = 1.0 / float(slow[0])

    @property
    def slowest(self) -> float:
        """Frequency of the slowest mode in the zero pose, or of late [Hz]."""
        return 1.0 / self._period

    def take(self, time: float, drives: np.ndarray, gauges: np.ndarray,
             efforts: np.ndarray | None = None) -> None:
        """
        Take a sample in.

        :param time: [s]; drives: places of the joints, behind the gears (joints,) [rad, m].
        :param gauges: curvatures (c,) [1/m]; efforts: of the motors (joints,) [N m, N], if known.
        """
        if self.last is not None and not 0.0 < time - self.last < LONGEST_GAP:
            if time == self.last:
                return
            self._forget()
        self.last = time
        row = np.concatenate([[time], drives, gauges, self._no_efforts if efforts is None
                              else efforts])
        self._sum = self._sum + row if self._count else row
        self._count += 1
        if time - self._first > self._period / PER_PERIOD:
            self._first = time
            self._add(self._sum / self._count)
            self._count = 0

    def look(self) -> Stop | None:
        """Return what a stop has told since the last look, which may be twice a second."""
        if self._rest is None:
            return None
        rest, self._rest = self._rest, None
        self.rests += 1
        stop = self._stop(*rest)
        if stop is not None:
            self.stops.append(stop)
            self._period = 1.0 / stop.expected
        return stop

    def verdict(self) -> tuple[str, str]:
        """Return 'ok', 'warning' or 'stale', and a line."""
        told, wanted = [*self.stops], self.settings.drift_stops
        if not told:
            return 'stale', 'nothing has rung yet' + (
                f': {self.rests} stops were too quiet or too short' if self.rests else '')
        newest, last = told[-1], told[-wanted:]
        now = newest.time if self.last is None else self.last
        if now - newest.time > self.settings.drift_patience:
            return 'stale', f'nothing has rung for {now - newest.time:.0f} s'
        off = np.array([stop.share - 1 for stop in last])
        sizes = np.array([stop.deviation for stop in last])
        for sign, word, cause in (
                (-1, 'slower', 'softer than described, or heavier than its motors say'),
                (1, 'faster', 'stiffer than described, or lighter than its motors say')):
            if len(last) == wanted and (sign * off > np.maximum(
                    self.settings.drift_share, SURELY * sizes)).all():
                change = float(np.median(off))
                return 'warning', (f'rings {abs(change):.1%} {word} than its model in {wanted} '
                                   f'stops in a row: {cause}; stiffness {(1 + change)**2:.3g} of '
                                   'it')
        return 'ok', (f'rings at {newest.frequency:.4g} Hz, {newest.share - 1:+.1%} of what its '
                      'model says')

    def figures(self) -> dict[str, object]:
        """Return numbers of the last stop."""
        out: dict[str, object] = {'stops': self.rests, 'stops that rang': len(self.stops)}
        if self.stops:
            last = self.stops[-1]
            out |= {'frequency [Hz]': last.frequency, 'expected frequency [Hz]': last.expected,
                    'frequency over expected': last.share, 'its deviation': last.deviation,
                    'seconds since': (self.last or last.time) - last.time}
            if np.isfinite(last.payload.deviation):
                out |= {'payload [kg]': last.payload.mass,
                        'payload deviation [kg]': last.payload.deviation}
        return out

    def _forget(self):
        self._rows.clear()
        self._count, self._first = 0, -np.inf
        self._low = self._high = np.zeros(0)
        self._begun = self._handled = -np.inf
        self._rest = None

    def _add(self, row):
        """Add the mean of some samples; note whether a rest is worth a look."""
        self._rows.append(row)
        time, places = row[0], row[1:1 + len(self._moves)]
        while self._rows[0][0] < time - KEPT:
            self._rows.popleft()
        if not self._low.size:
            self._low, self._high, self._begun = places, places, time
        self._low, self._high = np.minimum(self._low, places), np.maximum(self._high, places)
        lasted = time - self._begun
        if (self._high - self._low > self._moves).any():
            if self._begun > self._handled and lasted > FEWEST * self._period:
                self._rest = self._begun, time - self._period / PER_PERIOD
            self._low, self._high, self._begun = places, places, time
        elif self._begun > self._handled and lasted > PERIODS * self._period:
            self._rest, self._handled = (self._begun, time), self._begun

    def _stop(self, begin, end):
        """Return the Stop that the time from begin to end tells of, or None."""
        early = begin - 3 * self._period
        rows = np.array([row for row in self._rows if early <= row[0] <= end])
        joints, gauges = len(self._moves), len(self._gauges)
        time = np.arange(rows[0, 0], rows[-1, 0], self._period / PER_PERIOD)
        table = np.column_stack([np.interp(time, rows[:, 0], column) for column in rows.T[1:]])
        at_rest = time > begin + SETTLED * self._period
        if at_rest.sum() < 0.7 * FEWEST * PER_PERIOD or not np.isfinite(
                table[:, :joints + gauges]).all():
            return None
        # a window that lets what rings cancel itself
        weights = np.hanning(at_rest.sum() + 2)[1:-1]
        drives, strains, efforts = np.split(weights @ table[at_rest] / weights.sum(),
                                            [joints, joints + gauges])
        try:
            payload = self._carried(drives, efforts, strains)
            return self._compared(time, table, at_rest, drives, payload)
        except SettingError:            # it buckles there, by the model
            return None

    def _carried(self, drives, efforts, strains):
        """Payload by this stop, and by those before if they say the same."""
        new = held_payload(self.arm, drives, efforts, strains, self.settings.drift_gauge_zero,
                           self._link, np.array(self.settings.drift_payload_centre))
        old = self._payload
        if np.isfinite(old.deviation) and abs(new.mass - old.mass) < STEADY * np.hypot(
                new.deviation, old.deviation):
            share = old.deviation**2 / (old.deviation**2 + new.deviation**2)
            new = Payload(old.mass + share * (new.mass - old.mass),
                          max(float(np.sqrt(share)), 0.5) * new.deviation)
        self._payload = new
        return new

    def _compared(self, time, table, at_rest, drives, payload):
        """Return the Stop by how the links rang, or None where that tells too little."""
        joints, step = len(drives), time[1] - time[0]
        model = ringing_model(self._laden(payload.mass), drives, HIGHEST)
        band = min(BAND * model.frequencies[-1], 0.45 / step)
        by = butter(3, band, fs=1 / step, output='sos')
        signals = table[:, :joints + len(self._gauges)]
        signals = sosfilt(by, signals - signals[0], axis=0)[at_rest]
        found = ringing_at_rest(time[at_rest], signals[:, joints:], signals[:, :joints], model,
                                band)
        if found is None or found.cycles < LASTS or found.size < LOUD or found.explained < GOOD:
            return None
        unsure, phase = 0.0, PHASE / found.cycles
        if np.isfinite(payload.deviation):
            more = ringing_model(self._laden(payload.mass + payload.deviation), drives, 1.0)
            unsure = abs(more.frequencies[0] / model.frequencies[0] - 1)
        deviation = np.sqrt(found.deviation**2 + unsure**2 + phase**2
                            + self.settings.drift_model**2)
        if deviation > SURE:
            return None
        expected = float(model.frequencies[0])
        return Stop(float(time[-1]), found.share * expected, float(deviation), expected, payload)

    def _laden(self, mass):
        """Return the arm with a payload; one of less than nothing is none."""
        return self.arm if not mass > 0.0 else with_payload(
            self.arm, self._link, mass, self.settings.drift_payload_centre)
