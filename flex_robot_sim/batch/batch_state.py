"""
State of a batch at an instant: everything that the next step of each member depends on.

Derived data are rebuilt: rows of numbers from arms, payloads and live numbers, loads from pushes,
and the results of a step.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.batch.batch_checks import has_same_structure
from flex_robot_sim.batch.members import Members
from flex_robot_sim.batch.rows import live_column
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.model.arm_model import ArmModel, Payload
from flex_robot_sim.simulation.simulated_arm import (
    MEMORY_FIELDS,
    SAVED_FIELDS,
    SERVO_FIELDS,
    STEP_HISTORY_FIELDS,
)
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.serialization import STAMP, make_tuple
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized


@summarized
class BatchState(NamedTuple):
    """State of the members of a Batch at an instant, as `Batch.save_state` returns it."""

    time: float  # [s]
    settings: SimulationSettings
    arms: list[ArmModel]
    payloads: list[dict[str, Payload]]  # by link
    pushes: dict[str, list[Push]]  # by link, of each member
    live: dict[str, np.ndarray]  # live numbers that were accessed, by name
    seen: list[set[object]]  # events that were reported
    rows: dict[str, np.ndarray]  # tables, by name
    reports: list[tuple[int, str]]

    def __reduce__(self) -> Any:
        return make_tuple, (STAMP, type(self), *self)

    def __copy__(self) -> BatchState:
        return deepcopy(self)

    def _summary(self) -> tuple[str, SummaryRows]:
        lists = (
            ('pushes', self.pushes),
            ('live numbers', self.live),
            (
                'payloads',
                {link: payload for by_link in self.payloads for link, payload in by_link.items()},
            ),
        )
        return (
            f'BatchState of {counted(len(self.arms), "arm")} like '
            f'"{self.arms[0].description.name}" at {self.time:.6g} s',
            [(label, listed(words)) for label, words in lists if words],
        )


def state_of(members: Members, time: float, reports: list[tuple[int, str]]) -> BatchState:
    """Return the BatchState of all members at a time [s]."""
    return BatchState(
        time,
        members.settings,
        [*members.arms],
        [*members.payloads],
        {link: [*pushes] for link, pushes in members.pushes.items()},
        members.live_numbers(),
        [{*reported} for reported in members.seen],
        {name: table.copy() for name, table in _tables(members).items()},
        [*reports],
    )


def expect_state(state: object, members: Members) -> None:
    """Raise SettingError for anything but a BatchState of such members."""
    if not isinstance(state, BatchState):
        raise SettingError(
            f'state = {shortened(repr(state), 60)} must be a BatchState, as '
            'Batch.save_state() returns it'
        )
    if len(state.arms) != len(members):
        raise SettingError(
            f'state has {len(state.arms)} members, the batch {len(members)}: they '
            'must be the same number'
        )
    if not has_same_structure(state.arms[0], members.arms[0]):
        raise SettingError(
            f'state is of another arm, "{state.arms[0].description.name}": links, joints and '
            f'elastic coordinates must be those of "{members.arms[0].description.name}"'
        )
    if state.settings != members.settings:
        raise SettingError(
            'state is of a batch with other settings: make the batch with state.settings'
        )


def restore_members(members: Members, rows: np.ndarray, state: BatchState) -> None:
    """Restore some members from a state."""
    if not len(rows):
        return
    changed = np.array(
        [
            k
            for k in rows
            if members.arms[k] is not state.arms[k] or members.payloads[k] is not state.payloads[k]
        ],
        int,
    )
    members.write_arms(
        changed, [state.arms[k] for k in changed], [state.payloads[k] for k in changed]
    )
    for name in {**members.live_numbers(), **state.live}:
        members.write_live(
            rows,
            {
                name: state.live[name][rows]
                if name in state.live
                else np.array([live_column(state.arms[k].arrays, name) for k in rows])
            },
        )
    for link in {**members.pushes, **state.pushes}:
        no_pushes = [Push(link)] * len(members)
        present, past = members.pushes.get(link, no_pushes), state.pushes.get(link, no_pushes)
        changed_rows = [k for k in rows if present[k] is not past[k]]
        members.set_pushes(changed_rows, [past[k] for k in changed_rows])
    for k in rows:
        members.seen[k] = {*state.seen[k]}
    for name, table in _tables(members).items():
        table[rows] = state.rows[name][rows]


def _tables(members):
    """Tables of the states and of the recorded events, by name."""
    tables = {'start_energy': members.start_energy, 'lost': members.lost}
    for table, names in (
        (members.state, SAVED_FIELDS['state']),
        (
            members.works,
            (*STEP_HISTORY_FIELDS, *MEMORY_FIELDS, *SERVO_FIELDS, 'base_pose', 'contact_force'),
        ),
        (members.watches, ('bent', 'turned', 'loaded', 'hard', 'coarse', 'enough', 'singular')),
    ):
        tables.update({name: getattr(table, name) for name in names})
    return tables
