"""
Path error of shaped motions, and the speed at which it stays below a bound.

A shaper replaces each set point by a weighted mean of earlier ones, so the tool rounds corners and
makes circles smaller. A circle of radius r at the angular velocity w shrinks to
r |sum A_i exp(-j w t_i)| (S19). The path error is the largest distance between the shaped and the
unshaped tool path, as curves, with the links undeformed. It counts from the points of either
curve, so that a point that the shaped tool never reaches counts too.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.joint_space_inertia import rigid_moves
from flex_robot_sim.analysis.loop_poses import followed_poses
from flex_robot_sim.model.arguments import expect_arm, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.sampled_positions import ShapedPositions, checked_times
from flex_robot_sim.util.exceptions import SettingError, shortened

MAX_SAMPLES = 10_000  # of the unshaped path; of more, every second or third is used
MAX_PATH_SAMPLES = 150  # of each path in `path_deviation`
MAX_SEARCH_SAMPLES = 3000  # the same, for the search of a speed
MIN_SPEED_SHARE = 0.05  # lowest speed of the search, over that of the trajectory
SEARCH_TOLERANCE = 0.01  # of the speed, relative
MAX_SEARCH_STEPS = 20
SEARCH_MARGIN = 0.99  # factor on the bound at which a step of the search aims


class SampledShaper(Protocol):
    """Anything that shapes sampled positions, such as a Shaper or a ShaperSpecification."""

    def shape(self, times: ArrayLike, positions: ArrayLike) -> ShapedPositions:
        """Shape positions (k, joints) at evenly spaced times (k,)."""


class PathError(NamedTuple):
    """Path error of a shaped trajectory, and the speed that keeps it below a bound."""

    error: float  # largest distance between the shaped and the unshaped tool path        [m]
    speed: float  # largest one of the unshaped tool                                    [m/s]
    share: float = 1.0  # of this speed within the bound, at most 1; 0: below 5 %
    error_at_share: float = math.nan  # path error then; at 5 % if `share` is 0           [m]


def path_error(
    arm: ArmModel,
    shaper: SampledShaper,
    *,
    times: ArrayLike,
    positions: ArrayLike,
    bound: float | None = None,
) -> PathError:
    """
    Return the PathError of a trajectory: how far the shaped tool leaves its path.

    Each point is compared with the part of the other curve at most the time added by the shaper
    earlier or later, so other passages of the tool do not count. The search of a speed assumes
    that the error falls with the speed, and checks it at the speed that it returns.

    :param shaper: a Shaper, a ShaperSpecification, or any object with such a method `shape`.
    :param times: evenly spaced (k,) [s]; positions: (k, joints) [rad, m].
    :param bound: of the path error, to search the speed that keeps it [m]; None: no search.

    Example::

        arm = frs.load('single_link')
        times, shaper = np.arange(0.0, 1.0, 1e-3), frs.shaping.zvd(2.7)
        move = {'times': times, 'positions': np.sin(3 * times)[:, None]}
        found = frs.shaping.path_error(arm, shaper, **move, bound=1e-3)
        found.error, found.share * found.speed
    """
    expect_arm(arm, closed_loops=True)
    if not callable(getattr(shaper, 'shape', None)):
        raise SettingError(
            f'shaper = {shortened(repr(shaper), 60)} must be a Shaper, as of '
            'flex_robot_sim.shaping.zvd, or a ShaperSpecification'
        )
    period, samples = _checked_positions(arm, times, positions)
    if bound is not None and not 0.0 < number_or_nan(bound) < math.inf:
        raise SettingError(f'bound = {shortened(repr(bound), 60)} must be > 0 and finite [m]')
    shaped = np.asarray(shaper.shape(period * np.arange(len(samples)), samples).positions)
    stride = math.ceil(len(samples) / MAX_SAMPLES)
    path = tool_path(arm, samples[::stride])
    speed = float(np.linalg.norm(np.diff(path, axis=0), axis=1).max(initial=0.0)) / stride / period
    window = _added_samples(shaper, len(shaped) - len(samples), period) // stride
    found = PathError(_distance(tool_path(arm, shaped[::stride]), path, window), speed)
    if bound is None:
        return found

    def error_at(share):
        return _error_at_speed(arm, shaper, period, samples, share)

    return PathError(*found[:2], *_largest_share(error_at, found.error, bound))


def tool_path(arm: ArmModel, positions: np.ndarray) -> np.ndarray:
    """Places (k, 3) of the tool with undeformed links [m], for joint positions (k, joints)."""
    if arm.closed_loops:
        positions = followed_poses(arm, np.asarray(positions, float))
        coordinates = np.zeros((len(positions), arm.size))
        arm.set_joints(coordinates, positions)
    else:
        coordinates = np.asarray(positions, float) @ rigid_moves(arm).T
    return np.array([pose(arm, q, link=arm.tool)[:3, 3] for q in coordinates])


def path_deviation(arm: ArmModel, shaped: np.ndarray, path: np.ndarray) -> float:
    """
    Largest distance of the shaped tool from any place of its unshaped path [m].

    :param shaped: joint positions (k, joints) of the shaped motion [rad, m].
    :param path: joint positions (m, joints) along the unshaped motion [rad, m].
    """
    points, corners = (
        tool_path(
            arm,
            rows[
                np.linspace(0, len(rows) - 1, min(len(rows), MAX_PATH_SAMPLES)).round().astype(int)
            ],
        )
        for rows in (shaped, path)
    )
    if len(corners) == 1:
        return float(np.linalg.norm(points - corners, axis=1).max())
    starts, edges = corners[:-1], np.diff(corners, axis=0)
    squares = np.maximum((edges**2).sum(axis=1), 1e-300)
    # the nearest place on each edge to each point
    shares = np.clip(((points[:, None] - starts) * edges).sum(axis=2) / squares, 0.0, 1.0)
    distances = np.linalg.norm(points[:, None] - starts - shares[:, :, None] * edges, axis=2)
    return float(distances.min(axis=1).max())


def _checked_positions(arm, times, positions):
    """Return the period [s] and positions (k, joints) of the arm."""
    period, samples = checked_times(times, positions)
    if samples.shape[1] != len(arm.joint_names):
        raise SettingError(
            f'positions have {samples.shape[1]} columns and the arm has '
            f'{len(arm.joint_names)} joints: give one column each, in this order: '
            f'{", ".join(arm.joint_names)}'
        )
    return period, samples


def _added_samples(shaper, count, period):
    """Largest number of samples by which a shaper delays; `count`: at the end of the motion."""
    longest = getattr(shaper, 'added_time', getattr(shaper, 'duration', 0.0))
    return max(count, math.ceil(longest / period - 1e-9))


def _distance(shaped, path, window):
    """Largest distance of two curves, shaped (k, 3) and path (m, 3); window: largest delay."""
    path = np.vstack([path, np.repeat(path[-1:], max(len(shaped) - len(path), 0), axis=0)])
    path, window = path[: len(shaped)], window + 1
    return float(
        max(
            _distances_within(shaped, path, window).max(),
            _distances_within(path[::-1], shaped[::-1], window).max(),
        )
    )


def _distances_within(points, path, window):
    """Distances (k,) of points (k, 3) from the last `window` edges of the path before each."""
    nearest = ((points - path) ** 2).sum(axis=1)
    for lag in range(1, window + 1):
        # edges that begin `lag` samples before the points; the first place before the path
        start = path[np.maximum(np.arange(len(path)) - lag, 0)]
        edge = path[np.maximum(np.arange(len(path)) - lag + 1, 0)] - start
        square = np.maximum((edge**2).sum(axis=1), 1e-300)
        offset = points - start
        share = np.clip((offset * edge).sum(axis=1) / square, 0.0, 1.0)
        np.minimum(nearest, ((offset - share[:, None] * edge) ** 2).sum(axis=1), out=nearest)
    return np.sqrt(nearest)


def _error_at_speed(arm, shaper, period, samples, share):
    """Path error [m] of a trajectory that is made slower, at a share of its speed."""
    count = math.ceil((len(samples) - 1) / share - 1e-9) + 1
    rows = np.minimum(share * np.arange(count), len(samples) - 1)
    slower = np.column_stack(
        [np.interp(rows, np.arange(len(samples)), column) for column in samples.T]
    )
    shaped = np.asarray(shaper.shape(period * np.arange(count), slower).positions)
    stride = math.ceil(count / MAX_SEARCH_SAMPLES)
    window = _added_samples(shaper, len(shaped) - count, period) // stride
    return _distance(tool_path(arm, shaped[::stride]), tool_path(arm, slower[::stride]), window)


def _largest_share(error_at, error, bound):
    """Return the largest share of the speed with an error up to a bound, and the error then."""
    high, error_high = 1.0, error
    if error_high <= bound:
        return high, error_high
    low, error_low = 0.0, 0.0
    for _ in range(MAX_SEARCH_STEPS):
        if low > 0.0 and high / low <= 1 + SEARCH_TOLERANCE:
            break
        share = _next_share(low, error_low, high, error_high, SEARCH_MARGIN * bound)
        error = error_at(share)
        if error <= bound:
            low, error_low = share, error
            if error >= (1 - 2 * SEARCH_TOLERANCE) * bound:
                break
        elif share <= MIN_SPEED_SHARE:
            return 0.0, error
        else:
            high, error_high = share, error
    return low, error_low


def _next_share(low, error_low, high, error_high, aim):
    """Return the next speed to try: the error grows with a power of it, first with its square."""
    if low == 0.0:
        return max(high * min(math.sqrt(aim / error_high), 0.9), MIN_SPEED_SHARE)
    slope = math.log(error_high / max(error_low, 1e-300)) / math.log(high / low)
    if error_low <= 0.0 or slope <= 0.0:
        return math.sqrt(low * high)
    margin = (high / low) ** 0.05
    return float(np.clip(low * (aim / error_low) ** (1 / slope), low * margin, high / margin))
