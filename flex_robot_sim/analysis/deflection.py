"""Deflection of the tip of a flexible link from its undeformed position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import checked_states
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import SLIDING, has_spatial_bodies
from flex_robot_sim.model.slide_columns import LENGTH, OFFSET
from flex_robot_sim.spatial.exponential import set_rotation, set_rotation_vector
from flex_robot_sim.util.exceptions import SettingError


def deflection(arm: ArmModel, q: ArrayLike) -> dict[str, np.ndarray]:
    """
    Translation and rotation vector [m, rad] of the tip of each flexible link, by name.

    Both are relative to the undeformed tip frame, whose x axis is along the undeformed beam.

    :param arm: ArmModel.
    :param q: all coordinates, (nq,) [rad, m], or a state per row, (k, nq).
    :returns: (6,) by link, or (k, 6).

    Example::

        arm = frs.load('two_link')
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        tip = frs.deflection(arm, rest.q)['forearm']
        assert tip.shape == (6,) and tip[2] < 0.0
    """
    states = checked_states(arm, 'q', q)
    rows = np.atleast_2d(states)
    return {
        link: _deflections(arm, link, rows).reshape(*states.shape[:-1], 6) for link in arm.tips
    }


def tip_deflection(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Translation [m] and rotation vector [rad] (6,) of a tip from its undeformed frame."""
    return _deflections(arm, link, q[None])[0]


def tip_translations(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Translations of `tip_deflection` at many states at once, (k, 3) from (k, n) [m]."""
    return _tips(arm, link, q, has_turn=False)[0]


def _deflections(arm, link, q):
    """Return translations and rotation vectors (k, 6) at states (k, n)."""
    translations, rotations = _tips(arm, link, q, has_turn=True)
    deflections = np.empty((len(q), 6))
    deflections[:, :3] = translations
    _set_rotation_vectors(rotations, deflections[:, 3:])
    return deflections


def _tips(arm, link, q, has_turn):
    """Return translations (k, 3) and, with `has_turn`, rotations (k, 3, 3) at states (k, n)."""
    if link not in arm.tips:
        raise SettingError(f'no flexible link "{link}". Known: {", ".join(arm.tips)}')
    if has_spatial_bodies(arm, link):
        return _spatial_tips(arm, link, q)
    R, rotations = np.tile(np.eye(3), (len(q), 1, 1)), np.empty((len(q), 3, 3))
    p, length, beams = np.zeros((len(q), 3)), 0.0, arm.beams_of(link)
    for number, (beam, columns) in enumerate(beams, 1):
        e, end = q[:, columns], beam.at_end
        tip, stretch = e @ end.shape.T, free_length_ratio(arm, link, q)
        if arm.coupling == 'shortening':
            tip[:, 0] -= 0.5 * stretch * ((e @ end.shortening) * e).sum(axis=1)
        if arm.coupling == 'shortening' and beam.is_segment:
            slopes = np.array([e[:, part] @ end.setback[:, part].T for part in beam.bending])
            tip[:, 1:] -= (slopes * (slopes**2).sum(axis=0)).sum(axis=2).T
        p = p + (R @ (tip + [beam.length, 0.0, 0.0])[..., None])[..., 0]
        length += beam.length
        if has_turn or number < len(beams):
            turn = e @ end.turn.T
            turn[:, 1:] *= np.reshape(stretch, (-1, 1))
            _set_rotations(np.ascontiguousarray(turn), rotations)
            R = R @ rotations
    return p - [length, 0.0, 0.0], R


def free_length_ratio(arm: ArmModel, link: str, q: np.ndarray) -> np.ndarray | float:
    """Length of a sliding link over its free length at states (k, n), (k,); 1 of other links."""
    body = arm.segments[link][0]
    if arm.arrays.kind[body] != SLIDING:
        return 1.0
    data = arm.arrays.slide_data[body]
    return np.asarray(data[LENGTH] / (q[..., arm.arrays.slide[body]] + data[OFFSET]))


def _spatial_tips(arm, link, q):
    """Return the tips of a spatial beam in their undeformed frame."""
    R, p = np.tile(np.eye(3), (len(q), 1, 1)), np.zeros((len(q), 3))
    rotations, (home_R, home_p) = np.empty((len(q), 3, 3)), undeformed_tip(arm, link)
    for beam, columns in arm.beams_of(link):
        e, end = q[:, columns], beam.at_end
        move = e @ end.U
        if arm.coupling == 'shortening':
            move += 0.5 * np.einsum('ki,kj,ija->ka', e, e, end.Q)
        p = p + (R @ (end.p + move[:, 3:])[..., None])[..., 0]
        _set_rotations(np.ascontiguousarray(move[:, :3]), rotations)
        R = R @ rotations @ end.R
    return (p - home_p) @ home_R, home_R.T @ R


def small_tip_translations(arm: ArmModel, link: str) -> np.ndarray:
    """Return the matrix (3, n) from coordinates to small translations of a spatial beam's tip."""
    rows, (tip_R, tip_p) = np.zeros((3, arm.size)), undeformed_tip(arm, link)
    R, p = np.eye(3), np.zeros(3)
    for beam, columns in arm.beams_of(link):
        end = beam.at_end
        p_end = p + R @ end.p
        turns, moves = end.U[:, :3] @ R.T, end.U[:, 3:] @ R.T
        rows[:, columns] = (moves + np.cross(turns, tip_p - p_end)).T
        R, p = R @ end.R, p_end
    return tip_R.T @ rows


def deflections_of_poses(arms: Sequence[ArmModel], link: str, poses: np.ndarray) -> np.ndarray:
    """
    Return deflections (k, 6) of a spatial beam in the undeformed frames of its tips.

    :param arms: of the rows, (k,), or one for all.
    :param poses: positions from the end of a straight beam and rotation vectors, (k, 6).
    """
    rotations, out = np.empty((len(poses), 3, 3)), np.empty((len(poses), 6))
    _set_rotations(np.ascontiguousarray(poses[:, 3:]), rotations)
    for k, pose in enumerate(poses):
        arm = arms[k if len(arms) > 1 else 0]
        home_R, home_p = undeformed_tip(arm, link)
        out[k, :3] = (pose[:3] + [arm.length(link), 0.0, 0.0] - home_p) @ home_R
        rotations[k] = home_R.T @ rotations[k]
    _set_rotation_vectors(rotations, out[:, 3:])
    return out


def undeformed_tip(arm: ArmModel, link: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and position (3,) [m] of an undeformed tip in the frame of the root."""
    beam = arm.description.beam(link)
    if beam.axis is None:
        return np.eye(3), np.array([arm.length(link), 0.0, 0.0])
    if beam.reduced is not None:
        return beam.reduced.at_end.R, beam.reduced.at_end.p
    R, p = beam.section_pose(beam.length)
    return beam.axes.T @ R, beam.axes.T @ p


@compiled
def _set_rotations(vectors, rotations):
    """Rotation matrices (k, 3, 3) of rotation vectors (k, 3)."""
    for k in range(len(vectors)):
        set_rotation(vectors[k], rotations[k])


@compiled
def _set_rotation_vectors(rotations, vectors):
    """Rotation vectors (k, 3) of rotation matrices (k, 3, 3)."""
    for k in range(len(vectors)):
        set_rotation_vector(rotations[k], vectors[k])


class Deflections(Mapping):
    """Tip deflections by flexible link, computed on access."""

    def __init__(self, arm: ArmModel, q: np.ndarray) -> None:
        """Store an ArmModel and its coordinates, (n,)."""
        self._arm, self._q = arm, q

    def __iter__(self):
        return iter(self._arm.tips)

    def __len__(self):
        return len(self._arm.tips)

    def __contains__(self, link):
        return link in self._arm.tips

    def __getitem__(self, link):
        return tip_deflection(self._arm, link, self._q)
