"""
Many arms that step side by side, on all processors: the same numbers as one by one.

Arms never meet, and each has a row in every table. So results are those of a Simulation bit for
bit, whatever the number of threads, and an arm that is lost stops alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.batch.checks import (
    checked_arms,
    checked_rows,
    expect_joint_numbers,
    other_arms,
)
from flex_robot_sim.batch.live import LiveArrays
from flex_robot_sim.batch.members import SERVO, Members, payload_of_member
from flex_robot_sim.batch.rows import advance_rows, row_of
from flex_robot_sim.batch.snapshots import Snapshot, expect_snapshot, put_back, snapshot_of
from flex_robot_sim.batch.workers import Workers, as_a_whole
from flex_robot_sim.dynamics.loads import Push, expect_link
from flex_robot_sim.dynamics.monitors import MIN_SUBDIVIDED_STEPS, report_lines
from flex_robot_sim.jit.deferred_signals import pass_on_signals
from flex_robot_sim.model.arguments import is_known, settings_or_default, truth, whole
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_note, state_note
from flex_robot_sim.simulation.prescribed_drives import non_finite_state_error
from flex_robot_sim.simulation.simulation import steps_until
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import STAMP, Serializable, make_blank
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized

ROUND = 50_000              # steps of all arms between two looks for Ctrl-C
# attributes that a snapshot has, or that are made again
REBUILT = ('settings', 'time', '_members', '_told', '_workers', '_at_work')

Rows = ArrayLike | slice | None


@summarized
class Energies(NamedTuple):
    """Where the energy of each member is, (count,) each [J]; fields as those of Energy."""

    kinetic: np.ndarray
    strain: np.ndarray
    gravity: np.ndarray
    work: np.ndarray
    dissipated: np.ndarray
    balance: np.ndarray


@summarized
class Batch(LiveArrays, Serializable):
    """Arms in motion; efforts, targets and numbers of drives are live arrays with a row each."""

    def __init__(self, arms: ArmModel | Sequence[ArmModel], count: int | None = None,
                 settings: SimulationSettings | None = None, threads: int | None = None) -> None:
        """
        Start all arms at rest in their zero position, see `Simulation`.

        :param arms: an ArmModel for all, with a `count`; or one for each, alike but for numbers.
        :param threads: that step them; default: as many as there are processors.
        """
        self.settings = settings_or_default(settings)
        arms = checked_arms(arms, count)
        if (self.settings.scheme, self.settings.formulation) != ('implicit_midpoint', 'recursion'):
            raise SettingError('a batch steps by the scheme implicit_midpoint and the formulation '
                               'recursion; take Simulation for others')
        self._workers = Workers(whole('threads', len(os.sched_getaffinity(0)) if threads is None
                                      else threads))
        self._at_work = RLock()
        self.time = 0.0
        self.reports: list[tuple[int, str]] = []    # row, and a line as of a Simulation
        self._members = Members(arms, self.settings)
        self._told = self._signs()
        self._report_start(range(len(arms)))

    def __copy__(self) -> Batch:
        """Return a batch that goes on from here independently; the arms are the same."""
        other = make_blank(STAMP, type(self))
        other.__setstate__(self.__getstate__())
        return other

    @as_a_whole
    def __getstate__(self) -> dict[str, Any]:
        return {**{name: value for name, value in vars(self).items() if name not in REBUILT},
                'snapshot': self.snapshot(), 'threads': self._workers.threads,
                'reports': [*self.reports]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = dict(state)
        snapshot, threads = own.pop('snapshot'), own.pop('threads')
        Batch.__init__(self, snapshot.arms, None, snapshot.settings, threads)
        self.restore(snapshot)
        vars(self).update(own)

    def _summary(self) -> tuple[str, SummaryRows]:
        arm, settings, lost = self.arm, self.settings, np.flatnonzero(self.is_lost)
        return (f'Batch of {counted(len(self), "arm")} like "{arm.description.name}" at '
                f'{self.time:.6g} s', [
                    ('joints', listed(arm.joint_names)), ('coordinates', str(arm.size)),
                    ('settings', f'{settings.scheme}, time_step = {settings.time_step:g} s'),
                    ('threads', str(self._workers.threads)),
                    *([('lost', f'members {listed(lost)}')] if lost.size else []),
                    *[('reports', f'{counted(len(self.reports), "line")}, the last: member {k}: '
                       f'{line}') for k, line in self.reports[-1:]]])

    @as_a_whole
    def energy(self) -> Energies:
        """Return the Energies of the members, see `Simulation.energy`."""
        members = self._members
        members.note_live()
        kinetic, strain, gravity = members.energies(np.arange(len(self))).T
        done, taken = members.state.flow[:, 0].copy(), members.state.flow[:, 1].copy()
        balance = kinetic + strain + gravity + taken - done - members.start_energy
        return Energies(kinetic, strain, gravity, done, taken, balance)

    @as_a_whole
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
        if position is None and coordinates is None:
            q[:] = self._members.start_coordinates(rows)
        for name, values, all_name, total, out in (
                ('position', position, 'coordinates', coordinates, q),
                ('velocity', velocity, 'rates', rates, qd)):
            if total is not None:
                if values is not None:
                    raise SettingError(f'{name} and {all_name} say the same: give one of them')
                out[:] = checked_rows(all_name, total, (len(rows), self.arm.size), rows)
            elif values is not None:
                joints = checked_rows(name, values, (len(rows), len(self.arm.joint_names)), rows)
                out[:, :joints.shape[1]] = joints
                out[:, driven(self.arm)] = joints
        self._members.note_live()
        self._members.start(rows, q, qd)
        places = q[:, driven(self.arm)]
        arms, own = self.arms, set(rows.tolist())
        self.reports[:] = [(k, line) for k, line in self.reports
                           if k not in own or line != start_note(arms[k])]
        beyond = [(k, state_note(arms[k], place)) for k, place in zip(rows.tolist(), places)]
        self.reports += [one for one in beyond if one[1] and one not in self.reports]

    @as_a_whole
    def reset(self, members: Rows = None) -> None:
        """
        Put members back to rest where they started, without efforts, servo and pushes.

        Time goes on; arms, live numbers of theirs and payloads stay.
        """
        rows, those = self._rows(members), self._members
        those.note_live()
        those.state.effort[rows] = 0.0
        for name in SERVO:
            getattr(those.works, name)[rows] = 0.0
        for link in those.pushes:
            those.set_pushes(rows, [Push(link)] * len(rows))
        those.forget_signs(rows)
        those.start(rows, those.start_coordinates(rows), np.zeros((len(rows), self.arm.size)))
        self._told = self._signs()
        self._report_start(rows)

    @as_a_whole
    def hold(self, target: ArrayLike, stiffness: ArrayLike, damping: ArrayLike,
             rate: ArrayLike = 0.0, members: Rows = None) -> None:
        """
        Let motors pull towards targets with PD gains, on top of `effort`; zero gains let go.

        :param target: one, one for each joint, or a row for each member; likewise the others, see
            `Simulation.hold`.
        """
        rows, names = self._rows(members), self.arm.joint_names
        given = [checked_rows(name, values, (len(rows), len(names)), rows)
                 for name, values in (('target', target), ('rate', rate),
                                      ('stiffness', stiffness), ('damping', damping))]
        for name, gains in zip(('stiffness', 'damping'), given[2:]):
            expect_joint_numbers(name, gains, names, rows)
        for name, values in zip(SERVO, given):
            getattr(self._members.works, name)[rows] = values

    @as_a_whole
    def push(self, link: str, force: ArrayLike = 0.0, moment: ArrayLike = 0.0,
             point: ArrayLike = 0.0, follows: bool = False, members: Rows = None) -> None:
        """
        Push at a link until told otherwise; without force and moment, let go.

        :param force: one (3,), or a row for each member [N]; likewise moment [N m] and point [m],
            see `Simulation.push`.
        """
        rows = self._rows(members)
        vectors = [checked_rows(name, values, (len(rows), 3), rows) for name, values in (
            ('force', force), ('moment', moment), ('point', point))]
        expect_link(self.arm, link)
        turns_along = truth('follows', follows)
        self._members.set_pushes(rows, [Push(link, pull, turn, place, turns_along)
                                        for pull, turn, place in zip(*vectors)])

    @as_a_whole
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
        given = [checked_rows(name, values, (len(rows), *shape), rows) for name, values, shape in (
            ('mass', mass, ()), ('centre', centre, (3,)),
            ('inertia', 0.0 if inertia is None else inertia, (3, 3)))]
        self._members.note_live()
        self._members.set_payloads(rows, link, [
            payload_of_member(k, self._members.arms[k], link, *one)
            for k, one in zip(rows, zip(*given))])

    @as_a_whole
    def set_arms(self, arms: ArmModel | Sequence[ArmModel], members: Rows = None) -> None:
        """
        Give members other arms, alike but for numbers: those of another description, for instance.

        States, efforts, servos, pushes and payloads stay; live numbers of the arm do not. What
        energy the other numbers bring is in no balance.

        :param arms: an ArmModel for all of these members, or one for each.
        """
        rows = self._rows(members)
        others = other_arms(arms, rows, self.arm)
        self._members.note_live()
        self._members.set_arms(rows, others)

    @as_a_whole
    def snapshot(self) -> Snapshot:
        """Return a Snapshot of all members: their states, and all that acts on them."""
        self._members.note_live()
        return snapshot_of(self._members, self.time)

    @as_a_whole
    def restore(self, snapshot: Snapshot, members: Rows = None) -> None:
        """
        Put members back to a Snapshot of such a batch; they go on from there as they did.

        All members go back in time; where only some do, time goes on.
        """
        rows = self._rows(members)
        expect_snapshot(snapshot, self._members)
        put_back(self._members, rows, snapshot)
        self._told[rows] = self._signs()[rows]
        if members is None:
            self.time = snapshot.time

    def advance_to(self, time: float) -> None:
        """Go on until `time` [s], to the nearest whole step."""
        steps = steps_until(time, self.time, self.settings.time_step)
        if steps > 0:
            self.step(steps)

    @as_a_whole
    def step(self, steps: int = 1) -> None:
        """Take steps of settings.time_step; a member that is lost keeps its last good state."""
        left, size = whole('steps', steps), len(self)
        expect_joint_numbers('effort', self.effort, self.arm.joint_names)
        for name in SERVO:
            expect_joint_numbers(name, getattr(self, name), self.arm.joint_names)
        self._members.note_live()
        start, done = self.time, 0
        while left:
            now = min(left, max(1, ROUND // size))
            self._take(start, done, now)
            done, left = done + now, left - now
            pass_on_signals()       # all members have come to the same time

    def _take(self, start, done, steps):
        """Let all members take steps, after those done since a start [s]."""
        h = float(self.settings.time_step)
        asked, taken = np.where(self.is_lost, 0, steps), np.zeros(len(self), int)
        arms, loads, state, watches, works = self._members.handles()
        self._workers.do(lambda piece: advance_rows(
            arms, loads, self.settings.iterations, state, h, asked, watches, works, *piece,
            taken), self._workers.pieces(len(self), steps))
        self.time = start + (done + steps) * h
        for k in np.flatnonzero(taken < asked):
            self._members.lost[k] = start + (done + taken[k]) * h
            self._members.forget_steps(k)
            self.reports.append((int(k), str(non_finite_state_error(float(self.lost[k])))))
        self._report(lambda step: start + (done + step + 1) * h)

    def _report_start(self, rows):
        """Report members that cannot start in their zero pose, the first of those of one arm."""
        arms = self.arms
        first = {arms[k]: int(k) for k in reversed(rows)}
        found = [(k, start_note(arm)) for arm, k in reversed(first.items())]
        self.reports += [one for one in found if one[1] and one not in self.reports]

    def _report(self, time_of: Callable[[int], float]) -> None:
        signs, members = self._signs(), self._members
        for k in np.flatnonzero((signs != self._told).any(axis=1)).tolist():
            self.reports += [(k, line) for line in report_lines(
                members.arms[k], self.settings, row_of(members.watches, k), members.seen[k],
                time_of)]
        self._told = signs

    def _signs(self):
        """Whether there is something to be told, (count, signs)."""
        w = self._members.watches
        return np.column_stack([
            w.hard[:, 1] > 0, w.hard[:, 0] >= MIN_SUBDIVIDED_STEPS,
            (w.coarse[:, 2] >= w.enough[:, 0]) & (w.coarse[:, 0] > 0.5 * w.coarse[:, 1]),
            w.bent >= 0, w.turned >= 0])

    def _rows(self, members):
        """Rows of some members, or of all."""
        every = np.arange(len(self))
        if members is None:
            return every
        try:
            given = members if isinstance(members, slice) else np.atleast_1d(members)
            if isinstance(given, np.ndarray) and given.size == 0 and given.dtype == float:
                given = given.astype(int)       # numpy takes an empty list for one of floats
            rows = every[given]
        except (IndexError, TypeError, ValueError) as error:
            raise SettingError(f'members = {members!r} are no rows of {len(self)}') from error
        if rows.ndim != 1:
            raise SettingError(f'members = {members!r} must be one list of rows')
        return rows
