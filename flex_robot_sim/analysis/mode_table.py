"""
Modes that a motion excites, by pose and payload.

They follow from the exact linear model in each pose. The joints are locked, as by stiff drives, or
controlled by a servo.
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.drive_conditions import servo_gains
from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.joint_space_inertia import default_range, poses_within, rigid_moves
from flex_robot_sim.analysis.loop_poses import pose_of_drives, reachable_pose
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.pose_table import PoseTable
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

MAX_OSCILLATING_RATIO = 0.5  # damping ratio below which a mode counts as oscillating
SHARE = 0.25  # share of the largest vibration, below which a mode is omitted
AXIS_POSITIONS = 21, 7  # positions of the most, and of the second most influential joint
REFINEMENT = 4  # factor on these positions in the table, by interpolation
PATH_POSITIONS = 5  # positions on a straight path
MIN_FREQUENCY_CHANGE = 0.01  # relative, over the range of a joint in the table


@summarized
class PoseModes(NamedTuple):
    """Modes of an arm in a pose that a motion excites, slowest first."""

    frequencies: np.ndarray  # (m,) natural                                             [Hz]
    ratios: np.ndarray  # (m,) of damping
    sizes: np.ndarray  # (m,) deflection of the tool over its acceleration        [s2]

    @property
    def shares(self) -> np.ndarray:
        """Sizes (m,) over the largest of them."""
        return self.sizes / max(self.sizes.max(initial=0.0), 1e-300)


@summarized
class ModeTable(NamedTuple):
    """Modes over the positions of the joints that they depend on."""

    joints: tuple  # rows of these joints, d of them
    axes: tuple  # (d,) of positions, evenly spaced                      [rad, m]
    frequencies: np.ndarray  # (rows, m) natural, the last axis runs fastest            [Hz]
    ratios: np.ndarray  # (rows, m)

    def pose_table(self, values: np.ndarray) -> PoseTable:
        """PoseTable of values (rows, m) at the poses of this table, such as its frequencies."""
        d = len(self.axes)
        grid = values.reshape(*(axis.size for axis in self.axes), values.shape[1])
        # the order of the axes decides how sums over the corners of a cell are rounded
        return PoseTable.of(
            self.joints[::-1],
            self.axes[::-1],
            grid.transpose(*reversed(range(d)), d),
            evenly_spaced=True,
        )


def loaded(arm: ArmModel, payload: tuple | None = None) -> ArmModel:
    """Arm with a payload: None, (link, mass [kg]) or (link, mass, centre (3,) [m])."""
    if payload is None:
        return arm
    link, mass, *centre = payload
    return with_payload(arm, link, mass, centre=centre[0] if centre else (0.0, 0.0, 0.0))


def excited_modes(
    arm: ArmModel,
    position: np.ndarray,
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    direction: np.ndarray | None = None,
) -> PoseModes:
    """
    Return the PoseModes of all oscillating modes, even if hardly excited (S9).

    The size of a mode is a vibration of the tool, over the largest acceleration of the tool by a
    joint. The vibration follows a step of acceleration of the joint that excites the mode most.

    :param gains: (stiffness, damping) of the servo of the joints; None: locked joints.
    :param direction: joints (joints,) that move together, in these proportions; None: each alone.
    """
    directions = np.eye(len(arm.joint_names)) if direction is None else direction[:, None]
    motors, q = arm.motor_q, equilibrium(arm, pose_of_drives(arm, position)).q
    all_modes = modes(arm, q, gains=gains)
    is_oscillating = (all_modes.damping_ratios < MAX_OSCILLATING_RATIO) & (
        all_modes.frequencies > 0.0
    )
    M, moves = mass_matrix(arm, q), rigid_moves(arm, q)
    J = jacobian(arm, q, link=arm.tool, representation='mixed')[3:]
    rates = 2 * np.pi * all_modes.frequencies[is_oscillating]
    shapes = all_modes.shapes[:, is_oscillating]
    # the phase of a damped mode is arbitrary: choose the one with the largest real part
    shapes = np.real(shapes * np.exp(-0.5j * np.angle((shapes**2).sum(axis=0))))
    if gains is None:
        participation = shapes.T @ M @ moves @ directions
    else:
        participation = shapes[motors].T * servo_gains(arm, gains)[0] @ directions
    mass = np.einsum('ik,ij,jk->k', shapes, M, shapes)
    # per acceleration of a joint; then per acceleration of the tool by the dominant joint
    sizes = (
        np.linalg.norm(J @ shapes, axis=0)
        * np.abs(participation).max(axis=1, initial=0.0)
        / (mass * rates**2)
    )
    tool_acceleration = np.linalg.norm(J @ moves @ directions, axis=0).max(initial=0.0)
    if gains is not None:  # acceleration equivalent of a step of the target
        sizes = sizes / rates**2
    return PoseModes(
        all_modes.frequencies[is_oscillating],
        np.maximum(all_modes.damping_ratios[is_oscillating], 0.0),
        sizes / max(tool_acceleration, 1e-300),
    )


def mode_table(
    arm: ArmModel,
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    payload: tuple | None = None,
    poses: ArrayLike | None = None,
    count: int | None = None,
    like: ModeTable | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> ModeTable:
    """
    Tabulate the modes of an arm over the joints on which they depend; see ModeTable.

    :param gains: as of `excited_modes`; payload: as of `loaded`.
    :param poses: (k, joints) in the workspace of the task; default: the whole range [rad, m].
    :param count: of modes; default: all that reach SHARE in any pose.
    :param like: ModeTable with the joints, positions and count to use, as for another payload.
    """
    arm = loaded(arm, payload)
    pose_rows = poses_within(arm, 6) if poses is None else np.atleast_2d(np.asarray(poses, float))
    lower, upper = range_of(arm, pose_rows if poses is not None else None)
    modes_by_pose = [excited_modes(arm, pose, gains) for pose in pose_rows]
    if like is not None:
        count = like.frequencies.shape[1]
    if count is None:
        count = max(
            1 + max(np.flatnonzero(pose_modes.shares >= SHARE), default=-1)
            for pose_modes in modes_by_pose
        )
    if count == 0:
        raise SettingError(
            f'nothing of {arm.description.name} vibrates in these poses: it needs no shaper'
        )
    middle = pose_rows[0]
    if like is None:
        joints = joints_that_matter(arm, middle, lower, upper, int(count), gains)
        coarse = [
            np.linspace(lower[j], upper[j], number) for j, number in zip(joints, AXIS_POSITIONS)
        ]
    else:
        joints, coarse = like.joints, [axis[::REFINEMENT] for axis in like.axes]
    mode_rows, total = [], int(np.prod([axis.size for axis in coarse]))
    for values in product(*coarse):
        pose = middle.copy()
        pose[list(joints)] = values
        mode_rows.append(_first_modes(excited_modes(arm, pose, gains), count))
        if progress is not None:
            progress(len(mode_rows), total)
    tables = [
        np.array(part).reshape(*(axis.size for axis in coarse), count) for part in zip(*mode_rows)
    ]
    axes = tuple(
        np.linspace(axis[0], axis[-1], REFINEMENT * (axis.size - 1) + 1) for axis in coarse
    )
    for k, (axis, refined_axis) in enumerate(zip(coarse, axes)):
        tables = [_refined(axis, part, refined_axis, k) for part in tables]
    return ModeTable(joints, axes, *(part.reshape(-1, count) for part in tables))


def path_table(
    arm: ArmModel,
    start: np.ndarray,
    end: np.ndarray,
    count: int,
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    payload: tuple | None = None,
) -> ModeTable:
    """ModeTable over the share (1,) of a straight path between joint positions (joints,)."""
    share = np.linspace(0.0, 1.0, PATH_POSITIONS)
    tables = modes_along(arm, start + share[:, None] * (end - start), count, gains, payload)
    refined_axis = np.linspace(0.0, 1.0, REFINEMENT * (PATH_POSITIONS - 1) + 1)
    return ModeTable(
        (0,), (refined_axis,), *(_refined(share, part, refined_axis) for part in tables)
    )


def _refined(positions, values, refined_axis, axis=0):
    """Return values at refined positions along an axis, by monotone interpolation."""
    from scipy.interpolate import PchipInterpolator  # imported late: slow, rarely needed

    return PchipInterpolator(positions, values, axis=axis)(refined_axis)


def modes_along(
    arm: ArmModel,
    positions: Iterable[np.ndarray],
    count: int,
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    payload: tuple | None = None,
) -> tuple[np.ndarray, ...]:
    """Frequencies and damping ratios, (k, count) each, at positions along a path (k, joints)."""
    arm = loaded(arm, payload)
    rows = [_first_modes(excited_modes(arm, position, gains), count) for position in positions]
    return tuple(np.array(part) for part in zip(*rows))


def _first_modes(pose_modes, count):
    """Return frequencies and ratios of `count` modes; missing modes repeat the last one."""
    rows = np.minimum(np.arange(count), pose_modes.frequencies.size - 1)
    if pose_modes.frequencies.size == 0:
        raise SettingError('in some poses nothing vibrates: give poses in which it does')
    return pose_modes.frequencies[rows], pose_modes.ratios[rows]


def range_of(arm: ArmModel, poses: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest positions (joints,) of poses, or of the arm [rad, m]."""
    if poses is not None:
        return poses.min(axis=0), poses.max(axis=0)
    half = default_range(arm)
    return np.maximum(arm.arrays.lower, -half), np.minimum(arm.arrays.upper, half)


def joints_that_matter(
    arm: ArmModel,
    middle: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    count: int,
    gains: tuple[ArrayLike, ArrayLike] | None = None,
) -> tuple[int, ...]:
    """Return the joints whose positions change the frequencies, most influential first."""
    changes = []
    for j in range(middle.size):
        frequencies = []
        is_moved = arm.actuated[j] and upper[j] > lower[j]
        for joint_position in np.linspace(lower[j], upper[j], 5) if is_moved else ():
            pose = middle.copy()
            pose[j] = joint_position
            pose = reachable_pose(arm, pose)
            frequencies.append(_first_modes(excited_modes(arm, pose, gains), count)[0])
        changes.append(
            np.max(np.ptp(frequencies, axis=0) / np.min(frequencies, axis=0))
            if frequencies
            else 0.0
        )
    order = np.argsort(changes)[::-1][: len(AXIS_POSITIONS)]
    return tuple(int(j) for j in order if changes[j] > MIN_FREQUENCY_CHANGE)
