"""Check that a body can have its inertia and that every joint has something to move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.description.robot import Inertial, Joint, Link

if TYPE_CHECKING:
    from flex_robot_sim.description.document import Document

ROUNDING = 1e-6             # of the largest moment: as files are rounded                   [-]
IDENTIFICATION = 0.2        # of the largest moment: as inertias in use are identified      [-]
SMALLEST_RADIUS = 3e-5      # of gyration; a smaller body counts as a point                 [m]
SLENDEREST = 1e-9           # moment about a joint over all moments; below: none            [-]


class Moments(NamedTuple):
    """Mass distribution seen from a frame."""

    mass: float             # [kg]
    first: np.ndarray       # (3,)    integral of r dm      [kg m]
    second: np.ndarray      # (3, 3)  integral of r r^T dm  [kg m2]
    own: np.ndarray         # (3, 3)  sum of the inertias of the links, each about its own centre

    def moved(self, rotation: np.ndarray, position: np.ndarray) -> Moments:
        """
        Return the moments seen from a frame in which this one has the given pose.

        Poses may be many, rotation (..., 3, 3) and position (..., 3); then so are the moments.
        """
        back = np.swapaxes(rotation, -1, -2)
        first = np.matmul(rotation, self.first[..., None])[..., 0]
        across = first[..., :, None] * position[..., None, :]
        return Moments(self.mass, first + self.mass * position,
                       rotation @ self.second @ back + across + np.swapaxes(across, -1, -2)
                       + self.mass * position[..., :, None] * position[..., None, :],
                       rotation @ self.own @ back)

    def __add__(self, other):
        """Return the moments of both together."""
        return Moments(self.mass + other.mass, self.first + other.first,
                       self.second + other.second, self.own + other.own)


def check_bodies(document: Document, links: Sequence[Link], joints: Sequence[Joint],
                 has_flexibility: bool) -> None:
    """
    Raise or warn about masses and inertias that cannot be.

    :param links: [Link] base to tip; joints: [Joint], joints[i] carries links[i + 1].
    :param has_flexibility: whether there is a <flexibility>, so that the robot is to be simulated.
    """
    for link in links:
        _check_link(document, link)
    _check_rigid_bodies(document, links, joints)
    if not any(joint.moves for joint in joints) and not any(link.beam for link in links):
        document.warn(links[0].line, 'nothing of this robot moves',
                      'Give it a revolute, continuous or prismatic joint, or a flexible link')
    elif not has_flexibility and all(link.inertial is None for link in links):
        document.warn(document.line(document.root), 'no link of this robot has a mass, so that it '
                      'can be drawn, but not simulated', 'Give its links an <inertial>')
    else:
        _check_moving_masses(document, links, joints)


def _check_link(document, link):
    """Look at one link by itself; what is fixed to others may be odd as long as the sum is not."""
    if link.inertial is None:
        return
    mass, inertia = link.inertial.mass, link.inertial.inertia
    if mass == 0:
        document.warn(link.line, f'link "{link.name}" has the mass 0', 'Give its mass [kg], or '
                      'remove the <inertial> if the link is a mere frame')
    elif not inertia.any() and link.beam is None:
        document.warn(link.line, f'link "{link.name}" has no moments of inertia and counts as a '
                      'point mass', 'Give its <inertia> [kg m2]')
    elif impossibility(mass, inertia, ROUNDING):
        why = impossibility(mass, inertia, ROUNDING)
        document.warn(link.line, f'the inertia of link "{link.name}" {why}',
                      'Correct its <inertia> [kg m2]')


def impossibility(mass: float, inertia: np.ndarray, tolerance: float) -> str | None:
    """
    Say why no body has this `inertia` (3, 3) about its centre of mass; None if there is one.

    :param tolerance: of the triangle inequality, over the largest moment: ROUNDING where numbers
        are computed, IDENTIFICATION where they may be measured.
    """
    moments = np.linalg.eigvalsh(inertia)
    moments[np.abs(moments) < 1e-12 * np.abs(moments).max()] = 0.0      # the solver's rounding
    least, middle, largest = moments
    point = mass * SMALLEST_RADIUS**2
    if least < -ROUNDING * largest - point:
        return (f'is not positive definite (principal moments {least:.3g}, {middle:.3g}, '
                f'{largest:.3g} kg m2)')
    if least + middle < (1 - tolerance) * largest - point:
        return (f'breaks the triangle inequality (principal moments {least:.3g} + {middle:.3g} < '
                f'{largest:.3g} kg m2)')
    return None


def _check_rigid_bodies(document, links, joints):
    """
    Refuse an impossible inertia of links that turn as one.

    What slides along another link or is fixed to it never turns against it, so that only their
    sum counts; what never turns at all has no say in the dynamics, and of what turns about an
    axis that never turns only the moment about that axis has.
    """
    bodies = {link.name: moments_of(link.inertial) for link in links}
    unturned = _unturned_links(links, joints)
    by_name = {link.name: link for link in links}
    merged = set()
    for joint in reversed(joints):
        moments = bodies[joint.child]
        turns = joint.moves and joint.kind != 'prismatic'
        if not turns and by_name[joint.parent].beam is None:
            bodies[joint.parent] += moments.moved(joint.rotation, joint.position)
            merged.add(joint.parent)
            continue
        why = _why_impossible(moments)
        if why and not (joint.parent in unturned and _has_only_the_moment_about(
                joint.axis, moments)):
            together = ', with what is fixed to it' if joint.child in merged else ''
            raise document.error_at(
                by_name[joint.child].line,
                f'no body has the inertia of link "{joint.child}"{together}: it {why}',
                'Correct its <inertia> [kg m2]; products are often wrong in sign or size')


def _unturned_links(links, joints):
    """Names of the links that keep the orientation of the base, and carry others rigidly."""
    beams = {link.name for link in links if link.beam is not None}
    unturned = {links[0].name} - beams
    for joint in joints:
        if joint.parent in unturned and not (joint.moves and joint.kind != 'prismatic'):
            unturned |= {joint.child} - beams
    return unturned


def _why_impossible(moments):
    if moments.mass == 0:
        return 'has no mass' if moments.second.any() else None
    return impossibility(moments.mass, _central_inertia(moments), IDENTIFICATION)


def _has_only_the_moment_about(axis, moments):
    if moments.mass == 0:
        return False
    inertia = _central_inertia(moments)
    about_axis = axis @ inertia @ axis
    return np.abs(inertia - about_axis * np.outer(axis, axis)).max() <= ROUNDING * about_axis


def _central_inertia(moments):
    central = moments.second - np.outer(moments.first, moments.first) / moments.mass
    return np.trace(central) * np.eye(3) - central


def _check_moving_masses(document, links, joints):
    """Refuse a joint that moves nothing: its acceleration would have no value."""
    beyond = {link.name: moments_of(link.inertial if link.beam is None
                                    else _as_simulated(link.beam))
              for link in links}
    for joint in reversed(joints):
        moments = beyond[joint.child]
        if joint.moves and not _moves_something(joint, moments):
            what = 'mass' if joint.kind == 'prismatic' else 'inertia about its axis'
            raise document.error_at(
                joint.line, f'joint "{joint.name}" moves nothing that has {what}',
                f'Give link "{joint.child}" or one beyond it an <inertial>, or fix the joint')
        beyond[joint.parent] += moments.moved(joint.rotation, joint.position)


def moments_of(inertial: Inertial | None) -> Moments:
    """Return the Moments of a link about its frame; none if it has no <inertial>."""
    if inertial is None:
        return Moments(0.0, np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)))
    mass, centre, inertia = inertial.mass, inertial.centre, inertial.inertia
    return Moments(mass, mass * centre, np.trace(inertia) / 2 * np.eye(3) - inertia
                   + mass * np.outer(centre, centre), inertia)


def _as_simulated(beam):
    """Inertial of the undeformed `beam`, which is uniform whatever the file says."""
    mass = beam.mass_per_length * beam.length
    moments = beam.section_inertia * beam.length + mass * beam.length**2 / 12 * np.array([0, 1, 1])
    return Inertial(mass, beam.end / 2, beam.axes @ np.diag(moments) @ beam.axes.T)


def _moves_something(joint, moments):
    if joint.stiffness == np.inf and joint.reflected_inertia > 0:
        return True
    if joint.kind == 'prismatic':
        return moments.mass > 0
    # the moments of the links about their own centres count by themselves, because next to a
    # long chain or a far mass they drown in the rounding of the sum
    about_axis = np.trace(moments.second) - joint.axis @ moments.second @ joint.axis
    return (about_axis > SLENDEREST * np.abs(np.trace(moments.second))
            or joint.axis @ moments.own @ joint.axis > SLENDEREST * np.trace(moments.own))
