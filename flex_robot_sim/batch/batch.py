"""
Many arms that step in parallel, on all processors, with the results of single simulations.

The arms are independent, and each has a row in every table. The results are those of a Simulation
bit for bit, for any number of threads. If the state of one arm becomes non-finite, only it stops.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.batch.batch_checks import (
    checked_arms,
    checked_gains,
    checked_replacements,
    checked_rows,
    checked_states,
    expect_joint_numbers,
)
from flex_robot_sim.batch.batch_queries import BatchQueries
from flex_robot_sim.batch.batch_state import BatchState, expect_state, restore_members, state_of
from flex_robot_sim.batch.live_arrays import LiveArrays
from flex_robot_sim.batch.members import Members, payload_of_member
from flex_robot_sim.batch.rows import advance_rows, row_of
from flex_robot_sim.batch.workers import Workers, synchronized
from flex_robot_sim.dynamics.constraints.closing import closed_coordinates, closed_rates
from flex_robot_sim.dynamics.loads import Push, expect_link
from flex_robot_sim.dynamics.monitors import MIN_SUBDIVIDED_STEPS, report_lines
from flex_robot_sim.jit.deferred_signals import deliver_signals
from flex_robot_sim.model.arguments import expect_motors, settings_or_default, truth, whole
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import base_rates, body_pose, is_tied, moved_to
from flex_robot_sim.model.guide_range import refuse_outside_guides
from flex_robot_sim.model.payload import expect_payload_link
from flex_robot_sim.model.start_pose import start_note, state_note
from flex_robot_sim.simulation.recorder import Recorder
from flex_robot_sim.simulation.simulated_arm import SERVO_FIELDS
from flex_robot_sim.simulation.state_checks import steps_until
from flex_robot_sim.simulation.step_monitor import unusable_state_error
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import CopiedByState
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, listed, summarized

MAX_STEPS_PER_ROUND = 50_000  # sum over all arms between two checks for Ctrl-C
# attributes that a BatchState contains, or that are rebuilt; copies record no logs
REBUILT_ATTRIBUTES = (
    'settings',
    'time',
    'reports',
    '_members',
    '_reported_events',
    '_workers',
    '_lock',
    '_logs',
)

Rows = ArrayLike | slice | None


@summarized
class Energies(NamedTuple):
    """Energies of the members, (count,) each [J]; fields as in Energy."""

    kinetic: np.ndarray
    strain: np.ndarray
    gravity: np.ndarray
    work: np.ndarray
    dissipated: np.ndarray
    balance: np.ndarray


@summarized
class Batch(LiveArrays, BatchQueries, Recorder, CopiedByState):
    """
    Many simulated arms, stepped in parallel; each gives the results of its own Simulation.

    Efforts, targets and drive parameters are live arrays, one row per member.

    Example::

        batch = frs.Batch(frs.load('two_link'), 3)
        batch.set_payload('tool', mass=[0.0, 0.1, 0.2])
        batch.effort[:, 1] = 0.1                    # [N m]
        batch.step(10)
        assert batch.position.shape == (3, 3)       # (count, joints) [rad, m]
    """

    def __init__(
        self,
        arms: ArmModel | Sequence[ArmModel],
        count: int | None = None,
        settings: SimulationSettings | None = None,
        threads: int | None = None,
    ) -> None:
        """
        Start all arms at rest in their zero position, see `Simulation`.

        :param arms: one ArmModel for all, with a `count`; or one for each, of equal structure.
        :param threads: number of threads; default: one per available processor.
        """
        self.settings = settings_or_default(settings)
        arms = checked_arms(arms, count)
        if (self.settings.scheme, self.settings.formulation) != ('implicit_midpoint', 'recursion'):
            raise SettingError(
                'a batch steps by the scheme implicit_midpoint and the formulation '
                'recursion; take Simulation for others'
            )
        self._workers = Workers(
            whole('threads', len(os.sched_getaffinity(0)) if threads is None else threads)
        )
        self._lock = RLock()
        self.time = 0.0
        self.reports: list[tuple[int, str]] = []  # row, and a line as in Simulation
        self._members = Members(arms, self.settings)
        self._reported_events = self._event_flags()
        self._report_start(range(len(arms)))

    @synchronized
    def __getstate__(self) -> dict[str, Any]:
        return {
            **{
                name: value for name, value in vars(self).items() if name not in REBUILT_ATTRIBUTES
            },
            'state': self.save_state(),
            'threads': self._workers.threads,
        }

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        attributes = dict(attributes)
        state, threads = attributes.pop('state'), attributes.pop('threads')
        Batch.__init__(self, state.arms, None, state.settings, threads)
        self.restore_state(state)
        vars(self).update(attributes)

    def _summary(self) -> tuple[str, SummaryRows]:
        arm, settings, lost = self.arm, self.settings, np.flatnonzero(self.is_lost)
        return (
            f'Batch of {counted(len(self), "arm")} like "{arm.description.name}" at '
            f'{self.time:.6g} s',
            [
                ('joints', listed(arm.joint_names)),
                ('coordinates', str(arm.size)),
                ('settings', f'{settings.scheme}, time_step = {settings.time_step:g} s'),
                ('threads', str(self._workers.threads)),
                *([('lost', f'members {listed(lost)}')] if lost.size else []),
                *[
                    (
                        'reports',
                        f'{counted(len(self.reports), "line")}, the last: member {k}: {line}',
                    )
                    for k, line in self.reports[-1:]
                ],
            ],
        )

    @synchronized
    def energy(self) -> Energies:
        """Return the Energies of the members, see `Simulation.energy`."""
        members = self._members
        members.apply_live()
        kinetic, strain, gravity = members.energies(np.arange(len(self))).T
        work, dissipated = members.state.flow[:, 0].copy(), members.state.flow[:, 1].copy()
        balance = kinetic + strain + gravity + dissipated - work - members.start_energy
        return Energies(kinetic, strain, gravity, work, dissipated, balance)

    @synchronized
    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        base_pose: ArrayLike | None = None,
        base_twist: ArrayLike | None = None,
        members: Rows = None,
    ) -> None:
        """
        Set the state of members; time continues, and members that had stopped continue.

        :param q: one, or one row per member, see `Simulation.set_state`; v, base_pose and
            base_twist: the same.
        :param members: rows, as a numpy index; default: all.
        """
        rows = self._rows(members)
        q = (
            self._members.start_coordinates(rows)
            if q is None
            else checked_states(self.arm, 'q', q, rows)
        )
        v = np.zeros_like(q) if v is None else checked_states(self.arm, 'v', v, rows).copy()
        poses = self._base_motion(rows, v, base_pose, base_twist)
        refuse_outside_guides(self.arm, 'q', q)
        q, v = self._closed(rows, q, v, poses)
        self._members.apply_live()
        self._members.start(rows, q, v, poses)
        positions = q[:, self.arm.motor_q]
        arms, selected = self.arms, set(rows.tolist())
        self.reports[:] = [
            (k, line)
            for k, line in self.reports
            if k not in selected or line != start_note(arms[k])
        ]
        beyond = [(k, state_note(arms[k], place)) for k, place in zip(rows.tolist(), positions)]
        self.reports += [report for report in beyond if report[1] and report not in self.reports]

    def _base_motion(self, rows, v, base_pose, base_twist):
        """Return poses (r, 7) of the free bases of members; write their twists into v (r, n)."""
        if not self.arm.has_free_base and base_pose is None and base_twist is None:
            return None
        arms = [self._members.arms[k] for k in rows]
        if base_twist is not None:
            twists = checked_rows('base_twist', base_twist, (len(rows), 6), rows)
            v[:, self.arm.base_q] = np.array([*map(base_rates, arms, twists)])
        if base_pose is None:
            return self._members.start_poses(rows)
        poses = checked_rows('base_pose', base_pose, (len(rows), 7), rows)
        return np.array([*map(body_pose, arms, poses)])

    def _closed(self, rows, q, v, poses=None):
        """States (r, n) of members with closed loops, with the poses (r, 7) of free bases."""
        arms = [self._members.arms[k] for k in rows]
        if is_tied(self.arm) and poses is not None:
            arms = [*map(moved_to, arms, poses)]
        q = np.array([closed_coordinates(*pair) for pair in zip(arms, q)]).reshape(q.shape)
        return q, np.array([closed_rates(*one) for one in zip(arms, q, v)]).reshape(q.shape)

    @synchronized
    def reset(self, members: Rows = None) -> None:
        """
        Return members to rest in their start pose, without efforts, servo and pushes.

        Time continues; arms, live drive parameters and payloads stay.
        """
        rows, tables = self._rows(members), self._members
        tables.apply_live()
        tables.state.effort[rows] = 0.0
        for name in SERVO_FIELDS:
            getattr(tables.works, name)[rows] = 0.0
        for link in tables.pushes:
            tables.set_pushes(rows, [Push(link)] * len(rows))
        tables.forget_events(rows)
        tables.start(rows, tables.start_coordinates(rows), np.zeros((len(rows), self.arm.size)))
        self._reported_events = self._event_flags()
        self._report_start(rows)

    @synchronized
    def hold(
        self,
        target: ArrayLike,
        stiffness: ArrayLike,
        damping: ArrayLike,
        rate: ArrayLike = 0.0,
        members: Rows = None,
    ) -> None:
        """
        Hold targets with PD servos in addition to `effort`; zero gains switch them off.

        :param target: one number, one per joint, or one row per member; see `Simulation.hold`.
            The other parameters have the same forms.
        """
        rows = self._rows(members)
        shape = len(rows), len(self.arm.joint_names)
        tables = [
            checked_rows('target', target, shape, rows),
            checked_rows('rate', rate, shape, rows),
            checked_gains(self.arm, 'stiffness', stiffness, rows),
            checked_gains(self.arm, 'damping', damping, rows),
        ]
        for name, values in zip(SERVO_FIELDS, tables):
            getattr(self._members.works, name)[rows] = values

    @synchronized
    def push(
        self,
        link: str,
        force: ArrayLike = 0.0,
        moment: ArrayLike = 0.0,
        point: ArrayLike = 0.0,
        follows: bool = False,
        members: Rows = None,
    ) -> None:
        """
        Apply a force and a moment to a link until the next call; without both, remove them.

        :param force: one (3,), or one row per member [N], as are moment [N m] and point [m]; see
            `Simulation.push`.
        """
        rows = self._rows(members)
        vectors = [
            checked_rows(name, values, (len(rows), 3), rows)
            for name, values in (('force', force), ('moment', moment), ('point', point))
        ]
        expect_link(self.arm, link)
        is_follower = truth('follows', follows)
        self._members.set_pushes(
            rows, [Push(link, f, m, p, is_follower) for f, m, p in zip(*vectors)]
        )

    @synchronized
    def set_payload(
        self,
        link: str,
        mass: ArrayLike,
        centre: ArrayLike = 0.0,
        inertia: ArrayLike | None = None,
        members: Rows = None,
    ) -> None:
        """
        Attach rigid bodies to a link, in place of its previous payloads.

        :param mass: one, or one per member [kg]; centre: (3,), or one row per member [m].
        :param inertia: (3, 3), or one per member [kg m2]; see `Simulation.set_payload`.
        """
        rows = self._rows(members)
        expect_payload_link(self.arm, link)
        tables = [
            checked_rows(name, values, (len(rows), *shape), rows)
            for name, values, shape in (
                ('mass', mass, ()),
                ('centre', centre, (3,)),
                ('inertia', 0.0 if inertia is None else inertia, (3, 3)),
            )
        ]
        self._members.apply_live()
        self._members.set_payloads(
            rows,
            link,
            [
                payload_of_member(k, self._members.arms[k], link, *parameters)
                for k, parameters in zip(rows, zip(*tables))
            ],
        )

    @synchronized
    def set_arms(self, arms: ArmModel | Sequence[ArmModel], members: Rows = None) -> None:
        """
        Replace the arms of members by others of equal structure, such as from another description.

        States, efforts, servos, pushes and payloads stay; live drive parameters do not. The energy
        balance excludes the change of energy.

        :param arms: an ArmModel for all of these members, or one for each.
        """
        rows = self._rows(members)
        replacements = checked_replacements(arms, rows, self.arm)
        self._members.apply_live()
        self._members.set_arms(rows, replacements)

    @synchronized
    def save_state(self) -> BatchState:
        """Return the state of all members with loads, arms, settings and time, to restore it."""
        self._members.apply_live()
        return state_of(self._members, self.time, self.reports)

    @synchronized
    def restore_state(self, state: BatchState, *, members: Rows = None) -> None:
        """
        Restore members to the state of an equal batch; they continue bit for bit as after it.

        :param state: as `save_state` returns it, also from a pickle.
        :param members: rows, as a numpy index; default: all, and the time. Otherwise time
            continues.
        """
        rows = self._rows(members)
        expect_state(state, self._members)
        restore_members(self._members, rows, state)
        self._reported_events[rows] = self._event_flags()[rows]
        restored = set(rows.tolist())
        self.reports[:] = [
            *(report for report in self.reports if report[0] not in restored),
            *(report for report in state.reports if report[0] in restored),
        ]
        if members is None:
            self.time = state.time

    def advance_to(self, time: float) -> None:
        """Advance to `time` [s], to the nearest whole step."""
        steps = steps_until(time, self.time, self.settings.time_step)
        if steps > 0:
            self.step(steps)

    @synchronized
    def step(self, steps: int = 1) -> None:
        """Take steps of settings.time_step; a member stops before its state becomes non-finite."""
        if self._logs:
            return self._step_and_record(whole('steps', steps))
        remaining, size = whole('steps', steps), len(self)
        for name in ('effort', *SERVO_FIELDS):
            expect_joint_numbers(name, getattr(self, name), self.arm.joint_names)
        for name in ('effort', 'servo_stiffness', 'servo_damping'):
            expect_motors(self.arm, name, getattr(self, name))
        self._members.apply_live()
        start, done = self.time, 0
        while remaining:
            count = min(remaining, max(1, MAX_STEPS_PER_ROUND // size))
            self._advance(start, done, count)
            done, remaining = done + count, remaining - count
            deliver_signals()  # all members have reached the same time
        return None

    def _advance(self, start, done, steps):
        """Step all members; `done` steps have been completed since a start [s]."""
        h = float(self.settings.time_step)
        requested, taken = np.where(self.is_lost, 0, steps), np.zeros(len(self), int)
        arms, loads, state, watches, works = self._members.handles()
        self._workers.do(
            lambda piece: advance_rows(
                arms,
                loads,
                self._members.step_settings,
                state,
                requested,
                watches,
                works,
                *piece,
                taken,
            ),
            self._workers.pieces(len(self), steps),
        )
        self.time = start + (done + steps) * h
        for k in np.flatnonzero(taken < requested):
            self._members.lost[k] = start + (done + taken[k]) * h
            self._members.clear_step_history(k)
            state = row_of(self._members.state, int(k))
            error = unusable_state_error(self.arms[k], state, float(self.lost[k]))
            self.reports.append((int(k), str(error)))
        self._report(lambda step: start + (done + step + 1) * h)

    def _report_start(self, rows):
        """Report the first member of each arm that cannot start in its zero pose."""
        arms = self.arms
        first = {arms[k]: int(k) for k in reversed(rows)}
        found = [(k, start_note(arm)) for arm, k in reversed(first.items())]
        self.reports += [report for report in found if report[1] and report not in self.reports]

    def _report(self, time_of: Callable[[int], float]) -> None:
        flags, members = self._event_flags(), self._members
        for k in np.flatnonzero((flags != self._reported_events).any(axis=1)).tolist():
            self.reports += [
                (k, line)
                for line in report_lines(
                    members.arms[k],
                    self.settings,
                    row_of(members.watches, k),
                    members.seen[k],
                    time_of,
                )
            ]
        self._reported_events = flags

    def _event_flags(self):
        """Flags of the events to report, (count, events)."""
        watches = self._members.watches
        return np.column_stack(
            [
                watches.hard[:, 1] > 0,
                watches.hard[:, 0] >= MIN_SUBDIVIDED_STEPS,
                (watches.coarse[:, 2] >= watches.enough[:, 0])
                & (watches.coarse[:, 0] > 0.5 * watches.coarse[:, 1]),
                watches.singular[:, 0] >= 0,
                watches.pierced[:, 0] >= 0,
                watches.bent >= 0,
                watches.turned >= 0,
                watches.loaded >= 0,
            ]
        )

    def _rows(self, members):
        """Rows of the selected members, by default all."""
        all_rows = np.arange(len(self))
        if members is None:
            return all_rows
        try:
            index = members if isinstance(members, slice) else np.atleast_1d(members)
            if isinstance(index, np.ndarray) and index.size == 0 and index.dtype == float:
                index = index.astype(int)  # numpy converts an empty list to floats
            rows = all_rows[index]
        except (IndexError, TypeError, ValueError) as error:
            raise SettingError(f'members = {members!r} are no rows of {len(self)}') from error
        if rows.ndim != 1:
            raise SettingError(f'members = {members!r} must be one list of rows')
        return rows
