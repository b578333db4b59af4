"""What was seen of a run, in bounded memory however long it lasts."""

import numpy as np

ROWS = 16384            # that a track keeps, even
LONGEST = 0.05          # lateness that a simulation admits; what is more is missing    [s]
AROUND = 50             # states among which the earliest one counts as in time


class Track:
    """
    Rows over time that always span the whole run.

    When it is full, two neighbours become one: the later of them, or the larger one of each value.
    """

    def __init__(self, width, keeps_peaks=False, rows=ROWS):
        """Keep rows of `width` values."""
        self._rows, self._size = np.empty((rows, 1 + width)), 0
        self._merge = np.maximum if keeps_peaks else _later
        self.newest = 0.0           # when the newest row came   [s]
        self._pending, self._every, self._waiting = None, 1, 0

    def add(self, time, values):
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
    def time(self):
        """Times (k,) [s]."""
        return self._rows[:self._size, 0]

    @property
    def values(self):
        """Rows (k, width)."""
        return self._rows[:self._size, 1:]


def _later(first, second):
    return second


class Lateness:
    """
    How late states come that are sent in equal steps of time, by the stamps they carry.

    The earliest of those around counts as in time: a state that got lost on its way, or time that
    was dropped, makes none of the others late.
    """

    def __init__(self, step):
        """Expect a state every `step` [s]."""
        self._step, self._due = step, None
        self._least, self._count = float('inf'), 0

    def note(self, time):
        """Return how late the state is that was sent at a time [s]."""
        self._due = time if self._due is None else self._due + self._step
        late = time - self._due
        if late < 0.0 or late > LONGEST:
            self._due, late = time, 0.0
        self._least, self._count = min(self._least, late), self._count + 1
        if self._count == AROUND:
            self._due += self._least
            self._least, self._count = float('inf'), 0
        return late


class RunRecord:
    """Joints, efforts, tips and timing of a run of an arm."""

    def __init__(self, joint_names, links, state_rate):
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
        self.position, self.tip = np.zeros(n), dict.fromkeys(self.links, 0.0)   # the newest
        self._lateness = Lateness(1.0 / state_rate)

    def add_joints(self, time, position, target, effort):
        """Note a joint state that was sent at a time since the start [s]."""
        self.position = position
        self.joints.add(time, np.concatenate([position, target, effort]))
        self.lateness.add(time, self._lateness.note(time))

    def add_tip(self, time, link, translation):
        """Note how far the tip of a link is from where it were if the link did not bend [m]."""
        self.tips[link].add(time, translation)
        self.tip[link] = float(np.linalg.norm(translation))
        self.largest_tip = max(self.largest_tip, self.tip[link])

    def add_delays(self, time, median, worst):
        """Note how long commands took to answer states in the last second [s]."""
        self.delays.add(time, (median, worst))

    def of_joints(self, kind):
        """Positions, targets or efforts, (k, joints)."""
        first = ('position', 'target', 'effort').index(kind) * len(self.joint_names)
        return self.joints.values[:, first:first + len(self.joint_names)]
