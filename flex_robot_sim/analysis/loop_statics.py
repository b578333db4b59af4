"""
Static equilibrium of closed loops.

The forces that constraints do not carry vanish, N^T f = 0, where the columns of N are the motions
that keep the loops closed (T81). Newton's method on this tangent space has the matrix
N^T (K - H) N of (T82), with constraint forces by least squares. After each step, the loops are
closed again. Where the matrix has negative eigenvalues, their magnitudes replace them: each step
then descends (Dauphin and others, 2014, as for free drives of trees).
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis import tangent
from flex_robot_sim.analysis.constraint_terms import (
    constraint_stiffness,
    gaps_and_jacobian,
    second_rates,
)
from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.analysis.loop_forces import MAX_RATE, constraint_forces
from flex_robot_sim.analysis.loop_motion import closing_change, null_space_basis
from flex_robot_sim.dynamics.constraints.closing import (
    closed_coordinates,
    closed_rates,
    relaxed_coordinates,
)
from flex_robot_sim.dynamics.loads import LoadArrays
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

MAX_STEPS = 500
MAX_CORRECTION = 0.5  # of one Newton step                                            [rad]
CONVERGED = 1e-9  # correction after which the next one is below rounding             [rad]
SETTLED = 1e-12  # residual over the largest force
SOFTEST = 1e-9  # stiffness that counts as none, over the largest
CLOSED_GAP = 1e-13  # after which only rounding is left                               [m, -]
MAX_GAP = 1e-10  # of an equilibrium                                                  [m, -]
CLOSING_STEPS = 8


class LoopEquilibrium(NamedTuple):
    """Equilibrium of an arm with closed loops, and what small motions about it need."""

    q: np.ndarray  # (n,)
    v: np.ndarray  # (n,)
    slopes: tangent.Slopes  # D and K of (T50), without servo
    effort: np.ndarray  # (joints,) of the motors, servo included                 [N m, N]


class _Holding(NamedTuple):
    """Drives that hold the arm."""

    locked: np.ndarray  # their coordinates
    free: np.ndarray  # all other coordinates
    servo: np.ndarray  # stiffness of the others, (n,)
    target: np.ndarray  # of the servo, (n,)
    force: np.ndarray  # of the others, (n,)


def loop_equilibrium(
    arm: ArmModel,
    loads: LoadArrays,
    q: np.ndarray,
    v: np.ndarray,
    locked: np.ndarray,
    stiffness: np.ndarray,
    effort: np.ndarray,
) -> LoopEquilibrium:
    """
    Return the stable equilibrium near q.

    :param q: coordinates, (n,), at which passive joints start; v: rates, (n,).
    :param locked: coordinates of the locked drives.
    :param stiffness, effort: of the other drives, (joints,) each.
    """
    # without passive joints, relaxed springs would move the drives
    q = closed_coordinates(arm, q) if arm.actuated.all() else relaxed_coordinates(arm, q)
    v = closed_rates(arm, q, v)
    servo, force = np.zeros((2, arm.size))
    servo[arm.motor_q], force[arm.motor_q] = stiffness, effort
    servo[locked] = force[locked] = 0.0
    free = np.setdiff1d(np.arange(arm.size), locked)
    holding = _Holding(locked, free, servo, q, force)
    q, slopes = _settle(arm, loads, q, v, holding)
    _, W = gaps_and_jacobian(arm, q)
    _refuse_unsteady_rates(arm, q, v, W)
    applied = force + servo * (holding.target - q)
    needed = tangent.residual_force(arm, loads, q, v, np.zeros(arm.size)) - applied
    held = applied + constraint_forces(arm, W, needed, locked)[1]
    return LoopEquilibrium(q, v, slopes, np.where(arm.actuated, held[arm.motor_q], 0.0))


def _settle(arm, loads, q, v, holding):
    """Coordinates of the stable equilibrium near q, and the matrices D and K there."""
    zero_rates, largest = np.zeros(arm.size), 0.0
    scale = scales(arm)[holding.free]
    for _ in range(MAX_STEPS):
        q = _closed(arm, q, holding.free)
        _, W = gaps_and_jacobian(arm, q)
        force = tangent.residual_force(arm, loads, q, v, zero_rates) - holding.force
        force += holding.servo * (q - holding.target)
        rows, _ = constraint_forces(arm, W, force, holding.locked)
        D, K = tangent.tangent(arm, loads, q, v, zero_rates)
        N = null_space_basis(arm, W, holding.free).N
        residual = N.T @ force
        matrix = N.T @ (K + np.diag(holding.servo) - constraint_stiffness(arm, q, rows)) @ N
        if not np.isfinite(matrix).all():
            break
        largest = max(largest, np.abs(force[holding.free] * scale).max(initial=0.0))
        stiffness, directions = np.linalg.eigh((matrix + matrix.T) / 2)
        softest = SOFTEST * np.abs(stiffness).max(initial=0.0)
        is_stable = bool((stiffness >= -softest).all())
        if np.abs(residual).max(initial=0.0) <= SETTLED * largest and is_stable:
            return q, (D, K)
        if is_stable and stiffness[0] > softest:
            change = np.linalg.solve(matrix, -residual)
        else:
            magnitudes = np.maximum(np.abs(stiffness), softest)
            change = -directions @ (directions.T @ residual / magnitudes)
        size = np.abs(change).max()
        q = q + N @ change * min(1.0, MAX_CORRECTION / max(size, MAX_CORRECTION))
        if size < CONVERGED and is_stable:
            return _closed(arm, q, holding.free), (D, K)
    raise SettingError(
        'the arm finds no stable equilibrium from here: start from another q, lock the joints '
        'that nothing holds, or take smaller loads'
    )


def _closed(arm, q, free):
    """Coordinates near q that close all loops by the coordinates `free`."""
    gap = np.inf
    for _ in range(CLOSING_STEPS):
        change, gap = closing_change(arm, q, free)
        if gap <= CLOSED_GAP:
            break
        q = q + change
    if gap > MAX_GAP:
        raise SettingError(
            f'a closed loop of "{arm.description.name}" opens by {gap:.3g} on the way to the '
            'equilibrium: start from another q, or take smaller loads'
        )
    return q


def _refuse_unsteady_rates(arm, q, v, W):
    """Raise SettingError for rates that do not stay constant while the loops stay closed."""
    speed = np.abs(v).max(initial=0.0)
    second = np.abs(second_rates(arm, q, v, np.zeros(arm.size))).max(initial=0.0)
    if speed > 0 and (np.abs(W @ v).max() > MAX_RATE * speed or second > MAX_RATE * speed**2):
        raise SettingError(
            'v moves a closed loop, so that its rates do not stay constant: only a joint that '
            'carries whole loops may turn steadily. Take v = 0, or all coordinates of a state'
        )
