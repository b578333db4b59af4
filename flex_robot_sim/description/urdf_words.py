"""
Vocabulary of a URDF: all elements and attributes that the reader accepts; see words.py.

The reader also passes over what only other programs use.
"""

from flex_robot_sim.description.joint_types import JOINT_TYPES
from flex_robot_sim.description.schema import REQUIRED, Attribute, Element, name, number, positive

CONSTRAINT_TYPES = ('fixed', 'revolute', 'spherical', 'universal', 'prismatic', 'distance')
_VECTOR_ZERO = (0.0, 0.0, 0.0)


def _moment(axis):
    return number(
        'kg m2',
        REQUIRED,
        f'moment of inertia about {axis}, through the centre of '
        "mass, in the axes of the inertial's origin",
    )


def _product(axes):
    return number(
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
        'one body', {'name': name('name of the link in joints and topics')}, ('inertial',)
    ),
    'inertial': Element(
        'mass, centre of mass and inertia; of a flexible link: of the whole undeformed link',
        {},
        ('origin', 'mass', 'inertia'),
    ),
    'mass': Element('the mass of the link', {'value': number('kg', REQUIRED, 'mass of the link')}),
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
            'name': name('name of the joint in commands and states'),
            'type': Attribute(
                'choice',
                '',
                REQUIRED,
                '`revolute`, `continuous`, `prismatic`, `planar`, `fixed`; at the root `floating`',
                choices=tuple(JOINT_TYPES),
            ),
        },
        ('origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic'),
    ),
    'parent': Element('the link before the joint', {'link': name('parent link')}),
    'child': Element('the link after the joint', {'link': name('child link')}),
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
            'lower': number('rad or m', 0.0, 'smallest position'),
            'upper': number('rad or m', 0.0, 'largest position'),
            'effort': number(
                'N m or N', None, 'largest effort of the motor; below 0, or 1e30: no limit'
            ),
            'velocity': number('rad/s or m/s', None, 'largest speed; below 0, or 1e30: no limit'),
            'acceleration': number(
                'rad/s2 or m/s2', None, 'largest acceleration; below 0, or 1e30: no limit'
            ),
            'deceleration': number(
                'rad/s2 or m/s2', None, 'largest deceleration; without it, that of `acceleration`'
            ),
            'jerk': number('rad/s3 or m/s3', None, 'largest jerk; below 0, or 1e30: no limit'),
        },
    ),
    'dynamics': Element(
        'friction of the joint',
        {
            'damping': number('N m s/rad or N s/m', 0.0, 'viscous friction', at_least=0.0),
            'friction': number('N m or N', 0.0, 'Coulomb friction', at_least=0.0),
        },
    ),
    'mimic': Element(
        'position = multiplier * position of the other joint + offset; with `mimic="held"` in '
        '`<flexibility>` the joint is held at `offset`',
        {
            'joint': name('joint to follow'),
            'multiplier': number('', 1.0, 'ratio of its position to that of the other joint'),
            'offset': number('rad or m', 0.0, 'position where the other joint is at zero'),
        },
    ),
    'geometry': Element(
        'the shape of a `<collision>` or of an `<obstacle>`; read for a `<contact>` only',
        {},
        ('box', 'cylinder', 'sphere', 'capsule', 'mesh'),
    ),
    'box': Element(
        'a box', {'size': Attribute('vector', 'm', REQUIRED, 'edge lengths along x, y and z')}
    ),
    'cylinder': Element(
        'a cylinder along z',
        {'radius': positive('m', REQUIRED, 'radius'), 'length': positive('m', REQUIRED, 'length')},
    ),
    'sphere': Element('a sphere', {'radius': positive('m', REQUIRED, 'radius')}),
    'capsule': Element(
        'a cylinder along z with a half sphere on both ends',
        {
            'radius': positive('m', REQUIRED, 'radius'),
            'length': positive('m', REQUIRED, 'length of the cylinder'),
        },
    ),
    'constraint': Element(
        'closes a loop: a connection of two links in addition to the joints; other tools ignore '
        'it',
        {
            'name': name('name of the constraint in messages and results'),
            'type': Attribute(
                'choice',
                '',
                REQUIRED,
                '`fixed`, `revolute`, `spherical`, `universal`, `prismatic` or `distance`',
                choices=CONSTRAINT_TYPES,
            ),
            'length': positive(
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
            'stiffness': positive('N/m', None, 'in translation; absent: rigid'),
            'damping': number('N s/m', 0.0, 'parallel to stiffness', at_least=0.0),
            'rotational_stiffness': positive('N m/rad', None, 'in rotation; absent: rigid'),
            'rotational_damping': number(
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
