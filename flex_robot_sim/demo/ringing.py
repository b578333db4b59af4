"""How much the links of an arm ring after it was moved, from what was seen of a run."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.demo.record import RunRecord

STANDS = 1e-9           # change of a target that is none                               [rad, m]
SHORTEST = 0.5          # rest that counts                                              [s]
FIRST = 1               # of the rests after a motion; before it the arm still sags from the start


class Ringing(NamedTuple):
    """What the tips do while the targets stand."""

    amplitude: dict         # link -> half the range of its tip, mean over the rests       [m]
    rests: tuple            # (begin, end) of what was looked at                           [s]
    begin: float            # when the first motion before these began                     [s]

    @property
    def largest(self) -> str | None:
        """Link that rings most, or None."""
        return max(self.amplitude, key=lambda link: self.amplitude[link], default=None)


def ringing_of(record: RunRecord, span: float, first: int = FIRST) -> Ringing:
    """
    Return the Ringing in the rests of a RunRecord, in each from its beginning on.

    :param span: how long it is looked at [s]; shorter rests count as they are.
    :param first: how many rests are left out.
    """
    found = _rests(record)
    rests = [(begin, min(end, begin + span)) for begin, end in found[first:]]
    amplitude = {}
    for link, track in record.tips.items():
        sizes = [_range(track, *rest) for rest in rests]
        sizes = [size for size in sizes if size is not None]
        if sizes:
            amplitude[link] = float(np.mean(sizes)) / 2
    return Ringing(amplitude, tuple(rests), found[first - 1][1] if 0 < first < len(found) else 0.0)


def _rests(record):
    """Begin and end of each time in which the targets stand, after the first motion [s]."""
    time, target = record.joints.time, record.of_joints('target')
    if time.size < 2:
        return []
    moves = ~(np.abs(np.diff(target, axis=0)).max(axis=1) < STANDS)    # nan: no target yet
    known = np.isfinite(target).all(axis=1)
    moves[~known[:-1]] = False
    # targets come more rarely than states: a motion has no gap of less than a rest
    changes = 1 + np.flatnonzero(moves)
    ends = [*changes[1:] - 1, time.size - 1]
    return [(time[begin], time[end]) for begin, end in zip(changes, ends)
            if time[end] - time[begin] >= SHORTEST]


def _range(track, begin, end):
    rows = track.values[(track.time >= begin) & (track.time <= end)]
    return float(np.linalg.norm(np.ptp(rows, axis=0))) if len(rows) > 1 else None
