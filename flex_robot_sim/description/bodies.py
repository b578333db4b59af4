"""Check that inertias are physically possible and that every joint moves a mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document
from flex_robot_sim.description.links import Inertial, Joint, Link
from flex_robot_sim.elastic.section_profile import slender_moments
from flex_robot_sim.elastic.spatial_shapes import rigid_moments

ROUNDING_TOLERANCE = 1e-6  # rounding in files, relative to the largest moment          [-]
IDENTIFICATION_TOLERANCE = 0.2  # identification errors, relative to the largest moment      [-]
MIN_GYRATION_RADIUS_M = 3e-5  # a smaller body counts as a point                           [m]
MIN_MOMENT_RATIO = 1e-9  # smaller moments about a joint axis count as zero     [-]


class BodyProblem(NamedTuple):
    """Reason why a robot is impossible."""

    line: int  # in the description
    text: str
    remedy: str
    name: str  # of the link or joint


class Moments(NamedTuple):
    """Mass distribution relative to a frame."""

    mass: float  # [kg]
    first: np.ndarray  # (3,)    integral of r dm      [kg m]
    second: np.ndarray  # (3, 3)  integral of r r^T dm  [kg m2]
    own: np.ndarray  # (3, 3)  sum of the central inertias of the links

    def moved(self, rotation: np.ndarray, position: np.ndarray) -> Moments:
        """Moments in a frame where the present one has the pose (..., 3, 3), (..., 3) [m]."""
        transpose = np.swapaxes(rotation, -1, -2)
        first = np.matmul(rotation, self.first[..., None])[..., 0]
        cross = first[..., :, None] * position[..., None, :]
        return Moments(
            self.mass,
            first + self.mass * position,
            rotation @ self.second @ transpose
            + cross
            + np.swapaxes(cross, -1, -2)
            + self.mass * position[..., :, None] * position[..., None, :],
            rotation @ self.own @ transpose,
        )

    def __add__(self, other):
        """Return the sum of the moments."""
        return Moments(
            self.mass + other.mass,
            self.first + other.first,
            self.second + other.second,
            self.own + other.own,
        )


def check_bodies(
    document: Document, links: Sequence[Link], joints: Sequence[Joint], has_flexibility: bool
) -> None:
    """Raise or warn about impossible masses and inertias; <flexibility> requires masses."""
    for link in links:
        _check_link(document, link)
    for problem in _impossible_bodies(links, joints):
        raise document.error_at(problem.line, problem.text, problem.remedy)
    moves = any(joint.moves or joint.is_base for joint in joints)
    if not moves and not any(link.beam for link in links):
        document.warn(
            links[0].line,
            'nothing of this robot moves',
            'Give it a revolute, continuous or prismatic joint, or a flexible link',
        )
    elif not has_flexibility and all(link.inertial is None for link in links):
        document.warn(
            document.line(document.root),
            'no link of this robot has a mass, so that it can be drawn, but not simulated',
            'Give its links an <inertial>',
        )
    else:
        for problem in _massless_motions(links, joints):
            raise document.error_at(problem.line, problem.text, problem.remedy)


def problems_of_bodies(links: Sequence[Link], joints: Sequence[Joint]) -> list[BodyProblem]:
    """Return why a robot is impossible: its inertias, and joints that move no mass."""
    return [*_impossible_bodies(links, joints), *_massless_motions(links, joints)]


def massless_joints(links: Sequence[Link], joints: Sequence[Joint]) -> set[str]:
    """Return the names of the moving joints that move no mass."""
    return {problem.name for problem in _massless_motions(links, joints)}


def _check_link(document, link):
    """Check a single link; only warn, because only sums of rigidly connected links count."""
    if link.inertial is None:
        return
    mass, inertia = link.inertial.mass, link.inertial.inertia
    if mass == 0:
        document.warn(
            link.line,
            f'link "{link.name}" has the mass 0',
            'Give its mass [kg], or remove the <inertial> if the link is a mere frame',
        )
    elif not inertia.any() and link.beam is None:
        document.warn(
            link.line,
            f'link "{link.name}" has no moments of inertia and counts as a point mass',
            'Give its <inertia> [kg m2]',
        )
    elif impossibility(mass, inertia, ROUNDING_TOLERANCE):
        reason = impossibility(mass, inertia, ROUNDING_TOLERANCE)
        document.warn(
            link.line,
            f'the inertia of link "{link.name}" {reason}',
            'Correct its <inertia> [kg m2]',
        )


def impossibility(mass: float, inertia: np.ndarray, tolerance: float) -> str | None:
    """
    Return why no body has this central `inertia` (3, 3); None if it is possible.

    :param tolerance: of the triangle inequality, over the largest moment: ROUNDING_TOLERANCE for
        computed inertias, IDENTIFICATION_TOLERANCE for possibly identified ones.
    """
    moments = np.linalg.eigvalsh(inertia)
    moments[np.abs(moments) < 1e-12 * np.abs(moments).max()] = 0.0  # rounding of the solver
    least, middle, largest = moments
    point = mass * MIN_GYRATION_RADIUS_M**2
    if least < -ROUNDING_TOLERANCE * largest - point:
        return (
            f'is not positive definite (principal moments {least:.3g}, {middle:.3g}, '
            f'{largest:.3g} kg m2)'
        )
    if least + middle < (1 - tolerance) * largest - point:
        return (
            f'breaks the triangle inequality (principal moments {least:.3g} + {middle:.3g} < '
            f'{largest:.3g} kg m2)'
        )
    return None


def _impossible_bodies(links, joints):
    """
    Yield a BodyProblem for each impossible inertia of links that rotate together.

    Links connected by fixed or prismatic joints rotate together, so that only the sum of their
    inertias counts. Inertia of links that never rotate has no effect. If a link rotates about a
    fixed axis, only the moment about this axis has an effect.
    """
    bodies = {link.name: moments_of(link.inertial) for link in links}
    translating = _links_without_rotation(links, joints)
    by_name = {link.name: link for link in links}
    merged = set()
    for joint in reversed(joints):
        moments = bodies[joint.child]
        if not joint.turns and by_name[joint.parent].beam is None:
            bodies[joint.parent] += moments.moved(joint.rotation, joint.position)
            merged.add(joint.parent)
            continue
        reason = _why_impossible(moments)
        if reason and not (joint.parent in translating and _is_axial_moment(joint.axis, moments)):
            suffix = ', with what is fixed to it' if joint.child in merged else ''
            yield BodyProblem(
                by_name[joint.child].line,
                f'no body has the inertia of link "{joint.child}"{suffix}: it {reason}',
                'Correct its <inertia> [kg m2]; products are often wrong in sign or size',
                joint.child,
            )


def _links_without_rotation(links, joints):
    """Names of the rigid links that keep the orientation of the base."""
    beams = {link.name for link in links if link.beam is not None}
    names = {links[0].name} - beams
    for joint in joints:
        if joint.parent in names and not joint.turns:
            names |= {joint.child} - beams
    return names


def _why_impossible(moments):
    if moments.mass == 0:
        return 'has no mass' if moments.second.any() else None
    return impossibility(moments.mass, _central_inertia(moments), IDENTIFICATION_TOLERANCE)


def _is_axial_moment(axis, moments):
    if moments.mass == 0:
        return False
    inertia = _central_inertia(moments)
    about_axis = axis @ inertia @ axis
    return (
        np.abs(inertia - about_axis * np.outer(axis, axis)).max()
        <= ROUNDING_TOLERANCE * about_axis
    )


def _central_inertia(moments):
    central = moments.second - np.outer(moments.first, moments.first) / moments.mass
    return np.trace(central) * np.eye(3) - central


def _massless_motions(links, joints):
    """Yield a BodyProblem for each joint that moves no mass: its acceleration is undefined."""
    moments_beyond = {
        link.name: moments_of(link.inertial if link.beam is None else _beam_inertial(link.beam))
        for link in links
    }
    for joint in reversed(joints):
        moments = moments_beyond[joint.child]
        if joint.is_base and not _moves_robot(joint, moments):
            quantity = 'inertia about all axes' if moments.mass > 0.0 else 'mass'
            yield BodyProblem(
                joint.line,
                f'the free base of joint "{joint.name}" carries nothing that has {quantity}',
                f'Give link "{joint.child}" an <inertial>, or fix the joint',
                joint.name,
            )
        if joint.moves and not _moves_something(joint, moments):
            quantity = 'mass' if joint.type.translates else 'inertia about its axis'
            yield BodyProblem(
                joint.line,
                f'joint "{joint.name}" moves nothing that has {quantity}',
                f'Give link "{joint.child}" or one beyond it an <inertial>, or fix the joint',
                joint.name,
            )
        moments_beyond[joint.parent] += moments.moved(joint.rotation, joint.position)


def moments_of(inertial: Inertial | None) -> Moments:
    """Return the Moments of a link about its frame; none if it has no <inertial>."""
    if inertial is None:
        return Moments(0.0, np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)))
    mass, centre, inertia = inertial.mass, inertial.centre, inertial.inertia
    return Moments(
        mass,
        mass * centre,
        np.trace(inertia) / 2 * np.eye(3) - inertia + mass * np.outer(centre, centre),
        inertia,
    )


def _beam_inertial(beam):
    """Inertial of the undeformed `beam`, as it is simulated."""
    if beam.reduced is not None:
        link = beam.reduced.link
        central = link.J0 - link.mass * (
            link.centre @ link.centre * np.eye(3) - np.outer(link.centre, link.centre)
        )
        return Inertial(link.mass, link.centre, central)
    if beam.axis is not None:
        mass, first, second = rigid_moments(beam.axis, beam.section_matrices, 0.0)
        second = second - np.outer(first, first) / mass
        return Inertial(mass, first / mass, np.trace(second) * np.eye(3) - second)
    mass, (middle, _) = beam.mass_per_length * beam.length, slender_moments(beam.profile)
    across = beam.slender_inertia(mass) * np.array([0, 1, 1])
    moments = beam.section_inertia * beam.length + across
    return Inertial(mass, beam.end * middle, beam.axes @ np.diag(moments) @ beam.axes.T)


def _moves_robot(joint, moments):
    """Whether all motions of a free base move a mass."""
    if not moments.mass > 0.0:
        return False
    second = moments.second - np.outer(moments.first, moments.first) / moments.mass
    inertia = np.trace(second) * np.eye(3) - second
    least = (
        np.linalg.eigvalsh(inertia)[0]
        if joint.kind == 'floating'
        else joint.axis @ inertia @ joint.axis
    )
    return least > MIN_MOMENT_RATIO * np.trace(second)


def _moves_something(joint, moments):
    if joint.stiffness == np.inf and joint.reflected_inertia > 0:
        return True
    if joint.type.translates:
        return moments.mass > 0
    if joint.pitch and moments.mass > 0:
        return True
    # check the central inertias separately: in the sum with a long chain or a distant mass
    # they would be lost by rounding
    about_axis = np.trace(moments.second) - joint.axis @ moments.second @ joint.axis
    return about_axis > MIN_MOMENT_RATIO * np.abs(
        np.trace(moments.second)
    ) or joint.axis @ moments.own @ joint.axis > MIN_MOMENT_RATIO * np.trace(moments.own)
