"""
Inverse kinematics: joint positions at which a link has a pose, with sag under gravity and loads.

A search with straight links (`pose_search.py`) is followed by Newton steps of the motors with the
elastic parts in equilibrium (`motor_search.py`). Deflections are small, so a few are enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.jacobians import frame_of, jacobian, pose
from flex_robot_sim.analysis.joint_space_inertia import rigid_coordinates, rigid_moves
from flex_robot_sim.analysis.loop_poses import full_pose, reachable_pose
from flex_robot_sim.analysis.motor_search import WITHIN, search_motors
from flex_robot_sim.analysis.pose_search import (
    MAX_STEPS,
    PATIENCE,
    PoseSearch,
    search_pose,
    set_errors,
)
from flex_robot_sim.analysis.static_jacobian import motion_in_tree, static_motion
from flex_robot_sim.analysis.statics import equilibrium_and_slopes
from flex_robot_sim.analysis.twists import expect_pose
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.constraints.closing import with_followers
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.model.arguments import (
    array_or_nan,
    checked,
    checked_seed,
    expect_arm,
    truth,
    whole,
)
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.model.start_pose import beyond_limits, nearest_within_limits, start_position
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

TOLERANCE = 1e-6  # of the position [m], and of the turn [rad]
FINEST = 1e-9  # of the search with straight links, in the same units
NEAR = 1e-5  # of that with sag, after which one step more is exact: it converges quadratically
NEARBY = 0.5  # error of a start from which motors compensate the sag at once, over the lever
SAGGING_SEARCHES = 12  # of solutions with straight links that sag may not keep from the target
ENDLESS = 8 * np.pi  # range of a joint from which random starts are within +-pi  [rad, m]
SINGULAR = 1e-3  # ratio of the smallest to the largest singular value of the Jacobian


@summarized
class Reach(NamedTuple):
    """
    Joint positions at which a link has a pose, and how well it has it.

    Example::

        arm = frs.load('two_link')
        found = frs.inverse_kinematics(arm, [0.45, 0.25, 0.15])
        assert found.distance < 1e-6 and found.is_reached
    """

    joints: np.ndarray  # (joints,)  motor positions                               [rad, m]
    q: np.ndarray  # (nq,)  all coordinates, elastic ones in equilibrium
    pose: np.ndarray  # (4, 4)  of the link
    distance: float  # of its origin from the target                                [m]
    angle: float  # of its turn from that of the target; 0 if that is free          [rad]
    offset: float  # of its axis from the point `through`; 0 without                 [m]
    manipulability: float  # square root of det(J J^T), J of the joints (Yoshikawa)
    is_singular: bool  # near a pose in which the link cannot move in some direction
    searches: int  # starts that were tried

    @property
    def is_reached(self) -> bool:
        """Whether the link has the pose within 1e-6 m and 1e-6 rad."""
        return max(self.distance, self.angle, self.offset) <= TOLERANCE


def inverse_kinematics(
    arm: ArmModel,
    target: ArrayLike,
    q: ArrayLike | None = None,
    *,
    link: str | None = None,
    through: ArrayLike | None = None,
    axis: ArrayLike = (0.0, 0.0, 1.0),
    pushes: Iterable[Push] = (),
    straight: bool = False,
    nearest: bool = False,
    searches: int = 100,
    seed: int = 0,
) -> Reach:
    """
    Find joint positions within limits at which a link has a pose, or its origin a position.

    Elastic links and joints are in equilibrium under weight and pushes. For a payload, pass
    `with_payload(arm, ...)`. Of several solutions, the result is the one that the search from
    `q` finds; if that fails, searches follow from random positions.

    :param target: pose (4, 4) [-, m] in the base frame, or a position (3,) [m]; the turn is free
        then.
    :param q: joint positions from which the search starts, (joints,) [rad, m]; default: the start
        pose. In closed loops, the search moves the motors, and passive joints follow.
    :param link: its name; default: the tool.
    :param through: point (3,) [m] in the base frame through which the line along `axis` of the
        link passes: a remote centre of motion.
    :param axis: in the frame of the link, (3,).
    :param pushes: loads on links, each a Push.
    :param straight: leave elastic links straight, and gears without twist.
    :param nearest: return the nearest pose found if none reaches the target.
    :param searches: the most starts to try.
    :param seed: of the random starts; equal arguments give equal results.
    :raises SettingError: if no search reaches the target and `nearest` is False.

    Example::

        arm = frs.load('two_link')
        found = frs.inverse_kinematics(arm, [0.45, 0.25, 0.15])
        assert np.allclose(frs.pose(arm, found.q)[:3, 3], [0.45, 0.25, 0.15], atol=1e-6)
    """
    expect_arm(arm, closed_loops=True)
    loads = make_loads(arm, pushes, closed_loops=True)
    name = arm.tool if link is None else link
    frame = frame_of(arm, name)
    if frame.body < 0:
        raise SettingError(f'link "{name}" is fixed to the base: no joint moves it')
    search = _make_search(arm, frame, target, through, axis)
    joints = start_position(arm)
    if q is not None:
        joints = full_pose(arm, 'q', q)
    whole('searches', searches)
    checked_seed(seed)
    words = arm, frame, search, joints, searches, seed
    if arm.description.constraints:
        is_straight = truth('straight', straight) or arm.size == joints.size
        if is_straight:
            at, tried = _find_in_loops(*words)
        else:
            at, tried = _find_sagging(arm, loads, frame, search, _starts_of_sag_in_loops(*words))
    else:  # mimic joints follow in the search
        hanging = np.flatnonzero(~arm.actuated & (search.leader < 0))
        search.lower[hanging] = search.upper[hanging] = joints[hanging]
        is_straight = truth('straight', straight) or not (hanging.size or arm.size > joints.size)
        with borrowed(arm) as scratch:
            if is_straight:
                at, tried = _find_straight(*words, scratch)
            else:
                starts = _starts_of_sag(*words, scratch)
                at, tried = _find_sagging(arm, loads, frame, search, starts)
    found = _as_reach(arm, at, name, search, tried)
    if not (found.is_reached or truth('nearest', nearest)):
        raise SettingError(_out_of_reach(name, found))
    return found


def _make_search(arm: ArmModel, frame: Frame, target, through, axis) -> PoseSearch:
    """Return the PoseSearch of a target, checked."""
    goal, has_turn = array_or_nan(target), True
    if goal.shape == (3,) and np.isfinite(goal).all():
        pose_of_goal, has_turn = np.eye(4), False
        pose_of_goal[:3, 3] = goal
    elif goal.shape == (3,) or goal.shape != (4, 4):
        raise SettingError('target must be a pose (4, 4), or a position of 3 finite numbers [m]')
    else:
        pose_of_goal = expect_pose(goal)
    direction = checked('axis', axis, 'xyz')
    if not np.linalg.norm(direction) > 0.0:
        raise SettingError('axis must have a direction: give one of its numbers another value')
    moves, offset = _moves_of_motors(arm)
    has_loops = bool(arm.description.constraints)  # mimic joints follow with the loops, too
    is_follower = [
        joint.mimics is not None and not has_loops
        for joint in arm.description.joints
        if joint.moves
    ]
    centre = np.zeros(3) if through is None else checked('through', through, 'xyz')
    count = len(arm.joint_names)
    return PoseSearch(
        frame_R=frame.R.copy(),
        frame_p=frame.p.copy(),
        goal_R=pose_of_goal[:3, :3].copy(),
        goal_p=pose_of_goal[:3, 3].copy(),
        weights=np.array([1.0, _lever(arm) if has_turn else 0.0, float(through is not None)]),
        axis=direction / np.linalg.norm(direction),
        centre=centre,
        leader=np.where(is_follower, np.abs(moves).argmax(axis=1), -1),
        ratio=moves.sum(axis=1),
        follower_offset=offset,
        lower=arm.arrays.lower.copy(),
        upper=arm.arrays.upper.copy(),
        best=np.zeros(count),
        columns=np.zeros((arm.size, 6)),
        rows=np.zeros((arm.size if has_loops else count, 9)),
        e=np.zeros(9),
        M=np.zeros((count, count)),
        step=np.zeros((count, 1)),
        turn=np.zeros((3, 3)),
        vector=np.zeros(3),
    )


@lru_cache(maxsize=8)
def _moves_of_motors(arm):
    """Return how joints move with each joint, (joints, joints), and where all others are zero."""
    joints = arm.joint_q
    moves = [with_followers(arm, unit, False)[joints] for unit in np.eye(arm.size)[joints]]
    return np.array(moves).T, with_followers(arm, np.zeros(arm.size), True)[joints]


def _lever(arm):
    """Length [m] that makes turns comparable to positions: a fraction of the arm's own."""
    lengths = np.linalg.norm(arm.arrays.home_p, axis=1)
    return max(lengths.sum() / 4, 1e-3)


def _random_starts(arm, count, seed):
    """Positions from which searches start, (count, joints)."""
    lower, upper = arm.arrays.lower, arm.arrays.upper
    is_endless = upper - lower > ENDLESS
    low, high = np.where(is_endless, -np.pi, lower), np.where(is_endless, np.pi, upper)
    return np.random.default_rng(seed).uniform(low, high, (count, low.size))


def _find_straight(arm, frame, search, joints, searches, seed, scratch):
    """Return the coordinates (n,) nearest to the target, with straight links, and the searches."""
    q = np.zeros(arm.size)
    tried = _run(arm, frame, search, joints[None], q, scratch)
    if tried < 0 and searches > 1:
        starts = np.vstack([q[arm.joint_q], _random_starts(arm, searches - 1, seed)])
        tried = _run(arm, frame, search, starts, q, scratch)
    arm.set_joints(q, q[arm.joint_q].copy())
    return q, abs(tried)


def _starts_of_sag(arm, frame, search, joints, searches, seed, scratch):
    """
    Yield coordinates (n,) from which motors compensate the sag, and the searches until then.

    The first ones are those of a start near the target, on whose branch the solution then is.
    Others are solutions with straight links: at a limit or near a singular pose, sag may keep the
    arm from a target that the straight arm reaches there.
    """
    q = np.zeros(arm.size)
    q[arm.joint_q] = np.clip(joints, search.lower, search.upper)
    error = _straight_error(arm, frame, search, q, scratch)
    if error <= NEARBY * _lever(arm):
        arm.set_joints(q, q[arm.joint_q].copy())
        yield q, 1
    q, tried = _find_straight(arm, frame, search, joints, searches, seed, scratch)
    yield q, tried
    if _straight_error(arm, frame, search, q, scratch) <= TOLERANCE:
        for start in _random_starts(arm, min(searches, SAGGING_SEARCHES) - 1, seed + 1):
            tried += 1
            if _run(arm, frame, search, start[None], q, scratch) > 0:
                arm.set_joints(q, q[arm.joint_q].copy())
                yield q, tried


def _find_sagging(arm, loads, frame, search, starts):
    """
    Return the equilibrium (n,) nearest to the target, and the searches.

    :param starts: see `_starts_of_sag`.
    """
    best, least, failure, tried = None, np.inf, None, 0
    for start, tried in starts:
        try:
            found, error = _sag(arm, loads, frame, search, start[arm.motor_q])
        except SettingError as no_equilibrium:
            failure = failure or no_equilibrium
        else:
            if error < least:
                best, least = found, error
            if least <= WITHIN:
                return best, tried
    if best is None:
        assert failure  # of every start
        raise failure
    # to the minimum, which a stalled search is only near
    return _sag(arm, loads, frame, search, best[arm.motor_q], MAX_STEPS)[0], tried


def _sag(arm, loads, frame, search, motors, patience=PATIENCE):
    """Return the equilibrium (n,) nearest to the target, near motor positions, and |e| [m]."""
    drives, passive, actuated = arm.drive_q, arm.passive_q, arm.actuated
    has_loops = bool(arm.closed_loops)

    def sagging(pose):
        q, v, slopes = equilibrium_and_slopes(arm, loads, pose)
        if has_loops or slopes is None:
            return q, static_motion(arm, loads, q, v, slopes)
        return q, motion_in_tree(slopes[1], drives, passive, actuated)

    by_coordinate = search._replace(
        leader=np.full(len(arm.joint_names), -1), rows=np.zeros((arm.size, 9))
    )
    return search_motors(arm, frame.body, by_coordinate, motors[None], NEAR, sagging, patience)[:2]


def _straight_error(arm, frame, search, q, scratch):
    """Return |e| [m] of the straight arm."""
    square = scratch.call(set_errors, arm.arrays, frame.body, q, search, scratch.work)
    return float(np.sqrt(square))


def _find_in_loops(arm, frame, search, joints, searches, seed):
    """Return the coordinates of straight closed loops nearest to the target, and the searches."""

    def straight(pose):
        q = rigid_coordinates(arm, pose)
        return q, rigid_moves(arm, q)

    starts = np.vstack([joints, _random_starts(arm, searches - 1, seed)])
    closed = (pose for start in starts if (pose := _closed_within_limits(arm, start)) is not None)
    q, error, tried = search_motors(arm, frame.body, search, closed, FINEST, straight)
    if not tried:
        beyond = beyond_limits(arm, reachable_pose(arm, nearest_within_limits(arm, joints)))
        raise SettingError(f'no search can start: {beyond}. Give q within the limits')
    if not error <= FINEST:  # to the minimum, which a stalled search is only near
        near = [q[arm.joint_q]]
        q, *_ = search_motors(arm, frame.body, search, near, FINEST, straight, MAX_STEPS)
    return q, tried


def _starts_of_sag_in_loops(arm, frame, search, joints, searches, seed):
    """Yield coordinates (n,) and searches as `_starts_of_sag`."""
    pose = _closed_within_limits(arm, joints)
    if pose is not None:
        q = rigid_coordinates(arm, pose)
        with borrowed(arm) as scratch:
            error = _straight_error(arm, frame, search, q, scratch)
        if error <= NEARBY * _lever(arm):
            yield q, 1
    yield _find_in_loops(arm, frame, search, joints, searches, seed)


def _closed_within_limits(arm, start):
    """Return the closed pose (joints,) next to a start; None if passive joints leave limits."""
    pose = reachable_pose(arm, nearest_within_limits(arm, start))
    return None if beyond_limits(arm, pose) else pose


def _run(arm, frame, search, starts, q, scratch):
    """Search from the starts (searches, joints); see `search_pose`."""
    starts, errors = starts.copy(), np.empty(len(starts))
    words = arm.arrays, frame.body, starts, errors, FINEST, q, search, scratch.work
    return scratch.call(search_pose, *words)


def _as_reach(arm, q, name, search, tried):
    """Return the Reach of coordinates."""
    T = pose(arm, q, link=name)
    J = jacobian(arm, q, link=name, representation='hybrid')
    if arm.description.constraints:
        J = J @ rigid_moves(arm, q)[:, arm.actuated]
    else:
        J = J[:, arm.joint_q] @ _moves_of_motors(arm)[0][:, arm.actuated]
    relative = search.goal_R @ T[:3, :3].T
    turn = np.array(
        [
            relative[2, 1] - relative[1, 2],
            relative[0, 2] - relative[2, 0],
            relative[1, 0] - relative[0, 1],
        ]
    )
    angle = np.arctan2(np.linalg.norm(turn), np.trace(relative) - 1.0)
    d, u = search.centre - T[:3, 3], T[:3, :3] @ search.axis
    rows = J if search.weights[1] else J[3:]
    values = np.linalg.svd(rows, compute_uv=False)
    rank = min(rows.shape)
    return Reach(
        joints=q[arm.motor_q],
        q=q,
        pose=T,
        distance=float(np.linalg.norm(search.goal_p - T[:3, 3])),
        angle=float(angle) if search.weights[1] else 0.0,
        offset=float(np.linalg.norm(d - d @ u * u)) if search.weights[2] else 0.0,
        manipulability=float(np.prod(values[:rank])) if rank == rows.shape[0] else 0.0,
        is_singular=bool(values[-1] < SINGULAR * values[0]),
        searches=tried,
    )


def _out_of_reach(name, found):
    """Return the line about a target that no search reaches."""
    parts = [f'{found.distance:.3g} m']
    if found.angle > TOLERANCE:
        parts.append(f'{np.degrees(found.angle):.3g} degrees')
    if found.offset > TOLERANCE:
        parts.append(f'{found.offset:.3g} m between its axis and the point')
    places = ', '.join(f'{value:.4g}' for value in found.joints)
    return (
        f'the target is out of reach: "{name}" comes as near as {" and ".join(parts)}, at the '
        f'joint positions {places}. Move the target, or take these positions: nearest=True '
        '(--nearest)'
    )
