"""
States of a batch to which one may come back: all that the next step of each member depends on.

What follows from other things is made again: rows of numbers from arms, payloads and live numbers,
loads from pushes, and what a step finds for itself.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.batch.checks import is_like
from flex_robot_sim.batch.members import FORGOTTEN, SERVO, Members, Payload
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import STAMP, make_tuple
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized


@summarized
class Snapshot(NamedTuple):
    """Members of a Batch at an instant."""

    time: float                                 # [s]
    settings: SimulationSettings
    arms: list[ArmModel]
    payloads: list[dict[str, Payload]]          # by link
    pushes: dict[str, list[Push]]               # by link, of each member
    live: dict[str, np.ndarray]                 # numbers that somebody has asked for, by name
    seen: list[set[object]]                     # what was told
    rows: dict[str, np.ndarray]                 # tables, by name

    def __reduce__(self) -> Any:
        return make_tuple, (STAMP, type(self), *self)

    def __copy__(self) -> Snapshot:
        return deepcopy(self)

    def _summary(self) -> tuple[str, SummaryRows]:
        lists = (('pushes', self.pushes), ('live numbers', self.live),
                 ('payloads', {link: one for carried in self.payloads
                               for link, one in carried.items()}))
        return (f'Snapshot of {counted(len(self.arms), "arm")} like '
                f'"{self.arms[0].description.name}" at {self.time:.6g} s',
                [(label, listed(words)) for label, words in lists if words])


def snapshot_of(members: Members, time: float) -> Snapshot:
    """Return the Snapshot of all members at a time [s]."""
    return Snapshot(
        time, members.settings, [*members.arms], [*members.payloads],
        {link: [*pushes] for link, pushes in members.pushes.items()}, members.live_numbers(),
        [{*told} for told in members.seen],
        {name: table.copy() for name, table in _tables(members).items()})


def expect_snapshot(snapshot: object, members: Members) -> None:
    """Refuse what is no Snapshot of such members."""
    if not isinstance(snapshot, Snapshot):
        raise SettingError('restore needs a Snapshot, as `snapshot` returns it')
    if len(snapshot.arms) != len(members):
        raise SettingError(f'a snapshot of {len(snapshot.arms)} members cannot be restored to '
                           f'{len(members)}')
    if not is_like(snapshot.arms[0], members.arms[0]):
        raise SettingError('a snapshot of another arm cannot be restored: links, joints and '
                           'elastic coordinates must be the same')
    if snapshot.settings != members.settings:
        raise SettingError('a snapshot of a batch with other settings cannot be restored')


def put_back(members: Members, rows: np.ndarray, snapshot: Snapshot) -> None:
    """Make some members what they were."""
    if not len(rows):
        return
    changed = np.array([k for k in rows if members.arms[k] is not snapshot.arms[k]
                        or members.payloads[k] is not snapshot.payloads[k]], int)
    members.write_arms(changed, [snapshot.arms[k] for k in changed],
                       [snapshot.payloads[k] for k in changed])
    for name in {**members.live_numbers(), **snapshot.live}:
        members.write_live(rows, {name: snapshot.live[name][rows] if name in snapshot.live
                                  else np.array([getattr(snapshot.arms[k].arrays, name)
                                                 for k in rows])})
    for link in {**members.pushes, **snapshot.pushes}:
        none = [Push(link)] * len(members)
        now, then = members.pushes.get(link, none), snapshot.pushes.get(link, none)
        other = [k for k in rows if now[k] is not then[k]]
        members.set_pushes(other, [then[k] for k in other])
    for k in rows:
        members.seen[k] = {*snapshot.seen[k]}
    for name, table in _tables(members).items():
        table[rows] = snapshot.rows[name][rows]


def _tables(members):
    """What states go on from, and what has been seen of them, by name."""
    out = {'start_energy': members.start_energy, 'lost': members.lost}
    for table, names in ((members.state, ('q', 'qd', 'qdd', 'effort', 'flow')),
                         (members.works, (*FORGOTTEN, *SERVO)),
                         (members.watches, ('bent', 'turned', 'hard', 'coarse', 'enough'))):
        out.update({name: getattr(table, name) for name in names})
    return out
