"""IMUs have frames in the display description, where fixed links in their place would be."""

import numpy as np
import pytest
from random_arms import random_state
from scipy.spatial.transform import Rotation
from sensor_robots import add_imus, with_sensors
from walked_urdf import poses

from flex_robot_sim import Simulation, load
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow


def displayed(arm, q):
    """Return the frames of the display description at coordinates."""
    display = DisplayJoints(arm)
    return poses(display_description(arm), dict(zip(display.names, display.positions(q))))


@pytest.mark.parametrize('name', ['two_link', 'rcm'])
def test_frames_of_imus_on_rigid_links_are_those_of_fixed_links(name):
    text = shipped_robots()[name].read_text('utf-8')
    # the same random poses: once as elements <imu>, once as fixed links
    arm = load(add_imus(text, np.random.default_rng(3)))
    other = load(add_imus(text, np.random.default_rng(3), as_links=True))
    q = random_state(arm, 1)[0]
    simulation = Simulation(other)
    simulation.set_state(q=q)
    found = displayed(arm, q)
    rigid = [link.name for link in arm.description.links if link.beam is None]
    assert rigid
    for link in rigid:
        np.testing.assert_allclose(found[f'imu_{link}'], simulation.pose(f'imu_{link}'), atol=1e-9)


def test_an_imu_at_the_end_of_a_beam_has_a_frame_and_one_in_the_middle_has_none():
    xyz, rpy = np.array([0.45, 0.01, 0.02]), np.array([0.3, -0.2, 1.1])
    pose = f'xyz="{" ".join(map(str, xyz))}" rpy="{" ".join(map(str, rpy))}"'
    imus = f'<imu name="end" {pose}/><imu name="middle" xyz="0.2 0 0"/>'
    arm = load(with_sensors(shipped_robots()['two_link'].read_text('utf-8'), {'forearm': imus}))
    q = random_state(arm, 2)[0]
    simulation = Simulation(arm)
    simulation.set_state(q=q)
    found = displayed(arm, q)
    assert 'middle' not in found
    offset = np.eye(4)
    offset[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    offset[:3, 3] = xyz - [0.45, 0.0, 0.0]
    # the payload is fixed to the end of the forearm
    np.testing.assert_allclose(found['end'], simulation.pose('payload') @ offset, atol=1e-9)
