"""
The modes that a motion excites, by pose and payload.

They come from the exact linear model of every pose. The joints are locked, as by stiff drives, or
held by the gains of a servo.
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.joint_space_inertia import SLIDE, TURN, poses_within, rigid_moves
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.payload import with_payload
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

RINGS = 0.5                 # damping ratio from which a mode is left to itself
SHARE = 0.25                # of the largest vibration, below which a mode is left out
PLACES = 21, 7              # along the axis that matters most, and along the other
FINER = 4                   # times as many in the table, by a curve through these
ALONG = 5                   # places on a straight way
MATTERS = 0.01              # change of a frequency over the range of a joint that counts


@summarized
class PoseModes(NamedTuple):
    """Modes of an arm in a pose that a motion excites, slowest first."""

    frequencies: np.ndarray     # (m,) natural                                             [Hz]
    ratios: np.ndarray          # (m,) of damping
    sizes: np.ndarray           # (m,) deflection of the tool over its acceleration        [s2]

    @property
    def shares(self) -> np.ndarray:
        """Sizes (m,) over the largest of them."""
        return self.sizes / max(self.sizes.max(initial=0.0), 1e-300)


@summarized
class ModeTable(NamedTuple):
    """Modes over the positions of the joints that they depend on."""

    joints: tuple               # rows of these joints, d of them
    axes: tuple                 # (d,) of positions, evenly spaced                      [rad, m]
    frequencies: np.ndarray     # (rows, m) natural, the last axis runs fastest            [Hz]
    ratios: np.ndarray          # (rows, m)

    def at(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies (m,) [Hz] and damping ratios (m,) at joint positions (n,) [rad, m]."""
        frequencies, ratios = self.frequencies, self.ratios
        for joint, axis in zip(self.joints, self.axes):
            along = np.clip((position[joint] - axis[0]) / (axis[1] - axis[0]), 0, axis.size - 1)
            place = min(int(along), axis.size - 2)
            share = along - place
            frequencies, ratios = ((1 - share) * table[place] + share * table[place + 1]
                                   for table in (part.reshape(axis.size, -1, part.shape[-1])
                                                 for part in (frequencies, ratios)))
        return frequencies.reshape(-1), ratios.reshape(-1)


def loaded(arm: ArmModel, payload: tuple | None = None) -> ArmModel:
    """
    Return the ArmModel with a payload fixed to a link.

    :param payload: None, or (link, mass [kg]) or (link, mass, centre (3,) [m]).
    """
    return arm if payload is None else with_payload(arm, *payload)


def excited_modes(arm: ArmModel, position: np.ndarray,
                  gains: tuple[ArrayLike, ArrayLike] | None = None) -> PoseModes:
    """
    Return the PoseModes of all modes that ring, however little they are excited (S9).

    The size of a mode is that of the tool's vibration when a joint begins to accelerate, for the
    joint that excites it most, over the largest acceleration that a joint gives the tool.

    :param gains: (stiffness, damping) of the servo that holds the joints; None: they are locked.
    """
    motors, q = driven(arm), equilibrium(arm, position).coordinates
    found = modes(arm, q, gains=gains)
    rings = (found.damping_ratios < RINGS) & (found.frequencies > 0.0)
    M = mass_matrix(arm, q)
    J = jacobian(arm, q, arm.tool, 'mixed')[3:]
    rates, shapes = 2 * np.pi * found.frequencies[rings], found.shapes[:, rings]
    # the phase of a damped mode is free: as much of it as can be is real
    shapes = np.real(shapes * np.exp(-0.5j * np.angle((shapes**2).sum(axis=0))))
    if gains is None:
        push = shapes.T @ M @ rigid_moves(arm)
    else:
        push = shapes[motors].T * np.broadcast_to(gains[0], len(motors))
    mass = np.einsum('ik,ij,jk->k', shapes, M, shapes)
    # per acceleration of a joint; then of the tool, by the joint that moves it most
    sizes = (np.linalg.norm(J @ shapes, axis=0) * np.abs(push).max(axis=1, initial=0.0)
             / (mass * rates**2))
    lever = np.linalg.norm(J @ rigid_moves(arm), axis=0).max(initial=0.0)
    if gains is not None:       # what a step of the target is worth of acceleration
        sizes = sizes / rates**2
    return PoseModes(found.frequencies[rings], np.maximum(found.damping_ratios[rings], 0.0),
                     sizes / max(lever, 1e-300))


def mode_table(arm: ArmModel, gains: tuple[ArrayLike, ArrayLike] | None = None,
               payload: tuple | None = None, poses: ArrayLike | None = None,
               count: int | None = None, like: ModeTable | None = None,
               progress: Callable[[int, int], object] | None = None) -> ModeTable:
    """
    Tabulate the modes of an arm over the joints on which they depend; see ModeTable.

    :param gains: as of `excited_modes`; payload: as of `loaded`.
    :param poses: (k, joints) that the arm goes through; default: all its range [rad, m].
    :param count: of modes; default: as many as are excited anywhere by a share that counts.
    :param like: ModeTable whose joints, places and count to take, as for another payload.
    """
    arm = loaded(arm, payload)
    given = poses_within(arm, 6) if poses is None else np.atleast_2d(np.asarray(poses, float))
    lower, upper = range_of(arm, given if poses is not None else None)
    seen = [excited_modes(arm, pose, gains) for pose in given]
    if like is not None:
        count = like.frequencies.shape[1]
    if count is None:
        count = max(1 + max(np.flatnonzero(found.shares >= SHARE), default=-1) for found in seen)
    if count == 0:
        raise SettingError(f'nothing of {arm.description.name} rings in these poses: it needs no '
                           'shaper')
    middle = given[0]
    if like is None:
        joints = joints_that_matter(arm, middle, lower, upper, int(count), gains)
        coarse = [np.linspace(lower[j], upper[j], places) for j, places in zip(joints, PLACES)]
    else:
        joints, coarse = like.joints, [axis[::FINER] for axis in like.axes]
    rows, total = [], int(np.prod([axis.size for axis in coarse]))
    for values in product(*coarse):
        pose = middle.copy()
        pose[list(joints)] = values
        rows.append(_first(excited_modes(arm, pose, gains), count))
        if progress is not None:
            progress(len(rows), total)
    tables = [np.array(part).reshape(*(axis.size for axis in coarse), count)
              for part in zip(*rows)]
    axes = tuple(np.linspace(axis[0], axis[-1], FINER * (axis.size - 1) + 1) for axis in coarse)
    for k, (axis, finer) in enumerate(zip(coarse, axes)):
        tables = [_finer(axis, part, finer, k) for part in tables]
    return ModeTable(joints, axes, *(part.reshape(-1, count) for part in tables))


def path_table(arm: ArmModel, start: np.ndarray, end: np.ndarray, count: int,
               gains: tuple[ArrayLike, ArrayLike] | None = None,
               payload: tuple | None = None) -> ModeTable:
    """
    Return the ModeTable over the share (1,) of a straight way between joint positions (joints,).

    It has the modes of `mode_table` on that way, for whom only that way matters.
    """
    share = np.linspace(0.0, 1.0, ALONG)
    found = modes_along(arm, start + share[:, None] * (end - start), count, gains, payload)
    finer = np.linspace(0.0, 1.0, FINER * (ALONG - 1) + 1)
    return ModeTable((0,), (finer,), *(_finer(share, part, finer) for part in found))


def _finer(places, values, finer, axis=0):
    """Values at finer places along an axis, on no curve beyond those that it joins."""
    from scipy.interpolate import PchipInterpolator  # a tenth of a start, and rarely needed

    return PchipInterpolator(places, values, axis=axis)(finer)


def modes_along(arm: ArmModel, positions: Iterable[np.ndarray], count: int,
                gains: tuple[ArrayLike, ArrayLike] | None = None,
                payload: tuple | None = None) -> tuple[np.ndarray, ...]:
    """Frequencies and damping ratios, (k, count) each, at positions along a path (k, joints)."""
    arm = loaded(arm, payload)
    rows = [_first(excited_modes(arm, position, gains), count) for position in positions]
    return tuple(np.array(part) for part in zip(*rows))


def _first(found, count):
    """Frequencies and ratios of `count` modes; one that has ceased to ring is as the last one."""
    rows = np.minimum(np.arange(count), found.frequencies.size - 1)
    if found.frequencies.size == 0:
        raise SettingError('in some poses nothing rings: give poses in which it does')
    return found.frequencies[rows], found.ratios[rows]


def range_of(arm: ArmModel, poses: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest positions (joints,) of poses, or of the arm [rad, m]."""
    if poses is not None:
        return poses.min(axis=0), poses.max(axis=0)
    free = np.where([unit == 'rad' for unit in arm.units],
                    TURN, SLIDE)
    return (np.maximum(arm.arrays.lower, -free), np.minimum(arm.arrays.upper, free))


def joints_that_matter(arm: ArmModel, middle: np.ndarray, lower: np.ndarray, upper: np.ndarray,
                       count: int, gains: tuple[ArrayLike, ArrayLike] | None = None
                       ) -> tuple[int, ...]:
    """Rows of the joints whose positions change the frequencies, that which does most first."""
    changes = []
    for j in range(middle.size):
        found = []
        for place in np.linspace(lower[j], upper[j], 5) if upper[j] > lower[j] else ():
            pose = middle.copy()
            pose[j] = place
            found.append(_first(excited_modes(arm, pose, gains), count)[0])
        changes.append(np.max(np.ptp(found, axis=0) / np.min(found, axis=0)) if found else 0.0)
    order = np.argsort(changes)[::-1][:len(PLACES)]
    return tuple(int(j) for j in order if changes[j] > MATTERS)
