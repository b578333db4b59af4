"""
Start of closed loops: positions and rates of the passive joints that close them.

Joints with `effort="0"` in their <limit> are passive; without any, all joints are. Newton's method
moves the passive ones from the given position to the nearest solution. The drives of the other
joints stay where they are. Links stay as they are bent, unless the loop does not close otherwise.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

import numpy as np

from flex_robot_sim.description.constraint import Constraint
from flex_robot_sim.description.mimic import mimic_constraints
from flex_robot_sim.dynamics.constraints.rows import set_gaps, set_jacobian
from flex_robot_sim.dynamics.kinematics import set_motion
from flex_robot_sim.jit.compiled import call_with_tables, compiled
from flex_robot_sim.model.arm_model import ArmModel, ClosedLoop
from flex_robot_sim.model.constraint_rows import ANGLE
from flex_robot_sim.model.workspace import Workspace, make_workspace
from flex_robot_sim.util.exceptions import DescriptionError, SettingError

MAX_ITERATIONS = 60
RANDOM_STARTS = 30
MAX_STEP = 0.3  # of a joint in an iteration                                    [rad, m]
MAX_START_GAP = 1e-9  # of a row, to count as closed                               [m, -]
MAX_START_RATE = 1e-9  # over the largest rate
NUDGE = 1e-3  # of joints where a distance of zero has no direction              [rad, m]
MIN_SINGULAR_VALUE = 1e-9  # over the largest one; below it, rows are redundant


class OpenLoopError(SettingError):
    """A loop does not close from a position."""

    def __init__(self, constraint: Constraint, problem: str, remedy: str) -> None:
        self.constraint, self.problem, self.remedy = constraint, problem, remedy
        super().__init__(f'{problem}. {remedy}')


def closed_start(arm: ArmModel, q: np.ndarray) -> np.ndarray:
    """Return `relaxed_coordinates`; DescriptionError at a constraint that does not close."""
    try:
        return relaxed_coordinates(arm, q)
    except OpenLoopError as error:
        line = error.constraint.line or None
        source = arm.description.source
        raise DescriptionError(source, line, error.problem, error.remedy) from None


def relaxed_coordinates(arm: ArmModel, q: np.ndarray) -> np.ndarray:
    """Return `closed_coordinates`, if possible with all springs of constraints relaxed."""
    if arm.arrays.constraint_stiffness.any():
        with suppress(OpenLoopError):
            return closed_coordinates(with_rigid_constraints(arm), q)
    return closed_coordinates(arm, q)


def with_rigid_constraints(arm: ArmModel) -> ArmModel:
    """Return an arm whose constraints have no compliance."""
    none = np.zeros(arm.arrays.constraint_kind.size)
    return replace(arm, arrays=arm.arrays._replace(constraint_stiffness=none))


def closed_coordinates(
    arm: ArmModel, q: np.ndarray, prescribed: Collection[int] = ()
) -> np.ndarray:
    """
    Return coordinates (n,) near q that close all loops; OpenLoopError if there are none.

    Rows with a spring stay open.

    If Newton's method fails from q, it also changes how links are bent, where q has bent ones,
    moves a free base, and starts from random positions of the passive joints; the result nearest
    to q counts.

    :param prescribed: rows of joints that stay where they are.
    """
    if not arm.closed_loops:
        return q
    q = with_followers(arm, q, is_position=True)
    if not arm.description.constraints:
        return q
    passive, work = passive_joints(arm, prescribed), make_workspace(arm.arrays)
    closed = _newton(arm, q, passive, work)
    if _is_closed(arm, work):
        return closed
    found = []
    if q[arm.elastic_q].any() or arm.has_free_base:
        closed = _newton(arm, q, _with_free(arm, passive), work)
        if _is_closed(arm, work):
            return closed
    for position in _random_positions(arm, passive):
        trial = q.copy()
        _add(arm, trial, passive, position - q[passive])
        other = _newton(arm, trial, passive, work)
        if _is_closed(arm, work):
            found.append(other)
    if not found:
        raise _open_loop_error(arm, q, passive)
    return min(found, key=lambda one: float(np.linalg.norm(one - q)))


def closed_rates(
    arm: ArmModel, q: np.ndarray, v: np.ndarray, prescribed: Collection[int] = ()
) -> np.ndarray:
    """Return rates (n,) that keep all loops closed, by other rates of the passive joints."""
    if not arm.closed_loops:
        return v
    v = with_followers(arm, v, is_position=False)
    if not arm.description.constraints or not v.any():
        return v
    work, passive = make_workspace(arm.arrays), passive_joints(arm, prescribed)
    _set_rows(arm, q, work)
    W = work.constraint_jacobian
    largest = 1.0 + np.abs(v).max()
    for moved in (passive, _with_free(arm, passive)):
        _add(arm, v, moved, _least_norm(W[:, moved], -W @ v))
        rates = np.abs(W @ v)
        if rates.max() <= MAX_START_RATE * largest or not (
            v[arm.elastic_q].any() or arm.has_free_base
        ):
            break
    if rates.max() > MAX_START_RATE * largest:
        raise SettingError(
            f'v opens the constraint "{name_of_row(arm, int(rates.argmax()))}" at '
            f'{rates.max():.3g} m/s, and no rates of the passive joints keep it closed'
        )
    return v


def passive_joints(arm: ArmModel, prescribed: Collection[int] = ()) -> np.ndarray:
    """Rows of the joints that no motor drives; if there are none, all that are not prescribed."""
    passive = np.flatnonzero(~arm.actuated)
    if passive.size > len(mimic_constraints(arm.description.joints)):
        return passive
    return np.delete(np.arange(len(arm.joint_names)), [*prescribed])


def with_followers(arm: ArmModel, values: np.ndarray, is_position: bool) -> np.ndarray:
    """Return a copy of coordinates or rates, in which mimic joints follow their leaders."""
    values = np.array(values, float)
    mimics = {one.name: one for one in mimic_constraints(arm.description.joints)}
    joints = {joint.name: joint for joint in arm.description.joints}

    def place(name):
        if name in mimics:
            row, leader = arm.idx_q[name], joints[name].mimics
            offset = mimics[name].length if is_position else 0.0
            values[row] = mimics[name].ratio * place(leader) + offset
        return values[arm.idx_q[name]]

    for name in mimics:
        place(name)
    return values


def _with_free(arm, joints):
    """Coordinates of joints, all elastic ones, and those of a free base."""
    rows = np.arange(arm.size)
    return np.concatenate([joints, rows[arm.elastic_q], rows[arm.base_q]])


def _random_positions(arm, joints):
    """Random positions (RANDOM_STARTS, k) of joints within their limits, or a turn, or 1 m."""
    limit = np.array([np.pi if unit == 'rad' else 1.0 for unit in arm.units])[joints]
    lower = np.maximum(arm.arrays.lower[joints], -limit)
    upper = np.minimum(arm.arrays.upper[joints], limit)
    share = np.random.default_rng(0).uniform(size=(RANDOM_STARTS, joints.size))
    return lower + share * (upper - lower)


def _is_closed(arm, work):
    """Whether all rows are closed, and no loop is closed with its child turned around."""
    return np.abs(work.constraint_gap).max() <= MAX_START_GAP and not any(
        _is_reversed(loop, work) for loop in arm.closed_loops.values()
    )


def _newton(arm, q, moved, work):
    """Coordinates after Newton's method; work.constraint_gap holds what is left."""
    q = np.array(q, float)
    best, best_gap = q, np.inf
    for _ in range(MAX_ITERATIONS):
        _set_rows(arm, q, work)
        gap = np.abs(work.constraint_gap).max()
        if not gap < best_gap and best_gap < MAX_START_GAP:
            break  # only rounding is left
        if gap < best_gap:
            best, best_gap = q.copy(), gap
        if not np.isfinite(work.constraint_jacobian).all():
            _add(arm, q, moved, NUDGE * np.arange(1.0, len(moved) + 1.0))
            continue
        step = _least_norm(work.constraint_jacobian[:, moved], -work.constraint_gap)
        largest = np.abs(step).max(initial=0.0)
        _add(arm, q, moved, step * min(1.0, MAX_STEP / max(largest, MAX_STEP)))
    _set_rows(arm, best, work)
    return best


def _set_rows(arm, q, work):
    """Set gaps and Jacobian in `work`, which are zero for rows with a spring."""
    call_with_tables(_set_motion_and_jacobian, arm.arrays, q, np.zeros(arm.size), work)
    is_compliant = arm.arrays.constraint_stiffness > 0.0
    work.constraint_gap[is_compliant] = work.constraint_jacobian[is_compliant] = 0.0


@compiled
def _set_motion_and_jacobian(arm, q, qd, work):
    """Gaps and Jacobian of all rows at coordinates q."""
    set_motion(arm, q, qd, work)
    set_jacobian(arm, work)
    set_gaps(arm, q, work)


def _least_norm(matrix, right):
    return np.linalg.lstsq(matrix, right, rcond=MIN_SINGULAR_VALUE)[0]


def _add(arm, values, coordinates, step):
    """Add to coordinates; the motor side of a joint follows its link side."""
    values[coordinates] += step
    for k, change in zip(coordinates, step):
        if k < len(arm.joint_names) and arm.motor_q[k] != k:
            values[arm.motor_q[k]] += change


def _is_reversed(loop: ClosedLoop, work: Workspace) -> bool:
    """Whether the directions of a closed loop are opposite: also a solution of its rows."""
    constraint = loop.constraint
    parent, child = (
        frame.R if frame.body < 0 else work.base_R[frame.body] @ frame.R
        for frame in (loop.parent, loop.child)
    )
    relative = parent.T @ child
    if constraint.kind in ('fixed', 'prismatic'):
        return bool(np.trace(relative) < 0.0)
    return constraint.kind == 'revolute' and bool(
        constraint.parent_axis @ relative @ constraint.child_axis < 0.0
    )


def name_of_row(arm: ArmModel, row: int) -> str:
    """Name of the constraint with a row."""
    return next(
        name for name, loop in arm.closed_loops.items() if loop.rows.start <= row < loop.rows.stop
    )


def _open_loop_error(arm, q, passive):
    """Return the OpenLoopError about the widest gap, and joint positions that would close it."""
    work, kinds = make_workspace(arm.arrays), arm.arrays.constraint_kind
    gaps = _least_gaps(arm, q, passive, work)
    row = int(np.abs(gaps).argmax())
    unit = 'rad' if kinds[row] == ANGLE else 'm'
    loop = arm.closed_loops[name_of_row(arm, row)]
    gap = np.linalg.norm(gaps[loop.rows][kinds[loop.rows] == kinds[row]])
    problem = (
        f'constraint "{loop.constraint.name}" does not close: {gap:.3g} {unit} are left, '
        f'with {", ".join(arm.joint_names[k] for k in passive)} free to move'
    )
    drives = np.setdiff1d(np.arange(len(arm.joint_names)), passive)
    solutions: list[tuple[int, float, np.ndarray, np.ndarray]] = []
    for moved in (*drives[:, None], drives):
        closed = _newton(arm, q, np.union1d(passive, moved), work)
        if np.abs(work.constraint_gap).max() <= MAX_START_GAP:
            change = float(np.abs(closed - q)[moved].max(initial=0.0))
            solutions.append((moved.size, change, closed, moved))
    remedy = 'Correct its origins, or start nearer to a closed position'
    if solutions:
        _, _, closed, moved = min(solutions, key=lambda one: one[:2])
        positions = (f'"{arm.joint_names[k]}" at {closed[k]:.6g} {arm.units[k]}' for k in moved)
        remedy = f'It closes with {", ".join(positions)}'
    return OpenLoopError(loop.constraint, problem, remedy)


def _least_gaps(arm, q, passive, work):
    """Return the gaps (c,) that the passive joints cannot close any further."""
    from scipy.optimize import least_squares  # imported late: slow

    def gaps(step):
        moved = np.array(q, float)
        _add(arm, moved, passive, step)
        _set_rows(arm, moved, work)
        return work.constraint_gap.copy()

    return least_squares(gaps, np.zeros(len(passive))).fun if len(passive) else gaps([])
