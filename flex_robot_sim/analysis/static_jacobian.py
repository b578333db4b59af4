"""
Static Jacobian: motion of a link by the motors, while the elastic parts stay in equilibrium.

In equilibrium, the forces on the passive coordinates p vanish for every position of the motors m.
By the implicit function theorem, with the matrix K of (T50) and the Jacobian J of the link (T57),

    J_static = J_m - J_p K_pp^-1 K_pm                                                        (T70)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.constraint_terms import constraint_stiffness
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.loop_forces import loop_accelerations
from flex_robot_sim.analysis.loop_motion import motion_by_drives
from flex_robot_sim.analysis.operating_point import state_at
from flex_robot_sim.analysis.tangent import Slopes, tangent
from flex_robot_sim.dynamics.loads import LoadArrays, Push, make_loads
from flex_robot_sim.model.arm_model import ArmModel

NO_STIFFNESS = 1e-13  # over the largest


def static_jacobian(
    arm: ArmModel,
    q: ArrayLike | None = None,
    *,
    link: str | None = None,
    pushes: Iterable[Push] = (),
    representation: str = 'body',
    station: float | str | None = None,
) -> np.ndarray:
    """
    Jacobian (6, joints) from slow motor motion to the twist of a link, angular rows first (T70).

    In closed loops, the columns of passive joints are zero, and K loses the geometric stiffness of
    the constraints (T82). If motors cannot move independently, the columns keep the loops closed.
    The elastic parts are in equilibrium under weight and pushes. Without them, the result is that
    of `jacobian`.
    For a payload, pass `with_payload(arm, ...)`.

    :param arm: ArmModel.
    :param q: motor positions, (joints,) [rad, m], with the elastic parts in equilibrium, or all
        coordinates of an equilibrium, (nq,); default: the start pose.
    :param link: name of a link; default: the tool.
    :param pushes: loads on links, each a Push.
    :param representation, station: see `jacobian`.

    Example::

        arm = frs.load('two_link')
        J = frs.static_jacobian(arm, [0.0, 0.5, -0.8])
        step = np.linalg.pinv(J[3:]) @ [0.0, 0.0, 1e-3]     # raise the tool by 1 mm
        assert J.shape == (6, 3) and step.shape == (3,)
    """
    loads = make_loads(arm, pushes, closed_loops=True)
    q, v, slopes = state_at(arm, loads, q, None)
    J = jacobian(arm, q, link=link, representation=representation, station=station)
    return J @ static_motion(arm, loads, q, v, slopes)


def static_motion(
    arm: ArmModel, loads: LoadArrays, q: np.ndarray, v: np.ndarray, slopes: Slopes | None
) -> np.ndarray:
    """
    Return the slow motion (n, joints) of all coordinates by each motor, in equilibrium (T70).

    :param q: coordinates (n,) of an equilibrium; v: rates.
    :param slopes: D and K there; None: compute them.
    """
    drives, passive = arm.drive_q, arm.passive_q
    is_rigid = not passive.size and not arm.closed_loops
    K = np.zeros((arm.size, arm.size))
    if not is_rigid:
        _, K = slopes or tangent(arm, loads, q, v, np.zeros(arm.size))
    if arm.closed_loops:
        _, _, force = loop_accelerations(arm, loads, q, v, None, drives)
        return motion_by_drives(arm, q, K - constraint_stiffness(arm, q, force))
    return motion_in_tree(K, drives, passive, arm.actuated)


def motion_in_tree(
    K: np.ndarray, drives: np.ndarray, passive: np.ndarray, actuated: np.ndarray
) -> np.ndarray:
    """
    Return the motion (n, joints) of all coordinates of a tree by each motor (T70).

    :param K: stiffness (n, n); drives, passive: coordinates of motors, and all others.
    :param actuated: whether each joint has a motor (joints,).
    """
    motion = np.zeros((len(K), actuated.size))
    motion[drives, np.flatnonzero(actuated)] = 1.0
    stiffness, load = K[np.ix_(passive, passive)], K[np.ix_(passive, drives)]
    if actuated.all():
        motion[np.ix_(passive, actuated)] = -np.linalg.solve(stiffness, load)
    else:  # nothing may hold a passive joint: its motion is the least one
        motion[np.ix_(passive, actuated)] = -np.linalg.lstsq(stiffness, load, NO_STIFFNESS)[0]
    return motion
