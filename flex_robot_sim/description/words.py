"""
Vocabulary of a robot description: all elements and attributes that the reader accepts.

The reader checks documents against these tables. `docs/description.md` lists them, so that the
page, the reader and the error messages agree.
"""

from typing import NamedTuple

from flex_robot_sim.description.joint_types import JOINT_TYPES
from flex_robot_sim.description.links import JointFriction

REQUIRED = object()
"""Default of a required attribute."""

MAX_SLIP_ELEMENTS = 4  # of a gear
MAX_ENCODER_DELAY_S = 1.0
_VECTOR_ZERO = (0.0, 0.0, 0.0)
CONSTRAINT_TYPES = ('fixed', 'revolute', 'spherical', 'universal', 'prismatic', 'distance')


class Attribute(NamedTuple):
    """One attribute: allowed values and meaning."""

    # 'name', 'number', 'vector', 'axis', 'quaternion', 'pairs', 'count', 'modes' or 'choice'
    kind: str
    unit: str  # of the value; '' if it has none
    default: object  # REQUIRED, None (absence has a meaning) or a value
    meaning: str
    above: float | None = None  # exclusive lower bound
    at_least: float | None = None  # inclusive lower bound
    below: float | None = None  # exclusive upper bound
    at_most: float | None = None  # inclusive upper bound
    choices: tuple[str, ...] = ()


class Element(NamedTuple):
    """One element: its attributes and its child elements."""

    meaning: str
    attributes: dict[str, Attribute]
    children: tuple[str, ...] = ()


def _number(unit, default, meaning, **bounds):
    return Attribute('number', unit, default, meaning, **bounds)


def _positive(unit, default, meaning):
    return Attribute('number', unit, default, meaning, above=0.0)


def _density(unit, sensor):
    return _number(
        f'{unit}/sqrt(Hz)',
        0.0,
        f'density of the white noise of the {sensor}, one-sided; a sample has this times '
        'sqrt(rate / 2) as standard deviation',
        at_least=0.0,
    )


def _name(meaning):
    return Attribute('name', '', REQUIRED, meaning)


_SEGMENTS = Attribute(
    'count',
    '',
    1,
    'number of flexible bodies in series that represent the beam',
    at_least=1,
    at_most=1000,
)
_BOUNDARY = Attribute(
    'choice',
    '',
    'static',
    'boundary condition of the shapes at the tip. `static`: static shapes first (x^2, x^3; x), '
    'then clamped-free modes. `free`: clamped-free modes. `mass`, `inertia`: modes with the mass, '
    'or the mass and inertia, of the bodies beyond the tip',
    choices=('static', 'free', 'mass', 'inertia'),
)


_AT = _number(
    '',
    None,
    'where this section is, as a share of the length of the beam. Give several, from 0 to 1: '
    'values are linear in between, and two at one place are a step. Absent: a uniform beam',
    at_least=0.0,
    at_most=1.0,
)


def _coordinates(direction, default, stiffness, words=()):
    return Attribute(
        'modes',
        '',
        default,
        f'elastic coordinates of {direction}; uses {stiffness}',
        at_least=0,
        at_most=50,
        choices=words,
    )


FLEXIBILITY = {
    'flexibility': Element(
        'directly under `<robot>`, at most once; other tools ignore it',
        {
            'mimic': Attribute(
                'choice',
                '',
                'held',
                'joints with `<mimic>` are `held` at their offset, or are `moving` in proportion '
                'to the joint that they mimic',
                choices=('held', 'moving'),
            )
        },
        ('link', 'joint'),
    ),
    'link': Element(
        'makes a link of the robot an elastic beam that starts at the link origin, or gives a '
        'rigid link its IMUs',
        {
            'name': _name('the link'),
            'end': Attribute(
                'vector',
                'm',
                None,
                'far end of the beam, in the link frame; absent: the link is rigid and has no '
                'child elements but `<imu>`',
            ),
            'y_axis': Attribute(
                'axis',
                '',
                (0.0, 1.0, 0.0),
                'y axis of the cross-section in the link frame; its component along '
                'the beam is ignored',
            ),
        },
        (
            'section',
            'rectangle',
            'tube',
            'rod',
            'material',
            'modes',
            'elements',
            'damping',
            'flex_sensor',
            'imu',
        ),
    ),
    'section': Element(
        'stiffnesses of the cross-section; each flexible direction needs one',
        {
            'EIy': _positive('N m2', None, 'bending stiffness about y: resists bending_z'),
            'EIz': _positive('N m2', None, 'bending stiffness about z: resists bending_y'),
            'GJ': _positive('N m2', None, 'torsional stiffness'),
            'EA': _positive('N', None, 'stiffness against stretch'),
            'kGAy': _positive('N', None, 'shear stiffness along y; absent: rigid in shear'),
            'kGAz': _positive('N', None, 'shear stiffness along z; absent: rigid in shear'),
            'at': _AT,
            'mass_per_length': _positive(
                'kg/m',
                None,
                'with `at`: distributes the mass of the <inertial> in this proportion; absent: '
                'evenly',
            ),
        },
    ),
    'rectangle': Element(
        'a solid rectangular section',
        {
            'width': _positive('m', REQUIRED, "size along the section's y axis"),
            'height': _positive('m', REQUIRED, "size along the section's z axis"),
            'at': _AT,
        },
    ),
    'tube': Element(
        'a round hollow section',
        {
            'outer': _positive('m', REQUIRED, 'outer diameter'),
            'wall': _positive('m', REQUIRED, 'wall thickness, below half the outer diameter'),
            'at': _AT,
        },
    ),
    'rod': Element(
        'a round solid section', {'diameter': _positive('m', REQUIRED, 'diameter'), 'at': _AT}
    ),
    'material': Element(
        'material of `<rectangle>`, `<tube>` or `<rod>`',
        {
            'E': _positive('Pa', REQUIRED, "Young's modulus"),
            'G': _positive(
                'Pa', None, 'shear modulus; needed where the beam has coordinates of torsion'
            ),
            'density': _positive('kg/m3', None, 'checks the mass in `<inertial>` to 1 %'),
            'shear_factor': _number(
                '',
                None,
                'shear correction factor k: sections shear with the stiffness k G A; absent: '
                'rigid in shear',
                above=0.0,
                at_most=1.0,
            ),
        },
    ),
    'modes': Element(
        'describes the deflection by assumed modes (the default)',
        {
            'bending_y': _coordinates('bending along y', 2, 'EIz'),
            'bending_z': _coordinates('bending along z', 2, 'EIy'),
            'torsion': _coordinates('torsion', 1, 'GJ'),
            'stretch': _coordinates('stretch', 0, 'EA'),
            'segments': _SEGMENTS,
            'boundary': _BOUNDARY,
        },
    ),
    'elements': Element(
        'describes the deflection by finite elements, cubic in bending, linear in '
        'torsion and stretch',
        {
            'count': Attribute(
                'count', '', REQUIRED, 'elements per segment', at_least=1, at_most=1000
            ),
            'bending_y': _coordinates('bending along y, or `all`', 'all', 'EIz', ('all',)),
            'bending_z': _coordinates('bending along z, or `all`', 'all', 'EIy', ('all',)),
            'torsion': _coordinates('torsion, or `all`', 'all', 'GJ', ('all',)),
            'stretch': _coordinates('stretch, or `all`', 0, 'EA', ('all',)),
            'segments': _SEGMENTS,
        },
    ),
    'damping': Element(
        'internal damping of the beam, by one of the two attributes; default: none',
        {
            'ratio': _number(
                '',
                None,
                'fraction of critical damping of every mode of the arm at '
                'zero with its joints locked',
                at_least=0.0,
                below=1.0,
            ),
            'time_constant': _number(
                's', None, 'Kelvin-Voigt: damping = time_constant * stiffness', at_least=0.0
            ),
        },
    ),
    'flex_sensor': Element(
        'measures the mean curvature between two stations of the beam',
        {
            'name': _name('published as `<link>/<name>`'),
            'from': _number('m', REQUIRED, 'first station, from the link origin', at_least=0.0),
            'to': _number(
                'm',
                REQUIRED,
                'last station, from the link origin; the first again for the curvature at a point',
                at_least=0.0,
            ),
            'plane': Attribute(
                'choice',
                '',
                REQUIRED,
                'plane in which it bends: `xy` or `xz`',
                choices=('xy', 'xz'),
            ),
        },
    ),
    'imu': Element(
        'accelerometer and gyroscope on a rigid or flexible link',
        {
            'name': _name('published as `imu/<name>`; unique in the robot'),
            'xyz': Attribute('vector', 'm', _VECTOR_ZERO, 'position in the link frame'),
            'rpy': Attribute(
                'vector', 'rad', _VECTOR_ZERO, 'roll, pitch, yaw of its axes in the link frame'
            ),
            'rate': _number(
                'Hz', 200.0, 'samples per second; rounded to whole time steps', above=0.0
            ),
            'accelerometer_noise': _density('m/s2', 'accelerometer'),
            'gyroscope_noise': _density('rad/s', 'gyroscope'),
            'accelerometer_bias': Attribute(
                'vector', 'm/s2', _VECTOR_ZERO, 'constant error of the accelerometer, x y z'
            ),
            'gyroscope_bias': Attribute(
                'vector', 'rad/s', _VECTOR_ZERO, 'constant error of the gyroscope, x y z'
            ),
            'accelerometer_range': _positive(
                'm/s2', None, 'largest reading of an axis; absent: no limit'
            ),
            'gyroscope_range': _positive(
                'rad/s', None, 'largest reading of an axis; absent: no limit'
            ),
            'bits': Attribute(
                'count',
                '',
                None,
                'word length of each axis: 2^bits steps from -range to range; needs both ranges; '
                'absent: no steps',
                at_least=2,
                at_most=32,
            ),
        },
    ),
    'joint': Element(
        'gear compliance, rotor, spring, static friction and encoder of a moving joint; or the '
        'type of a joint that is fixed in the URDF',
        {
            'name': _name('the joint'),
            'type': Attribute(
                'choice',
                '',
                None,
                '`universal` or `spherical`, of a joint that is `fixed` in the URDF',
                choices=('universal', 'spherical'),
            ),
            'lower': _number('rad', None, 'with a type: smallest angle about each axis'),
            'upper': _number('rad', None, 'with a type: largest angle about each axis'),
            'viscous_friction': _number(
                'N m s/rad', None, 'with a type: viscous friction', at_least=0.0
            ),
            'coulomb_friction': _number(
                'N m', None, 'with a type: dry friction in motion', at_least=0.0
            ),
            'stiffness': _positive(
                'N m/rad or N/m', None, 'stiffness between motor side and link side; absent: rigid'
            ),
            'damping': _number(
                'N m s/rad or N s/m', 0.0, 'damping parallel to the stiffness', at_least=0.0
            ),
            'hysteresis': _number(
                '',
                0.0,
                'energy that the gear loses per cycle over its largest elastic energy, at any '
                'speed; needs a stiffness and the `effort` of <limit>',
                at_least=0.0,
                at_most=0.5,
            ),
            'slip': Attribute(
                'pairs',
                'N m/rad and N m, or N/m and N',
                (),
                'instead of `hysteresis`: stiffness and force of up to four springs parallel to '
                'the stiffness, which slip at this force: `k1 f1 k2 f2 ...`',
                above=0.0,
                at_most=MAX_SLIP_ELEMENTS,
            ),
            'rotor_inertia': _number(
                'kg m2',
                0.0,
                'rotor inertia about the motor axis; must be above 0 if there is a stiffness',
                at_least=0.0,
            ),
            'gear_ratio': _positive(
                '1 or rad/m',
                1.0,
                'ratio of motor speed to joint speed; the reflected inertia is '
                'rotor_inertia * gear_ratio^2',
            ),
            'static_friction': _number(
                'N m or N',
                None,
                'dry friction at rest; default: the `friction` of <dynamics>, which '
                'is also its minimum',
                at_least=0.0,
            ),
            'stribeck_rate': _positive(
                'rad/s or m/s',
                JointFriction().stribeck_rate,
                'speed over which the friction falls from static to Coulomb friction',
            ),
            'presliding': _number(
                'rad or m',
                JointFriction().presliding,
                'displacement over which dry friction rises from zero to its full level; '
                '0: at once',
                at_least=0.0,
            ),
            'creep_rate': _number(
                'rad/s or m/s',
                JointFriction().creep_rate,
                'speed at which dry friction reaches its full level; it grows with the speed up '
                'to there, so that the joint creeps under a small load; 0: the joint sticks',
                at_least=0.0,
            ),
            'spring_stiffness': _number(
                'N m/rad or N/m',
                0.0,
                'stiffness of a spring across the joint, parallel to the motor',
                at_least=0.0,
            ),
            'spring_reference': _number('rad or m', 0.0, 'rest position of this spring'),
        },
        ('encoder',),
    ),
    'encoder': Element(
        'encoder of a joint; behind an elastic gear one on either side, in units of the joint',
        {
            'resolution': _number(
                'rad or m', 0.0, 'step of the measured position; 0: no steps', at_least=0.0
            ),
            'noise': _number('rad or m', 0.0, 'standard deviation of each sample', at_least=0.0),
            'delay': _number(
                's', 0.0, 'age of the measured position', at_least=0.0, at_most=MAX_ENCODER_DELAY_S
            ),
        },
    ),
}


def _moment(axis):
    return _number(
        'kg m2',
        REQUIRED,
        f'moment of inertia about {axis}, through the centre of '
        "mass, in the axes of the inertial's origin",
    )


def _product(axes):
    return _number(
        'kg m2',
        0.0,
        f'minus the integral of {axes} dm, from the centre of mass, in '
        "the axes of the inertial's origin",
    )


_POSE = {
    'xyz': Attribute('vector', 'm', _VECTOR_ZERO, 'position'),
    'rpy': Attribute('vector', 'rad', _VECTOR_ZERO, 'roll, pitch, yaw about fixed axes'),
    'quat_xyzw': Attribute(
        'quaternion', '', None, 'instead of rpy, from version 1.1 on: x, y, z, w'
    ),
}


def _constraint_axis(meaning):
    return {'xyz': Attribute('axis', '', (1.0, 0.0, 0.0), meaning)}


URDF = {
    'robot': Element(
        'the document',
        {
            'name': Attribute('name', '', 'robot', 'name of the robot'),
            'version': Attribute('name', '', '1.0', 'of URDF: `1.0`, `1.1` or `1.2`'),
        },
        ('link', 'joint', 'constraint', 'flexibility'),
    ),
    'link': Element(
        'one body', {'name': _name('name of the link in joints and topics')}, ('inertial',)
    ),
    'inertial': Element(
        'mass, centre of mass and inertia; of a flexible link: of the whole undeformed link',
        {},
        ('origin', 'mass', 'inertia'),
    ),
    'mass': Element(
        'the mass of the link', {'value': _number('kg', REQUIRED, 'mass of the link')}
    ),
    'inertia': Element(
        'the moments and products of inertia',
        {
            'ixx': _moment('x'),
            'iyy': _moment('y'),
            'izz': _moment('z'),
            'ixy': _product('x y'),
            'ixz': _product('x z'),
            'iyz': _product('y z'),
        },
    ),
    'origin': Element(
        'a pose: of the inertial in the link frame, of the joint in the frame of its parent', _POSE
    ),
    'joint': Element(
        'connects two links',
        {
            'name': _name('name of the joint in commands and states'),
            'type': Attribute(
                'choice',
                '',
                REQUIRED,
                '`revolute`, `continuous`, `prismatic` or `fixed`',
                choices=tuple(JOINT_TYPES),
            ),
        },
        ('origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic'),
    ),
    'parent': Element('the link before the joint', {'link': _name('parent link')}),
    'child': Element('the link after the joint', {'link': _name('child link')}),
    'axis': Element(
        'the axis of the motion',
        {
            'xyz': Attribute(
                'axis', '', (1.0, 0.0, 0.0), 'direction of the motion, in the joint frame'
            )
        },
    ),
    'limit': Element(
        'the range of the joint; required for revolute and prismatic joints',
        {
            'lower': _number('rad or m', 0.0, 'smallest position'),
            'upper': _number('rad or m', 0.0, 'largest position'),
            'effort': _number(
                'N m or N', None, 'largest effort of the motor; below 0, or 1e30: no limit'
            ),
            'velocity': _number('rad/s or m/s', None, 'largest speed; below 0, or 1e30: no limit'),
            'acceleration': _number(
                'rad/s2 or m/s2', None, 'largest acceleration; below 0, or 1e30: no limit'
            ),
            'deceleration': _number(
                'rad/s2 or m/s2', None, 'largest deceleration; without it, that of `acceleration`'
            ),
            'jerk': _number('rad/s3 or m/s3', None, 'largest jerk; below 0, or 1e30: no limit'),
        },
    ),
    'dynamics': Element(
        'friction of the joint',
        {
            'damping': _number('N m s/rad or N s/m', 0.0, 'viscous friction', at_least=0.0),
            'friction': _number('N m or N', 0.0, 'Coulomb friction', at_least=0.0),
        },
    ),
    'mimic': Element(
        'position = multiplier * position of the other joint + offset, if `mimic="moving"` in '
        '`<flexibility>`; otherwise the joint is held at `offset`, with a warning',
        {
            'joint': _name('joint to follow'),
            'multiplier': _number('', 1.0, 'position over that of the other joint'),
            'offset': _number('rad or m', 0.0, 'position where the other joint is at zero'),
        },
    ),
    'constraint': Element(
        'closes a loop: a connection of two links in addition to the joints; other tools ignore '
        'it',
        {
            'name': _name('name of the constraint in messages and results'),
            'type': Attribute(
                'choice',
                '',
                REQUIRED,
                '`fixed`, `revolute`, `spherical`, `universal`, `prismatic` or `distance`',
                choices=CONSTRAINT_TYPES,
            ),
            'length': _positive(
                'm', None, 'of a `distance`, between the origins of the two frames'
            ),
        },
        (
            'parent',
            'parent_origin',
            'parent_axis',
            'child',
            'child_origin',
            'child_axis',
            'compliance',
        ),
    ),
    'parent_origin': Element('the frame of the constraint in the parent link', _POSE),
    'child_origin': Element('the frame of the constraint in the child link', _POSE),
    'parent_axis': Element(
        'axis of a revolute, prismatic or universal constraint on the parent',
        _constraint_axis('direction, in the frame of parent_origin'),
    ),
    'child_axis': Element(
        'axis on the child: along parent_axis if revolute, normal to it if universal',
        _constraint_axis('direction, in the frame of child_origin'),
    ),
    'compliance': Element(
        'springs and dampers in place of the rigid conditions of a constraint',
        {
            'stiffness': _positive('N/m', None, 'in translation; absent: rigid'),
            'damping': _number('N s/m', 0.0, 'parallel to stiffness', at_least=0.0),
            'rotational_stiffness': _positive('N m/rad', None, 'in rotation; absent: rigid'),
            'rotational_damping': _number(
                'N m s/rad', 0.0, 'parallel to rotational_stiffness', at_least=0.0
            ),
        },
    ),
}

URDF_PASSED_OVER = {
    'robot': (
        'material',
        'transmission',
        'gazebo',
        'ros2_control',
        'sensor',
        'disable_collisions',
    ),
    'link': ('visual', 'collision', 'contact', 'sensor', 'gazebo', 'self_collision_checking'),
    'joint': (
        'calibration',
        'safety_controller',
        'hardwareInterface',
        'hardware_interface',
        'property',
    ),
}
"""Elements of URDF and of its common extensions without effect on the dynamics."""

URDF_UNKNOWN_ATTRIBUTE = {
    'origin': 'error',
    'axis': 'error',
    'constraint': 'error',
    'parent_origin': 'error',
    'child_origin': 'error',
    'parent_axis': 'error',
    'child_axis': 'error',
    'compliance': 'error',
    'mass': 'warning',
    'inertia': 'warning',
    'limit': 'warning',
    'dynamics': 'warning',
    'mimic': 'warning',
}
"""Reaction to an unknown attribute that resembles no known one; default: nothing."""

URDF_ATTRIBUTES_PASSED_OVER = {
    'limit': ('k_position', 'k_velocity', 'current', 'command_effort', 'gear_velocity'),
    'dynamics': ('D', 'K', 'mu_coulomb', 'mu_viscous', 'spring_reference', 'spring_stiffness'),
}
"""Attributes of common extensions of URDF."""
