"""
Queries of a batch: those of a Simulation, for all members at once.

Compiled code passes through the members on the threads of the batch. What depends on an arm alone
is computed once for members that share it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from flex_robot_sim.analysis.deflection import deflections_of_poses
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.jacobians import STATION_MOTION, frame_of, section_row
from flex_robot_sim.analysis.twists import expect_representation
from flex_robot_sim.batch.members import Members
from flex_robot_sim.batch.row_queries import (
    set_applied_efforts_of_rows,
    set_body_motion_of_rows,
    set_constraint_wrenches_of_rows,
    set_contact_states_of_rows,
    set_deflections_of_rows,
    set_sections_of_rows,
    set_total_momenta_of_rows,
    set_wrenches_of_rows,
)
from flex_robot_sim.batch.workers import Workers, synchronized
from flex_robot_sim.dynamics.contact.state import STATE_SIZE
from flex_robot_sim.jit.array_table import TableRows
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import has_dry_friction
from flex_robot_sim.simulation.contact_state import ContactState, contact_rows
from flex_robot_sim.simulation.queries import carried_body, closed_loop

STEPS_PER_QUERY = 1  # steps of similar cost, to share the work among threads


class BatchQueries:
    """Base class of Batch with the queries of its members."""

    _members: Members
    _workers: Workers

    @property
    @synchronized
    def deflection(self) -> dict[str, np.ndarray]:
        """Tip translations and rotation vectors, (count, 6) [m, rad], by flexible link."""
        arms = tuple(self._members.arms)
        links, count = arms[0].tips, len(arms)
        roots = np.array([arms[0].segments[link][0] for link in links], int)
        tips = np.array([*links.values()], int).reshape(-1, 2)
        out = np.empty((count, len(links), 6))
        self._query(
            set_deflections_of_rows, [roots, tips, _all_rows(_lengths(arms), count)], [out]
        )
        for k, link in enumerate(links):
            if arms[0].description.beam(link).axis is not None:
                out[:, k] = deflections_of_poses(arms, link, out[:, k])
        return {link: out[:, k].copy() for k, link in enumerate(links)}

    @property
    def curvature(self) -> dict[str, np.ndarray]:
        """Mean curvatures (count,) [1/m] that the flex sensors measure, by name."""
        arms = tuple(self._members.arms)
        values = np.einsum(
            'kmn,kn->mk', _all_rows(_sensor_matrices(arms), len(arms)), self._members.state.q
        )
        return dict(zip(flex_sensors(arms[0]).names, values))

    @property
    @synchronized
    def applied_effort(self) -> np.ndarray:
        """Present motor efforts, servo included, (count, joints) [N m, N]."""
        out = np.empty_like(self._members.state.effort)
        self._query(set_applied_efforts_of_rows, [], [out])
        return out

    @synchronized
    def momentum(self) -> np.ndarray:
        """Momenta of the members, (count, 6), see `Simulation.momentum`."""
        return self._total_momentum()[:, :6]

    @property
    @synchronized
    def centre_of_mass(self) -> np.ndarray:
        """Centres of mass of the members, (count, 3) [m], see `Simulation.centre_of_mass`."""
        return self._total_momentum()[:, 6:]

    def _total_momentum(self):
        self._members.apply_live()
        out = np.zeros((len(self._members), 9))
        self._query(set_total_momenta_of_rows, [], [out])
        return out

    @property
    def mean_effort(self) -> np.ndarray:
        """Mean motor efforts of the last step, servo and limits included, (count, joints)."""
        return self._members.works.applied.copy()

    @property
    def motor_current(self) -> np.ndarray:
        """Currents of the DC motors after the last step, (count, joints) [A]; other motors: 0."""
        return self._members.works.motor_current.copy()

    @property
    def motor_heat(self) -> np.ndarray:
        """Heat of their windings since the state was set, (count, joints) [J]."""
        return self._members.works.motor_energy[:, :, 1].copy()

    @property
    def electrical_energy(self) -> np.ndarray:
        """Energy that the DC motors took up since the state was set, (count, joints) [J]."""
        return self._members.works.motor_energy[:, :, 0].copy()

    @synchronized
    def pose(self, link: str | None = None, *, station: float | str | None = None) -> np.ndarray:
        """Poses (count, 4, 4) of a link in the base frame, see `Simulation.pose`."""
        R, p, _ = self._frame_motion(link, station)
        poses = np.zeros((len(R), 4, 4))
        poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = R, p, 1.0
        return poses

    @synchronized
    def twist(
        self,
        link: str | None = None,
        *,
        representation: str = 'body',
        station: float | str | None = None,
    ) -> np.ndarray:
        """Twists (count, 6) [rad/s, m/s] of a link, see `Simulation.twist`."""
        expect_representation(representation)
        R, p, V = self._frame_motion(link, station)
        angular, linear = V[:, :3], V[:, 3:]
        if representation in ('spatial', 'hybrid'):
            angular = _products(R, angular)
        if representation != 'body':
            linear = _products(R, linear)
        if representation == 'spatial':
            linear = linear + np.cross(p, angular)
        return np.hstack([angular, linear])

    @synchronized
    def wrench(self, joint: str) -> np.ndarray:
        """Moments and forces (count, 6) [N m, N] of a joint, see `Simulation.wrench`."""
        body, _ = carried_body(self._members.arms[0], joint)
        size = self._members.state.q.shape
        F = self._wrenches(set_wrenches_of_rows, body, [np.zeros(size)])
        return _in_frames(F, *_frames(tuple(self._members.arms), _carried_frame, joint))

    @synchronized
    def constraint_force(self, name: str) -> np.ndarray:
        """Moments and forces (count, 6) [N m, N], see `Simulation.constraint_force`."""
        loop = closed_loop(self._members.arms[0], name)
        rows = np.array([loop.rows.start, loop.rows.stop])
        F = self._wrenches(set_constraint_wrenches_of_rows, rows, [])
        R, p, _ = self._frame_motion(loop.constraint.child, None)
        return _in_frames(F, R, p)

    @synchronized
    def contact(self, name: str) -> ContactState:
        """Return the ContactState of a `<contact>`, each field with a row per member."""
        arms = tuple(self._members.arms)
        rows, _ = contact_rows(arms[0], name)
        out = np.empty((len(arms), STATE_SIZE))
        frames = [_all_rows(table, len(arms)) for table in _frames(arms, _contact_frame, name)]
        self._query(set_contact_states_of_rows, [rows], [*frames, out])
        normal, gap, slides = out[:, 12:].T
        fields: list[Any] = [out[:, :3], out[:, 3:9], out[:, 9:12], normal, gap, slides != 0.0]
        return ContactState(*fields)

    def _wrenches(self, function, selected, temporaries):
        """Wrenches (count, 6) that a compiled function finds at the present accelerations."""
        members = self._members
        members.apply_live()
        count, size = members.state.q.shape
        is_sticky = _all_rows(
            np.array([has_dry_friction(row) for row in members.arrays.friction]), count
        )
        F, qdd = np.empty((count, 6)), members.state.qdd.copy()
        with members.preserved_history():
            self._query(
                function,
                [is_sticky, selected],
                [np.empty((count, size)), qdd, *temporaries, F],
                loads=True,
            )
        return F

    def _frame_motion(self, link, station):
        """Rotations and origins in the base frame, and body twists, of a frame of each member."""
        members = self._members
        arms, count = tuple(members.arms), len(members)
        link = arms[0].tool if link is None else link
        body = frame_of(arms[0], link).body
        if station is not None:
            body, _ = section_row(arms[0], link, station)
        base_R = np.tile(np.eye(3), (count, 1, 1))
        base_p = np.zeros((count, 3))
        V = np.zeros((count, 6))
        if body >= 0:
            self._query(set_body_motion_of_rows, [body], [base_R, base_p, V])
        if station is None:
            R, p = _frames(arms, frame_of, link)
        else:
            R, p, section_twists = (np.empty_like(array) for array in (base_R, base_p, V))
            tables, row = self._section_tables(arms, link, station)
            self._query(set_sections_of_rows, [body, row], [R, p, section_twists], tables)
            V += section_twists
        turned, angular = np.swapaxes(R, 1, 2), V[:, :3]
        twists = np.hstack(
            [_products(turned, angular), _products(turned, V[:, 3:] + np.cross(angular, p))]
        )
        return base_R @ R, _products(base_R, p) + base_p, twists

    def _section_tables(self, arms, link, station):
        """Tables of arms, states and workspaces with a station, and its row there."""
        members = self._members
        if isinstance(station, str) and station == 'tip':
            return None, arms[0].tips[link][1]
        arrays = members.arrays._replace(**_section_rows(arms, link, float(station)))
        works = members.works._replace(
            **{
                name: np.zeros((len(arms), 1, *getattr(members.works, name).shape[2:]))
                for name in STATION_MOTION
            }
        )
        return (TableRows(arrays), members.handles()[2], TableRows(works)), 0

    def _query(self, function, constants, outputs, tables=None, loads=False):
        """Call a compiled function of some members with its tables, on all threads."""
        handles = self._members.handles()
        arms, states, works = tables or (handles[0], handles[2], handles[4])
        rows = [arms, handles[1], states, works] if loads else [arms, states, works]
        self._workers.do(
            lambda piece: function(*rows, *constants, *piece, *outputs),
            self._workers.pieces(len(self._members), STEPS_PER_QUERY),
        )


def _in_frames(F, R, p):
    """Wrenches (count, 6) in frames with the poses (R, p)."""
    moment, force, turned = F[:, :3], F[:, 3:], np.swapaxes(R, 1, 2)
    return np.hstack([_products(turned, moment - np.cross(p, force)), _products(turned, force)])


def _by_arm(arms: tuple[ArmModel, ...], function: Callable[[ArmModel], Any]) -> np.ndarray:
    """Return the array of a function of each arm, (count, ...); one row if all are one arm."""
    values = {arm: function(arm) for arm in dict.fromkeys(arms)}
    return np.array([*values.values()] if len(values) == 1 else [values[arm] for arm in arms])


def _all_rows(table, count):
    """Return a contiguous table with a row per member."""
    return np.ascontiguousarray(np.broadcast_to(table, (count, *table.shape[1:])))


@lru_cache(maxsize=4)
def _lengths(arms):
    """Lengths (count or 1, t) of the flexible links [m]."""
    return _by_arm(arms, lambda arm: [arm.length(link) for link in arm.tips])


@lru_cache(maxsize=4)
def _sensor_matrices(arms):
    """Matrices (count or 1, k, n) of the flex sensors."""
    return _by_arm(arms, lambda arm: flex_sensors(arm).matrix)


@lru_cache(maxsize=16)
def _frames(arms, frame_of_arm, name):
    """Rotations (count or 1, 3, 3) and origins (count or 1, 3) [m] of frames in their bodies."""
    return (
        _by_arm(arms, lambda arm: frame_of_arm(arm, name).R),
        _by_arm(arms, lambda arm: frame_of_arm(arm, name).p),
    )


def _contact_frame(arm, name):
    return contact_rows(arm, name)[1]


def _carried_frame(arm, joint):
    return carried_body(arm, joint)[1]


@lru_cache(maxsize=4)
def _section_rows(arms, link, x):
    """Station arrays (count or 1, 1, ...) of a section, by name."""
    rows = {arm: section_row(arm, link, x)[1] for arm in dict.fromkeys(arms)}

    def field(name):
        return _by_arm(arms, lambda arm: [rows[arm][name]])

    return {name: field(name) for name in rows[arms[0]]}


def _products(matrices, vectors):
    """Products (count, 3) of matrices (count or 1, 3, 3) and vectors (count or 1, 3)."""
    return (matrices @ vectors[..., None])[..., 0]
