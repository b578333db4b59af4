"""
Many arms that step side by side, on all processors: the same numbers as one by one.

Arms never meet, and each has a row in every table. So results are those of a Simulation bit for
bit, whatever the number of threads, and an arm that is lost stops alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.batch.checks import checked_arms, checked_rows, expect_finite
from flex_robot_sim.batch.rows import (
    State,
    advance_rows,
    repeated,
    set_energies_of_rows,
    table_of,
)
from flex_robot_sim.control.limits import effort_limits, rate_limits
from flex_robot_sim.core.arguments import is_known, settings_or_default, whole
from flex_robot_sim.core.handle import TableRows
from flex_robot_sim.core.loads import Push, expect_link, make_loads, payload_inertia
from flex_robot_sim.core.mass_points import with_as_many_points
from flex_robot_sim.core.model import ArmModel, make_workspace
from flex_robot_sim.core.validity import MANY, lines_of, make_watch, turn_limits
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.led_drives import lost_state
from flex_robot_sim.settings import SimulationSettings
from flex_robot_sim.simulation import steps_until

ROUND = 50_000              # steps of all arms between two looks for Ctrl-C
PIECES = 4                  # of a round for each thread: some arms take longer than others
FORGOTTEN = ('law', 'own', 'last', 'cornered', 'step')      # with a new state
SERVO = ('target', 'target_rate', 'servo_stiffness', 'servo_damping')

Rows = ArrayLike | slice | None


class Energies(NamedTuple):
    """Where the energy of each member is, (count,) each [J]; fields as those of Energy."""

    kinetic: np.ndarray
    strain: np.ndarray
    gravity: np.ndarray
    work: np.ndarray
    dissipated: np.ndarray
    balance: np.ndarray


class Snapshot(NamedTuple):
    """States of the members of a Batch, with efforts and servos, row by row."""

    rows: dict[str, np.ndarray]
    lost: np.ndarray


class Batch:
    """Arms in motion; efforts, targets and states are live arrays with a row for each."""

    def __init__(self, arms: ArmModel | Sequence[ArmModel], count: int | None = None,
                 settings: SimulationSettings | None = None, threads: int | None = None) -> None:
        """
        Start all arms at rest in their zero position.

        :param arms: an ArmModel for all, with a `count`; or one for each, alike but for numbers.
        :param threads: that step them; default: as many as there are processors.
        """
        self.settings = settings_or_default(settings)
        self.arms = checked_arms(arms, count)
        self.arm, size = self.arms[0], len(self.arms)
        if (self.settings.scheme, self.settings.formulation) != ('implicit_midpoint', 'recursion'):
            raise SettingError('a batch steps by the scheme implicit_midpoint and the formulation '
                               'recursion; take Simulation for others')
        self._threads = whole('threads', len(os.sched_getaffinity(0)) if threads is None
                              else threads)
        self._pool = ThreadPoolExecutor(self._threads)
        self.time = 0.0
        self.lost = np.full(size, np.nan)           # when a member left the finite range       [s]
        self.reports: list[tuple[int, str]] = []    # row, and a line as of a Simulation
        self._arrays = table_of(with_as_many_points([arm.arrays for arm in self.arms]))
        self._works = repeated(make_workspace(self.arm.arrays), size)
        if self.settings.drive_limits:
            self._works.effort_limit[:] = [effort_limits(arm) for arm in self.arms]
            self._works.rate_limit[:] = [rate_limits(arm) for arm in self.arms]
        n, joints = self.arm.size, len(self.arm.joint_names)
        q, qd, qdd = np.zeros((3, size, n))
        self._state = State(q, qd, qdd, np.zeros((size, joints)), np.zeros((size, 3)),
                            np.zeros((size, 9, n)))
        self._driven = driven(self.arm)
        self._pushes: dict[str, list[Push]] = {}
        self._payloads: list[dict[str, tuple[int, np.ndarray]]] = [{} for _ in self.arms]
        self._loads = table_of([make_loads(self.arm)])
        self._watches = table_of([make_watch(arm, self.settings) for arm in self.arms],
                                 shares=False)
        self._seen: list[set[object]] = [set() for _ in self.arms]
        self._told = self._signs()
        self._start_energy = self._energies().sum(axis=1)

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def effort(self) -> np.ndarray:
        """Efforts of the motors, live, (count, joints) [N m, N]."""
        return self._state.effort

    @property
    def target(self) -> np.ndarray:
        """Where the servos of `hold` pull to, live, (count, joints) [rad, m]."""
        return self._works.target

    @property
    def target_rate(self) -> np.ndarray:
        """With what rate these targets move, live, (count, joints) [rad/s, m/s]."""
        return self._works.target_rate

    @property
    def coordinates(self) -> np.ndarray:
        """All coordinates, in the order of arm.coordinate_names, (count, n)."""
        return self._state.q.copy()

    @property
    def rates(self) -> np.ndarray:
        """Rates of all coordinates, (count, n)."""
        return self._state.qd.copy()

    @property
    def position(self) -> np.ndarray:
        """Joint positions on the link side, (count, joints) [rad, m]."""
        return self._state.q[:, :len(self.arm.joint_names)].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities on the link side, (count, joints) [rad/s, m/s]."""
        return self._state.qd[:, :len(self.arm.joint_names)].copy()

    @property
    def motor_position(self) -> np.ndarray:
        """Joint positions on the motor side, behind the gear, (count, joints) [rad, m]."""
        return self._state.q[:, self._driven]

    @property
    def motor_velocity(self) -> np.ndarray:
        """Joint velocities on the motor side, behind the gear, (count, joints) [rad/s, m/s]."""
        return self._state.qd[:, self._driven]

    @property
    def is_lost(self) -> np.ndarray:
        """Which members have stopped at their last good state, (count,)."""
        return np.isfinite(self.lost)

    def pose(self, link: str, station: float | str | None = None) -> np.ndarray:
        """Poses (count, 4, 4) of a link in the base frame, see `Simulation.pose`."""
        return np.array([pose(arm, q, link, station) for arm, q in zip(self.arms, self._state.q)])

    def energy(self) -> Energies:
        """Return the Energies of the members, see `Simulation.energy`."""
        kinetic, strain, gravity = self._energies().T
        done, taken = self._state.flow[:, 0].copy(), self._state.flow[:, 1].copy()
        balance = kinetic + strain + gravity + taken - done - self._start_energy
        return Energies(kinetic, strain, gravity, done, taken, balance)

    def set_state(self, position: ArrayLike | None = None, velocity: ArrayLike | None = None,
                  coordinates: ArrayLike | None = None, rates: ArrayLike | None = None,
                  members: Rows = None) -> None:
        """
        Put members somewhere else; time goes on, and who was lost comes back.

        :param position: one or a row for each member, see `Simulation.set_state`.
        :param members: rows, as numpy takes them; default: all.
        """
        rows = self._rows(members)
        q, qd = np.zeros((2, len(rows), self.arm.size))
        for name, values, all_name, total, out in (
                ('position', position, 'coordinates', coordinates, q),
                ('velocity', velocity, 'rates', rates, qd)):
            if total is not None:
                if values is not None:
                    raise SettingError(f'{name} and {all_name} say the same: give one of them')
                out[:] = checked_rows(all_name, total, (len(rows), self.arm.size))
            elif values is not None:
                joints = checked_rows(name, values, (len(rows), len(self.arm.joint_names)))
                out[:, :joints.shape[1]] = joints
                out[:, self._driven] = joints
        state = self._state
        state.q[rows], state.qd[rows], state.qdd[rows], state.flow[rows] = q, qd, 0.0, 0.0
        self.lost[rows] = np.nan
        self._forget_steps(rows)
        self._start_energy[rows] = self._energies()[rows].sum(axis=1)

    def reset(self, members: Rows = None) -> None:
        """Put members back to rest in their zero position, without efforts, servo and pushes."""
        rows = self._rows(members)
        self._state.effort[rows] = 0.0
        for name in SERVO:
            getattr(self._works, name)[rows] = 0.0
        for pushes in self._pushes.values():
            for k in rows:
                pushes[k] = Push(pushes[k].link)
        self._make_loads()
        for k in rows:
            self._seen[k].clear()
        watches = self._watches
        watches.bent[rows] = watches.turned[rows] = -1
        watches.hard[rows], watches.coarse[rows] = (0, 0, -1), 0.0
        self.set_state(members=rows)
        self._told = self._signs()

    def hold(self, target: ArrayLike, stiffness: ArrayLike, damping: ArrayLike,
             rate: ArrayLike = 0.0, members: Rows = None) -> None:
        """
        Let motors pull towards targets with PD gains, on top of `effort`; zero gains let go.

        :param target: one, one for each joint, or a row for each member; likewise the others, see
            `Simulation.hold`.
        """
        rows = self._rows(members)
        shape = len(rows), len(self.arm.joint_names)
        given = [checked_rows(name, values, shape) for name, values in (
            ('target', target), ('rate', rate), ('stiffness', stiffness), ('damping', damping))]
        if min(gain.min(initial=0.0) for gain in given[2:]) < 0:
            raise SettingError('stiffness and damping of a servo must be >= 0')
        for name, values in zip(SERVO, given):
            getattr(self._works, name)[rows] = values

    def push(self, link: str, force: ArrayLike = 0.0, moment: ArrayLike = 0.0,
             point: ArrayLike = 0.0, follows: bool = False, members: Rows = None) -> None:
        """
        Push at a link until told otherwise; without force and moment, let go.

        :param force: one (3,), or a row for each member [N]; likewise moment [N m] and point [m],
            see `Simulation.push`.
        """
        rows = self._rows(members)
        vectors = [checked_rows(name, values, (len(rows), 3)) for name, values in (
            ('force', force), ('moment', moment), ('point', point))]
        expect_link(self.arm, link)
        pushes = list(self._pushes.get(link, [Push(link)] * len(self)))
        for k, pull, turn, place in zip(rows, *vectors):
            pushes[k] = Push(link, pull, turn, place, follows)
        self._pushes[link] = pushes
        self._make_loads()

    def set_payload(self, link: str, mass: ArrayLike, centre: ArrayLike = 0.0,
                    inertia: ArrayLike | None = None, members: Rows = None) -> None:
        """
        Fix bodies to a link, in place of the payloads it had.

        :param mass: one, or one for each member [kg]; centre: (3,), or a row for each [m].
        :param inertia: (3, 3), or one for each [kg m2]; see `Simulation.set_payload`.
        """
        rows = self._rows(members)
        if not is_known(link, self.arm.frames):
            raise SettingError(f'no link "{link}". Known: {", ".join(self.arm.frames)}')
        if self.arm.frames[link].body < 0:
            raise SettingError(f'link "{link}" is fixed to the base and carries no payload')
        masses = checked_rows('mass', mass, (len(rows),))
        centres = checked_rows('centre', centre, (len(rows), 3))
        inertias = checked_rows('inertia', 0.0 if inertia is None else inertia, (len(rows), 3, 3))
        frames = [self.arms[k].frames[link] for k in rows]
        added = [payload_inertia(link, *one) for one in zip(frames, masses, centres, inertias)]
        before = self._energies()[rows].sum(axis=1)
        if len(self._arrays.inertia) < len(self):
            self._arrays = self._arrays._replace(
                inertia=np.repeat(self._arrays.inertia, len(self), axis=0))
        for k, frame, matrix in zip(rows, frames, added):
            self._payloads[k][link] = frame.body, matrix
            self._arrays.inertia[k] = self.arms[k].arrays.inertia
            for body, one in self._payloads[k].values():
                self._arrays.inertia[k, body] += one
            self._watches.turn[k] = turn_limits(
                self.arms[k], self.arms[k].arrays._replace(inertia=self._arrays.inertia[k]),
                self.settings)
        self._works.step[rows] = 0.0
        self._start_energy[rows] += self._energies()[rows].sum(axis=1) - before

    def snapshot(self) -> Snapshot:
        """Return the Snapshot of all members; time, pushes and payloads are not in it."""
        return Snapshot({name: table.copy() for name, table in self._kept().items()},
                        self.lost.copy())

    def restore(self, snapshot: Snapshot, members: Rows = None) -> None:
        """Put members back to a Snapshot of this batch; they go on from there as they did."""
        rows = self._rows(members)
        if not isinstance(snapshot, Snapshot):
            raise SettingError('restore needs a Snapshot, as `snapshot` returns it')
        if len(snapshot.lost) != len(self):
            raise SettingError(f'a snapshot of {len(snapshot.lost)} members cannot be restored to '
                               f'{len(self)}')
        for name, table in self._kept().items():
            table[rows] = snapshot.rows[name][rows]
        self.lost[rows] = snapshot.lost[rows]

    def advance_to(self, time: float) -> None:
        """Go on until `time` [s], to the nearest whole step."""
        steps = steps_until(time, self.time, self.settings.time_step)
        if steps > 0:
            self.step(steps)

    def step(self, steps: int = 1) -> None:
        """Take steps of settings.time_step; a member that is lost keeps its last good state."""
        left, size = whole('steps', steps), len(self)
        names = self.arm.joint_names
        expect_finite('effort', self._state.effort, names, 'N m, N')
        expect_finite('target', self._works.target, names, 'rad, m')
        expect_finite('target_rate', self._works.target_rate, names, 'rad/s, m/s')
        start, done = self.time, 0
        while left:
            now = min(left, max(1, ROUND // size))
            self._take(start, done, now)
            done, left = done + now, left - now

    def _take(self, start, done, steps):
        """Let all members take steps, after those done since a start [s]."""
        h = float(self.settings.time_step)
        asked, taken = np.where(self.is_lost, 0, steps), np.zeros(len(self), int)
        arms, loads, state, watches, works = map(TableRows, (
            self._arrays, self._loads, self._state, self._watches, self._works))
        pieces = np.linspace(0, len(self), 1 + min(len(self), PIECES * self._threads), dtype=int)

        def advance(ends):
            advance_rows(arms, loads, self.settings.iterations, state, h, asked, watches, works,
                         *ends, taken)

        futures = [self._pool.submit(advance, ends) for ends in zip(pieces, pieces[1:])]
        interruption = None
        try:
            wait(futures)
        except KeyboardInterrupt as error:      # all members come to the same time before it ends
            interruption = error
            wait(futures)
        for future in futures:
            future.result()
        self.time = start + (done + steps) * h
        for k in np.flatnonzero(taken < asked):
            self.lost[k] = start + (done + taken[k]) * h
            self._forget_steps(k)
            self.reports.append((int(k), str(lost_state(float(self.lost[k])))))
        self._report(lambda step: start + (done + step + 1) * h)
        if interruption is not None:
            raise interruption

    def _report(self, time_of: Callable[[int], float]) -> None:
        signs = self._signs()
        for k in np.flatnonzero((signs != self._told).any(axis=1)):
            watch = type(self._watches)(*(table[k] for table in self._watches))
            self.reports += [(int(k), line) for line in lines_of(
                self.arms[k], self.settings, watch, self._seen[k], time_of)]
        self._told = signs

    def _signs(self):
        """Whether there is something to be told, (count, signs)."""
        w = self._watches
        return np.column_stack([
            w.hard[:, 1] > 0, w.hard[:, 0] >= MANY,
            (w.coarse[:, 2] >= w.enough[:, 0]) & (w.coarse[:, 0] > 0.5 * w.coarse[:, 1]),
            w.bent >= 0, w.turned >= 0])

    def _kept(self):
        """Tables of what a state goes on from, by name."""
        state, works = self._state, self._works
        return {**{name: getattr(state, name) for name in ('q', 'qd', 'qdd', 'effort', 'flow')},
                **{name: getattr(works, name) for name in (*FORGOTTEN, *SERVO)},
                'start_energy': self._start_energy}

    def _forget_steps(self, rows):
        for name in FORGOTTEN:
            getattr(self._works, name)[rows] = 0.0

    def _make_loads(self):
        self._loads = table_of([make_loads(arm, [pushes[k] for pushes in self._pushes.values()])
                                for k, arm in enumerate(self.arms)])

    def _energies(self):
        out = np.zeros((len(self), 3))
        set_energies_of_rows(*map(TableRows, (self._arrays, self._state, self._works)), out)
        return out

    def _rows(self, members):
        """Rows of some members, or of all."""
        try:
            return np.arange(len(self))[... if members is None else np.atleast_1d(members)
                                        if not isinstance(members, slice) else members]
        except (IndexError, TypeError, ValueError) as error:
            raise SettingError(f'members = {members!r} are no rows of {len(self)}') from error
