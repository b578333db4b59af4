"""PD gains that fit an arm: each joint gets the same speed whatever it carries."""

import numpy as np

from flex_robot_sim.mass import mass_matrix


def fitting_gains(arm, frequency=1.0, ratio=0.7):
    """
    Stiffness and damping (joints,) [N m/rad, N m s/rad; N/m, N s/m] of every drive.

    :param frequency: of the closed loop, if the arm were rigid and each joint alone [Hz].
    :param ratio: its damping ratio.
    """
    arrays = arm.arrays
    M = mass_matrix(arrays, np.zeros(arm.size))
    joints = arrays.motor.size
    inertia = np.diag(M)[:joints].copy()
    geared = arrays.motor >= 0
    inertia[geared] += np.diag(M)[arrays.motor[geared]]
    rate = 2 * np.pi * frequency
    return inertia * rate**2, 2 * ratio * inertia * rate
