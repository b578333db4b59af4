"""Rows of ArmArrays for joints: gears, motors, friction, springs and stops."""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.description.links import Joint
from flex_robot_sim.model.drive_laws import drive_law_tables
from flex_robot_sim.model.friction import friction_rows
from flex_robot_sim.model.slip_elements import slip_tables
from flex_robot_sim.model.stops import STOP_DEPTH, STOP_FREQUENCY


def joint_rows(joints: Sequence[Joint], inertias: np.ndarray) -> dict[str, np.ndarray]:
    """
    Return the rows of movable joints, in their order.

    :param inertias: largest one of each joint, (j,) [kg m2, kg].
    """
    has_gear = np.array([np.isfinite(joint.stiffness) for joint in joints], bool)
    stop = inertias * (2 * np.pi * STOP_FREQUENCY) ** 2
    slip_stiffness, slip_limit = slip_tables(joints)
    values = {
        'rotor': [joint.reflected_inertia for joint in joints],
        'gear_stiffness': [j.stiffness if g else 0.0 for j, g in zip(joints, has_gear)],
        'gear_damping': [joint.damping for joint in joints],
        'friction': friction_rows(joint.friction for joint in joints),
        **drive_law_tables(joints),
        'slip_stiffness': slip_stiffness,
        'slip_limit': slip_limit,
        'spring': [joint.spring_stiffness for joint in joints],
        'spring_rest': [joint.spring_reference for joint in joints],
        'lower': [joint.lower for joint in joints],
        'upper': [joint.upper for joint in joints],
        'stop_stiffness': stop,
        'stop_damping': 2 * np.sqrt(stop * inertias),
        'stop_depth': [STOP_DEPTH] * len(joints),
    }
    return {
        'motor': np.where(has_gear, len(joints) + np.cumsum(has_gear) - 1, -1),
        **{name: np.array(value, float) for name, value in values.items()},
    }
