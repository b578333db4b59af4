"""The left leg of the robot Cassie of the wheel example-robot-data, with its two closed loops."""

from xml.etree import ElementTree

import numpy as np
from public_robots import public_robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

MOTORS = 'roll-op', 'yaw-op', 'pitch-op', 'knee-op', 'tarsus-crank-joint'
SPRINGS = 'knee-shin-joint', 'tarsus-spring-joint'  # held at rest
FILE = 'cassie_description/robots/cassie_v2.sdf'


def cassie_leg():
    """
    Return the leg, hung from a fixed pelvis.

    The file closes its loops by two joints of type "ball". The rod to the heel hangs on it by a
    hinge there, and by a universal joint here: the hinge of the file is 0.1 rad askew.
    """
    model = ElementTree.parse(public_robot(FILE)).getroot().find('model')
    links = {one.get('name'): one for one in model.iterfind('link')}
    joints = {
        one.get('name').removeprefix('left-'): one
        for one in model.iterfind('joint')
        if one.get('name').startswith('left-')
    }
    builder = frs.ArmBuilder('cassie_leg', base='pelvis')
    frames = {'pelvis': _pose(links['pelvis'])}  # of our links, in the world

    def place(name, link):
        """Pose of a joint in a link of ours."""
        child = links[joints[name].find('child').text]
        return np.linalg.inv(frames[link]) @ _pose(child) @ _pose(joints[name])

    def hang(name, parent, child, **options):
        T = place(name, parent)
        frames[child] = frames[parent] @ T
        inner = np.linalg.inv(frames[child]) @ _pose(links[child])
        inertial = links[child].find('inertial')
        inner = inner @ _pose(inertial)
        values = {one.tag: float(one.text) for one in inertial.find('inertia')}
        matrix = [[values['i' + ''.join(sorted(a + b))] for a in 'xyz'] for b in 'xyz']
        builder.add_rigid(
            child,
            mass=float(inertial.find('mass').text),
            centre=inner[:3, 3],
            rpy=_rpy(inner),
            inertia=np.array(matrix),
        )
        kind = 'fixed' if name in SPRINGS else 'continuous'
        if name == 'achilles-spring-joint':
            builder.add_rigid('achilles-frame')
            builder.add_joint(
                'achilles-tilt', parent=parent, child='achilles-frame', axis='y', effort=0.0,
                xyz=T[:3, 3], rpy=_rpy(T),
            )  # fmt: skip
            builder.add_joint(name, parent='achilles-frame', child=child, axis='z', effort=0.0)
            return
        if kind != 'fixed':
            axis = [float(x) for x in joints[name].find('axis/xyz').text.split()]
            options = {'axis': axis, **({} if name in MOTORS else {'effort': 0.0})}
        builder.add_joint(
            name, parent=parent, child=child, type=kind, xyz=T[:3, 3], rpy=_rpy(T), **options
        )

    for name, joint in joints.items():
        if joint.get('type') == 'revolute':
            hang(name, joint.find('parent').text, joint.find('child').text)
    for name, joint in joints.items():
        if joint.get('type') == 'ball':
            one, other = joint.find('parent').text, joint.find('child').text
            builder.add_constraint(
                name,
                type='spherical',
                parent=one,
                child=other,
                parent_xyz=place(name, one)[:3, 3],
                child_xyz=place(name, other)[:3, 3],
            )
    return builder.build()


def _pose(element):
    """Pose (4, 4) of the element <pose> in another one; the identity without."""
    T, pose = np.eye(4), element.find('pose')
    if pose is not None:
        values = np.array([float(x) for x in pose.text.split()])
        T[:3, 3], T[:3, :3] = values[:3], Rotation.from_euler('xyz', values[3:]).as_matrix()
    return T


def _rpy(T):
    return Rotation.from_matrix(T[:3, :3]).as_euler('xyz')
