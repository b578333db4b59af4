"""
Contact in models at one state: slopes of the forces, and a refusal where they are not smooth.

A pressed point with the rate u along its axes has the force p(gap, u) at an instant, see
dynamics/contact/instant.py. With the Jacobian W of u, small changes x of the coordinates change
the generalised force W^T p by

    W^T (dp/dgap W_n x + dp/du (W x' + d(W v)/dq x)) + d(W^T p)/dq x                         (T118)
"""

import numpy as np

from flex_robot_sim.analysis.differences import slopes
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.contact.gaps import set_contact_gaps, set_contact_jacobian
from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import DEFAULT_SMOOTHING_RATE
from flex_robot_sim.model.stops import STOP_DEPTH
from flex_robot_sim.util.exceptions import SettingError


def refuse_touching(arm: ArmModel, q: np.ndarray) -> None:
    """Raise SettingError if a contact touches at q (n,): its force is not smooth there."""
    if not arm.contacts:
        return
    gap, _ = gaps_and_jacobian(arm, q)
    for name, rows in arm.contacts.items():
        if gap[rows].min() <= 0.0:
            raise SettingError(
                f'contact "{name}" touches in this state, where its force has no derivatives: '
                'choose a state without contact, or use frs.linearise'
            )


def refuse_pressed_start(arm: ArmModel, q: np.ndarray) -> None:
    """Raise SettingError if a contact touches at q (n,), where no equilibrium was found from."""
    if not arm.contacts:
        return
    gap, _ = gaps_and_jacobian(arm, q)
    deepest = int(gap.argmin())
    for name, rows in arm.contacts.items():
        if rows.start <= deepest < rows.stop and gap[deepest] < 0.0:
            raise SettingError(
                f'contact "{name}" is {-gap[deepest]:.3g} m inside what it touches before the '
                'links bend, and no equilibrium was found from there. Take another q, or let a '
                'simulation press the arm on it'
            )


def gaps_and_jacobian(arm: ArmModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps (g,) [m] of all points, and the Jacobian (3 g, n) of their rates along their axes."""
    with borrowed(arm) as scratch:
        work = scratch.work
        scratch.call(_set_jacobian, arm.arrays, np.ascontiguousarray(q), np.zeros(arm.size), work)
        return work.contact_gap.copy(), work.contact_jacobian.copy()


def contact_slopes(arm: ArmModel, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of D and K (n, n) of (T50) by contact (T118)."""
    gap, W = gaps_and_jacobian(arm, q)
    D, K = np.zeros((2, arm.size, arm.size))
    by_rate, force = np.zeros((len(W), len(W))), np.zeros(len(W))
    for g in np.flatnonzero(gap < 0.0):
        rows = slice(3 * g, 3 * g + 3)
        force[rows], by_gap, by_rate[rows, rows] = _force_and_slopes(arm, g, gap[g], W[rows] @ v)
        K -= W[rows].T @ np.outer(by_gap, W[3 * g])
    if not force.any():
        return D, K
    D -= W.T @ by_rate @ W
    K -= slopes(arm, lambda at: gaps_and_jacobian(arm, at)[1].T @ force, q)
    if v.any():
        K -= W.T @ by_rate @ slopes(arm, lambda at: gaps_and_jacobian(arm, at)[1] @ v, q)
    return D, K


def _force_and_slopes(arm, g, gap, u):
    """Force (3,) of point g at a gap and rates u (3,); its slopes by gap (3,) and by u (3, 3)."""
    arrays, rate = arm.arrays, -float(u[0])
    k, d, mu = arrays.contact_stiffness[g], arrays.contact_damping[g], arrays.contact_friction[g]
    _, normal, slope = stop_force(rate, rate, 0.0, -gap, k, d, STOP_DEPTH)
    if normal == 0.0:
        return np.zeros(3), np.zeros(3), np.zeros((3, 3))
    stiffness = k * (1.0 + d * rate / (k * STOP_DEPTH)) if -gap < STOP_DEPTH else k
    speed = np.hypot(*u[1:])
    direction = u[1:] / speed if speed > 0.0 else np.zeros(2)
    share = np.tanh(speed / DEFAULT_SMOOTHING_RATE)
    along = (1.0 - share**2) / DEFAULT_SMOOTHING_RATE
    across = share / speed if speed > 0.0 else along
    of_normal = np.concatenate([[1.0], -mu * share * direction])
    by_rate = -slope * np.outer(of_normal, [1.0, 0.0, 0.0])
    turn = np.outer(direction, direction)
    by_rate[1:, 1:] -= mu * normal * (along * turn + across * (np.eye(2) - turn))
    return normal * of_normal, -stiffness * of_normal, by_rate


@compiled
def _set_jacobian(arm, q, qd, work):
    """Gaps and Jacobian of all points at coordinates q (n,)."""
    set_motion(arm, q, qd, work)
    set_base_poses(arm, work)
    set_contact_gaps(arm, work)
    for g in range(arm.contact_kind.size):
        set_contact_jacobian(arm, g, work)
