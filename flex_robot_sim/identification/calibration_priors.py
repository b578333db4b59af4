"""
Calibration of the bench as prior knowledge of a fit.

The calibration measures friction of the slide: start value and bounds of the fit. It calibrates
gauges by forces on a beam with the described stiffness, so their gain is EI / EI described. A fit
estimates both; their agreement is a check of forces, masses and lengths.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.links import JointFriction, Link
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.identification.identification import Identification
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bench.motors import stepper_stiffness
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.shape_tracker import sensor_names

MAX_DISTANCE_STDS = 5.0  # distance of a fitted parameter from its calibrated value
MAX_MISMATCH_STDS = 3.0  # difference of gauge gains by forces and by vibration
MIN_GAIN_MISMATCH = 0.02  # relative mismatch of gauge gains that always counts as agreement


class KnownNumber(NamedTuple):
    """Calibrated parameter of the description."""

    path: str
    unit: str
    initial_value: float  # in the description
    value: float
    standard_deviation: float  # 0: not measured, part of the other values


def known_numbers(arm: ArmModel, calibration: Calibration) -> list[KnownNumber]:
    """Return the parameters in a Calibration; SettingError if it is of another bench."""
    sensor_names(arm, calibration)
    friction = calibration.friction
    if not friction.coulomb_deviation:
        return []
    parameters = parameters_of(arm.description)
    joint = arm.joint_names[SLIDE]
    rows = [
        (f'{joint}.coulomb', 'N', friction.coulomb, friction.coulomb_deviation),
        (f'{joint}.viscous', 'N s/m', friction.viscous, friction.viscous_deviation),
    ]
    return [
        KnownNumber(path, unit, parameters[path].value, value, deviation)
        for path, unit, value, deviation in rows
        if deviation
    ]


def with_stepper(description: RobotDescription, calibration: Calibration) -> RobotDescription:
    """
    Return the bench with the magnetic field of its resting stepper as a spring.

    Friction acts behind that spring, on the rotor.
    """
    turntable = [joint for joint in description.joints if joint.moves][TURN]
    field = Link(f'{turntable.name}_field', turntable.line)
    driven_joint = replace(turntable, child=field.name, friction=JointFriction())
    parts = calibration.parts
    spring_joint = replace(
        turntable,
        name=f'{turntable.name}_gives',
        parent=field.name,
        rotation=np.eye(3),
        position=np.zeros(3),
        lower=-np.inf,
        upper=np.inf,
        kind='continuous',
        friction=turntable.friction.with_value(
            'viscous_friction', turntable.friction.viscous_friction + parts.stepper_damping
        ),
        spring_stiffness=stepper_stiffness(parts),
    )
    index = description.joints.index(turntable)
    joints = (
        *description.joints[:index],
        driven_joint,
        spring_joint,
        *description.joints[index + 1 :],
    )
    links = (*description.links[: index + 1], field, *description.links[index + 1 :])
    return replace(description, links=links, joints=joints)


def with_known(description: RobotDescription, known: Iterable[KnownNumber]) -> RobotDescription:
    """Return the robot with the calibrated parameters."""
    return with_parameters(description, {number.path: number.value for number in known})


def near_known(unknown: Unknown, known: Iterable[KnownNumber]) -> Unknown:
    """Return an Unknown with bounds of MAX_DISTANCE_STDS around its calibrated value."""
    for number in known:
        if number.path == unknown.path:
            lower = 0.0 if unknown.scale else 0.01 * number.value
            return unknown._replace(
                lower=max(lower, number.value - MAX_DISTANCE_STDS * number.standard_deviation),
                upper=number.value + MAX_DISTANCE_STDS * number.standard_deviation,
            )
    return unknown


def gauge_notes(found: Identification, calibration: Calibration) -> list[str]:
    """Return notes on fitted gauge gains: whether forces and vibration agree."""
    numbers = {number.path: number for number in found.estimates if number.is_identifiable}
    notes = []
    for name, sensor in calibration.sensors.items():
        link, _, sensor_name = name.partition('/')
        gain, stiffness = numbers.get(f'{name}.gain'), numbers.get(f'{link}.stiffness')
        if stiffness is None:
            planes = {flex.name: flex.plane for flex in found.setup.description.beam(link).sensors}
            plane = planes.get(sensor_name, '')  # a strain gauge has none
            stiffness = numbers.get(f'{link}.{"EIz" if plane == "xy" else "EIy"}')
        if gain is None or stiffness is None or not sensor.gain_deviation:
            continue
        ratio = stiffness.value / stiffness.initial_value
        deviation = math.hypot(
            gain.standard_deviation / gain.value,
            stiffness.standard_deviation / stiffness.value,
            sensor.gain_deviation / abs(sensor.gain),
        )
        reading = f'{name}: reads {gain.value:.4g} times the curvature'
        if abs(gain.value / ratio - 1) < max(MAX_MISMATCH_STDS * deviation, MIN_GAIN_MISMATCH):
            notes.append(
                f'{reading}, as forces on a beam {ratio:.4g} times as stiff make it; '
                'this times its gain in the calibration is its gain for the fitted robot'
            )
        else:
            notes.append(
                f'{reading}, where forces on a beam {ratio:.4g} times as stiff would '
                f'make it {ratio:.4g} +- {ratio * deviation:.1g}: a force, a mass or a '
                'length is not what it was said to be'
            )
    return notes
