"""Scene of a page, without a browser: poses, enlargement, modes, motions, meshes."""

import socket
import sys
from contextlib import ExitStack, closing
from unittest.mock import MagicMock

import numpy as np
import pytest
from arms import flexible_arm
from mesh_reader import needs_meshes
from project_files import ROOT
from random_arms import every_feature, random_robot, random_state
from reduced_bar import write_bar
from refusals import refusal
from waiting import eventually
from walked_urdf import poses

from flex_robot_sim import Simulation, load
from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.description import read_text
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.reduced_surface import link_surfaces
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError, UsageError
from flex_robot_sim.viewer import missing
from flex_robot_sim.viewer.arm_picture import DeflectionScaler
from flex_robot_sim.viewer.joint_sliders import ranges
from flex_robot_sim.viewer.live_arm import FollowedTargets, Live, swing_poses
from flex_robot_sim.viewer.mode_motion import MODE_AMPLITUDE, ModeMotion
from flex_robot_sim.viewer.solids import Attachments, solids
from flex_robot_sim.viewer.stage import ArmStage

pytestmark = pytest.mark.slow

ROBOTS = {
    'two_link': 'two_link',
    'canadarm2': 'canadarm2',
    'every_feature': every_feature(),
    **{f'random_{seed}': random_robot(seed, links=6) for seed in range(4)},
}


@pytest.mark.parametrize('name', ROBOTS)
def test_solids_have_the_poses_of_the_display_description(name):
    arm = load(ROBOTS[name])
    q, _ = random_state(arm, 5)
    joints = DisplayJoints(arm)
    expected = poses(display_description(arm), dict(zip(joints.names, joints.positions(q))))
    posture, attachments = Posture(arm), Attachments(arm)
    posture.take(q)
    links = {solid.link for solid in solids(arm)[0]} or {*arm.frames}
    for link in links:
        R, p = attachments.pose(link, posture)
        assert R == pytest.approx(expected[link][:3, :3], abs=1e-9)
        assert p == pytest.approx(expected[link][:3, 3], abs=1e-9)


@pytest.mark.parametrize('name', ROBOTS)
def test_a_rigid_arm_has_each_link_on_one_body(name):
    arm = load(ROBOTS[name])
    q = DeflectionScaler(arm).scaled(random_state(arm, 8)[0], 0.0)
    posture, attachments, bent = Posture(arm), Attachments(arm, bends=False), Attachments(arm)
    posture.take(q)
    for place in {*arm.frames, *(solid.link for solid in solids(arm)[0])}:
        assert attachments.attachment_of(place)[0].station < 0
        for found, expected in zip(attachments.pose(place, posture), bent.pose(place, posture)):
            assert found == pytest.approx(expected, abs=1e-12)


def test_enlarged_deflections_of_the_tip_are_in_proportion():
    arm = load('single_link')
    q = np.zeros(arm.size)
    q[len(arm.joint_names) :] = np.random.default_rng(3).normal(
        0.0, 0.01, arm.size - len(arm.joint_names)
    )
    scaler = DeflectionScaler(arm)
    small = tip_deflection(scaler.linear, 'arm', scaler.scaled(q, 1.0))
    large = tip_deflection(scaler.linear, 'arm', scaler.scaled(q, 7.0))
    assert large[:3] == pytest.approx(7 * small[:3], rel=1e-9)


def test_flexible_joints_are_enlarged_about_their_motors():
    arm = load('two_link')
    assert arm.motor_names
    q = np.random.default_rng(1).normal(size=arm.size)
    scaler, joints = DeflectionScaler(arm), len(arm.joint_names)
    rigid = scaler.scaled(q, 0.0)
    elbow = (
        arm.joint_names.index(arm.motor_names[0].partition('/')[0])
        if '/' in (arm.motor_names[0])
        else arm.joint_names.index(arm.motor_names[0])
    )
    motor = q[joints]
    assert rigid[elbow] == motor and not rigid[joints + len(arm.motor_names) :].any()
    assert scaler.scaled(q, 3.0)[elbow] == pytest.approx(motor + 3 * (q[elbow] - motor))
    assert scaler.scaled(q, 1.0) == pytest.approx(q)


@pytest.mark.parametrize('robot', ['single_link', 'two_link', 'canadarm2'])
def test_a_mode_is_drawn_with_its_frequency_and_a_visible_amplitude(robot):
    arm = load(robot, gravity=(0.0, 0.0, 0.0))
    size = 1.0 if robot != 'canadarm2' else 15.0
    motion = ModeMotion(arm, np.zeros(arm.size), size)
    found = modes(arm, np.zeros(arm.size), joints='locked')
    swinging = found.frequencies[found.damping_ratios < 1.0]
    for k in range(min(5, len(motion.frequencies))):
        assert motion.frequencies[k] == pytest.approx(swinging[k], rel=1e-9)
        # after half a displayed period, the deflection is reversed, and the drives are at rest
        period = max(1 / motion.frequencies[k], 1 / 0.6)
        q = motion.coordinates(k, 0.0)
        assert motion.coordinates(k, period / 2) == pytest.approx(-q, abs=1e-9 * np.abs(q).max())
        assert not q[arm.motor_q].any()
        points = motion._points(q) - motion._points(np.zeros(arm.size))
        # linear in the amplitude except for rotations of up to half a radian
        assert np.linalg.norm(points, axis=1).max() == pytest.approx(
            MODE_AMPLITUDE * size, rel=0.25
        )


def test_each_rod_of_a_delta_is_a_line_of_its_length():
    class Page:
        """A page that keeps the points of its lines."""

        def __init__(self):
            self.lines = {}

        def line(self, name, _colour):
            return lambda points: self.lines.update({name: points})

        def __getattr__(self, _name):
            return MagicMock()

    page, arm = Page(), load('delta')
    simulation = Simulation(arm)
    ArmStage(page, arm).draw(simulation.q)
    rods = [points for name, points in page.lines.items() if name.startswith('/rods/')]
    lengths = [loop.constraint.length for loop in arm.closed_loops.values()]
    assert len(rods) == 6
    assert [np.linalg.norm(rod[1] - rod[0]) for rod in rods] == pytest.approx(lengths, abs=1e-12)


def test_filtered_targets_satisfy_their_differential_equation():
    arm = load('two_link')
    drives = FollowedTargets(arm, np.array([0.1, 0.2, -0.3]), 1.2)
    drives.target = np.array([0.5, -0.4, 0.3])
    h = 1e-3
    places, rates = drives.samples(h, 4000)
    speed, acceleration = np.gradient(places, h, axis=0), np.gradient(rates, h, axis=0)
    # central differences have an error of h^2 / 6 times a third derivative
    assert rates[1:-1] == pytest.approx(speed[1:-1], abs=1e-4)
    w = drives.rate
    assert acceleration[1:-1] == pytest.approx(
        (w**2 * (drives.target - places) - 2 * w * rates)[1:-1], abs=1e-3
    )
    again, _ = drives.samples(h, 1)
    assert again[0] == pytest.approx(places[-1])


def test_a_released_arm_keeps_its_energy_balance_and_limits():
    arm = load('two_link')
    live = Live(arm)
    live.start(np.zeros(arm.size), swings=False)
    for _ in range(10):
        live.advance(0.03)
    energy = live.simulation.energy()
    # rounding of sums of some joules
    assert energy.kinetic > 0.0 and abs(energy.balance) < 1e-6
    live.start(np.zeros(arm.size), swings=True)
    low, high = ranges(arm).T
    poses = swing_poses(arm, np.zeros(3))
    assert np.all(poses >= low) and np.all(poses <= high) and np.ptp(poses, axis=0).all()
    places = []
    for _ in range(60):
        live.advance(0.1)
        places.append(live.simulation.motor_position)
    assert np.ptp(places, axis=0) == pytest.approx(
        [np.ptp([0.0, poses[0, k], *np.array(places)[:, k]]) for k in range(3)], abs=0.2
    )
    live.reset()
    assert live.simulation.time == 0.0 and not live.simulation.velocity.any()


MESH_ROBOT = """<robot name="meshed"><material name="red"><color rgba="0.8 0.1 0.1 1"/></material>
<link name="base"><visual><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/>
<geometry><mesh filename="{name}" scale="2 1 1"/></geometry><material name="red"/></visual></link>
<link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
 iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="hand"/><axis xyz="0 0 1"/>
</joint></robot>"""
TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


@needs_meshes
@pytest.mark.parametrize('name', ['part.obj', 'package://arm_parts/meshes/part.obj', 'file://'])
def test_meshes_are_found_scaled_placed_and_coloured(tmp_path, name):
    folder = tmp_path / 'arm_parts'
    (folder / 'meshes').mkdir(parents=True)
    for path in (folder / 'part.obj', folder / 'meshes' / 'part.obj'):
        path.write_text(TETRAHEDRON)
    if name == 'file://':
        name += str(folder / 'part.obj')
    urdf = folder / 'robot.urdf'
    urdf.write_text(MESH_ROBOT.format(name=name))
    (solid,), lines = solids(load(urdf))
    assert lines == [] and solid.link == 'base' and solid.colour == (0.8, 0.1, 0.1)
    corners = {tuple(np.round(vertex, 9) + 0.0) for vertex in solid.vertices}
    # x is scaled by two, and rotated to y
    assert corners == {(0, 0, 0.5), (0, 2, 0.5), (-1, 0, 0.5), (0, 0, 1.5)}


@pytest.mark.parametrize(
    'name, line',
    [
        (
            'gone.stl',
            'mesh gone.stl is not found: it is left out. Give its path from the folder of '
            'the URDF, or source the workspace of its package',
        ),
        (
            'https://example.org/a.stl',
            'mesh https://example.org/a.stl is not on this machine: it is left out',
        ),
    ],
)
def test_a_missing_mesh_is_one_line_and_the_others_are_drawn(tmp_path, name, line):
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(MESH_ROBOT.format(name=name))
    assert solids(load(urdf)) == ([], [line])


@pytest.mark.parametrize(
    'name',
    [
        'part.obj',
        '{folder}/part.obj',
        'file://{folder}/part.obj',
        'package://{folder}/part.obj',
        'package://arm_parts/../part.obj',
        'package://arm_parts//{folder}/part.obj',
        'package://../part.obj',
        'package://./part.obj',
    ],
)
def test_a_robot_from_a_message_opens_no_file_outside_packages(tmp_path, monkeypatch, name):
    package = tmp_path / 'share' / 'arm_parts'
    package.mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path / 'share'):
        (folder / 'part.obj').write_text(TETRAHEDRON)
    text = MESH_ROBOT.format(name=name.format(folder=tmp_path))
    found, (line,) = solids(build_arm(read_text(text)))
    assert found == [] and 'it is left out' in line or 'is left out: a robot from a' in line


@needs_meshes
def test_a_robot_from_a_message_shows_meshes_of_installed_packages(tmp_path, monkeypatch):
    (tmp_path / 'share' / 'arm_parts').mkdir(parents=True)
    (tmp_path / 'share' / 'arm_parts' / 'part.obj').write_text(TETRAHEDRON)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    text = MESH_ROBOT.format(name='package://arm_parts/part.obj')
    found, lines = solids(build_arm(read_text(text)))
    assert len(found) == 1 and lines == []


@needs_meshes
def test_a_broken_mesh_is_one_line(tmp_path):
    (tmp_path / 'part.stl').write_bytes(b'solid nothing')
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(MESH_ROBOT.format(name='part.stl'))
    found, (line,) = solids(load(urdf))
    assert found == [] and line.startswith(f'mesh {tmp_path}/part.stl cannot be read: ')


def test_without_a_reader_of_meshes_one_line_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'trimesh', None)
    (tmp_path / 'part.stl').write_bytes(b'solid nothing')
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(MESH_ROBOT.format(name='part.stl'))
    found, (line,) = solids(load(urdf))
    assert found == [] and 'pip install --upgrade trimesh numpy' in line and '\n' not in line


def test_without_viser_one_line_names_the_command(monkeypatch):
    monkeypatch.setattr(missing, 'find_spec', lambda name: None)
    assert refusal(UsageError, missing.refuse_without_view) == (
        'the browser view needs viser, which is not installed. Install it by '
        f'{sys.executable} -m pip install "viser>=1.1.1,<1.2" "pycollada>=0.7"'
    )


def test_the_requirement_agrees_with_setup_py():
    assert f"'{missing.REQUIREMENT}'" in (ROOT / 'setup.py').read_text('utf-8')


@pytest.fixture
def open_page():
    """Return a function that opens a page, which is closed at the end."""
    pytest.importorskip('viser')
    from flex_robot_sim.viewer.browser import Page

    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(closing(Page(*arguments)))


def test_a_port_in_use_is_one_line_and_the_default_takes_the_next_port(open_page):
    first = open_page('first', 0)
    assert refusal(SettingError, open_page, 'second', first.port) == (
        f'port {first.port} is taken. Name another one, or none for the next free one'
    )
    second = open_page('second')
    assert second.port != first.port and second.address.startswith('http://127.0.0.1:')


def test_of_two_pages_with_the_same_port_the_slower_takes_the_next(open_page, monkeypatch):
    from flex_robot_sim.viewer import browser

    first = open_page('first')
    # the second page checked the port before the first one listened
    looks = iter([first.port, *map(browser.free_port, [None] * 3)])
    monkeypatch.setattr(browser, 'free_port', lambda _: next(looks))
    assert open_page('second').port != first.port


def test_a_page_from_another_origin_gets_no_answer(open_page):
    from page_client import sign_in
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    page = open_page('arm', 0)
    address = f'ws://127.0.0.1:{page.port}'
    cookie = {'additional_headers': {'Cookie': sign_in(page.private_address)}}
    with connect(address, origin=page.address, **cookie):
        pass
    with pytest.raises(InvalidStatus), connect(address, origin='http://example.org', **cookie):
        pass


def test_a_closed_connection_prints_no_line(open_page, capfd, caplog):
    page = open_page('arm', 0)
    for words in (b'', b'GET\r\n\r\n'):
        with socket.create_connection(('127.0.0.1', page.port)) as knock:
            knock.sendall(words)
            knock.shutdown(socket.SHUT_WR)
            while knock.recv(100):  # until the page has handled it
                pass
    page.close()
    assert capfd.readouterr() == ('', '') and not caplog.records


def test_ranges_of_joints_without_stops_are_finite():
    arm = load(flexible_arm())
    assert ranges(arm) == pytest.approx(np.array([[-np.pi, np.pi]]))


def test_a_page_counts_its_browsers(open_page):
    from page_client import open_socket

    page = open_page('arm', 0)
    assert page.browser_count == 0
    with open_socket(page.private_address):
        assert eventually(lambda: page.browser_count == 1)
    assert eventually(lambda: page.browser_count == 0)


def test_a_reduced_link_is_drawn_as_its_surface(tmp_path):
    arm = load(write_bar(tmp_path))
    page = MagicMock()
    stage = ArmStage(page, arm)
    changes = page.surface.return_value
    assert [call.args[0] for call in page.surface.call_args_list] == ['/arm/surface 0']
    (surface,) = link_surfaces(arm)
    q = np.zeros(arm.size)
    q[arm.joint_q] = 0.5
    q[arm.elastic_q.start] = 0.02
    stage.draw(q)
    corners = np.concatenate(changes.call_args.args[0])
    posture = Posture(arm)
    posture.take(q)
    R, p = posture.base_R[0], posture.base_p[0]
    expected = (surface.deformed(q) @ R.T + p)[surface.triangles]
    assert len(corners) == len(expected)
    assert np.sort(corners.ravel()) == pytest.approx(np.sort(expected.ravel()), abs=1e-9)
    stage._set_scale(10)
    stage.draw(q)
    enlarged = np.concatenate(changes.call_args.args[0])
    assert (
        np.ptp(enlarged.reshape(-1, 3) @ R, axis=0).max()
        >= np.ptp(corners.reshape(-1, 3) @ R, axis=0).max() - 1e-9
    )


def test_the_surface_of_a_reduced_link_replaces_its_mesh():
    from flex_robot_sim.viewer.arm_picture import ArmPicture

    arm, page = load('printed_arm'), MagicMock()
    ArmPicture(page, DeflectionScaler(arm), solids(arm)[0], '/arm')
    sizes = [np.ptp(call.args[1], axis=0).max() for call in page.solid.call_args_list]
    # the servos and the base remain; the mesh of the upper arm has 0.3 m
    assert sizes and max(sizes) < 0.2
