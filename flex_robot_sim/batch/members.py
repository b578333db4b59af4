"""
State of a batch: everything that a step of many arms depends on, one row per member.

Changing the numbers of an arm during a simulation changes its energy. The energy balance excludes
this change, because it is no error of the steps.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from flex_robot_sim.batch.batch_checks import expect_live
from flex_robot_sim.batch.rows import (
    live_column,
    move_base_poses_of_rows,
    repeated,
    row_of,
    set_energies_of_rows,
    table_of,
    with_member_rows,
    with_rows,
)
from flex_robot_sim.dynamics.arm_state import make_state, make_step_settings
from flex_robot_sim.dynamics.constraints.closing import closed_start
from flex_robot_sim.dynamics.loads import LoadArrays, Push, make_loads
from flex_robot_sim.dynamics.monitors import MIN_SLOW_COARSE_STEPS, make_watch, turn_limits
from flex_robot_sim.jit.array_table import TableRows
from flex_robot_sim.model.arm_arrays import ArmArrays, home_pose
from flex_robot_sim.model.arm_model import ArmModel, Payload
from flex_robot_sim.model.dc_motor import dc_motor_table
from flex_robot_sim.model.mass_points import with_as_many_points
from flex_robot_sim.model.payload import inertias_with_payloads, make_payload
from flex_robot_sim.model.slip_elements import ELEMENTS
from flex_robot_sim.model.start_pose import start_coordinates
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.motion.limits import command_limits, rate_limits
from flex_robot_sim.simulation.simulated_arm import MEMORY_FIELDS, STEP_HISTORY_FIELDS
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

MASS_POINT_FIELDS = ('point_start', 'point_mass', 'point_x', 'point_shape', 'point_H')


class Members:
    """Arms with their numbers, states, loads and workspaces."""

    def __init__(self, arms: list[ArmModel], settings: SimulationSettings) -> None:
        """Put all arms at rest in their start pose; they differ only in numbers."""
        self.arms, self.settings = arms, settings
        first, size = arms[0], len(arms)
        self.arrays: ArmArrays = table_of(with_as_many_points([arm.arrays for arm in arms]))
        # other numbers may give any arm Maxwell-slip elements later
        self.works = repeated(make_workspace(first.arrays, elements=ELEMENTS), size)
        self.works.base_pose[:] = self.start_poses(range(size))
        self.step_settings = make_step_settings(settings)
        self.state = repeated(make_state(first), size)
        self.state.q[:] = self.start_coordinates(range(size))
        self.payloads: list[dict[str, Payload]] = [{} for _ in arms]
        self.pushes: dict[str, list[Push]] = {}
        self.loads: LoadArrays = repeated(
            make_loads(first, closed_loops=True, free_base=True), size
        )
        self.watches = table_of([make_watch(arm, settings) for arm in arms], shares=False)
        self.seen: list[set[object]] = [set() for _ in arms]  # events that were reported
        self.lost = np.full(size, np.nan)  # when its state became non-finite          [s]
        self._live: dict[str, np.ndarray] = {}  # live numbers that the steps use
        self._tables: tuple[object, ...] = ()
        self._write_limits(range(size))
        self.start_energy = self.energies(np.arange(size)).sum(axis=1)

    def __len__(self) -> int:
        return len(self.arms)

    def handles(self) -> list[TableRows]:
        """Return TableRows of arms, loads, states, watches and workspaces."""
        tables = self.arrays, self.loads, self.state, self.watches, self.works
        if any(new is not old for new, old in zip(tables, self._tables or [None])):
            self._tables, self._handles = tables, [*map(TableRows, tables)]
        return self._handles

    def energies(self, rows: np.ndarray) -> np.ndarray:
        """Energies (r, 3) of some members: kinetic, strain, potential [J]."""
        arms, _, state, _, works = self.handles()
        out = np.zeros((len(rows), 3))
        set_energies_of_rows(arms, state, works, rows, out)
        return out

    def start(
        self, rows: np.ndarray, q: np.ndarray, qd: np.ndarray, base_poses: np.ndarray | None = None
    ) -> None:
        """
        Set the states (r, n) of members, and clear the results of previous steps.

        :param base_poses: of free bases, (r, 7), which q moves; default: as described.
        """
        state = self.state
        state.q[rows], state.qd[rows], state.qdd[rows], state.flow[rows] = q, qd, 0.0, 0.0
        if self.arms[0].has_free_base:
            self.works.base_pose[rows] = (
                self.start_poses(rows) if base_poses is None else base_poses
            )
            arms, _, states, _, works = self.handles()
            move_base_poses_of_rows(arms, states, works, rows)
        self.lost[rows] = np.nan
        self.clear_step_history(rows)
        for name in MEMORY_FIELDS:
            getattr(self.works, name)[rows] = 0.0
        self.start_energy[rows] = self.energies(rows).sum(axis=1)

    def start_coordinates(self, rows: Iterable[int]) -> np.ndarray:
        """Return the start coordinates (r, n) of members."""
        arms = [self.arms[k] for k in rows]
        start = {arm: closed_start(arm, start_coordinates(arm)) for arm in {*arms}}
        return np.array([start[arm] for arm in arms]).reshape(-1, self.arms[0].size)

    def start_poses(self, rows: Iterable[int]) -> np.ndarray:
        """Return the poses (r, 7) of the bases of members at the start."""
        return np.array([home_pose(self.arms[k].arrays) for k in rows]).reshape(-1, 7)

    def clear_step_history(self, rows: np.ndarray | np.integer | int) -> None:
        """Clear the results of previous steps of members."""
        for name in STEP_HISTORY_FIELDS:
            getattr(self.works, name)[rows] = 0.0
        self.works.contact_force[rows] = 0.0

    def forget_events(self, rows: np.ndarray) -> None:
        """Clear the recorded and reported events of members."""
        watches = self.watches
        watches.bent[rows] = watches.turned[rows] = watches.loaded[rows] = -1
        watches.singular[rows, 0] = watches.pierced[rows, 0] = -1
        watches.hard[rows], watches.coarse[rows] = (0, 0, -1), 0.0
        for k in rows:
            self.seen[k].clear()

    def live(self, name: str) -> np.ndarray:
        """Return a column of ArmArrays with a writable row for each member."""
        self.arrays = with_member_rows(self.arrays, name, len(self))
        column = live_column(self.arrays, name)
        self._live.setdefault(name, column.copy())
        return column

    def apply_live(self) -> None:
        """Apply live numbers that were written since; raise SettingError for invalid ones."""
        written = {
            name: (live_column(self.arrays, name) != applied).any(axis=1)
            for name, applied in self._live.items()
        }
        if not any(is_written.any() for is_written in written.values()):
            return
        rows, new = np.flatnonzero(np.any([*written.values()], axis=0)), {}
        for name, applied in self._live.items():
            column = live_column(self.arrays, name)
            expect_live(name, column, applied, self.arms[0])
            new[name] = column[rows]
        for name, applied in self._live.items():
            live_column(self.arrays, name)[rows] = applied[rows]  # for the previous energy
        with self._balance_preserved(rows):
            self.write_live(rows, new)

    def write_live(self, rows: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Write live numbers (r, joints) of members, by name, and their derived numbers."""
        for name, numbers in values.items():
            self.live(name)[rows] = self._live[name][rows] = numbers
        if 'rotor' in values:
            motor = self.arms[0].arrays.motor
            self.arrays = with_member_rows(self.arrays, 'inertia_scale', len(self))
            has_motor = motor >= 0
            self.arrays.inertia_scale[rows[:, None], motor[has_motor]] = values['rotor'][
                :, has_motor
            ]

    def live_numbers(self) -> dict[str, np.ndarray]:
        """Return copies of the live numbers (count, joints) that were accessed, by name."""
        return {name: values.copy() for name, values in self._live.items()}

    def set_arms(self, rows: np.ndarray, arms: Sequence[ArmModel]) -> None:
        """Replace the arms of members; their payloads and pushes stay."""
        payloads = [
            {
                link: payload_of_member(k, arm, link, old.mass, old.centre, old.inertia)
                for link, old in self.payloads[k].items()
            }
            for k, arm in zip(rows, arms)
        ]
        with self._balance_preserved(rows):
            self.write_arms(rows, arms, payloads)

    def write_arms(
        self, rows: np.ndarray, arms: Sequence[ArmModel], payloads: Sequence[dict[str, Payload]]
    ) -> None:
        """Write arms and payloads into the rows of members, and the numbers derived from them."""
        if not len(rows):
            return
        first, *padded = with_as_many_points(
            [row_of(self.arrays, 0), *(arm.arrays for arm in arms)]
        )
        if len(first.point_mass) > self.arrays.point_mass.shape[1]:
            self._add_points(first)
        self.arrays = with_rows(self.arrays, rows, padded, len(self))
        for k, arm, payloads_of_member in zip(rows, arms, payloads):
            self.arms[k], self.payloads[k] = arm, payloads_of_member
            watch = make_watch(arm, self.settings)
            self.watches.bend[k], self.watches.depth[k] = watch.bend, watch.depth
            self.watches.enough[k] = MIN_SLOW_COARSE_STEPS
        for name, values in self._live.items():
            values[rows] = live_column(self.arrays, name)[rows]
        self._write_limits(rows)
        self._write_payloads(rows)
        self._write_loads(rows)

    def set_payloads(self, rows: np.ndarray, link: str, payloads: Sequence[Payload]) -> None:
        """Set the payload of a link of each member, in place of its previous payload."""
        with self._balance_preserved(rows):
            for k, payload in zip(rows, payloads):
                self.payloads[k] = {**self.payloads[k], link: payload}
            self._write_payloads(rows)

    def set_pushes(self, rows: Sequence[int] | np.ndarray, pushes: Sequence[Push]) -> None:
        """Set the push at a link of each member, in place of its previous push."""
        for link in {push.link for push in pushes if push.link not in self.pushes}:
            self.pushes[link] = [Push(link)] * len(self)
            no_loads = make_loads(self.arms[0], [Push(link)], closed_loops=True, free_base=True)
            added = repeated(no_loads, len(self))
            self.loads = LoadArrays(
                *(np.concatenate(pair, axis=1) for pair in zip(self.loads, added))
            )
        for k, push in zip(rows, pushes):
            self.pushes[push.link][k] = push
        self._write_loads(rows)

    @contextmanager
    def _balance_preserved(self, rows: np.ndarray) -> Iterator[None]:
        """Exclude the change of numbers of members in this context from the energy balance."""
        energies_before = self.energies(rows).sum(axis=1)
        yield
        self.works.step[rows] = 0.0
        with np.errstate(invalid='ignore'):  # energies of a stopped member may be infinite
            self.start_energy[rows] += self.energies(rows).sum(axis=1) - energies_before

    @contextmanager
    def preserved_history(self) -> Iterator[None]:
        """Restore what the next step reads of the workspaces, after queries in this context."""
        names = (*STEP_HISTORY_FIELDS, 'applied')
        history = [getattr(self.works, name).copy() for name in names]
        try:
            yield
        finally:
            for name, values in zip(names, history):
                getattr(self.works, name)[:] = values

    def _write_payloads(self, rows):
        """Add the inertias of payloads to those of the arms."""
        if any(self.payloads[k] for k in rows):
            self.arrays = with_member_rows(self.arrays, 'inertia', len(self))
        for k in rows:
            arm, arrays = self.arms[k], self.arms[k].arrays
            if self.payloads[k]:
                inertia = inertias_with_payloads(arm, self.payloads[k])
                self.arrays.inertia[k], arrays = inertia, arrays._replace(inertia=inertia)
            self.watches.turn[k] = turn_limits(arm, arrays, self.settings)

    def _write_loads(self, rows):
        for k in rows:
            loads = make_loads(
                self.arms[k],
                [pushes[k] for pushes in self.pushes.values()],
                closed_loops=True,
                free_base=True,
            )
            for column, array in zip(self.loads, loads):
                column[k] = array

    def _write_limits(self, rows):
        for k in rows:
            arm = self.arms[k]
            self.works.dc_motor[k] = dc_motor_table(arm.description)
            self.works.effort_limit[k] = np.where(arm.actuated, np.inf, 0.0)
            if self.settings.drive_limits:
                self.works.effort_limit[k] = command_limits(arm)
                self.works.rate_limit[k] = rate_limits(arm)

    def _add_points(self, longest):
        """Pad all members to the numbers of mass points in `longest`."""
        rows = range(max(len(getattr(self.arrays, name)) for name in MASS_POINT_FIELDS))
        padded = table_of(
            with_as_many_points([longest, *(row_of(self.arrays, k) for k in rows)])[1:]
        )
        self.arrays = self.arrays._replace(
            **{name: getattr(padded, name) for name in MASS_POINT_FIELDS}
        )


def payload_of_member(
    k: int, arm: ArmModel, link: str, mass: float, centre: np.ndarray, inertia: np.ndarray
) -> Payload:
    """Return the Payload of a link of member k."""
    try:
        return make_payload(arm, link, mass, centre, inertia)
    except SettingError as error:
        raise SettingError(f'member {k}: {error}') from error
