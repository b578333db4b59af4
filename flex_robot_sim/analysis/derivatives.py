"""
Derivatives of forward and inverse dynamics at any state, to rounding, for gradients of your own.

As in Pinocchio, where they are `computeABADerivatives` and `computeRNEADerivatives`, there is one
function for each: the first starts from efforts, the second from accelerations.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.tangent import set_slopes_of_smooth_forces
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.forward_dynamics_derivatives import forward_dynamics_derivatives
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.model.arguments import checked, checked_coordinates
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.summary import summarized


@summarized
class ForwardDynamicsDerivatives(NamedTuple):
    """Accelerations of an arm, and their derivatives; rad, m, s, N m and N."""

    a: np.ndarray               # (nv,)         accelerations
    da_dq: np.ndarray           # (nv, nq)      by the coordinates
    da_dv: np.ndarray           # (nv, nv)      by their rates
    da_deffort: np.ndarray      # (nv, joints)  by the efforts of the motors
    is_smooth: bool             # False: a joint sticks or touches a stop, or a motor is at its
    #                             limit, and these forces count as constant


@summarized
class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the forces that a motion requires; rad, m, s, N m and N."""

    dtau_dq: np.ndarray         # (nv, nq)  by the coordinates
    dtau_dv: np.ndarray         # (nv, nv)  by their rates
    dtau_da: np.ndarray         # (nv, nv)  by the accelerations: the mass matrix
    is_smooth: bool             # False: a joint sticks or touches a stop: constant forces here


def derivatives(arm: ArmModel, q: ArrayLike, v: ArrayLike | None = None,
                effort: ArrayLike | None = None, *,
                pushes: Iterable[Push] = ()) -> ForwardDynamicsDerivatives:
    """
    Differentiate `forward_dynamics` by coordinates, rates and efforts, by an analytic recursion.

    Where a joint with dry friction sticks, or a joint touches a stop, the derivatives are those of
    all other forces, at the acceleration with these forces, and `is_smooth` is False. It is also
    False where an effort reaches the limit of its motor, which `forward_dynamics` does not apply.

    :param arm: ArmModel.
    :param q: coordinates, (nq,) [rad, m].
    :param v: their rates, (nv,) [rad/s, m/s]; default: zero.
    :param effort: of the motors, (joints,) [N m, N]; default: zero.
    :param pushes: [Push]; dead loads keep their direction, followers turn with their link.

    Example::

        arm = frs.load('two_link')
        q, effort = np.full(arm.nq, 0.01), [0.0, 2.0, 1.0]
        slopes = frs.derivatives(arm, q, np.zeros(arm.nv), effort)
        slopes.da_deffort.shape         # (16, 3)
        slopes.a + slopes.da_deffort @ [0.0, 0.1, 0.0]
    """
    q, v = checked_coordinates(arm, q=q, v=v)
    n, joints = arm.size, len(arm.joint_names)
    effort = np.zeros(joints) if effort is None else checked('effort', effort, arm.joint_names)
    refuse_massless(arm)
    a, (M, da_dq, da_dv), da_deffort = np.zeros(n), np.zeros((3, n, n)), np.zeros((n, joints))
    with borrowed(arm) as scratch:
        is_smooth = scratch.call(
            forward_dynamics_derivatives, arm.arrays, make_loads(arm, pushes), scratch.order, q, v,
            effort, scratch.work, scratch.derivative_arrays, a, M, da_dq, da_dv, da_deffort)
    within = bool((np.abs(effort) < effort_limits(arm)).all())
    return ForwardDynamicsDerivatives(a, da_dq, da_dv, da_deffort, bool(is_smooth) and within)


def inverse_dynamics_derivatives(arm: ArmModel, q: ArrayLike, v: ArrayLike | None = None,
                                 a: ArrayLike | None = None, *,
                                 pushes: Iterable[Push] = ()) -> InverseDynamicsDerivatives:
    """
    Differentiate `inverse_dynamics` by coordinates, rates and accelerations, as `derivatives` does.

    :param arm: ArmModel.
    :param q: coordinates, (nq,) [rad, m].
    :param v: their rates, (nv,) [rad/s, m/s]; default: zero.
    :param a: accelerations, (nv,) [rad/s2, m/s2]; default: zero.
    :param pushes: [Push].

    Example::

        arm = frs.load('two_link')
        q = np.full(arm.nq, 0.01)
        slopes = frs.inverse_dynamics_derivatives(arm, q)
        stiffness = slopes.dtau_dq      # of gravity and springs, (16, 16)
        inertia = slopes.dtau_da        # the mass matrix
    """
    q, v, a = checked_coordinates(arm, q=q, v=v, a=a)
    M, by_rate, by_coordinate = np.zeros((3, arm.size, arm.size))
    with borrowed(arm) as scratch:
        is_smooth = scratch.call(
            set_slopes_of_smooth_forces, arm.arrays, make_loads(arm, pushes), scratch.order, q, v,
            a, scratch.work, scratch.derivative_arrays, M, by_rate, by_coordinate)
    return InverseDynamicsDerivatives(by_coordinate, by_rate, M, bool(is_smooth))
