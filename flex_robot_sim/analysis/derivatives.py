"""
Derivatives of forward and inverse dynamics at any state, as arrays of all coordinates.

There is one function for each, because the first starts from efforts and the second from
accelerations. In Pinocchio they are `computeABADerivatives` and `computeRNEADerivatives`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.contact_terms import refuse_touching
from flex_robot_sim.analysis.equations import forward_dynamics
from flex_robot_sim.analysis.loop_derivatives import loop_derivatives
from flex_robot_sim.analysis.tangent import smooth_slopes
from flex_robot_sim.analysis.workspace_pool import borrowed
from flex_robot_sim.dynamics.forward_dynamics_derivatives import forward_dynamics_derivatives
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix, refuse_massless
from flex_robot_sim.model.arguments import checked, checked_coordinates, refuse_closed_loops
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized


@summarized
class ForwardDynamicsDerivatives(NamedTuple):
    """
    Accelerations of an arm, and their derivatives; rad, m, s, N m and N.

    Example::

        arm = frs.load('two_link')
        found = frs.derivatives(arm, np.full(arm.nq, 0.01))
        A = np.block([[np.zeros((arm.nv, arm.nv)), np.eye(arm.nv)], [found.da_dq, found.da_dv]])
    """

    a: np.ndarray  # (nv,)         accelerations
    da_dq: np.ndarray  # (nv, nq)      by the coordinates
    da_dv: np.ndarray  # (nv, nv)      by their rates
    da_deffort: np.ndarray  # (nv, joints)  by the efforts of the motors
    is_smooth: bool  # False: a joint sticks or touches a stop, or a motor is at its
    #                             limit, and these forces count as constant


@summarized
class InverseDynamicsDerivatives(NamedTuple):
    """
    Derivatives of the forces that a motion requires; rad, m, s, N m and N.

    Example::

        arm = frs.load('two_link')
        found = frs.inverse_dynamics_derivatives(arm, np.full(arm.nq, 0.01))
        K, D, M = found.dtau_dq, found.dtau_dv, found.dtau_da
    """

    dtau_dq: np.ndarray  # (nv, nq)  by the coordinates
    dtau_dv: np.ndarray  # (nv, nv)  by their rates
    dtau_da: np.ndarray  # (nv, nv)  by the accelerations: the mass matrix
    is_smooth: bool  # False: a joint sticks or touches a stop: constant forces here


def derivatives(
    arm: ArmModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    *,
    pushes: Iterable[Push] = (),
) -> ForwardDynamicsDerivatives:
    """
    Derivatives of `forward_dynamics` by coordinates, rates and efforts, exact to rounding.

    If a joint sticks (|v| <= 0.01 rad/s, with dry friction) or touches a stop, these forces count
    as constant, and `is_smooth` is False. It is also False if an effort reaches the limit of its
    motor, which `forward_dynamics` does not apply. The coordinates of a free base stand for small
    motions in its own axes, as in Pinocchio. In closed loops with redundant constraints, the
    derivatives hold for changes that keep the loops closed.

    :param q: coordinates, (nq,) [rad, m]; v: their rates, (nv,); default: zero.
    :param effort: of the motors, (joints,) [N m, N]; default: zero.
    :param pushes: loads on links, each a Push.
    :raises SettingError: if the mass matrix is not positive definite, because a spatial beam or
        a reduced link is deformed too much.

    Example::

        arm = frs.load('two_link')
        q = np.full(arm.nq, 0.01)
        slopes = frs.derivatives(arm, q, effort=[0.0, 2.0, 1.0])
        change = frs.forward_dynamics(arm, q, effort=[0.0, 2.1, 1.0]) - slopes.a
        assert np.allclose(change, slopes.da_deffort @ [0.0, 0.1, 0.0])
    """
    q, v = checked_coordinates(arm, q=q, v=v)
    n, joints = arm.size, len(arm.joint_names)
    effort = np.zeros(joints) if effort is None else checked('effort', effort, arm.joint_names)
    refuse_massless(arm)
    refuse_touching(arm, q)
    is_within = bool((np.abs(effort) < effort_limits(arm)).all())
    if arm.closed_loops:
        pushes = [*pushes]
        a = forward_dynamics(arm, q, v, effort, pushes=pushes)
        loads = make_loads(arm, pushes, closed_loops=True)
        by_q, by_v, by_effort, is_smooth = loop_derivatives(arm, loads, q, v, a, effort)
        return ForwardDynamicsDerivatives(a, by_q, by_v, by_effort, is_smooth and is_within)
    a, slopes = np.zeros(n), np.zeros((n, 2 * n + joints))
    with borrowed(arm) as scratch:
        is_smooth = scratch.call(
            forward_dynamics_derivatives,
            arm.arrays,
            make_loads(arm, pushes, free_base=True),
            scratch.order,
            q,
            v,
            effort,
            scratch.work,
            scratch.derivative_arrays,
            a,
            *np.zeros((3, n, n)),
            slopes,
        )
    if np.isnan(slopes).any() and np.isfinite(q).all() and np.isfinite(v).all():
        _refuse_large_deformation(arm, q)
    return ForwardDynamicsDerivatives(
        a, slopes[:, :n], slopes[:, n : 2 * n], slopes[:, 2 * n :], bool(is_smooth) and is_within
    )


def _refuse_large_deformation(arm, q):
    """Raise SettingError if the mass matrix of second order is not positive definite."""
    values, vectors = np.linalg.eigh(mass_matrix(arm.arrays, q))
    if values[0] > 0.0:
        return
    sizes = {
        link: max(np.abs(vectors[columns, 0]).max() for _, columns in arm.beams_of(link))
        for link in arm.segments
    }
    link = max(sizes, key=sizes.__getitem__)
    raise SettingError(
        f'the mass matrix at q is not positive definite: link "{link}" is '
        'deformed beyond the range of its inertia, which is of second order. Give smaller '
        'elastic coordinates, or the link more segments'
    )


def inverse_dynamics_derivatives(
    arm: ArmModel,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    pushes: Iterable[Push] = (),
) -> InverseDynamicsDerivatives:
    """
    Derivatives of `inverse_dynamics` by coordinates, rates and accelerations, as `derivatives`.

    :param q: coordinates, (nq,) [rad, m]; v: their rates; a: their accelerations, (nv,) each;
        default: zero.
    :param pushes: loads on links, each a Push.

    Example::

        arm = frs.load('two_link')
        q = np.full(arm.nq, 0.01)
        slopes = frs.inverse_dynamics_derivatives(arm, q)
        assert slopes.dtau_dq.shape == (arm.nv, arm.nq)     # stiffness of gravity and springs
        assert np.allclose(slopes.dtau_da, frs.mass_matrix(arm, q))
    """
    q, v, a = checked_coordinates(arm, q=q, v=v, a=a)
    refuse_closed_loops(arm, 'derivatives')
    refuse_touching(arm, q)
    M, dtau_dv, dtau_dq, is_smooth = smooth_slopes(
        arm, make_loads(arm, pushes, free_base=True), q, v, a
    )
    return InverseDynamicsDerivatives(dtau_dq, dtau_dv, M, is_smooth)
