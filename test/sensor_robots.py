"""Robots with sensors, made from other robots."""

from xml.etree import ElementTree

import numpy as np


def add_imus(text, rng, as_links=False):
    """
    Return a robot with an IMU in a random pose on every link.

    :param as_links: add fixed links `imu_LINK` with these poses instead.
    """
    robot = ElementTree.fromstring(text)
    flexibility = robot.find('flexibility')
    if flexibility is None:
        flexibility = ElementTree.SubElement(robot, 'flexibility')
    beams = {link.get('name'): link for link in flexibility.findall('link')}
    for link in robot.findall('link'):
        name = link.get('name')
        xyz = rng.uniform(-0.1, 0.1, 3)
        if name in beams:  # off the axis of its beam
            end = np.array(beams[name].get('end').split(), float)
            xyz -= xyz @ end / (end @ end) * end
            xyz += rng.choice([0.0, 0.37, 0.5, 1.0]) * end
        pose = {
            'xyz': ' '.join(map(repr, xyz.tolist())),
            'rpy': ' '.join(map(repr, rng.uniform(-3.0, 3.0, 3).tolist())),
        }
        if as_links:
            ElementTree.SubElement(robot, 'link', name=f'imu_{name}')
            joint = ElementTree.SubElement(robot, 'joint', name=f'to_imu_{name}', type='fixed')
            ElementTree.SubElement(joint, 'parent', link=name)
            ElementTree.SubElement(joint, 'child', link=f'imu_{name}')
            ElementTree.SubElement(joint, 'origin', pose)
        else:
            if name not in beams:
                beams[name] = ElementTree.SubElement(flexibility, 'link', name=name)
            ElementTree.SubElement(beams[name], 'imu', name=f'imu_{name}', **pose)
    return ElementTree.tostring(robot, 'unicode')


def with_sensors(text, links=None, joints=None):
    """Return a robot with more elements in <flexibility>: texts by link and by joint."""
    robot = ElementTree.fromstring(text)
    flexibility = robot.find('flexibility')
    if flexibility is None:
        flexibility = ElementTree.SubElement(robot, 'flexibility')
    for tag, parts in (('link', links or {}), ('joint', joints or {})):
        found = {element.get('name'): element for element in flexibility.findall(tag)}
        for name, inside in parts.items():
            if name not in found:
                found[name] = ElementTree.SubElement(flexibility, tag, name=name)
            found[name].extend(ElementTree.fromstring(f'<x>{inside}</x>'))
    return ElementTree.tostring(robot, 'unicode')
