"""Contact forces of the dynamics node over DDS, and in recordings."""

import numpy as np
import pytest
from contact_arms import pressing_beam, slider
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

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


TURNED = '<child link="ball"/><origin rpy="1.5707963267948966 0 0"/><axis xyz="0 1 0"/>'
WEIGHT = 2.0 * 9.81  # of the ball, whose y axis points up                              [N]


def arrow_of(message):
    """Arrow of the force among the markers of a message."""
    return next(one for one in message.markers if one.ns == 'contact forces')


def test_lifting_a_ball_ends_the_force_and_its_arrows(start, observer, tmp_path):
    pytest.importorskip('viser')
    from page_client import PageClient

    path = tmp_path / 'ball.urdf'
    text = slider('damping="200"', '<ground height="-0.1"/>')
    path.write_text(text.replace('<child link="ball"/><axis xyz="0 0 1"/>', TURNED), 'utf-8')
    start('dynamics', robot=str(path), publish_clock='true')
    view = start('view', robot=str(path), view_rate=10.0, view_browser='false')
    forces = observer.listen(WrenchStamped, 'contacts/tool')
    states = observer.listen(JointState, 'joint_states', 1000)
    drawn = observer.listen(MarkerArray, 'bending_markers')
    page = PageClient(view.wait_for_line('/?token=').split()[-1])
    name = '/contact/force 0'

    def force():
        return forces[-1].wrench.force.y if forces else 0.0

    observer.spin_until(lambda: abs(force() - WEIGHT) < 1e-3 * WEIGHT)
    resting = forces[-1]
    assert resting.header.frame_id == 'ball'  # the ground pushes the ball up, in its axes
    assert abs(resting.wrench.force.x) < 1e-6 and abs(resting.wrench.force.z) < 1e-6
    observer.spin_until(lambda: drawn and arrow_of(drawn[-1]).action == Marker.ADD)
    arrow = arrow_of(drawn[-1])
    assert arrow.header.frame_id == 'ball'
    foot, head = arrow.points
    assert head.y > foot.y == pytest.approx(-0.1, abs=2e-3)  # of the point of contact
    assert page.hear(lambda: page.visible.get(name) is True)
    send = observer.publisher(JointState, 'joint_commands')

    def is_lifted():
        send.publish(JointState(name=['x', 'z'], effort=[0.0, 2.0 * WEIGHT]))
        return force() == 0.0 and arrow_of(drawn[-1]).action == Marker.DELETE

    observer.spin_until(is_lifted)
    observer.spin_until(lambda: is_lifted() and page.hear(lambda: not page.visible[name], 0.2))
    # without commands the ball falls down again
    observer.spin_until(lambda: abs(force() - WEIGHT) < 0.1 * WEIGHT)
    observer.spin_until(lambda: arrow_of(drawn[-1]).action == Marker.ADD)
    assert page.hear(lambda: page.visible[name])
    page.close()
    # each force belongs to the state with its stamp: none if the ball was above the ground
    # all through the step of 1 ms, whose mean force is published
    states_at = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in states}
    pairs = [
        (states_at[key], m.wrench.force.y)
        for m in forces
        if (key := (m.header.stamp.sec, m.header.stamp.nanosec)) in states_at
    ]
    assert len(pairs) > 50
    above = {
        push for state, push in pairs if state.position[1] > 1e-6 + 2e-3 * abs(state.velocity[1])
    }
    assert above == {0.0}
