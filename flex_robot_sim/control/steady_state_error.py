"""
Steady-state error: how far joints rest from their targets, and why.

A servo of stiffness K leaves a joint with the dry friction F within F / K of its target. An
elastic joint sags below it, since its motor side is controlled and its spring supports the weight.
"""

import numpy as np

from flex_robot_sim.control.gains import Servo
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import static_frictions

MAX_TURN_ERROR, MAX_SLIDE_ERROR = 0.05, 0.01  # position error of a held joint     [rad, m]
NOTABLE_SHARE = 0.02  # share of these distances above which an error is reported
MOVING_SHARE = 0.02  # velocity over these distances, above which a joint still moves  [1/s]
COUPLING = 2.0  # F / K is exceeded by this factor, as errors of other joints shift weight


def hold_tolerance(arm: ArmModel) -> np.ndarray:
    """Distances (joints,) from its target up to which a joint counts as held [rad, m]; or inf."""
    errors = [MAX_SLIDE_ERROR if unit == 'm' else MAX_TURN_ERROR for unit in arm.units]
    return np.where(arm.actuated, errors, np.inf)  # passive joints have no target


def steady_state_error(
    arm: ArmModel,
    servo: Servo,
    target: np.ndarray,
    position: np.ndarray,
    motor_position: np.ndarray,
    velocity: np.ndarray,
    goal: str = 'its target',
) -> str:
    """
    Line about the joint that rests furthest from its target, and why; '' if all are there.

    :param target: of the joints, (joints,) [rad, m].
    :param position: on the link side, motor_position on the motor side (joints,) [rad, m].
    :param velocity: (joints,) [rad/s, m/s]; goal: what the line calls the target.
    """
    allowed, away = hold_tolerance(arm), np.abs(position - target)
    worst = int(np.argmax(away / allowed))
    if not away[worst] > NOTABLE_SHARE * allowed[worst]:
        return ''
    name, unit, effort = arm.joint_names[worst], arm.units[worst], arm.effort_units[worst]
    line = f'"{name}" is {away[worst]:.2g} {unit} from {goal}'
    speed, motor_error = abs(velocity[worst]), abs(motor_position[worst] - target[worst])
    if speed > MOVING_SHARE * allowed[worst]:
        return f'{line} and still moves, at {speed:.2g} {unit}/s'
    sag = abs(position[worst] - motor_position[worst])
    if sag > 0.5 * away[worst]:
        return f'{line}: its elastic joint deflects by {sag:.2g} {unit}'
    friction = static_frictions(arm.arrays.friction)[worst]
    stiffness = servo.stiffness[worst]
    if stiffness * motor_error > COUPLING * friction:
        bends = arm.size > len(arm.joint_names)
        return (
            f'{line}: the weight of the deflected arm differs from the feed-forward' * bends
            or line
        )
    return (
        f'{line}: its dry friction of {friction:.2g} {effort} holds it against a stiffness '
        f'of {stiffness:.3g} {effort}/{unit}{_integral_words(servo, worst)}'
    )


def friction_band(arm: ArmModel, servo: Servo) -> str:
    """Line about the joint that dry friction stops furthest from its target; '' if none is."""
    friction = static_frictions(arm.arrays.friction)
    band = np.divide(
        friction, servo.stiffness, where=servo.stiffness > 0.0, out=np.zeros(friction.size)
    )
    allowed = hold_tolerance(arm)
    worst = int(np.argmax(band / allowed))
    if not band[worst] > NOTABLE_SHARE * allowed[worst]:
        return ''
    return (
        f'dry friction may stop {arm.joint_names[worst]} {band[worst]:.2g} '
        f'{arm.units[worst]} from its target{_integral_words(servo, worst)}'
    )


def _integral_words(servo, joint):
    acts = servo.integral is not None and servo.integral[joint] > 0.0
    return ', until integral action overcomes it' if acts else ''
