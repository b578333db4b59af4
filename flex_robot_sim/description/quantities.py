"""
Quantities of links and joints: the registry for paths such as `forearm.EIz`.

A path is the name of a link or a joint, a dot, and a word of LINK_QUANTITIES or JOINT_QUANTITIES.
Sweeps, identification, `flexsim reproduce --set` and `frs.parameters` use these words.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description.links import Inertial, Joint, Link
from flex_robot_sim.description.schema import Attribute
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.words import FLEXIBILITY

MAX_DAMPING_RATIO = 0.9


class Quantity(NamedTuple):
    """A quantity of a Link or a Joint: its unit and bounds, how to read and how to change it."""

    attribute: Attribute  # of the description: unit, bounds and meaning
    group: str  # see GROUPS
    value: Callable[[Any], float | None]  # of a Link or Joint; None: not applicable
    changed: Callable[[Any, float], Any]  # returns the Link or Joint with a new value


GROUPS = (
    'stiffness',
    'damping',
    'friction',
    'hysteresis',
    'backlash',
    'kinematic_error',
    'cogging',
    'torque_ripple',
    'creep',
    'mass',
    'geometry',
    'inertia',
    'drive',
    'limit',
    'position',
)
"""Groups of quantities; fits estimate those in `identification/parameters.py`."""


HARMONICS = 'kinematic_error', 'cogging', 'torque_ripple'  # of gears and motors, as rows


def _attribute(unit, meaning, **bounds):
    return Attribute('number', unit, None, meaning, **bounds)


def _beam_quantity(name, direction, meaning):
    def value(link):
        is_flexible = link.beam is not None and link.beam.count(direction) > 0
        return getattr(link.beam, name) if is_flexible else None

    def changed(link, number):
        return replace(link, beam=replace(link.beam, **{name: number}))

    return Quantity(
        FLEXIBILITY['section'].attributes[name]._replace(meaning=meaning),
        'stiffness',
        value,
        changed,
    )


def _damping_quantity(word, name, meaning, **bounds):
    def value(link):
        if link.beam is None or not link.beam.freedom:
            return None
        is_time = link.beam.damping_time > 0.0  # the description has one of the two
        return getattr(link.beam, name) if is_time == (name == 'damping_time') else None

    def changed(link, number):
        return replace(link, beam=replace(link.beam, **{name: number}))

    attribute = FLEXIBILITY['damping'].attributes[word]
    return Quantity(attribute._replace(meaning=meaning, **bounds), 'damping', value, changed)


def _joint_quantity(attribute, group, meaning, name, has=lambda joint: joint.moves):
    def value(joint):
        return getattr(joint, name) if has(joint) else None

    def changed(joint, number):
        return replace(joint, **{name: number})

    return Quantity(attribute._replace(meaning=meaning), group, value, changed)


def _gear_quantity(name, group, meaning, has=lambda joint: joint.moves):
    return _joint_quantity(FLEXIBILITY['joint'].attributes[name], group, meaning, name, has)


def _limit_quantity(name, meaning, has=lambda joint: joint.moves, **bounds):
    attribute = URDF['limit'].attributes[name]._replace(**bounds)
    return _joint_quantity(attribute, 'limit', meaning, name, has)


def _friction_quantity(attribute, group, meaning, name):
    def changed(joint, number):
        return replace(joint, friction=joint.friction.with_value(name, number))

    return Quantity(
        attribute._replace(meaning=meaning),
        group,
        lambda joint: getattr(joint.friction, name) if joint.moves else None,
        changed,
    )


def _origin_quantity(axis):
    def changed(joint, number):
        position = joint.position.copy()
        position[axis] = number
        return replace(joint, position=position)

    return Quantity(
        _attribute('m', f'{"xyz"[axis]} of the joint in the frame of its parent link'),
        'position',
        lambda joint: float(joint.position[axis]),
        changed,
    )


def _is_rigid_body(link):
    return link.beam is None and link.inertial is not None


def _centre_quantity(axis):
    def changed(link, number):
        centre = link.inertial.centre.copy()
        centre[axis] = number
        return replace(link, inertial=replace(link.inertial, centre=centre))

    return Quantity(
        _attribute('m', f'{"xyz"[axis]} of the centre of mass in the frame of the link'),
        'inertia',
        lambda link: float(link.inertial.centre[axis]) if _is_rigid_body(link) else None,
        changed,
    )


def _inertia_quantity(name):
    row, column = ('xyz'.index(letter) for letter in name[1:])

    def changed(link, number):
        inertia = link.inertial.inertia.copy()
        inertia[row, column] = inertia[column, row] = number
        return replace(link, inertial=replace(link.inertial, inertia=inertia))

    kind, bounds = ('moment', {'at_least': 0.0}) if row == column else ('product', {})
    return Quantity(
        _attribute(
            'kg m2',
            f'{kind} of inertia about the centre of mass, in the axes of the link',
            **bounds,
        ),
        'inertia',
        lambda link: float(link.inertial.inertia[row, column]) if _is_rigid_body(link) else None,
        changed,
    )


def _has_gear(joint):
    return joint.moves and np.isfinite(joint.stiffness)


def _has_range_of_twist(joint):
    return _has_gear(joint) and 0.0 < joint.effort < np.inf and not joint.slip


_STIFFNESS = FLEXIBILITY['joint'].attributes['stiffness']._replace(kind='number', at_most=None)


def _further_stiffness(index, meaning):
    """Quantity of the stiffness of a gear beyond one of its torques."""

    def value(joint):
        stiffness = joint.further_stiffness
        return stiffness[index] if joint.moves and index < len(stiffness) else None

    def changed(joint, number):
        stiffness = list(joint.further_stiffness)
        stiffness[index] = number
        return replace(joint, further_stiffness=tuple(stiffness))

    attribute = _STIFFNESS._replace(meaning=f'of the gear {meaning}')
    return Quantity(attribute, 'stiffness', value, changed)


def _first_harmonic(word, column, unit, meaning, **bounds):
    """Quantity of the first harmonic of a gear or a motor; word: of <joint>."""

    def value(joint):
        harmonics = getattr(joint, word)
        return harmonics[0][column] if joint.moves and harmonics else None

    def changed(joint, number):
        first, *rows = getattr(joint, word)
        first = (*first[:column], number, *first[column + 1 :])
        return replace(joint, **{word: (first, *rows)})

    attribute = _attribute(unit, f'{meaning} of its first harmonic', **bounds)
    return Quantity(attribute, word, value, changed)


def _has_stops(joint):
    return joint.moves and joint.type.needs_limit


def _has_straight_beam(link):
    return link.beam is not None and link.beam.axis is None


def _with_stiffness_factor(link, factor):
    beam = link.beam
    if beam.reduced is not None:
        total = factor * beam.reduced.stiffness_scale
        return replace(
            link, beam=replace(beam, reduced=replace(beam.reduced, stiffness_scale=total))
        )
    names = ['EIy', 'EIz', 'EA', 'kGAy', 'kGAz']
    if not beam.count('torsion'):  # GJ is not a separate quantity
        names.append('GJ')
    scaled = {name: factor * getattr(beam, name) for name in names}
    matrices = beam.matrices and beam.matrices.scaled(stiffness=factor)
    return replace(link, beam=replace(beam, **scaled, matrices=matrices))


def _mass(link):
    if link.beam is not None and link.beam.reduced is not None:
        return None
    return link.inertial.mass if link.inertial is not None else 0.0


def _with_mass(link, mass):
    if link.inertial is None:
        return replace(link, inertial=Inertial(mass, np.zeros(3), np.zeros((3, 3))))
    inertial, share = link.inertial, mass / link.inertial.mass if link.inertial.mass else 1.0
    beam = link.beam and replace(
        link.beam,
        mass_per_length=share * link.beam.mass_per_length,
        section_inertia=share * link.beam.section_inertia,
        matrices=link.beam.matrices and link.beam.matrices.scaled(mass=share),
    )
    return replace(
        link, beam=beam, inertial=replace(inertial, mass=mass, inertia=share * inertial.inertia)
    )


def _with_polar_inertia(link, moment):
    """Change the moment of a beam about its own axis."""
    beam, along = link.beam, link.beam.axes[:, 0]
    section_inertia = beam.section_inertia.copy()
    change = moment - section_inertia[0] * beam.length
    section_inertia[0] = moment / beam.length
    inertia = link.inertial.inertia + change * np.outer(along, along)
    return replace(
        link,
        beam=replace(beam, section_inertia=section_inertia),
        inertial=replace(link.inertial, inertia=inertia),
    )


def _with_length(link, length):
    """Change the length of a beam at constant mean mass per length."""
    beam, share = link.beam, length / link.beam.length
    along = beam.axes[:, 0]
    # inertia of a thin rod; the remainder is that of the sections
    rod = beam.slender_inertia(link.inertial.mass) * (np.eye(3) - np.outer(along, along))
    centre = link.inertial.centre
    return replace(
        link,
        beam=replace(beam, end=share * beam.end, length=length),
        inertial=Inertial(
            share * link.inertial.mass,
            centre + (share - 1) * (along @ centre) * along,
            share * (link.inertial.inertia - rod) + share**3 * rod,
        ),
    )


# In this order, changes apply: a later quantity keeps its value where an earlier one changes it.
LINK_QUANTITIES = {
    'length': Quantity(
        _attribute('m', 'free length of the beam; parts at its end move with it', above=0.0),
        'geometry',
        lambda link: link.beam.length if _has_straight_beam(link) else None,
        _with_length,
    ),
    'stiffness': Quantity(
        _attribute(
            '', 'factor of all stiffnesses of the link, but for a GJ of its own', above=0.0
        ),
        'stiffness',
        lambda link: None if link.beam is None or not link.beam.freedom else 1.0,
        _with_stiffness_factor,
    ),
    'EIy': _beam_quantity('EIy', 'bending_z', 'bending stiffness, resists bending_z'),
    'EIz': _beam_quantity('EIz', 'bending_y', 'bending stiffness, resists bending_y'),
    'GJ': _beam_quantity('GJ', 'torsion', 'torsional stiffness'),
    'EA': _beam_quantity('EA', 'stretch', 'stiffness against stretch'),
    'damping_ratio': _damping_quantity(
        'ratio',
        'damping_ratio',
        'fraction of critical damping of every mode',
        below=None,
        at_most=MAX_DAMPING_RATIO,
    ),
    'damping_time': _damping_quantity(
        'time_constant', 'damping_time', 'damping over stiffness (Kelvin-Voigt)'
    ),
    'mass': Quantity(
        _attribute('kg', 'of the link; its inertia scales with it', at_least=0.0),
        'mass',
        _mass,
        _with_mass,
    ),
    'polar_inertia': Quantity(
        _attribute('kg m2', 'moment of inertia of the beam about its axis', at_least=0.0),
        'inertia',
        lambda link: (
            float(link.beam.section_inertia[0] * link.beam.length)
            if _has_straight_beam(link)
            else None
        ),
        _with_polar_inertia,
    ),
    **{f'centre_{"xyz"[axis]}': _centre_quantity(axis) for axis in range(3)},
    **{name: _inertia_quantity(name) for name in ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')},
}
JOINT_QUANTITIES = {
    'stiffness': _joint_quantity(_STIFFNESS, 'stiffness', 'of the gear', 'stiffness', _has_gear),
    'stiffness_2': _further_stiffness(0, 'beyond its first torque'),
    'stiffness_3': _further_stiffness(1, 'beyond its second torque'),
    'backlash': _gear_quantity(
        'backlash', 'backlash', 'whole width of the dead zone of the gear', _has_gear
    ),
    'kinematic_error': _first_harmonic(
        'kinematic_error', 0, 'rad or m', 'amplitude', at_least=0.0
    ),
    'kinematic_error_phase': _first_harmonic('kinematic_error', 2, 'rad', 'phase'),
    'cogging': _first_harmonic('cogging', 0, 'N m', 'amplitude', at_least=0.0),
    'cogging_phase': _first_harmonic('cogging', 2, 'rad', 'phase'),
    'torque_ripple': _first_harmonic('torque_ripple', 0, '', 'amplitude', at_least=0.0),
    'torque_ripple_phase': _first_harmonic('torque_ripple', 2, 'rad', 'phase'),
    'damping': _gear_quantity('damping', 'damping', 'of the gear', _has_gear),
    'hysteresis': _gear_quantity(
        'hysteresis',
        'hysteresis',
        'loss per cycle over the elastic energy of the gear',
        _has_range_of_twist,
    ),
    'viscous': _friction_quantity(
        URDF['dynamics'].attributes['damping'],
        'friction',
        'viscous friction: `damping` of <dynamics>',
        'viscous_friction',
    ),
    'coulomb': _friction_quantity(
        URDF['dynamics'].attributes['friction'],
        'friction',
        'dry friction in motion: `friction` of <dynamics>; static friction changes with it',
        'coulomb_friction',
    ),
    'static_friction': _friction_quantity(
        FLEXIBILITY['joint'].attributes['static_friction'],
        'drive',
        'dry friction at rest',
        'static_friction',
    ),
    'stribeck_rate': _friction_quantity(
        FLEXIBILITY['joint'].attributes['stribeck_rate'],
        'drive',
        'speed at which static friction falls to coulomb',
        'stribeck_rate',
    ),
    'presliding': _friction_quantity(
        FLEXIBILITY['joint'].attributes['presliding'],
        'hysteresis',
        'displacement over which dry friction rises',
        'presliding',
    ),
    'creep_rate': _friction_quantity(
        FLEXIBILITY['joint'].attributes['creep_rate'],
        'creep',
        'speed at which dry friction reaches its full level',
        'creep_rate',
    ),
    'rotor_inertia': _gear_quantity('rotor_inertia', 'mass', 'of the motor about its own axis'),
    'gear_ratio': _gear_quantity(
        'gear_ratio', 'drive', 'motor speed over joint speed; squared, it multiplies rotor_inertia'
    ),
    'spring_stiffness': _gear_quantity(
        'spring_stiffness', 'stiffness', 'of the spring across the joint, as of a compliant clamp'
    ),
    'spring_reference': _gear_quantity(
        'spring_reference', 'drive', 'position at which this spring has no force'
    ),
    'lower': _limit_quantity('lower', 'lower stop', _has_stops),
    'upper': _limit_quantity('upper', 'upper stop', _has_stops),
    'effort': _limit_quantity('effort', 'largest effort of the motor', at_least=0.0),
    'velocity': _limit_quantity('velocity', 'largest speed', at_least=0.0),
    'acceleration': _limit_quantity('acceleration', 'largest acceleration', above=0.0),
    'deceleration': _limit_quantity(
        'deceleration', 'largest deceleration; infinite: that of acceleration', above=0.0
    ),
    'jerk': _limit_quantity('jerk', 'largest jerk', above=0.0),
    **{f'origin_{"xyz"[axis]}': _origin_quantity(axis) for axis in range(3)},
}
QUANTITIES = {'link': LINK_QUANTITIES, 'joint': JOINT_QUANTITIES}
ORDER = {word: k for k, word in enumerate([*LINK_QUANTITIES, *JOINT_QUANTITIES])}


def bounds(item: Link | Joint, word: str) -> tuple[float, float, bool]:
    """
    Return the bounds of a quantity of a Link or a Joint.

    :returns: smallest value, largest value, and whether the smallest is excluded. The bounds of
        the length of a beam depend on other links, see `robot_parameters.py`.
    """
    is_link = isinstance(item, Link)
    attribute = QUANTITIES['link' if is_link else 'joint'][word].attribute
    is_open = attribute.above is not None
    lower = attribute.above if is_open else attribute.at_least
    upper = attribute.at_most
    if isinstance(item, Link):
        is_open |= item.beam is not None and (
            word == 'mass' or word == 'polar_inertia' and item.beam.count('torsion') > 0
        )
    elif word == 'rotor_inertia':
        is_open = _has_gear(item)  # the motor side of an elastic gear needs a mass
    elif word == 'static_friction':
        lower = item.friction.coulomb_friction
    elif word == 'lower':
        upper = item.upper
    elif word == 'upper':
        lower = item.lower
    return (-np.inf if lower is None else lower), (np.inf if upper is None else upper), is_open


def unit_of(item: Link | Joint, word: str) -> str:
    """Return the unit of a quantity; of two, that of a rotating or of a sliding joint."""
    if isinstance(item, Link):
        return LINK_QUANTITIES[word].attribute.unit
    units = JOINT_QUANTITIES[word].attribute.unit.split(' or ')
    unit = units[-1] if item.type.translates else units[0]
    return '' if unit == '1' else unit
