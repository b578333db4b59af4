"""Checks of a new state, a servo and a time that a caller gives to a simulation."""

from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.constraints.closing import (
    closed_coordinates,
    closed_rates,
    closed_start,
)
from flex_robot_sim.model.arguments import (
    checked,
    expect_motors,
    gains_of_motors,
    joints_or_coordinates,
    number_or_nan,
    positive,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_coordinates
from flex_robot_sim.util.exceptions import SettingError, shortened


def checked_state(
    arm: ArmModel, q: ArrayLike | None, v: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return all coordinates and their rates (n,); see Simulation.set_state."""
    v = np.zeros(arm.size) if v is None else joints_or_coordinates(arm, 'v', v)
    if q is None:
        q = closed_start(arm, start_coordinates(arm))
    else:
        q = closed_coordinates(arm, joints_or_coordinates(arm, 'q', q))
    return q, closed_rates(arm, q, v)


def checked_servo(
    arm: ArmModel,
    target: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
    rate: ArrayLike | None,
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray | float]:
    """Return stiffness and damping, target and its rate, (joints,) each; see Simulation.hold."""
    names = arm.joint_names
    gains = [
        gains_of_motors(arm, name, values, positive(name, values, names))
        for name, values in (('stiffness', stiffness), ('damping', damping))
    ]
    return (
        gains,
        checked('target', target, names),
        (0.0 if rate is None else checked('rate', rate, names)),
    )


def checked_effort(arm: ArmModel, values: ArrayLike) -> np.ndarray:
    """Return motor efforts (joints,), which are zero at passive joints [N m, N]."""
    efforts = checked('effort', values, arm.joint_names)
    expect_motors(arm, 'effort', efforts)
    return efforts


def steps_until(time: float, now: float, step: float) -> int:
    """Return the number of steps [s] closest to a time [s]; SettingError if it has passed."""
    count = (number_or_nan(time) - now) / step
    if not isfinite(count):
        raise SettingError(f'time = {shortened(repr(time), 60)} must be finite [s]')
    steps = round(count)
    if steps < 0:
        raise SettingError(f'time = {time!r} is over: it is {now:.6g} s by now')
    return steps
