"""
Motor models of the bench: force of the DC motor, torque of the stepper.

The DC motor model omits the inductance: its time constant is below a millisecond. The field of
the stepper pulls the rotor towards the commanded angle, with a period of four full steps. A load
beyond the holding torque makes the rotor slip to the next such angle.
"""

import math

from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.util.exceptions import SettingError


def dc_current(parts: BenchParts, voltage: float, speed: float) -> float:
    """
    Armature current [A].

    :param voltage: at the terminals [V]; speed: of the slide [m/s].
    """
    emf = parts.back_emf * parts.motor_turn_per_metre * speed
    return (voltage - emf) / parts.resistance


def dc_force(parts: BenchParts, current: float, speed: float) -> float:
    """
    Force on the slide [N], without the friction of the URDF.

    A driving force passes gearbox and screw at their efficiency. A braking force passes without
    loss, so that the model creates no energy.
    """
    ideal = parts.back_emf * parts.motor_turn_per_metre * current
    braking = max(0.0, -math.copysign(1.0, ideal) * math.tanh(speed / parts.drive_rate))
    return ideal * (parts.efficiency + (1.0 - parts.efficiency) * braking)


def dc_duty(parts: BenchParts, force: float, speed: float) -> tuple[float, float]:
    """
    PWM duty, -1 to 1, for a force [N] at a speed [m/s], and the force that results.

    Where the supply voltage is too low, the duty is clipped and the force is smaller.
    """
    unit = dc_force(parts, math.copysign(1.0, force), speed)
    current = force / abs(unit)
    required_duty = (
        current * parts.resistance + parts.back_emf * parts.motor_turn_per_metre * speed
    ) / parts.supply
    duty = min(max(required_duty, -1.0), 1.0)
    if duty == required_duty:
        return duty, force
    return duty, dc_force(parts, dc_current(parts, duty * parts.supply, speed), speed)


def stepper_lag(parts: BenchParts, angle: float, steps: float) -> float:
    """
    Angle of the rotor ahead of the nearest equilibrium of the field [rad].

    :param angle: of the rotor [rad]; steps: sent to the driver, in microsteps.
    """
    pitch = 4 * 2 * math.pi / parts.full_steps
    return math.remainder(angle - steps * 2 * math.pi / parts.steps_per_turn, pitch)


def stepper_torque(parts: BenchParts, lag: float, rate: float) -> float:
    """
    Torque of the field on the rotor [N m], without its damping.

    :param lag: see `stepper_lag` [rad]; rate: of the steps [microsteps/s].
    """
    return -pull_out_torque(parts, rate) * math.sin(lag * parts.full_steps / 4)


def stepper_stiffness(parts: BenchParts) -> float:
    """Slope of the torque about the commanded angle at standstill [N m/rad]."""
    return parts.holding_torque * parts.full_steps / 4


def pull_out_torque(parts: BenchParts, rate: float) -> float:
    """Largest torque [N m] at a rate [microsteps/s]."""
    full = abs(rate) / parts.microsteps
    return parts.holding_torque * min(1.0, parts.corner_rate / full if full else 1.0)


def flex_resistance(parts: BenchParts, bend: float) -> float:
    """Resistance [ohm] of a flex sensor with an angle `bend` [rad] between its ends."""
    rise = 1.0 + parts.bend_gain * bend + parts.bend_curve * bend * bend
    return parts.flat_resistance * max(rise, 0.05)


def divider_counts(parts: BenchParts, resistance: float) -> float:
    """ADC counts at the sensor's end of the divider."""
    if resistance < 0:
        raise SettingError(f'resistance = {resistance!r} must be >= 0: of a flex sensor [ohm]')
    full = parts.adc_full
    if math.isinf(resistance):
        return float(full)
    return full * resistance / (resistance + parts.divider_resistance)
