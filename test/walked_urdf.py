"""Independent kinematics of a URDF: another parser, and joint by joint."""

from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation


def matrix(pose):
    """Matrix (4, 4) of a position and a quaternion x y z w, (7,)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_quat(pose[3:]).as_matrix(), pose[:3]
    return T


def poses(text, positions):
    """
    Return {link: (4, 4)} of a URDF, computed joint by joint.

    :param positions: by joint [rad, m]; of a floating one, the pose (7,) of its child link.
    """
    root = ElementTree.fromstring(text)
    joints = {element.find('child').get('link'): element for element in root.findall('joint')}
    found: dict = {}

    def numbers(element, key, default):
        text = default if element is None else element.get(key, default)
        return np.array([float(word) for word in text.split()])

    def pose(name):
        if name in found:
            return found[name]
        T = np.eye(4)
        if name in joints:
            element = joints[name]
            origin = element.find('origin')
            T[:3, :3] = Rotation.from_euler('xyz', numbers(origin, 'rpy', '0 0 0')).as_matrix()
            T[:3, 3] = numbers(origin, 'xyz', '0 0 0')
            motion, kind = np.eye(4), element.get('type')
            if kind == 'floating':
                T = matrix(positions[element.get('name')])
            elif kind != 'fixed':
                axis = numbers(element.find('axis'), 'xyz', '1 0 0')
                along = positions[element.get('name')] * axis / np.linalg.norm(axis)
                if kind == 'prismatic':
                    motion[:3, 3] = along
                else:
                    motion[:3, :3] = Rotation.from_rotvec(along).as_matrix()
            T = pose(element.find('parent').get('link')) @ T @ motion
        found[name] = T
        return T

    return {element.get('name'): pose(element.get('name')) for element in root.findall('link')}
