"""Contact forces of the dynamics node over DDS, and in recordings."""

import numpy as np
import pytest
from contact_arms import pressing_beam
from geometry_msgs.msg import WrenchStamped

import flex_robot_sim as frs


def test_the_node_publishes_the_force_of_a_pressing_beam(start, observer, tmp_path):
    path = tmp_path / 'press.urdf'
    path.write_text(pressing_beam('stiffness="1e4" damping="20"'), 'utf-8')
    sim = frs.Simulation(frs.load(path))
    sim.advance_to(3.0)
    expected = sim.contact('tool').wrench
    start('dynamics', robot=str(path))
    message = observer.hear(
        WrenchStamped,
        'contacts/tool',
        lambda message: abs(message.wrench.force.z - expected[5]) < 1e-6 * expected[5],
    )
    assert message.header.frame_id == 'ball'
    found = message.wrench
    assert [found.force.x, found.force.y] == pytest.approx(expected[3:5], abs=1e-6)
    moment = [found.torque.x, found.torque.y, found.torque.z]
    assert np.abs(moment - expected[:3]).max() < 1e-6
