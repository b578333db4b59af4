"""
How stiffly a sampled PD controller can hold an arm.

Between two samples the effort stands still, and it answers a state that is a sample old. What is
light at the drive then gets away from it: a beam whose hub has little inertia of its own shakes in
its high modes, whatever the gains.
"""

import math

import numpy as np
from scipy.linalg import expm

from flex_robot_sim.linear import linearise
from flex_robot_sim.mass import mass_matrix

RATIO = 0.7             # damping of a closed joint if the arm were rigid
RESERVE = 1.2           # factor by which the frequency could be higher still
GROWTH = 0.1            # of what an undamped mode may grow by rounding and the like        [1/s]
FINER = 0.8             # from one frequency that is tried to the next


def rigid_inertia(arm, position):
    """Inertia (joints, joints) of the arm in a pose if nothing bends [kg m2, kg m, kg]."""
    q = np.zeros(arm.size)
    q[:len(position)] = position
    moves = np.zeros((arm.size, len(position)))     # coordinates that move with each joint
    for joint, motor in enumerate(arm.arrays.motor):
        moves[joint, joint] = 1.0
        if motor >= 0:
            moves[motor, joint] = 1.0
    return moves.T @ mass_matrix(arm.arrays, q) @ moves


def gains(inertia, frequency):
    """Stiffness and damping (joints,) for inertias (joints,) and a frequency [Hz]."""
    rate = 2 * math.pi * frequency
    return inertia * rate**2, 2 * RATIO * inertia * rate


def highest_frequency(arm, poses, inertia, wish, lowest, period):
    """
    Frequency of closed joints [Hz], up to `wish`, that is stable in all poses; None if none is.

    :param inertia: of each joint, (joints,); lowest: frequency to try [Hz].
    :param period: of the samples [s].
    """
    loops = [_SampledLoop(arm, pose, period) for pose in poses]
    frequency = wish
    while frequency >= lowest:
        # too soft is no better: an arm that stands upright falls over
        if all(loop.is_stable(*gains(inertia, reserve * frequency))
               for loop in loops for reserve in (1.0, RESERVE)):
            return frequency
        frequency *= FINER
    return None


class _SampledLoop:
    """An arm near a pose, from one sample to the next."""

    def __init__(self, arm, pose, period):
        linear = linearise(arm, pose)
        n, joints = linear.B.shape
        exact = np.zeros((n + joints, n + joints))
        exact[:n, :n], exact[:n, n:] = linear.A, linear.B
        exact = expm(exact * period)
        self._A, self._B, self._period = exact[:n, :n], exact[:n, n:], period
        self._drives = np.where(arm.arrays.motor >= 0, arm.arrays.motor, np.arange(joints))

    def is_stable(self, stiffness, damping):
        """Whether nothing grows with these gains (joints,)."""
        n, joints = self._B.shape
        feedback = np.zeros((joints, n))
        rows = np.arange(joints)
        feedback[rows, self._drives] = stiffness
        feedback[rows, n // 2 + self._drives] = damping
        step = np.block([[self._A, self._B], [-feedback, np.zeros((joints, joints))]])
        return np.abs(np.linalg.eigvals(step)).max() <= 1.0 + GROWTH * self._period
