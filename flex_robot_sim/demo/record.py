"""Record of a run in bounded memory, independent of its duration."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

TRACK_ROWS = 16384  # rows of a track; an even number
MAX_LATENESS_S = 0.05  # a simulation drops time beyond this lateness
LATENESS_WINDOW = 50  # states of which the earliest counts as on time


class Track:
    """
    Samples over time that always span the whole run.

    When full, it merges neighbours in pairs: to the later row, or to the maximum of each value.
    """

    def __init__(self, width: int, keeps_peaks: bool = False, rows: int = TRACK_ROWS) -> None:
        """Store rows of `width` values."""
        self._rows, self._size = np.empty((rows, 1 + width)), 0
        self._merge = np.maximum if keeps_peaks else lambda first, second: second
        self.newest = 0.0  # time of the newest row     [s]
        self._pending, self._rows_per_entry, self._pending_count = np.zeros(1 + width), 1, 0

    def add(self, time: float, values: ArrayLike) -> None:
        """Add values (width,) at a time [s]."""
        self.newest = time
        row = np.empty(self._rows.shape[1])
        row[0], row[1:] = time, values
        self._pending = row if self._pending_count == 0 else self._merge(self._pending, row)
        self._pending_count += 1
        if self._pending_count < self._rows_per_entry:
            return
        self._pending_count = 0
        self._rows[self._size] = self._pending
        self._size += 1
        if self._size == len(self._rows):
            self._size //= 2
            self._rows[: self._size] = self._merge(self._rows[0::2], self._rows[1::2])
            self._rows_per_entry *= 2

    @property
    def time(self) -> np.ndarray:
        """Times (k,) [s]."""
        return self._rows[: self._size, 0]

    @property
    def values(self) -> np.ndarray:
        """Rows (k, width)."""
        return self._rows[: self._size, 1:]


class Lateness:
    """
    Lateness of states that are sent at a constant period, by their stamps.

    The earliest state of a window counts as on time, so that a lost state makes no other late.
    After dropped time only the first state is late.
    """

    def __init__(self, step: float) -> None:
        """Expect a state every `step` [s]."""
        self._step = step
        self._due: float | None = None
        self._min_lateness, self._count = float('inf'), 0

    def note(self, time: float) -> float:
        """Return the lateness of a state that was sent at a time [s]."""
        due = time if self._due is None else self._due + self._step
        lateness = time - due
        if lateness < 0.0:
            due, lateness = time, 0.0
        elif lateness > MAX_LATENESS_S:
            due = time
        self._min_lateness, self._count = min(self._min_lateness, lateness), self._count + 1
        if self._count == LATENESS_WINDOW:
            due += self._min_lateness
            self._min_lateness, self._count = float('inf'), 0
        self._due = due
        return lateness


class RunRecord:
    """Joints, efforts, tips and timing of a run of an arm."""

    def __init__(
        self, joint_names: Sequence[str], links: Iterable[str], state_rate: float
    ) -> None:
        """
        Start without samples.

        :param links: flexible links; state_rate: of joint states [Hz].
        """
        self.joint_names, self.links = tuple(joint_names), tuple(links)
        n = len(self.joint_names)
        self.joints = Track(3 * n)  # positions, targets, efforts by joint
        self.tips = {link: Track(3) for link in self.links}  # translation [m]
        self.lateness = Track(1, keeps_peaks=True)  # [s]
        self.delays = Track(2, keeps_peaks=True)  # state to command: median and 99 %  [s]
        self.largest_tip = 0.0  # [m]
        self.worst_lateness = 0.0  # of a step, from the diagnostics     [s]
        self.position, self.tip = np.zeros(n), dict.fromkeys(self.links, 0.0)  # the newest
        self._lateness = Lateness(1.0 / state_rate)

    def add_joints(
        self, time: float, position: np.ndarray, target: np.ndarray, effort: np.ndarray
    ) -> None:
        """Add a joint state that was sent at a time since the start [s]."""
        self.position = position
        self.joints.add(time, np.concatenate([position, target, effort]))
        self.lateness.add(time, self._lateness.note(time))

    def add_tip(self, time: float, link: str, translation: ArrayLike) -> None:
        """Add the tip deflection of a link [m]."""
        self.tips[link].add(time, translation)
        self.tip[link] = float(np.linalg.norm(translation))
        self.largest_tip = max(self.largest_tip, self.tip[link])

    def add_delays(self, time: float, median: float, worst: float) -> None:
        """
        Add the delays from states to commands in the second before a time [s].

        Delays of the time before the release of the arm, or out of order, are dropped.
        """
        if time > self.delays.newest:
            self.delays.add(time, (median, worst))

    def of_joints(self, kind: str) -> np.ndarray:
        """Positions, targets or efforts, (k, joints)."""
        first = ('position', 'target', 'effort').index(kind) * len(self.joint_names)
        return self.joints.values[:, first : first + len(self.joint_names)]
