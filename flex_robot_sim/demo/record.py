"""What was seen of a run, in bounded memory however long it lasts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

ROWS = 16384            # that a track keeps, even
LONGEST = 0.05          # lateness that a simulation makes up for; more is dropped      [s]
AROUND = 50             # states among which the earliest one counts as in time


class Track:
    """
    Rows over time that always span the whole run.

    When it is full, two neighbours become one: the later of them, or the larger one of each value.
    """

    def __init__(self, width: int, keeps_peaks: bool = False, rows: int = ROWS) -> None:
        """Keep rows of `width` values."""
        self._rows, self._size = np.empty((rows, 1 + width)), 0
        self._merge = np.maximum if keeps_peaks else _later
        self.newest = 0.0           # when the newest row came   [s]
        self._pending, self._every, self._waiting = np.zeros(1 + width), 1, 0

    def add(self, time: float, values: ArrayLike) -> None:
        """Note values (width,) at a time [s]."""
        self.newest = time
        row = np.empty(self._rows.shape[1])
        row[0], row[1:] = time, values
        self._pending = row if self._waiting == 0 else self._merge(self._pending, row)
        self._waiting += 1
        if self._waiting < self._every:
            return
        self._waiting = 0
        self._rows[self._size] = self._pending
        self._size += 1
        if self._size == len(self._rows):
            self._size //= 2
            self._rows[:self._size] = self._merge(self._rows[0::2], self._rows[1::2])
            self._every *= 2

    @property
    def time(self) -> np.ndarray:
        """Times (k,) [s]."""
        return self._rows[:self._size, 0]

    @property
    def values(self) -> np.ndarray:
        """Rows (k, width)."""
        return self._rows[:self._size, 1:]


def _later(first, second):
    return second


class Lateness:
    """
    How late states come that are sent in equal steps of time, by the stamps they carry.

    The earliest of those around counts as in time: a state that got lost on its way makes none of
    the others late. Where time was dropped the first state is late, and the others are not.
    """

    def __init__(self, step: float) -> None:
        """Expect a state every `step` [s]."""
        self._step = step
        self._due: float | None = None
        self._least, self._count = float('inf'), 0

    def note(self, time: float) -> float:
        """Return how late the state is that was sent at a time [s]."""
        due = time if self._due is None else self._due + self._step
        late = time - due
        if late < 0.0:
            due, late = time, 0.0
        elif late > LONGEST:
            due = time
        self._least, self._count = min(self._least, late), self._count + 1
        if self._count == AROUND:
            due += self._least
            self._least, self._count = float('inf'), 0
        self._due = due
        return late


class RunRecord:
    """Joints, efforts, tips and timing of a run of an arm."""

    def __init__(self, joint_names: Sequence[str], links: Sequence[str],
                 state_rate: float) -> None:
        """
        Begin without anything.

        :param links: that bend; state_rate: of joint states [Hz].
        """
        self.joint_names, self.links = tuple(joint_names), tuple(links)
        n = len(self.joint_names)
        self.joints = Track(3 * n)                  # positions, targets, efforts by joint
        self.tips = {link: Track(3) for link in self.links}     # translation [m]
        self.lateness = Track(1, keeps_peaks=True)  # [s]
        self.delays = Track(2, keeps_peaks=True)    # state to command: median and 99 %  [s]
        self.largest_tip = 0.0                      # [m]
        self.worst_lateness = 0.0                   # of a step, as the simulation says   [s]
        self.position, self.tip = np.zeros(n), dict.fromkeys(self.links, 0.0)   # the newest
        self._lateness = Lateness(1.0 / state_rate)

    def add_joints(self, time: float, position: np.ndarray, target: np.ndarray,
                   effort: np.ndarray) -> None:
        """Note a joint state that was sent at a time since the start [s]."""
        self.position = position
        self.joints.add(time, np.concatenate([position, target, effort]))
        self.lateness.add(time, self._lateness.note(time))

    def add_tip(self, time: float, link: str, translation: ArrayLike) -> None:
        """Note how far the tip of a link is from where it were if the link did not bend [m]."""
        self.tips[link].add(time, translation)
        self.tip[link] = float(np.linalg.norm(translation))
        self.largest_tip = max(self.largest_tip, self.tip[link])

    def add_delays(self, time: float, median: float, worst: float) -> None:
        """
        Note how long commands took to answer states in the second before a time [s].

        What is sent as an arm is let go tells of before, or comes after what was sent later.
        """
        if time > self.delays.newest:
            self.delays.add(time, (median, worst))

    def of_joints(self, kind: str) -> np.ndarray:
        """Positions, targets or efforts, (k, joints)."""
        first = ('position', 'target', 'effort').index(kind) * len(self.joint_names)
        return self.joints.values[:, first:first + len(self.joint_names)]
