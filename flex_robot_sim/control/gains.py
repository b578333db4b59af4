"""PD gains that fit an arm, and the efforts that carry its weight."""

import numpy as np

from flex_robot_sim.dynamics import inverse_dynamics
from flex_robot_sim.mass import mass_matrix
from flex_robot_sim.model import make_workspace


def fitting_gains(arm, frequency=1.0, ratio=0.7):
    """
    Stiffness and damping (joints,) [N m/rad, N m s/rad; N/m, N s/m] of every drive.

    :param frequency: of the closed loop, if the arm were rigid and each joint alone [Hz].
    :param ratio: its damping ratio.
    """
    inertia, rate = felt_inertia(arm), 2 * np.pi * frequency
    return inertia * rate**2, 2 * ratio * inertia * rate


def felt_inertia(arm):
    """Inertia (joints,) [kg m2, kg] that each drive moves, rotor included, in the zero pose."""
    arrays = arm.arrays
    M = mass_matrix(arrays, np.zeros(arm.size))
    joints = arrays.motor.size
    inertia = np.diag(M)[:joints].copy()
    geared = arrays.motor >= 0
    inertia[geared] += np.diag(M)[arrays.motor[geared]]
    return inertia


def carrying_efforts(arm, position):
    """
    Efforts (joints,) [N m, N] that carry the weight of the straight arm at rest in a pose.

    :param position: of the joints, (joints,) [rad, m].
    """
    q, rest, force = np.zeros((3, arm.size))
    q[:len(position)] = position
    inverse_dynamics(arm.arrays, q, rest, rest, make_workspace(arm.arrays), force)
    return force[:len(position)]
