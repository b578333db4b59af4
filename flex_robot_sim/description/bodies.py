"""Check that a body can have its inertia and that every joint has something to move."""

from typing import NamedTuple

import numpy as np

ROUNDING = 1e-6             # of the largest moment: as files are rounded                   [-]
IDENTIFICATION = 0.1        # likewise: as inertias of robots in use are identified         [-]
SMALLEST_RADIUS = 3e-5      # of gyration; a smaller body counts as a point                 [m]
SLENDEREST = 1e-9           # moment about a joint over all second moments; below: none     [-]


class Moments(NamedTuple):
    """Mass distribution seen from a frame."""

    mass: float             # [kg]
    first: np.ndarray       # (3,)    integral of r dm      [kg m]
    second: np.ndarray      # (3, 3)  integral of r r^T dm  [kg m2]

    def moved(self, rotation, position):
        """Return the moments seen from a frame in which this one has the given pose."""
        first = rotation @ self.first
        across = np.outer(first, position)
        return Moments(self.mass, first + self.mass * position,
                       rotation @ self.second @ rotation.T + across + across.T
                       + self.mass * np.outer(position, position))

    def __add__(self, other):
        """Return the moments of both together."""
        return Moments(self.mass + other.mass, self.first + other.first,
                       self.second + other.second)


def check_bodies(document, links, joints):
    """
    Raise or warn about masses and inertias that cannot be.

    :param links: [Link] base to tip; joints: [Joint], joints[i] carries links[i + 1].
    """
    for link in links:
        _check_link(document, link)
    _check_rigid_bodies(document, links, joints)
    _check_moving_masses(document, links, joints)
    if not any(joint.moves for joint in joints) and not any(link.beam for link in links):
        document.warn(links[0].line, 'nothing of this robot moves',
                      'Give it a revolute, continuous or prismatic joint, or a flexible link')


def _check_link(document, link):
    """Look at one link by itself; what is fixed to others may be odd as long as the sum is not."""
    if link.inertial is None:
        return
    mass, inertia = link.inertial.mass, link.inertial.inertia
    if mass < 0:
        raise document.error_at(link.line, f'link "{link.name}" has the mass {mass:g} kg',
                                'Give a mass above 0 [kg]')
    if mass == 0:
        document.warn(link.line, f'link "{link.name}" has the mass 0', 'Give its mass [kg], or '
                      'remove the <inertial> if the link is a mere frame')
    elif not inertia.any():
        document.warn(link.line, f'link "{link.name}" has no moments of inertia and counts as a '
                      'point mass', 'Give its <inertia> [kg m2]')
    elif _impossibility(mass, inertia, ROUNDING):
        why = _impossibility(mass, inertia, ROUNDING)
        document.warn(link.line, f'the inertia of link "{link.name}" {why}',
                      'Correct its <inertia> [kg m2]')
    if link.beam is not None:
        _warn_of_slips(document, link)


def _impossibility(mass, inertia, tolerance):
    """Say why no body has this `inertia` about its centre of mass; None if there is one."""
    least, middle, largest = np.linalg.eigvalsh(inertia)
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
    sum counts; what never turns at all has no say in the dynamics.
    """
    bodies = {link.name: _moments(link.inertial) for link in links}
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
        if why:
            together = ', with what is fixed to it' if joint.child in merged else ''
            raise document.error_at(
                by_name[joint.child].line,
                f'no body has the inertia of link "{joint.child}"{together}: it {why}',
                'Correct its <inertia> [kg m2]; products are often wrong in sign or size')


def _why_impossible(moments):
    mass, first, second = moments
    if mass == 0:
        return 'has no mass' if second.any() else None
    central = second - np.outer(first, first) / mass
    return _impossibility(mass, np.trace(central) * np.eye(3) - central, IDENTIFICATION)


def _warn_of_slips(document, link):
    """Warn where a beam is out of every proportion, as by a factor of a thousand in a unit."""
    beam = link.beam
    if not 1e-3 <= beam.length <= 100:
        document.warn(link.line, f'flexible link "{link.name}" is {beam.length:g} m long',
                      'Give lengths in m, not in mm')
    if not np.isnan(beam.EA):
        speed = np.sqrt(beam.EA / beam.mass_per_length)
        if not 30 < speed < 30e3:
            document.warn(
                link.line, f'by its EA and its mass per length, sound runs through link '
                f'"{link.name}" at {speed:.3g} m/s', 'Check EA [N], mass [kg] and length [m]')
    radii = [np.sqrt(value / beam.EA) for value in (beam.EIy, beam.EIz)
             if not np.isnan(value) and not np.isnan(beam.EA)]
    if any(radius > beam.length / 3 for radius in radii):
        document.warn(link.line, f'link "{link.name}" is as thick as it is long, by its EI and EA',
                      'Check EIy, EIz [N m2] and EA [N]; beam theory needs a slender link')


def _check_moving_masses(document, links, joints):
    """Refuse a joint that moves nothing: its acceleration would have no value."""
    beyond = {link.name: _moments(link.inertial) for link in links}
    for joint in reversed(joints):
        moments = beyond[joint.child]
        if joint.moves and not _moves_something(joint, moments):
            what = 'mass' if joint.kind == 'prismatic' else 'inertia about its axis'
            raise document.error_at(
                joint.line, f'joint "{joint.name}" moves nothing that has {what}',
                f'Give link "{joint.child}" or one beyond it an <inertial>, or fix the joint')
        beyond[joint.parent] += moments.moved(joint.rotation, joint.position)


def _moments(inertial):
    if inertial is None:
        return Moments(0.0, np.zeros(3), np.zeros((3, 3)))
    mass, centre, inertia = inertial.mass, inertial.centre, inertial.inertia
    return Moments(mass, mass * centre, np.trace(inertia) / 2 * np.eye(3) - inertia
                   + mass * np.outer(centre, centre))


def _moves_something(joint, moments):
    if joint.stiffness == np.inf and joint.reflected_inertia > 0:
        return True
    if joint.kind == 'prismatic':
        return moments.mass > 0
    about_axis = np.trace(moments.second) - joint.axis @ moments.second @ joint.axis
    return about_axis > SLENDEREST * np.abs(np.trace(moments.second))
