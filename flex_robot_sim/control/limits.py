"""What the joints of an arm can do, and targets that they cannot reach."""

import numpy as np

from flex_robot_sim.exceptions import SettingError

MARGIN = 1e-3       # by which a target may lie behind a stop: an arm that leans there     [rad, m]


def effort_limits(arm):
    """Effort limits (joints,) of the motors, inf where the description has none [N m, N]."""
    limits = [arm.description.joint(name).effort for name in arm.joint_names]
    return np.array([limit if limit > 0.0 else np.inf for limit in limits])


def refuse_beyond_stops(arm, rows, positions):
    """
    Raise SettingError if a joint is to go where it cannot.

    :param rows: of the joints, (m,); positions: of these joints, (m,) or (points, m) [rad, m].
    """
    lower, upper = arm.arrays.lower[rows], arm.arrays.upper[rows]
    beyond = (positions < lower - MARGIN) | (positions > upper + MARGIN)
    if beyond.any():
        where = tuple(np.argwhere(beyond)[0])
        name = arm.joint_names[rows[where[-1]]]
        raise SettingError(f'target {positions[where]:.6g} of "{name}" is beyond its stops at '
                           f'{lower[where[-1]]:.6g} and {upper[where[-1]]:.6g} [rad, m]')
