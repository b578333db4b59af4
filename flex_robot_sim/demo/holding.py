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

RATIOS = (0.7, 0.3, 0.1)    # damping of a closed joint if the arm were rigid; that which must
                            # not act late is the less, the lower it is
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


def gains(inertia, frequency, ratio):
    """Stiffness and damping (joints,) for inertias (joints,), a frequency [Hz] and a ratio."""
    rate = 2 * math.pi * frequency
    return inertia * rate**2, 2 * ratio * inertia * rate


def stable_servo(arm, poses, inertia, range_, period, velocity):
    """
    Frequency [Hz] and damping ratio of closed joints that are stable in all poses, or None.

    The best damped one of enough frequency, or else that of the highest frequency.

    :param inertia: of each joint, (joints,).
    :param range_: lowest frequency of use, one that is enough, and the highest of use [Hz].
    :param period: of the samples [s].
    :param velocity: of the joints (joints,): friction, which holds at rest, does not in motion.
    """
    loops = [_SampledLoop(arm, pose, period, velocity) for pose in poses]
    lowest, enough, highest = range_
    best = None
    for ratio in RATIOS:
        frequency = highest
        while frequency >= lowest and not _is_stable(loops, inertia, frequency, ratio):
            frequency *= FINER
        if frequency >= max(lowest, best[0] if best else 0.0):
            best = frequency, ratio
        if frequency >= enough:
            break
    return best


def _is_stable(loops, inertia, frequency, ratio):
    # too soft is no better than too stiff: an arm that stands upright falls over
    return all(loop.is_stable(*gains(inertia, reserve * frequency, ratio))
               for loop in loops for reserve in (1.0, RESERVE))


class _SampledLoop:
    """An arm near a pose, from one sample to the next."""

    def __init__(self, arm, pose, period, velocity):
        linear = linearise(arm, pose, velocity=velocity)
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
