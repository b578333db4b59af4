"""Joint types of URDF, and the properties by which they differ."""

from typing import NamedTuple


class JointType(NamedTuple):
    """Motion of the child link along the axis of the joint."""

    rotates: bool
    translates: bool
    needs_limit: bool  # in a URDF
    unit: str = ''  # of the position; velocities are per second
    effort_unit: str = ''


JOINT_TYPES = {
    'revolute': JointType(True, False, True, 'rad', 'N m'),
    'continuous': JointType(True, False, False, 'rad', 'N m'),
    'prismatic': JointType(False, True, True, 'm', 'N'),
    'fixed': JointType(False, False, False),
    'floating': JointType(False, False, False),
    'planar': JointType(False, False, False),
}
# components of the twist (angular, linear) of a free base, in axes with z along that of the joint
FREE_COMPONENTS = {'floating': (0, 1, 2, 3, 4, 5), 'planar': (2, 3, 4)}
