"""Sliding links: beams that slide out of a guide, by a prismatic joint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import ElasticBeam, Joint, Link

MIN_FREE_SHARE = 0.05  # of the length of the link: shorter pieces are too stiff for any step
PLACE_TOLERANCE = 1e-6  # of the direction of the axis, and of places over the length
Problem = tuple[str, str]


def with_guide(
    document: Document, element: XmlElement, values: Mapping[str, Any], beam: ElasticBeam | None
) -> ElasticBeam | None:
    """Return a beam with its guide, if it has one."""
    guide, mouth = values['guide'], values['mouth']
    if (guide is None) != (mouth is None):
        missing, remedy = (
            ('mouth', 'Give mouth [m], from the frame of the joint along its axis')
            if mouth is None
            else ('guide', 'Give guide, the name of its prismatic joint')
        )
        other = 'guide' if mouth is None else 'mouth'
        raise document.error(
            element,
            f'link "{values["name"]}" has a {other} and no {missing}',
            f'{remedy}, or remove {other}',
        )
    if guide is None or beam is None:
        return beam
    return replace(beam, guide=guide, mouth=mouth)


def check_sliding_links(
    document: Document, element: XmlElement, links: Mapping[str, Link], joints: Mapping[str, Joint]
) -> None:
    """Raise DescriptionError for a sliding link that cannot be simulated."""
    lines = {(one.get('name') or '').strip(): one for one in element.iterchildren('link')}
    for link in links.values():
        if link.beam is not None and link.beam.guide:
            for what, remedy in _problems(link, link.beam, links, joints):
                raise document.error(
                    lines[link.name], f'sliding link "{link.name}" {what}', remedy
                )


def refuse_loops_of_sliding_links(
    document: Document, links: Iterable[Link], joints: Iterable[Joint], constraints: Iterable[Any]
) -> None:
    """Raise DescriptionError for closed loops or moving mimic joints next to sliding links."""
    link = next((one for one in links if one.beam is not None and one.beam.guide), None)
    if link is None:
        return
    for one in constraints:
        raise document.error_at(
            one.line,
            f'constraint "{one.name}" closes a loop, and link "{link.name}" slides',
            'Remove the constraint, or the guide of the link',
        )
    for joint in joints:
        if joint.mimics is not None and joint.moves:
            raise document.error_at(
                joint.line,
                f'joint "{joint.name}" mimics "{joint.mimics}", and link "{link.name}" slides',
                'Write mimic="held" in <flexibility>, or remove the guide of the link',
            )


def _problems(link, beam, links, joints) -> Iterator[Problem]:
    """Yield what is wrong with a sliding link, and the remedy."""
    joint = joints.get(beam.guide)
    if joint is None or joint.child != link.name or joint.kind != 'prismatic':
        yield (
            f'has the guide "{beam.guide}", which is not its prismatic joint',
            'Give the name of the prismatic joint whose child it is',
        )
        return
    if joint.mimics:
        yield f'has a guide that mimics joint "{joint.mimics}"', 'Remove its <mimic>'
    if not abs(joint.axis @ beam.axes[:, 0] - 1.0) < PLACE_TOLERANCE:
        yield (
            f'does not lie along the axis of joint "{joint.name}"',
            'Let the axis point from the link origin to the end of the beam',
        )
    yield from _unsupported(link, beam)
    yield from _lengths(beam, joint)
    yield from _places(link, beam, joint, links, joints)


def _unsupported(link, beam):
    has = {
        '<elements>': beam.elements > 0,
        'segments': beam.segments > 1,
        'coordinates of stretch': beam.coordinates.get('stretch', 0) != 0,
        'a section that varies or shears': beam.profile is not None or beam.can_shear,
        'twist_coupling="on"': beam.twist_coupling,
        'a curved, composite or reduced beam': beam.axis is not None or beam.reduced is not None,
        'a flex sensor': len(beam.sensors) > 0,
        'an IMU': len(link.imus) > 0,
    }
    for what, is_there in has.items():
        if is_there:
            yield (
                f'has {what}',
                'Keep to assumed modes of a straight, uniform beam without sensors',
            )


def _lengths(beam, joint):
    """Yield problems of the free length over the range of the joint."""
    if not joint.lower <= 0.0 <= joint.upper:
        yield (
            f'has a guide whose range, {joint.lower:g} to {joint.upper:g}, does not contain zero',
            f'Move the frame of joint "{joint.name}" and the mouth along the axis',
        )
    least, most = (at + beam.length - beam.mouth for at in (joint.lower, joint.upper))
    if least < MIN_FREE_SHARE * beam.length * (1.0 - PLACE_TOLERANCE):
        yield (
            f'is {beam.length:g} m long, and {least:.4g} m of it are outside its guide at the '
            f'lower limit {joint.lower:g} of joint "{joint.name}"',
            f'Leave at least {MIN_FREE_SHARE * beam.length:.4g} m outside: '
            'a shorter guide (mouth), or a higher lower limit',
        )
    if most > beam.length * (1.0 + PLACE_TOLERANCE):
        yield (
            f'leaves its guide, of {beam.mouth:g} m, at the upper limit {joint.upper:g} of joint '
            f'"{joint.name}"',
            f'Set upper to at most {beam.mouth:g} m',
        )


def _places(link, beam, joint, links, joints):
    """Yield problems of the child joints of the link, and of the parent of its guide."""
    for child in joints.values():
        if child.parent == link.name:
            place = beam.axes.T @ (attached_at(child, links) - beam.end)
            if abs(place[0]) > PLACE_TOLERANCE * beam.length:
                yield (
                    f'has the child joint "{child.name}" at {place[0] + beam.length:.4g} m of its '
                    f'{beam.length:g} m',
                    'Move the joint, or its mouth, to the tip of the sliding link',
                )
    parent = links[joint.parent].beam
    if parent is not None and parent.reduced is not None:
        yield 'has its guide on a reduced link', 'Put a rigid link between them'


def attached_at(joint: Joint, links: Mapping[str, Link]) -> np.ndarray:
    """Position (3,) in its parent where a joint is attached: for a sliding child, its mouth."""
    child = links.get(joint.child)  # a robot without it is refused later
    beam = None if child is None else child.beam
    if beam is not None and beam.guide == joint.name:
        return joint.position + joint.rotation @ (np.asarray(joint.axis) * beam.mouth)
    return joint.position
