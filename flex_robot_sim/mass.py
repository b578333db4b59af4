"""The mass matrix of an arm, and whether everything in it has mass."""

import numpy as np

from flex_robot_sim.dynamics import inverse_dynamics
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.model import make_workspace

SMALLEST_SHARE = 1e-13      # of its inertia that a coordinate keeps when the others are free


def mass_matrix(arrays, q):
    """Inertia (n, n) of all coordinates of ArmArrays, rotors included, at q (n,) [rad, m]."""
    arm, work = arrays._replace(rising=np.zeros(6)), make_workspace(arrays)
    rest, M = np.zeros(q.size), np.zeros((q.size, q.size))
    for k, unit in enumerate(np.eye(q.size)):
        inverse_dynamics(arm, q, rest, unit, work, M[k])
    return (M + M.T) / 2


def refuse_massless(arm):
    """Raise SettingError if some coordinate of an ArmModel, at zero, can move without mass."""
    M = mass_matrix(arm.arrays, np.zeros(arm.size))
    inertia = np.diag(M)
    lightest = np.argmin(inertia)
    if inertia[lightest] > 0:
        scale = np.sqrt(inertia)
        shares, shapes = np.linalg.eigh(M / np.outer(scale, scale))
        if shares[0] > SMALLEST_SHARE:
            return
        lightest = np.argmax(np.abs(shapes[:, 0]))
    raise SettingError(f'"{arm.coordinate_names[lightest]}" moves no mass. Give what it moves an '
                       'inertia, or leave it out of the description')
