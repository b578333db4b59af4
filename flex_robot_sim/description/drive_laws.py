"""Checks of gears and motors: backlash, harmonics and so on; reading of `<dcmotor>`."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from flex_robot_sim.description.dc_motor import DcMotor
from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Joint
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY

GEAR_LAWS = ('at', 'backlash', 'kinematic_error')


def check_drive_laws(
    document: Document, element: XmlElement, values: dict[str, Any], joint: Joint
) -> None:
    """Refuse laws of a gear without stiffness, and numbers that contradict each other."""
    for name in GEAR_LAWS:
        if values[name] and values['stiffness'] is None:
            raise document.error(
                element,
                f'joint "{joint.name}" has {_with_article(name)} but no stiffness',
                f'Give its stiffness, or remove {name}',
            )
    for name in ('cogging', 'torque_ripple'):
        if values[name] and joint.mimics:
            raise document.error(
                element,
                f'joint "{joint.name}" mimics "{joint.mimics}", so it has no motor and no {name}',
                f'Give {name} of joint "{joint.mimics}"',
            )
    stiffness, torques = values['stiffness'] or (), values['at']
    if stiffness and len(torques) != len(stiffness) - 1:
        raise document.error(
            element,
            f'joint "{joint.name}" has {_counted(len(stiffness), "stiffness", "es")}, but '
            f'{_counted(len(torques), "torque", "s")} in at',
            'Give one torque less than stiffnesses: stiffness="k1 k2 k3" at="T1 T2"',
        )
    if list(torques) != sorted({*torques}):
        raise document.error(
            element,
            f'the torques at = "{" ".join(f"{torque:g}" for torque in torques)}" of joint '
            f'"{joint.name}" are not in ascending order',
            'Sort them, together with the stiffnesses',
        )
    slope = sum(amplitude * cycles for amplitude, cycles, _ in values['kinematic_error'])
    if slope * values['gear_ratio'] >= 1.0:
        raise document.error(
            element,
            f'the kinematic_error of joint "{joint.name}" is as steep as the motion of its motor: '
            f'amplitude * cycles * gear_ratio = {slope * values["gear_ratio"]:.3g}, not below 1',
            'Correct the amplitude, that of the joint, or the cycles per turn of the motor',
        )
    ripple = sum(amplitude for amplitude, _, _ in values['torque_ripple'])
    if ripple >= 1.0:
        raise document.error(
            element,
            f'the torque_ripple of joint "{joint.name}" exceeds the torque: its amplitudes add up '
            f'to {ripple:g}, not below 1',
            'Give amplitudes as shares of the torque',
        )


def read_dc_motor(
    document: Document,
    children: Mapping[str, Sequence[XmlElement]],
    joint: Joint,
    values: Mapping[str, Any],
) -> DcMotor | None:
    """
    Return the motor of a joint from the children of its element, or None.

    :param values: attributes of this element, with the gear ratio.
    """
    element = only(document, children, 'dcmotor')
    if element is None:
        return None
    read_children(document, element, ())
    numbers = read_attributes(document, element, FLEXIBILITY['dcmotor'])
    if joint.mimics or joint.part_of:
        raise document.error(
            element,
            f'joint "{values["name"]}" has no motor of its own, so it has no <dcmotor>',
            f'Give the <dcmotor> of joint "{joint.mimics}"'
            if joint.mimics
            else 'Remove the <dcmotor>',
        )
    motor = DcMotor(**{name: inf if value is None else value for name, value in numbers.items()})
    speed = motor.no_load_speed / values['gear_ratio']
    if joint.velocity < inf and speed < joint.velocity:
        document.warn(
            document.line(element),
            f'joint "{joint.name}" may move at {joint.velocity:.4g} {joint.type.unit}/s, but its '
            f'motor reaches only {speed:.4g} {joint.type.unit}/s without load: voltage / '
            '(motorconst * gear_ratio)',
            "Correct one of them, or reduce the velocity of the joint's <limit>",
        )
    return motor


def _with_article(name):
    return {'at': 'torques at', 'backlash': 'a backlash'}.get(name, f'a {name}')


def _counted(count, noun, ending):
    return f'{count or "no"} {noun}{ending if count != 1 else ""}'
