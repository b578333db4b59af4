"""Reading of `<flexibility>`: elastic beams, flexible joints, IMUs and encoders."""

from dataclasses import replace

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.drive_laws import check_drive_laws, read_dc_motor
from flex_robot_sim.description.elastic_link import MAX_ELASTIC_COORDINATES, read_beam
from flex_robot_sim.description.links import Joint, JointFriction, Link
from flex_robot_sim.description.multi_dof_joint import (
    AXES,
    ONLY_OF_PARTS,
    part_names,
    with_part_values,
)
from flex_robot_sim.description.plausibility import warn_implausible_beam
from flex_robot_sim.description.reduced_element import check_reduced_station
from flex_robot_sim.description.screw_joint import screw_pitch
from flex_robot_sim.description.sensor_elements import STATION_TOLERANCE, read_encoder, read_imus
from flex_robot_sim.description.sliding_link import check_sliding_links, with_guide
from flex_robot_sim.description.values import read_attributes, read_children, unknown_name
from flex_robot_sim.description.words import FLEXIBILITY

MATRICES_PER_BODY = 8  # by elastic coordinates, in the arm and its workspace
ROWS_PER_STATION = 4  # rows of elastic coordinates for the station of each body
MAX_MEMORY_GB = 1.0  # of all links
MAX_LATERAL_DISTANCE = 2.0  # of a child from the beam, in lengths of the beam


def add_flexibility(
    document: Document,
    element: XmlElement | None,
    links: dict[str, Link],
    joints: dict[str, Joint],
) -> None:
    """Replace links and joints, by name, as <flexibility> describes; None: no change."""
    if element is None:
        return
    children = read_children(document, element, FLEXIBILITY['flexibility'].children)
    for tag, items, add in (('link', links, _add_link_parts), ('joint', joints, _add_gear)):
        seen = set()
        for child in children[tag]:
            values = read_attributes(document, child, FLEXIBILITY[tag])
            name = values['name']
            names = [name]
            if values.get('type') in AXES:
                names = part_names(name, values['type'])
            if not {*names} <= {*items}:
                raise unknown_name(
                    document,
                    document.line(child),
                    f'<flexibility> names the {tag} "{name}", which the robot does not have',
                    name,
                    items,
                )
            if name in seen:
                raise document.error(
                    child, f'<flexibility> describes the {tag} "{name}" twice', 'Keep one of them'
                )
            seen.add(name)
            for one in names:
                items[one] = add(document, child, values, items[one], items)
    check_sliding_links(document, element, links, joints)
    _check_size(document, element, links)
    for joint in joints.values():
        if joint.parent in links:
            check_station(
                document, links[joint.parent], f'joint "{joint.name}"', joint.position, joint.line
            )


def _check_size(document, element, links):
    """Refuse a robot that needs too much memory: all bodies get rows of equal length."""
    beams = [link.beam for link in links.values() if link.beam is not None]
    if not beams:
        return
    total = sum(beam.segments * beam.freedom for beam in beams)
    if total > MAX_ELASTIC_COORDINATES:
        document.warn(
            document.line(element),
            f'this robot has {total} elastic coordinates, more than can be simulated',
            f'Keep to {MAX_ELASTIC_COORDINATES}, with fewer segments, modes or elements',
        )
    bodies = len(links) + sum(beam.segments - 1 for beam in beams)
    stations = sum(beam.segments * beam.stations for beam in beams) + bodies
    size, width = max(beam.freedom for beam in beams), max(beam.overlap for beam in beams)
    memory = (
        8e-9
        * size
        * (
            MATRICES_PER_BODY * bodies * size
            + stations * (width + 3)
            + ROWS_PER_STATION * bodies
            + MATRICES_PER_BODY * total
        )
    )
    if memory > MAX_MEMORY_GB:
        raise document.error(
            element,
            f'the elastic links of this robot need {memory:.2g} GB',
            f'Keep to {MAX_MEMORY_GB:g} GB, with fewer coordinates in a segment',
        )


def _add_link_parts(document, element, values, link, links):
    """Return a link with its IMUs, and with its beam if it has an `end`."""
    children = read_children(document, element, FLEXIBILITY['link'].children)
    imus = children.pop('imu')
    if values['end'] is not None:
        beam = read_beam(document, element, values, link)
        link = replace(link, beam=with_guide(document, element, values, beam))
        if link.beam is not None:
            warn_implausible_beam(document, link)
    elif (
        not imus
        or any(children.values())
        or {'y_axis', 'twist_coupling', 'guide'} & {*element.attrib}
    ):
        raise document.error(
            element, '<link> has no end', 'Give end [m]: far end of the beam, in the link frame'
        )
    return replace(link, imus=read_imus(document, imus, link, links))


def _add_gear(document, element, values, joint, _joints):
    children = read_children(document, element, FLEXIBILITY['joint'].children)
    if joint.part_of:
        return replace(
            with_part_values(document, element, values, joint),
            encoder=read_encoder(document, children, joint.name),
            dc_motor=read_dc_motor(document, children, joint, values),
        )
    for name in ONLY_OF_PARTS:
        if values[name] is not None:
            raise document.error(
                element,
                f'joint "{joint.name}" has a {name} here, but '
                + ('no type' if values['type'] is None else 'one coordinate'),
                'Give it in the <limit> or <dynamics> of the joint',
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
    encoder = read_encoder(document, children, joint.name)
    dc_motor = read_dc_motor(document, children, joint, values)
    pitch = screw_pitch(document, element, values, joint)
    _check_hysteresis(document, element, values, joint)
    check_drive_laws(document, element, values, joint)
    if values['stiffness'] is None:
        if values['damping'] > 0:
            raise document.error(
                element,
                f'joint "{joint.name}" has a damping but no stiffness',
                "Give its stiffness, or put the friction into the joint's <dynamics>",
            )
        if (
            values['rotor_inertia'] == 0
            and values['static_friction'] is None
            and values['spring_stiffness'] == 0
            and values['presliding'] == 0
            and values['creep_rate'] == 0
            and not values['cogging']
            and not values['torque_ripple']
            and encoder is None
            and dc_motor is None
            and pitch == 0
        ):
            raise document.error(
                element,
                f'joint "{joint.name}" has no stiffness, rotor_inertia, spring_stiffness, '
                'static_friction, presliding or creep_rate',
                'Give one of them, or remove the joint from <flexibility>',
            )
        values['stiffness'] = (np.inf,)
    elif values['rotor_inertia'] == 0:
        raise document.error(
            element,
            f'flexible joint "{joint.name}" has no rotor_inertia, so that its motor side '
            'has no mass',
            'Give rotor_inertia [kg m2]',
        )
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
    return replace(
        joint,
        stiffness=values['stiffness'][0],
        further_stiffness=values['stiffness'][1:],
        stiffness_torques=values['at'],
        backlash=values['backlash'],
        kinematic_error=values['kinematic_error'],
        cogging=values['cogging'],
        torque_ripple=values['torque_ripple'],
        damping=values['damping'],
        hysteresis=values['hysteresis'],
        slip=values['slip'],
        rotor_inertia=values['rotor_inertia'],
        gear_ratio=values['gear_ratio'],
        friction=joint.friction._replace(
            **{
                name: values[name]
                for name in JointFriction._fields
                if values.get(name) is not None
            }
        ),
        spring_stiffness=values['spring_stiffness'],
        spring_reference=values['spring_reference'],
        encoder=encoder,
        dc_motor=dc_motor,
        pitch=pitch,
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


def check_station(
    document: Document, link: Link, what: str, position: np.ndarray, line: int
) -> None:
    """Raise DescriptionError if something at a position (3,) [m] is beyond an end of the beam."""
    if link.beam is None:
        return
    if link.beam.reduced is not None:
        check_reduced_station(document, link.beam, what, link.name, position, line)
        return
    length = link.beam.length
    along, *transverse = link.beam.axes.T @ position
    if link.beam.axis is not None:
        nearest = link.beam.station(position)
        axes, origin = link.beam.section_pose(nearest)
        along, *transverse = axes.T @ (position - origin)
        along += nearest
    if not -STATION_TOLERANCE * length <= along <= (1 + STATION_TOLERANCE) * length:
        raise document.error_at(
            line,
            f'{what} would ride at {along:.4g} m on the beam of link '
            f'"{link.name}", which ends at {length:.4g} m',
            'Move its <origin> between the ends of the beam, or correct the end of the beam',
        )
    lateral = float(np.hypot(*transverse))
    if lateral > MAX_LATERAL_DISTANCE * length:
        document.warn(
            line,
            f'{what} rides {lateral:.4g} m beside the beam of link '
            f'"{link.name}", which is {length:.4g} m long',
            'Check its <origin> [m] and the end of the beam [m]',
        )
