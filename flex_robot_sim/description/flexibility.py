"""Reading of `<flexibility>`: elastic beams with their IMUs, and flexible joints."""

from dataclasses import replace

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.elastic_link import MAX_ELASTIC_COORDINATES, read_beam
from flex_robot_sim.description.flexible_joint import with_joint_values
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.multi_dof_joint import AXES, part_names
from flex_robot_sim.description.plausibility import warn_implausible_beam
from flex_robot_sim.description.reduced_element import check_reduced_station
from flex_robot_sim.description.sensor_elements import STATION_TOLERANCE, read_imus
from flex_robot_sim.description.sliding_link import attached_at, check_sliding_links, with_guide
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
    for child, values, name in _described(document, children['link'], links):
        links[name] = _add_link_parts(document, child, values, links[name], links)
    for child, values, name in _described(document, children['joint'], joints):
        joints[name] = with_joint_values(document, child, values, joints[name])
    check_sliding_links(document, element, links, joints)
    _check_size(document, element, links)
    for joint in joints.values():
        if joint.parent in links:
            place = attached_at(joint, links)
            check_station(
                document, links[joint.parent], f'joint "{joint.name}"', place, joint.line
            )


def _described(document, elements, items):
    """Yield elements, their attributes, and the names of the items that they describe."""
    seen = set()
    for element in elements:
        tag = element.tag
        values = read_attributes(document, element, FLEXIBILITY[tag])
        name = values['name']
        names = [name]
        if values.get('type') in AXES:
            names = part_names(name, values['type'])
        if not {*names} <= {*items}:
            raise unknown_name(
                document,
                document.line(element),
                f'<flexibility> names the {tag} "{name}", which the robot does not have',
                name,
                items,
            )
        if name in seen:
            raise document.error(
                element, f'<flexibility> describes the {tag} "{name}" twice', 'Keep one of them'
            )
        seen.add(name)
        for one in names:
            yield element, values, one


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
