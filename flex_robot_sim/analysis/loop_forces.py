"""
Accelerations, constraint forces and motor efforts of closed loops at one state.

The forces that a motion needs come from constraints and motors, f = W^T lambda + S u. Coordinates
without a motor determine lambda. What they leave open keeps the efforts u least.
"""

import numpy as np

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian, second_rates
from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.analysis.loop_motion import null_space_basis, pseudo_inverse
from flex_robot_sim.analysis.tangent import residual_force
from flex_robot_sim.dynamics.constraints.closing import name_of_row
from flex_robot_sim.dynamics.loads import LoadArrays
from flex_robot_sim.dynamics.mass_matrix import mass_matrix, refuse_massless, refuse_massless_pose
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

MAX_GAP = 1e-7  # of a state that counts as closed                                  [m, -]
MAX_RATE = 1e-7  # closing rate over the largest rate
ROUNDING = 1e-12  # of a force without a motor, over the largest force


def refuse_open_loops(arm: ArmModel, q: np.ndarray, v: np.ndarray) -> None:
    """Raise SettingError for coordinates or rates (n,) that do not keep loops closed."""
    gap, W = gaps_and_jacobian(arm, q)
    rate = np.abs(W @ v)
    if np.abs(gap).max(initial=0.0) > MAX_GAP:
        row = int(np.abs(gap).argmax())
        raise SettingError(
            f'q opens the constraint "{name_of_row(arm, row)}" by {abs(gap[row]):.3g}: take q of '
            'a Simulation or of an equilibrium, which close it'
        )
    if rate.max(initial=0.0) > MAX_RATE * np.abs(v).max(initial=0.0):
        raise SettingError(
            f'v opens the constraint "{name_of_row(arm, int(rate.argmax()))}" at '
            f'{rate.max():.3g} m/s: take v of a Simulation, which keeps it closed'
        )


def constraint_forces(
    arm: ArmModel, W: np.ndarray, needed: np.ndarray, powered: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Split the forces that a motion needs into those of constraints (c,) and the others (n,).

    :param needed: generalised forces, (n,).
    :param powered: coordinates whose motors provide what constraints leave.
    """
    unpowered = np.setdiff1d(np.arange(arm.size), powered)
    scale = scales(arm)[unpowered]
    inverse, open_forces = pseudo_inverse((W[:, unpowered] * scale).T)
    force = inverse @ (needed[unpowered] * scale)
    at_motors = W[:, powered].T
    least, _ = pseudo_inverse(at_motors @ open_forces, float(np.linalg.norm(W)))
    force += open_forces @ (least @ (needed[powered] - at_motors @ force))
    left = needed - W.T @ force
    is_rounding = np.abs(left) <= ROUNDING * np.abs(needed).max(initial=0.0)
    left[unpowered[is_rounding[unpowered]]] = 0.0
    return force, left


def loop_accelerations(
    arm: ArmModel,
    loads: LoadArrays,
    q: np.ndarray,
    v: np.ndarray,
    effort: np.ndarray | None,
    locked: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return accelerations (n,), efforts (joints,), and forces of the constraint rows (c,).

    :param effort: of the motors, (joints,); None: efforts that keep the velocity of all motors.
    :param locked: coordinates of the drives that do not accelerate.
    """
    refuse_massless(arm)
    motors = arm.motor_q
    if effort is None:
        locked = arm.drive_q
    free = np.setdiff1d(np.arange(arm.size), locked)
    _, W = gaps_and_jacobian(arm, q)
    basis, M = null_space_basis(arm, W, free), mass_matrix(arm.arrays, q)
    needed = residual_force(arm, loads, q, v, np.zeros(arm.size))
    if effort is not None:
        needed[motors] -= effort
    a = np.zeros(arm.size)
    if v.any():
        a = basis.follow(-second_rates(arm, q, v, a)[:, None])[:, 0]
        _refuse_locked_rates(arm, q, v, a)
    N = basis.N
    refuse_massless_pose(arm, M, N)
    a = a + N @ np.linalg.solve(N.T @ M @ N, -N.T @ (needed + M @ a))
    force, others = constraint_forces(arm, W, needed + M @ a, locked)
    held = np.where(arm.actuated, others[motors], 0.0)
    return a, held if effort is None else effort, force


def _refuse_locked_rates(arm, q, v, a):
    """Raise SettingError if accelerations of the free coordinates do not keep loops closed."""
    rates = np.abs(second_rates(arm, q, v, a))
    row = int(rates.argmax())
    if rates[row] > MAX_RATE * np.abs(v).max() ** 2:
        raise SettingError(
            f'the constraint "{name_of_row(arm, row)}" opens if all drives keep their velocity: '
            'give the effort, or take v = 0'
        )
