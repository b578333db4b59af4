"""Reading of a `<joint>` in `<flexibility>`: gear, motor, friction, spring and encoder."""

from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.drive_laws import check_drive_laws, read_dc_motor
from flex_robot_sim.description.links import Joint, JointFriction
from flex_robot_sim.description.multi_dof_joint import ONLY_OF_PARTS, with_part_values
from flex_robot_sim.description.screw_joint import SCREW, screw_pitch
from flex_robot_sim.description.sensor_elements import read_encoder
from flex_robot_sim.description.values import read_children
from flex_robot_sim.description.words import FLEXIBILITY

# attributes of which a joint needs one, unless it has an encoder, a DC motor or a pitch
SUFFICIENT = (
    'stiffness',
    'rotor_inertia',
    'spring_stiffness',
    'static_friction',
    'presliding',
    'creep_rate',
    'cogging',
    'torque_ripple',
)
# attributes with the names and values of the fields of Joint
COPIED = (
    'backlash',
    'kinematic_error',
    'cogging',
    'torque_ripple',
    'damping',
    'hysteresis',
    'slip',
    'rotor_inertia',
    'gear_ratio',
    'spring_stiffness',
    'spring_reference',
)


def with_joint_values(
    document: Document, element: XmlElement, values: dict[str, Any], joint: Joint
) -> Joint:
    """Return a joint with the attributes and children of its element in <flexibility>."""
    children = read_children(document, element, FLEXIBILITY['joint'].children)
    if joint.part_of:
        return replace(
            with_part_values(document, element, values, joint),
            encoder=read_encoder(document, children, joint.name),
            dc_motor=read_dc_motor(document, children, joint, values),
        )
    _refuse_values_of_others(document, element, values, joint)
    encoder = read_encoder(document, children, joint.name)
    dc_motor = read_dc_motor(document, children, joint, values)
    pitch = screw_pitch(document, element, values, joint)
    _check_hysteresis(document, element, values, joint)
    check_drive_laws(document, element, values, joint)
    has_part = encoder is not None or dc_motor is not None or pitch != 0.0
    _check_gear(document, element, values, joint, has_part)
    stiffness, *further = values['stiffness'] or (np.inf,)
    return replace(
        joint,
        stiffness=stiffness,
        further_stiffness=tuple(further),
        stiffness_torques=values['at'],
        friction=_read_friction(document, element, values, joint),
        encoder=encoder,
        dc_motor=dc_motor,
        pitch=pitch,
        **{name: values[name] for name in COPIED},
    )


def _refuse_values_of_others(document, element, values, joint):
    """Refuse what this joint cannot have: values of several coordinates, a gear, a motor."""
    for name in ONLY_OF_PARTS:
        if values[name] is not None:
            raise document.error(
                element,
                f'joint "{joint.name}" has a {name} here, but '
                + ('no type' if values['type'] is None else 'one coordinate'),
                'Give it in the <limit> or <dynamics> of the joint',
            )
    if not joint.moves and joint.mimics and values['type'] == SCREW:
        raise document.error(
            element,
            f'joint "{joint.name}" is a mimic joint, which is held, so its screw does not turn',
            'Let it move, without mimic="held" and behind a joint that moves; or add the travel '
            'of its offset to its <origin>, and remove it here',
        )
    if not joint.moves:
        kind = 'a mimic joint, which is held' if joint.mimics else joint.kind
        raise document.error(
            element,
            f'joint "{joint.name}" is {kind}, so it has no gear',
            'Remove it from <flexibility>',
        )
    if joint.mimics and (values['stiffness'] is not None or values['rotor_inertia'] > 0):
        raise document.error(
            element,
            f'joint "{joint.name}" mimics "{joint.mimics}", so it has no motor and no gear',
            f'Give stiffness and rotor_inertia of joint "{joint.mimics}"',
        )


def _check_gear(document, element, values, joint, has_part):
    """
    Refuse a damper without a spring, a spring without a rotor, and an element without effect.

    :param has_part: whether the joint has an encoder, a DC motor or a pitch.
    """
    is_empty = values['static_friction'] is None and not any(values[name] for name in SUFFICIENT)
    if values['stiffness'] is None and values['damping'] > 0:
        raise document.error(
            element,
            f'joint "{joint.name}" has a damping but no stiffness',
            "Give its stiffness, or put the friction into the joint's <dynamics>",
        )
    if is_empty and not has_part:
        raise document.error(
            element,
            f'joint "{joint.name}" has no {", ".join(SUFFICIENT)}, encoder or dcmotor',
            'Give one of them, or remove the joint from <flexibility>',
        )
    if values['stiffness'] is not None and values['rotor_inertia'] == 0:
        raise document.error(
            element,
            f'flexible joint "{joint.name}" has no rotor_inertia, so that its motor side '
            'has no mass',
            'Give rotor_inertia [kg m2]',
        )


def _read_friction(document, element, values, joint):
    """Return the friction of a joint: that of its <dynamics>, with the values given here."""
    if values['static_friction'] is None:
        values['static_friction'] = joint.friction.coulomb_friction
    elif values['static_friction'] < joint.friction.coulomb_friction:
        raise document.error(
            element,
            f'joint "{joint.name}" has a static_friction of {values["static_friction"]:g}, less '
            f'than the friction of {joint.friction.coulomb_friction:g} in its <dynamics>',
            'Correct one of them',
        )
    _check_friction_onset(document, element, values, joint)
    return joint.friction._replace(
        **{name: values[name] for name in JointFriction._fields if values.get(name) is not None}
    )


def _check_friction_onset(document, element, values, joint):
    """Refuse presliding together with creep; warn of either without dry friction."""
    given = [name for name in ('presliding', 'creep_rate') if values[name] > 0]
    if len(given) == 2:
        raise document.error(
            element,
            f'joint "{joint.name}" has a presliding and a creep_rate, which exclude each other',
            'Remove one of them',
        )
    if given and values['static_friction'] == 0:
        document.warn(
            document.line(element),
            f'joint "{joint.name}" has a {given[0]} but no dry friction',
            f"Give the friction of the joint's <dynamics>, or remove the {given[0]}",
        )


def _check_hysteresis(document, element, values, joint):
    """Refuse hysteresis and slip without a gear, without its range, and both of them."""
    given = [name for name in ('hysteresis', 'slip') if values[name]]
    if given and values['stiffness'] is None:
        raise document.error(
            element,
            f'joint "{joint.name}" has a {given[0]} but no stiffness',
            f'Give its stiffness, or remove the {given[0]}',
        )
    if len(given) == 2:
        raise document.error(
            element,
            f'joint "{joint.name}" has a hysteresis and a slip, which say the same',
            'Remove one of them',
        )
    if values['hysteresis'] > 0 and not 0 < joint.effort < np.inf:
        raise document.error(
            element,
            f'joint "{joint.name}" has a hysteresis but no largest effort, which gives the range '
            'of its twist',
            "Give the effort of the joint's <limit>",
        )
