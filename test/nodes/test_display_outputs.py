"""The picture for rviz: what is locked to what, and what a new listener or a reset finds."""

from types import SimpleNamespace

import numpy as np
import pytest
from contact_arms import pressing_beam, slider
from moved_bases import write_ship
from random_arms import random_state
from rclpy.serialization import deserialize_message
from reduced_bar import write_bar
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker

import flex_robot_sim as frs
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.reduced_surface import link_surfaces
from flex_robot_sim.nodes.display_outputs import DisplayOutputs
from flex_robot_sim.nodes.settings import OutputSettings


class FakePublisher:
    """Keeps the newest message."""

    def __init__(self):
        self.listeners, self.message = 1, None

    def get_subscription_count(self):
        """How many listen."""
        return self.listeners

    def publish(self, message):
        """Keep a message."""
        self.message = message


class Picture:
    """DisplayOutputs without a node; a timer that is called by hand."""

    def __init__(self, name='two_link', settings=None):
        self.arm = frs.load(name)
        self.publishers: dict = {}
        node = SimpleNamespace(
            create_publisher=lambda kind, topic, qos: self.publishers.setdefault(
                topic, FakePublisher()
            ),
            create_timer=self._timer,
            get_logger=lambda: SimpleNamespace(info=print),
        )
        tool = self.arm.description.links[-1].name
        self.outputs = DisplayOutputs(node, self.arm, tool, settings or OutputSettings())
        self.bending = self.publishers['bending_markers']

    def _timer(self, period, function, clock):
        self.draw = function
        return SimpleNamespace()

    def show(self, q, life=0, stamp=5, **more):
        """Return the markers of these coordinates."""
        self.outputs.show(stamp, q, life, **more)
        self.draw()
        return self.bending.message.markers


def pieces(markers):
    return [marker for marker in markers if marker.type in (Marker.CUBE, Marker.CYLINDER)]


def path(markers):
    return next(marker for marker in markers if marker.ns == 'tool path')


def at(arm, number):
    return np.full(arm.size, 0.05 * number)


@pytest.mark.parametrize('name', ['two_link', 'canadarm2', 'rig'])
def test_each_piece_is_locked_to_its_link_and_lies_where_the_link_bends(name):
    picture = Picture(name)
    simulation = frs.Simulation(picture.arm)
    q, _ = random_state(picture.arm, 3, bend=0.02)
    simulation.set_state(q=q)
    found = pieces(picture.show(q))
    assert {marker.header.frame_id for marker in found} == {*picture.arm.segments}
    for link in picture.arm.segments:
        own = [marker for marker in found if marker.header.frame_id == link]
        assert all(marker.frame_locked and marker.ns == link for marker in own)
        # the last piece ends at the tip
        last, T = own[-1], simulation.pose(link)
        turn, place = last.pose.orientation, last.pose.position
        R = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix()
        axis, length = (
            (R[:, 2], last.scale.z) if last.type == Marker.CYLINDER else (R[:, 0], last.scale.x)
        )
        end = np.array([place.x, place.y, place.z]) + axis * length / 2
        np.testing.assert_allclose(
            T[:3, :3] @ end + T[:3, 3], simulation.pose(link, station='tip')[:3, 3], atol=1e-12
        )


def test_a_new_subscriber_first_deletes_the_markers_of_other_publishers():
    picture = Picture(settings=OutputSettings(display_rate=10.0))
    q = np.zeros(picture.arm.size)

    def sweeps():
        markers = picture.show(q)
        found = [marker.action == Marker.DELETEALL for marker in markers]
        assert not any(found[1:])
        return found[0]

    assert [sweeps() for _ in range(12)] == 10 * [True] + 2 * [False]  # for a second
    picture.bending.listeners = 2
    assert sweeps()
    for _ in range(10):
        sweeps()
    picture.bending.listeners = 1  # one that leaves
    assert not sweeps()
    picture.bending.listeners = 0
    picture.bending.message = None
    picture.draw()
    assert picture.bending.message is None
    picture.bending.listeners = 1
    assert sweeps()


def test_a_path_of_one_point_is_not_sent():
    picture = Picture()
    first = path(picture.show(at(picture.arm, 0)))
    assert first.action == Marker.DELETE and len(first.points) == 1
    again = path(picture.show(at(picture.arm, 0)))  # at rest
    assert again.action == Marker.DELETE
    moved = path(picture.show(at(picture.arm, 1)))
    assert moved.action == Marker.ADD and len(moved.points) == 2


def test_a_reset_begins_a_new_path():
    picture = Picture()
    for number in range(5):
        markers = picture.show(at(picture.arm, number))
    assert len(path(markers).points) == 5
    after = path(picture.show(at(picture.arm, 0), life=1))
    assert after.action == Marker.DELETE and len(after.points) == 1
    assert len(path(picture.show(at(picture.arm, 1), life=1)).points) == 2


@pytest.mark.parametrize('name', ['rig', 'spin_up_8m', 'canadarm2'])
def test_a_path_is_as_wide_as_the_arm_is_large(name):
    picture = Picture(name)
    size = reach(picture.arm.description)
    # from as far as the whole arm is seen, a picture of 900 lines shows a line of one to three
    lines = (
        900 * path(picture.show(at(picture.arm, 0))).scale.x / (2 * np.tan(np.pi / 8) * 1.7 * size)
    )
    assert 1.0 < lines < 3.0


def test_joints_of_the_picture_have_the_stamp_of_the_state():
    picture = Picture()
    picture.show(at(picture.arm, 1), stamp=7_000_000_009)
    state = deserialize_message(picture.publishers['display_joint_states'].message, JointState)
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (7, 9)
    assert all(
        marker.header.stamp == state.header.stamp for marker in picture.bending.message.markers
    )


@pytest.mark.parametrize('name', ['delta', 'two_link'])
def test_each_distance_is_a_line_between_its_links(name):
    picture = Picture(name)
    simulation = frs.Simulation(picture.arm)
    markers = picture.show(simulation.q)
    lines = {one.ns: one for one in markers if one.type == Marker.LINE_STRIP}
    del lines['tool path']
    constraints = picture.arm.description.constraints
    assert [*lines] == [one.name for one in constraints]
    for one in constraints:
        T, marker = simulation.pose(one.parent), lines[one.name]
        assert marker.header.frame_id == one.parent and marker.frame_locked
        ends = [T @ (point.x, point.y, point.z, 1.0) for point in marker.points]
        child = simulation.pose(one.child) @ (*one.child_position, 1.0)
        assert ends[0] == pytest.approx(T @ (*one.parent_position, 1.0), abs=1e-12)
        assert ends[1] == pytest.approx(child, abs=1e-12)


def test_a_reduced_link_is_one_marker_of_coloured_triangles(tmp_path):
    picture = Picture(write_bar(tmp_path))
    arm = picture.arm
    (surface,) = link_surfaces(arm)
    q = np.zeros(arm.size)
    q[arm.elastic_q.start] = 0.05
    for _ in range(60):
        markers = picture.show(q)
    (marker,) = (one for one in markers if one.type == Marker.TRIANGLE_LIST)
    assert (marker.ns, marker.header.frame_id, marker.frame_locked) == ('arm', 'arm', True)
    points = np.array([[point.x, point.y, point.z] for point in marker.points])
    assert points == pytest.approx(surface.deformed(q)[surface.triangles].reshape(-1, 3))
    assert len(marker.colors) == len(points) and not pieces(markers)
    assert len({(colour.r, colour.g, colour.b) for colour in marker.colors}) > 3


def test_contacts_are_markers_locked_to_the_frames_of_what_touches(tmp_path):
    path = tmp_path / 'ball.urdf'
    box = '<obstacle name="bench"><geometry><box size="1 2 3"/></geometry></obstacle>'
    path.write_text(slider('friction="0.4"', world=f'<ground height="-0.1"/>{box}'))
    picture = Picture(str(path))
    simulation = frs.Simulation(picture.arm)
    simulation.set_state(q=[2.0, 0.0], v=[1.0, 0.0])
    simulation.step(20)
    contact = simulation.contact('tool')
    assert contact.normal_force > 1.0
    drawn = picture.show(simulation.q, contact_wrenches={'tool': contact.wrench})
    markers = {(one.ns, one.id): one for one in drawn}
    ground, bench = (markers['contact surfaces', k] for k in range(2))
    ball, arrow = markers['contact shapes', 0], markers['contact forces', 0]
    assert [one.type for one in (ground, bench, ball, arrow)] == [
        Marker.CUBE,
        Marker.CUBE,
        Marker.SPHERE,
        Marker.ARROW,
    ]
    assert [one.header.frame_id for one in (ground, bench, ball, arrow)] == [
        'base',
        'base',
        'ball',
        'ball',
    ]
    assert all(one.frame_locked and one.action == Marker.ADD for one in (ground, bench, arrow))
    assert (bench.scale.x, bench.scale.y, bench.scale.z) == (1.0, 2.0, 3.0)
    assert 0.0 < ground.color.a < 0.5  # the arm below it stays visible
    T = simulation.pose('ball')
    foot, head = (T @ (point.x, point.y, point.z, 1.0) for point in arrow.points)
    assert foot[:3] == pytest.approx(contact.point, abs=1e-9)
    along = (head - foot)[:3] / np.linalg.norm(head - foot)
    assert along == pytest.approx(contact.force / np.linalg.norm(contact.force), abs=1e-9)
    # without a force there is no arrow
    markers = {(one.ns, one.id): one for one in picture.show(simulation.q)}
    assert markers['contact forces', 0].action == Marker.DELETE


def test_the_ground_of_a_ship_stays_in_the_world(tmp_path):
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 20.0, 201))
    path, base = tmp_path / 'ball.urdf', '<flexibility><base motion="ship.csv"/>'
    path.write_text(slider().replace('<flexibility>', base))
    picture = Picture(str(path))
    pose = np.array([0.3, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0])
    ground = [
        one for one in picture.show(at(picture.arm, 1), base_pose=pose) if 'surfaces' in one.ns
    ]
    assert [one.header.frame_id for one in ground] == ['world']


def test_a_shape_of_a_flexible_link_moves_with_its_section(tmp_path):
    path, radius = tmp_path / 'beam.urdf', 0.02
    ball = (
        '<collision><origin xyz="0.4 0.03 0.01"/><geometry><sphere radius="0.02"/></geometry>'
        '</collision></link><joint name="flange"'
    )
    text = pressing_beam(height=-0.1).replace('</link>\n<joint name="flange"', ball)
    path.write_text(text.replace('name="tool" link="ball"', 'name="tool" link="beam"'))
    picture = Picture(str(path))
    simulation = frs.Simulation(picture.arm)
    q = np.zeros(picture.arm.size)
    q[picture.arm.elastic_q] = 0.02
    simulation.set_state(q=q)
    (marker,) = (one for one in picture.show(q) if one.ns == 'contact shapes')
    place = marker.pose.position
    centre = simulation.pose(marker.header.frame_id) @ (place.x, place.y, place.z, 1.0)
    gap = centre[2] - radius + 0.12
    assert gap == pytest.approx(simulation.contact('tool').gap, abs=1e-12)
    assert abs(centre[2] - 0.01) > 1e-3  # it is bent
