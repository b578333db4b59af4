"""A robot whose URDF has no visuals is drawn as sticks between its joints."""

import numpy as np
import pytest
from lxml import etree
from project_files import ROOT
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.display.description import display_description
from flex_robot_sim.util.share import shipped_robots


def numbers(element, name):
    return np.array([float(word) for word in element.get(name, '0 0 0').split()])


@pytest.mark.parametrize('name', ['ur5e', 'fr3', 'gen3', 'lbr_iiwa14', 'ur20'])
def test_sticks_reach_from_each_joint_to_the_next(name):
    path = ROOT / 'test/data/robots' / f'{name}.urdf'
    given = etree.parse(path).getroot()
    ways: dict = {}
    for joint in given.findall('joint'):
        origin = joint.find('origin')
        way = np.zeros(3) if origin is None else numbers(origin, 'xyz')
        if np.linalg.norm(way) > 1e-3:
            ways.setdefault(joint.find('parent').get('link'), []).append(way)
    drawn = etree.fromstring(display_description(frs.load(str(path))).encode())
    for link in drawn.findall('link'):
        ends = []
        for visual in link.findall('visual'):
            shape = visual.find('geometry/cylinder')
            if shape is None:
                continue
            centre, rpy = (numbers(visual.find('origin'), key) for key in ('xyz', 'rpy'))
            axis = Rotation.from_euler('xyz', rpy).as_matrix()[:, 2]
            half = 0.5 * float(shape.get('length')) * axis
            np.testing.assert_allclose(centre - half, 0.0, atol=1e-12)
            ends.append(centre + half)
        np.testing.assert_allclose(
            np.reshape(ends, (-1, 3)),
            np.reshape(ways.get(link.get('name'), []), (-1, 3)),
            atol=1e-12,
        )


def test_a_robot_with_visuals_gets_no_sticks():
    for name, path in shipped_robots().items():
        count = path.read_text('utf-8').count('<visual')
        assert count and display_description(frs.load(name)).count('<visual') <= count
