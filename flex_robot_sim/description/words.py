"""
Vocabulary of `<flexibility>`: all elements and attributes that the reader accepts; see urdf_words.

The reader checks documents against these tables. `docs/description.md` lists them, so that the
page, the reader and the error messages agree.
"""

from flex_robot_sim.description.links import JointFriction
from flex_robot_sim.description.schema import REQUIRED, Attribute, Element, name, number, positive

MAX_SLIP_ELEMENTS = 4  # of a gear
MAX_STIFFNESSES = 3  # of a gear
MAX_HARMONICS = 4  # of the kinematic error of a gear, cogging and torque ripple
MAX_ENCODER_DELAY_S = 1.0
_VECTOR_ZERO = (0.0, 0.0, 0.0)


def _density(unit: str, sensor: str) -> Attribute:
    """Return the Attribute of the noise of a sensor."""
    return number(
        f'{unit}/sqrt(Hz)',
        0.0,
        f'density of the white noise of the {sensor}, one-sided; a sample has this times '
        'sqrt(rate / 2) as standard deviation',
        at_least=0.0,
    )


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


_AT = number(
    '',
    None,
    'where this section is, as a share of the length of the beam. Give several, from 0 to 1: '
    'values are linear in between, and two at one place are a step. Absent: a uniform beam',
    at_least=0.0,
    at_most=1.0,
)


_TWIST = number(
    'rad',
    None,
    'pretwist: turn of the section about the axis of the beam. It makes the link a spatial beam',
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
                'moving',
                'joints with `<mimic>` are `moving` in proportion to the joint that they mimic, '
                'or are `held` at their offset',
                choices=('moving', 'held'),
            )
        },
        ('link', 'joint', 'gravity', 'base', 'contact', 'ground', 'obstacle'),
    ),
    'gravity': Element(
        'gravity that acts on the robot unless a program chooses another one; at most once',
        {
            'xyz': Attribute(
                'vector',
                'm/s2',
                REQUIRED,
                'in the base frame, or in the world if the base is moved; `0 0 0` in orbit. '
                'Without this element: `0 0 -9.81`',
            )
        },
    ),
    'base': Element(
        'prescribes the motion of the base, as of a ship or a vehicle that carries the arm; '
        'at most once',
        {
            'motion': name(
                'CSV file with the columns time [s], x, y, z [m], roll, pitch and yaw [rad] of '
                'the root link in the world: path relative to the folder of the URDF, or '
                '`package://`; `topic`: at rest until the ROS topic `base_motion` moves it'
            )
        },
    ),
    'link': Element(
        'makes a link of the robot an elastic beam that starts at the link origin, or gives a '
        'rigid link its IMUs',
        {
            'name': name('the link'),
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
            'guide': Attribute(
                'name',
                '',
                None,
                'prismatic joint by which the link slides out of a guide; only the part beyond '
                'the `mouth` bends',
            ),
            'mouth': positive(
                'm',
                None,
                'end of the guide: its distance from the joint frame, along the axis of the joint',
            ),
            'twist_coupling': Attribute(
                'choice',
                '',
                None,
                '`on`: bending couples with twist, so that a straight beam can buckle sideways; '
                '`off`: it does not; absent: `on` if a segment has coordinates in both planes and '
                'in torsion, at most 24 in all, and one of EIy and EIz exceeds 4 times the other',
                choices=('on', 'off'),
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
            'strain_gauge',
            'imu',
            'axis',
            'reduced',
        ),
    ),
    'reduced': Element(
        'makes the link a reduced finite element model, from a file of `flexsim reduce`. Its '
        'child joints are at stations of the model',
        {
            'file': name('path from the folder of the URDF, or `package://`'),
            'modes': Attribute(
                'count',
                '',
                None,
                'number of coordinates, the slowest with the bodies beyond at its tip; absent: '
                'all of the file',
                at_least=1,
                at_most=100,
            ),
            'stiffness_scale': positive('', 1.0, 'factor of its stiffness'),
        },
    ),
    'axis': Element(
        'makes the link a spatial beam, whose axis may be curved. The sections follow the axis '
        'without turning about it, from the `y_axis` at the root on',
        {
            'points': Attribute(
                'points',
                'm',
                REQUIRED,
                'points of the axis in the link frame, joined by a cubic spline: from `0 0 0` to '
                'the `end` of the link',
            )
        },
    ),
    'section': Element(
        'stiffnesses of the cross-section; each flexible direction needs one',
        {
            'EIy': positive('N m2', None, 'bending stiffness about y: resists bending_z'),
            'EIz': positive('N m2', None, 'bending stiffness about z: resists bending_y'),
            'GJ': positive('N m2', None, 'torsional stiffness'),
            'EA': positive('N', None, 'stiffness against stretch'),
            'kGAy': positive('N', None, 'shear stiffness along y; absent: rigid in shear'),
            'kGAz': positive('N', None, 'shear stiffness along z; absent: rigid in shear'),
            'at': _AT,
            'mass_per_length': positive(
                'kg/m',
                None,
                'with `at`: distributes the mass of the <inertial> in this proportion; absent: '
                'evenly',
            ),
            'stiffness': Attribute(
                'matrix',
                'N, N m, N m2',
                None,
                'stiffness matrix of the section, instead of the attributes above: its upper '
                'triangle by rows, 21 numbers, or all 36. The order of rows is axial force, shear '
                'along y and z, torsion, bending about y and z, as of VABS',
            ),
            'mass': Attribute(
                'matrix',
                'kg/m, kg, kg m',
                None,
                'with `stiffness`: mass matrix of the section per length, in the same order and '
                'about the axis; absent: the mass of the <inertial>, evenly',
            ),
            'twist': _TWIST,
        },
    ),
    'rectangle': Element(
        'a solid rectangular section',
        {
            'width': positive('m', REQUIRED, "size along the section's y axis"),
            'height': positive('m', REQUIRED, "size along the section's z axis"),
            'at': _AT,
            'twist': _TWIST,
        },
    ),
    'tube': Element(
        'a round hollow section',
        {
            'outer': positive('m', REQUIRED, 'outer diameter'),
            'wall': positive('m', REQUIRED, 'wall thickness, below half the outer diameter'),
            'at': _AT,
        },
    ),
    'rod': Element(
        'a round solid section', {'diameter': positive('m', REQUIRED, 'diameter'), 'at': _AT}
    ),
    'material': Element(
        'material of `<rectangle>`, `<tube>` or `<rod>`',
        {
            'E': positive('Pa', REQUIRED, "Young's modulus"),
            'G': positive(
                'Pa', None, 'shear modulus; needed where the beam has coordinates of torsion'
            ),
            'density': positive('kg/m3', None, 'checks the mass in `<inertial>` to 1 %'),
            'shear_factor': number(
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
        'describes the deflection by assumed modes (the default). A plane in which the section '
        'varies or shears has 4 coordinates of bending by default, if `boundary` is static and '
        '`segments` is 1. The same applies to the weak plane where bending couples with twist; '
        'torsion then has 3, or 2 in each of several segments',
        {
            'bending_y': _coordinates('bending along y', 2, 'EIz'),
            'bending_z': _coordinates('bending along z', 2, 'EIy'),
            'torsion': _coordinates('torsion', 1, 'GJ'),
            'stretch': _coordinates('stretch', 0, 'EA'),
            'count': Attribute(
                'count',
                '',
                None,
                'elastic coordinates of a segment of a spatial beam, whose shapes combine all '
                'directions; absent: 8',
                at_least=1,
                at_most=30,
            ),
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
            'ratio': number(
                '',
                None,
                'fraction of critical damping of every mode of the arm at '
                'zero with its joints locked',
                at_least=0.0,
                below=1.0,
            ),
            'time_constant': number(
                's', None, 'Kelvin-Voigt: damping = time_constant * stiffness', at_least=0.0
            ),
        },
    ),
    'flex_sensor': Element(
        'measures the mean curvature between two stations of the beam',
        {
            'name': name('published as `<link>/<name>`'),
            'from': number('m', REQUIRED, 'first station, from the link origin', at_least=0.0),
            'to': number(
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
    'strain_gauge': Element(
        'measures the strain at a point of the surface of a reduced link, as a curvature: the '
        'strain over a distance',
        {
            'name': name('published as `<link>/<name>`'),
            'at': Attribute(
                'vector',
                'm',
                REQUIRED,
                'position in the link frame; the gauge is at the nearest point of the surface',
            ),
            'along': Attribute(
                'axis', '', REQUIRED, 'direction of the strain in the link frame, in the surface'
            ),
            'distance': number(
                'm',
                REQUIRED,
                'distance of the gauge from the neutral axis: the reading is strain / distance, '
                'a curvature; `1`: the reading is the strain; negative: the opposite sign',
            ),
        },
    ),
    'imu': Element(
        'accelerometer and gyroscope on a rigid or flexible link',
        {
            'name': name('published as `imu/<name>`; unique in the robot'),
            'xyz': Attribute('vector', 'm', _VECTOR_ZERO, 'position in the link frame'),
            'rpy': Attribute(
                'vector', 'rad', _VECTOR_ZERO, 'roll, pitch, yaw of its axes in the link frame'
            ),
            'rate': number(
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
            'accelerometer_range': positive(
                'm/s2', None, 'largest reading of an axis; absent: no limit'
            ),
            'gyroscope_range': positive(
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
            'name': name('the joint'),
            'type': Attribute(
                'choice',
                '',
                None,
                '`universal` or `spherical`, of a joint that is `fixed` in the URDF; `screw`, of '
                'one that is `revolute` or `continuous`: it also moves along its axis',
                choices=('universal', 'spherical', 'screw'),
            ),
            'pitch': number(
                'm',
                None,
                'of a screw joint: travel along its axis per turn, as `screw_thread_pitch` of '
                'SDF; negative: a left-handed thread',
            ),
            'lower': number(
                'rad or m',
                None,
                'of a universal or spherical joint, about each axis, or of a coordinate of a '
                'planar joint: smallest position',
            ),
            'upper': number(
                'rad or m',
                None,
                'of a universal or spherical joint, about each axis, or of a coordinate of a '
                'planar joint: largest position',
            ),
            'viscous_friction': number(
                'N m s/rad or N s/m',
                None,
                'of a universal or spherical joint, or of a coordinate of a planar joint: viscous '
                'friction',
                at_least=0.0,
            ),
            'coulomb_friction': number(
                'N m or N',
                None,
                'of a universal or spherical joint, or of a coordinate of a planar joint: dry '
                'friction in motion',
                at_least=0.0,
            ),
            'stiffness': Attribute(
                'numbers',
                'N m/rad or N/m',
                None,
                'stiffness between motor side and link side; absent: rigid. Up to three, with '
                '`at`: below the first torque, between the torques, and above the last one',
                above=0.0,
                at_most=MAX_STIFFNESSES,
            ),
            'at': Attribute(
                'numbers',
                'N m or N',
                (),
                'torques at which the stiffness changes, in both directions; ascending, one '
                'fewer than stiffnesses',
                above=0.0,
                at_most=MAX_STIFFNESSES - 1,
            ),
            'backlash': number(
                'rad or m',
                0.0,
                'total width of the dead zone of the gear: the range of the twist in which no '
                'force acts',
                at_least=0.0,
            ),
            'kinematic_error': Attribute(
                'harmonics',
                'rad, 1 and rad, or m, 1 and rad',
                (),
                'transmission error of the gear: `amplitude cycles phase`, up to four times. The '
                'link lags its motor by the sum of amplitude * sin(cycles * motor angle + phase)',
                above=0.0,
                at_most=MAX_HARMONICS,
            ),
            'cogging': Attribute(
                'harmonics',
                'N m, 1 and rad',
                (),
                'cogging torque at the motor shaft: `amplitude cycles phase`, up to four times, '
                'as in `kinematic_error`',
                above=0.0,
                at_most=MAX_HARMONICS,
            ),
            'torque_ripple': Attribute(
                'harmonics',
                '1, 1 and rad',
                (),
                'ripple of the motor torque, in proportion to the torque: `amplitude cycles '
                'phase`, up to four times. The factor of the effort is 1 + sum',
                above=0.0,
                at_most=MAX_HARMONICS,
            ),
            'damping': number(
                'N m s/rad or N s/m', 0.0, 'damping parallel to the stiffness', at_least=0.0
            ),
            'hysteresis': number(
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
            'rotor_inertia': number(
                'kg m2',
                0.0,
                'rotor inertia about the motor axis; must be above 0 if there is a stiffness',
                at_least=0.0,
            ),
            'gear_ratio': positive(
                '1 or rad/m',
                1.0,
                'ratio of motor speed to joint speed; the reflected inertia is '
                'rotor_inertia * gear_ratio^2',
            ),
            'static_friction': number(
                'N m or N',
                None,
                'dry friction at rest; default: the `friction` of <dynamics>, which '
                'is also its minimum',
                at_least=0.0,
            ),
            'stribeck_rate': positive(
                'rad/s or m/s',
                JointFriction().stribeck_rate,
                'speed over which the friction falls from static to Coulomb friction',
            ),
            'presliding': number(
                'rad or m',
                JointFriction().presliding,
                'displacement over which dry friction rises from zero to its full level; '
                '0: at once',
                at_least=0.0,
            ),
            'creep_rate': number(
                'rad/s or m/s',
                JointFriction().creep_rate,
                'speed at which dry friction reaches its full level; it grows with the speed up '
                'to there, so that the joint creeps under a small load; 0: the joint sticks',
                at_least=0.0,
            ),
            'spring_stiffness': number(
                'N m/rad or N/m',
                0.0,
                'stiffness of a spring across the joint, parallel to the motor',
                at_least=0.0,
            ),
            'spring_reference': number('rad or m', 0.0, 'rest position of this spring'),
        },
        ('encoder', 'dcmotor'),
    ),
    'dcmotor': Element(
        'electrical limits of the motor of a joint, at its shaft; names of the actuator '
        '`dcmotor` of MuJoCo. The effort is the torque that its current loop demands',
        {
            'motorconst': positive(
                'N m/A',
                REQUIRED,
                'torque constant, which in SI units is also the back-EMF constant; voltage / '
                'no-load speed in a data sheet',
            ),
            'resistance': positive(
                'Ohm',
                REQUIRED,
                'of the winding, between the terminals; motorconst * voltage / stall torque in a '
                'data sheet',
            ),
            'voltage': positive('V', REQUIRED, 'largest voltage of the drive'),
            'inductance': number(
                'H',
                0.0,
                'of the winding; 0: the current follows the voltage without delay',
                at_least=0.0,
            ),
            'current': positive(
                'A', None, 'largest current of the drive; absent: the voltage alone limits it'
            ),
        },
    ),
    'encoder': Element(
        'encoder of a joint; behind an elastic gear one on either side, in units of the joint',
        {
            'resolution': number(
                'rad or m', 0.0, 'step of the measured position; 0: no steps', at_least=0.0
            ),
            'noise': number('rad or m', 0.0, 'standard deviation of each sample', at_least=0.0),
            'delay': number(
                's', 0.0, 'age of the measured position', at_least=0.0, at_most=MAX_ENCODER_DELAY_S
            ),
        },
    ),
    'contact': Element(
        'lets a link touch the ground and the obstacles, or another link. Its shapes are those of '
        'its `<collision>`: spheres, capsules, boxes by their corners, cylinders as capsules',
        {
            'name': name('the contact in results and topics'),
            'link': name('the link'),
            'with': Attribute(
                'name', '', 'world', '`world`: the ground and all obstacles; or another link'
            ),
            'friction': number(
                '',
                None,
                'coefficient of Coulomb friction; absent: that of the ground or the obstacle',
                at_least=0.0,
            ),
            'stiffness': positive(
                'N/m',
                None,
                'force over penetration; absent: 40 Hz with the mass that the point moves',
            ),
            'damping': number(
                'N s/m',
                None,
                'at a penetration of 1 mm and more, in proportion to the spring force below it; '
                'absent: critical for this mass, or 0 with a `stiffness`',
                at_least=0.0,
            ),
        },
    ),
    'ground': Element(
        'a horizontal plane, which points of a `<contact>` touch from above',
        {
            'height': number('m', 0.0, 'along z of the root link'),
            'friction': number('', 0.0, 'coefficient of Coulomb friction', at_least=0.0),
        },
    ),
    'obstacle': Element(
        'a box, cylinder, sphere or capsule that is fixed to the root link: a `<geometry>` of '
        'URDF with an `<origin>`',
        {
            'name': name('the obstacle'),
            'friction': number('', 0.0, 'coefficient of Coulomb friction', at_least=0.0),
        },
        ('origin', 'geometry'),
    ),
}
