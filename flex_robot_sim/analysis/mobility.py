"""
Mobility of closed loops: motions that are left where all motors stand still.

Velocities of the passive joints p that keep all gaps closed have W_p v_p = 0. Those that stretch
no spring across a joint are left over. A singular pose has more of them, but not its neighbours.
"""

import numpy as np

from flex_robot_sim.analysis.constraint_terms import all_gaps_and_jacobian
from flex_robot_sim.analysis.loop_motion import pseudo_inverse
from flex_robot_sim.dynamics.constraints.closing import OpenLoopError, closed_coordinates
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import one_line

NEIGHBOUR = 0.1  # largest change of a motor to a neighbouring pose             [rad, m]
MIN_SHARE = 1e-6  # of a joint in a motion


def mobility_note(arm: ArmModel, q: np.ndarray) -> str:
    """
    Return the line about passive joints that nothing holds, or about a singular pose, or ''.

    :param q: coordinates (n,) that close the loops.
    """
    description, passive = arm.description, np.flatnonzero(~arm.actuated)
    if not description.constraints or not arm.actuated.any():
        return ''
    motions = _left_over(arm, q, passive)
    if not motions.shape[1]:
        return ''
    elsewhere = _left_over(arm, _neighbour(arm, q), passive)
    count = elsewhere.shape[1]
    left = '1 degree of freedom is' if count == 1 else f'{count} degrees of freedom are'
    problem = f'{left} left where all motors stand still'
    remedy = 'Add a constraint, or give a joint a motor or a spring, unless it is to swing freely'
    if not count:
        elsewhere = motions
        problem = 'the start pose is singular: the motors do not determine the passive joints'
        remedy = 'Start in another pose'
    names = [
        arm.joint_names[k]
        for k, share in zip(passive, np.abs(elsewhere).max(axis=1))
        if share > MIN_SHARE
    ]
    line = description.joint(names[0]).line or None
    return one_line(
        description.source, line, f'{problem}, with motion of {", ".join(names)}', remedy
    )


def _left_over(arm, q, passive):
    """Return a basis (passive, k) of motions that neither constraints nor springs resist."""
    springs = np.diag((arm.arrays.spring[passive] > 0.0).astype(float))
    W = all_gaps_and_jacobian(arm, q)[1][:, passive]
    return pseudo_inverse(np.vstack([W, springs]))[1]


def _neighbour(arm, q):
    """Return coordinates (n,) with other positions of the motors, if the loops close there."""
    near, drives = q.copy(), np.flatnonzero(arm.actuated)
    near[drives] += NEIGHBOUR * np.linspace(0.6, 1.0, drives.size)
    near[arm.motor_q] = near[arm.joint_q]
    try:
        return closed_coordinates(arm, near)
    except OpenLoopError:
        return q
