"""
What a calibration of the bench knows of the numbers that a log is asked for.

It measures friction of the slide, from which a fit begins and near which it stays. Gauges it
calibrates by forces on a beam as stiff as described, so that they read (EI / EI described) times
the curvature: a fit finds both, and whether they agree is a check of forces, masses and lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.parameters import parameters_of, with_parameters
from flex_robot_sim.description.robot import Link, RobotDescription
from flex_robot_sim.identification.parameters import Unknown
from flex_robot_sim.rig.bench.motors import stepper_stiffness
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.shape_tracker import sensor_names

if TYPE_CHECKING:
    from flex_robot_sim.identification.identify import Identification
    from flex_robot_sim.model.arm_model import ArmModel

NEAR = 5.0              # deviations that a number may be from where it was measured
APART = 3.0             # deviations from which forces and ringing contradict each other
LEAST_APART = 0.02      # likewise, of the gain


class KnownNumber(NamedTuple):
    """A number of the description that a calibration has measured."""

    path: str
    unit: str
    before: float           # in the description
    value: float
    deviation: float        # 0: it was not measured, and is part of what the others mean


def known_numbers(arm: ArmModel, calibration: Calibration) -> list[KnownNumber]:
    """Return what a Calibration says of a bench; SettingError if it is of another one."""
    sensor_names(arm, calibration)
    friction = calibration.friction
    if not friction.coulomb_deviation:
        return []
    known = parameters_of(arm.description)
    joint = arm.joint_names[SLIDE]
    rows = [(f'{joint}.coulomb', 'N', friction.coulomb, friction.coulomb_deviation),
            (f'{joint}.viscous', 'N s/m', friction.viscous, friction.viscous_deviation)]
    return [KnownNumber(path, unit, known[path].value, value, deviation)
            for path, unit, value, deviation in rows if deviation]


def with_stepper(description: RobotDescription, calibration: Calibration) -> RobotDescription:
    """
    Return the bench with the field of its stepper as a spring, while that field stands.

    Its friction acts behind that spring, where the rotor is.
    """
    turn = [joint for joint in description.joints if joint.moves][TURN]
    field = Link(f'{turn.name}_field', turn.line)
    driven = replace(turn, child=field.name, viscous_friction=0.0, coulomb_friction=0.0,
                     static_friction=0.0)
    parts = calibration.parts
    gives = replace(
        turn, name=f'{turn.name}_gives', parent=field.name, rotation=np.eye(3),
        position=np.zeros(3), lower=-np.inf, upper=np.inf, kind='continuous',
        viscous_friction=turn.viscous_friction + parts.stepper_damping,
        spring_stiffness=stepper_stiffness(parts))
    at = description.joints.index(turn)
    joints = (*description.joints[:at], driven, gives, *description.joints[at + 1:])
    links = (*description.links[:at + 1], field, *description.links[at + 1:])
    return replace(description, links=links, joints=joints)


def with_known(description: RobotDescription, known: Iterable[KnownNumber]) -> RobotDescription:
    """Return the robot with what was measured."""
    return with_parameters(description, {one.path: one.value for one in known})


def near_known(unknown: Unknown, known: Iterable[KnownNumber]) -> Unknown:
    """Return an Unknown that stays within NEAR deviations of what was measured."""
    for one in known:
        if one.path == unknown.path:
            least = 0.0 if unknown.scale else 0.01 * one.value
            return unknown._replace(lower=max(least, one.value - NEAR * one.deviation),
                                    upper=one.value + NEAR * one.deviation)
    return unknown


def gauge_notes(found: Identification, calibration: Calibration) -> list[str]:
    """Return lines about gauges whose gain was fitted: whether forces and ringing agree."""
    numbers = {one.path: one for one in found.numbers if one.is_identifiable}
    out = []
    for name, sensor in calibration.sensors.items():
        link, _, own = name.partition('/')
        gain, stiff = numbers.get(f'{name}.gain'), numbers.get(f'{link}.stiffness')
        if stiff is None:
            plane = next(one.plane for one in found.setup.description.beam(link).sensors
                         if one.name == own)
            stiff = numbers.get(f'{link}.{"EIz" if plane == "xy" else "EIy"}')
        if gain is None or stiff is None or not sensor.gain_deviation:
            continue
        share = stiff.value / stiff.before
        deviation = math.hypot(gain.deviation / gain.value, stiff.deviation / stiff.value,
                               sensor.gain_deviation / abs(sensor.gain))
        said = f'{name}: reads {gain.value:.4g} times the curvature'
        if abs(gain.value / share - 1) < max(APART * deviation, LEAST_APART):
            out.append(f'{said}, as forces on a beam {share:.4g} times as stiff make it; this '
                       'times its gain in the calibration is its gain for the fitted robot')
        else:
            out.append(f'{said}, where forces on a beam {share:.4g} times as stiff would make it '
                       f'{share:.4g} +- {share * deviation:.1g}: a force, a mass or a length is '
                       'not what it was said to be')
    return out
