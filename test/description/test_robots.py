"""
Facts about the robots in `urdf/`.

References: closed forms, textbook formulas, Pinocchio, finite elements of arm_elements.py.
"""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from arm_elements import finite_elements, frequencies, poses
from project_files import ROOT
from scipy.linalg import eigh
from scipy.optimize import brentq

from flex_robot_sim.description import read_description

FOLDER = ROOT / 'urdf'
NAMES = [
    'canadarm2',
    'curved_arm',
    'delta',
    'delta_flexible',
    'dual_screw_arm',
    'element_sum_arm_1',
    'element_sum_arm_2',
    'ella',
    'four_bar',
    'harmonic_drive',
    'palletiser',
    'printed_arm',
    'rcm',
    'rig',
    'ship_boom',
    'single_link',
    'slide_four_bar',
    'space_station',
    'spin_up_8m',
    'stewart',
    'tapered_boom',
    'telescopic_boom',
    'two_link',
]


def robot(name):
    return read_description(FOLDER / f'{name}.urdf')


def text(name):
    return (FOLDER / f'{name}.urdf').read_text(encoding='utf-8')


def read_numbers(name, link, element):
    """Return the numbers in `element` of a flexible link; None without it."""
    found = ElementTree.fromstring(text(name)).find(f"flexibility/link[@name='{link}']/{element}")
    return None if found is None else {k: float(value) for k, value in found.attrib.items()}


def test_all_robots_are_listed():
    assert sorted(path.stem for path in FOLDER.glob('*.urdf')) == NAMES


@pytest.mark.parametrize('name', NAMES)
def test_robot_begins_with_its_sources_and_lists_assumptions(name):
    comment = re.match(r'<\?xml [^>]*\?>\n<!--(.*?)-->\n<robot ', text(name), re.DOTALL).group(1)
    assert 'chosen' in comment.lower()
    sources = 'Sources: none', 'From the paper', 'From that', 'Sources: the arm is that of'
    assert any(words in comment for words in sources)


@pytest.mark.parametrize('name', NAMES)
def test_robot_is_read_without_a_warning(name):
    assert robot(name).warnings == ()
    assert robot(name).name == name


@pytest.mark.parametrize('name', NAMES)
def test_robot_has_a_tool_frame(name):
    assert robot(name).link('tool').inertial is None


@pytest.mark.parametrize('name', NAMES)
def test_robot_has_limits_at_every_moving_joint(name):
    for joint in robot(name).joints:
        if joint.moves:
            assert np.isfinite(joint.effort) and np.isfinite(joint.velocity)
            assert joint.kind == 'continuous' or joint.lower < joint.upper


@pytest.mark.parametrize('name', NAMES)
def test_the_ros_urdf_parser_reads_the_same_tree_and_masses(name):
    urdf = pytest.importorskip('urdf_parser_py.urdf').URDF.from_xml_string(text(name).encode())
    arm = robot(name)
    assert set(urdf.link_map) == {link.name for link in arm.links}
    assert set(urdf.joint_map) == {joint.name for joint in arm.joints}
    for link in arm.links:
        if link.inertial is not None:
            assert urdf.link_map[link.name].inertial.mass == link.inertial.mass


@pytest.mark.parametrize('name', NAMES)
def test_pinocchio_builds_the_same_rigid_robot(name):
    pin = pytest.importorskip('pinocchio')
    model, arm = pin.buildModelFromXML(text(name)), robot(name)
    assert model.nv == len(arm.joint_names) + 6 * (arm.free_joint is not None)
    masses = sum(link.inertial.mass for link in arm.links if link.inertial is not None)
    assert pin.computeTotalMass(model) == pytest.approx(masses, rel=1e-12)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    tool = data.oMf[model.getFrameId('tool')].translation
    assert tool == pytest.approx(poses(arm)['tool'][1], abs=1e-9)


@pytest.mark.parametrize('name', ['two_link', 'dual_screw_arm', 'ella', 'rcm'])
def test_motors_hold_any_pose_with_half_their_effort(name):
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromXML(text(name))
    data, random = model.createData(), np.random.default_rng(1)
    low, high = model.lowerPositionLimit, model.upperPositionLimit
    worst = max(
        (
            np.abs(pin.computeGeneralizedGravity(model, data, random.uniform(low, high)))
            for _ in range(1000)
        ),
        key=lambda torque: np.max(torque / model.effortLimit),
    )
    assert np.all(2 * worst < model.effortLimit)


@pytest.mark.parametrize('name', NAMES)
def test_flexible_link_has_damping_or_its_file_says_that_the_paper_has_none(name):
    for link in robot(name).links:
        if link.beam is not None and not link.beam.damping_ratio and not link.beam.damping_time:
            assert re.search(r'paper\s+has\s+none|No\s+damping\s+anywhere', text(name))


def section(name, link):
    """Area, second moments about y and z, and torsion constant of a section, from textbooks."""
    tube, rectangle = read_numbers(name, link, 'tube'), read_numbers(name, link, 'rectangle')
    if tube:
        r, s = tube['outer'] / 2, tube['outer'] / 2 - tube['wall']
        moment = np.pi * (r**4 - s**4) / 4
        return np.pi * (r**2 - s**2), moment, moment, 2 * moment
    y, z = rectangle['width'], rectangle['height']
    long, short = max(y, z), min(y, z)
    odd = np.arange(1, 60, 2)  # Timoshenko and Goodier, Theory of Elasticity, article 109
    series = np.sum(np.tanh(odd * np.pi * long / (2 * short)) / odd**5)
    torsion = long * short**3 / 3 * (1 - 192 / np.pi**5 * short / long * series)
    return y * z, y * z**3 / 12, z * y**3 / 12, torsion


LINKS_OF_MATERIAL = [
    ('two_link', 'upper_arm'),
    ('two_link', 'forearm'),
    ('single_link', 'arm'),
    ('dual_screw_arm', 'link_2'),
    ('dual_screw_arm', 'link_3'),
    ('element_sum_arm_1', 'link_2'),
    ('element_sum_arm_2', 'link_1'),
    ('element_sum_arm_2', 'link_2'),
    ('rig', 'strip'),
]


@pytest.mark.parametrize('name, link', LINKS_OF_MATERIAL)
def test_inertia_equals_that_of_a_uniform_bar_of_the_material(name, link):
    area, Iy, Iz, _ = section(name, link)
    rho, link = read_numbers(name, link, 'material')['density'], robot(name).link(link)
    length = link.beam.length
    mass = rho * area * length
    assert link.inertial.mass == pytest.approx(mass, rel=1e-7)
    assert link.inertial.centre == pytest.approx(link.beam.end / 2)
    assert np.diag(link.inertial.inertia) == pytest.approx(
        [
            rho * (Iy + Iz) * length,
            mass * length**2 / 12 + rho * Iy * length,
            mass * length**2 / 12 + rho * Iz * length,
        ],
        rel=1e-7,
    )


@pytest.mark.parametrize('name, link', LINKS_OF_MATERIAL)
def test_stiffness_equals_that_of_the_section(name, link):
    _, Iy, Iz, torsion = section(name, link)
    material, beam = read_numbers(name, link, 'material'), robot(name).link(link).beam
    for direction, value, tolerance in (
        ('bending_y', material['E'] * Iz, 1e-9),
        ('bending_z', material['E'] * Iy, 1e-9),
        ('torsion', material['G'] * torsion, 1e-3),
    ):
        # handbooks replace the series for torsion by fits with an error of 1e-3
        assert beam.stiffness(direction) == pytest.approx(value, rel=tolerance)


def test_finite_elements_find_the_tip_mass_frequency():
    arm = robot('single_link')
    beam, tip = arm.link('arm').beam, arm.link('tip_mass').inertial.mass
    mu = tip / (beam.mass_per_length * beam.length)

    def clamped_with_tip_mass(b):
        inertia = mu * b * (np.cos(b) * np.sinh(b) - np.sin(b) * np.cosh(b))
        return 1 + np.cos(b) * np.cosh(b) + inertia

    root = brentq(clamped_with_tip_mass, 0.5, 1.9)
    closed = root**2 / beam.length**2 * np.sqrt(beam.EIz / beam.mass_per_length) / (2 * np.pi)
    # the closed form lacks the rotary inertia of the tip mass, 1e-4
    assert frequencies(arm)[0] == pytest.approx(closed, rel=5e-4)


def test_two_link_vibrates_between_2_and_20_hz_for_any_elbow_angle():
    for elbow in (0.0, 0.8, np.pi / 2, 2.4):
        assert frequencies(robot('two_link'), {'elbow': elbow})[0] > 2.0
        assert frequencies(robot('two_link'), {'elbow': elbow})[3] < 20.0


def test_two_link_bends_in_both_planes_and_twists():
    arm = robot('two_link')
    K, M, _, ends = finite_elements(arm, {'elbow': np.pi / 2})
    values, shapes = eigh(M, K)
    tip, root = ends['upper_arm']
    reach = arm.link('forearm').beam.length
    bends = np.abs((tip - root) @ shapes[:, -4:]).max(axis=1)
    payload = np.abs(ends['forearm'][0][:3] @ shapes[:, -4:]).max()
    assert bends[1] > 0.05 * payload  # sideways
    assert bends[2] > 0.05 * payload  # up and down
    assert bends[3] * reach > 0.05 * payload  # twist, visible at the forearm


def test_two_link_sags_by_less_than_4_percent_of_a_link():
    K, _, f, ends = finite_elements(robot('two_link'))  # extended: the worst pose
    displacement = np.linalg.solve(K, f)
    for name, (tip, root) in ends.items():
        sag = np.linalg.norm(((tip - root) @ displacement)[:3])
        assert 0.002 < sag / robot('two_link').link(name).beam.length < 0.04


def test_two_link_has_flexible_joints_and_sensors_in_both_planes():
    arm = robot('two_link')
    assert all(np.isfinite(arm.joint(name).stiffness) for name in ('waist', 'shoulder', 'elbow'))
    for name in ('upper_arm', 'forearm'):
        planes = [sensor.plane for sensor in arm.link(name).beam.sensors]
        assert sorted(planes) == ['xy', 'xy', 'xz', 'xz']  # two shapes in each plane


def test_dual_screw_arm_is_upright_at_zero_and_leans_forward_when_positive():
    arm = robot('dual_screw_arm')
    lengths = [0.04, 0.4, 1.2, 1.0, 0.4]
    assert poses(arm)['tool'][1] == pytest.approx([0, 0, sum(lengths)], abs=1e-12)
    # start of the paper's manoeuvre: the angles sum to pi, so link 4 points straight down
    start = poses(arm, {'joint_2': np.pi / 6, 'joint_3': 2 * np.pi / 3, 'joint_4': np.pi / 6})
    hangs = start['tool'][1] - start['link_4'][1]
    assert hangs == pytest.approx([0, 0, -0.4], abs=1e-12)
    assert start['tool'][1][0] == pytest.approx(1.2 * 0.5 + 1.0 * 0.5, abs=1e-12)


def test_dual_screw_arm_has_the_16_coordinates_of_the_paper():
    arm = robot('dual_screw_arm')
    elastic = sum(sum(link.beam.coordinates.values()) for link in arm.links if link.beam)
    assert len(arm.joint_names) + elastic == 16


def test_element_sum_arms_have_the_printed_numbers():
    arm = robot('element_sum_arm_1')
    assert arm.link('link_1').inertial.mass == 2.0
    assert arm.link('link_2').beam.mass_per_length == pytest.approx(0.706, rel=1e-9)
    assert section('element_sum_arm_1', 'link_2')[0] == pytest.approx(9e-5, rel=1e-12)
    assert arm.link('link_2').beam.elements == 5
    arm = robot('element_sum_arm_2')
    assert [arm.link(name).beam.length for name in ('link_1', 'link_2')] == [0.8, 0.3]
    assert section('element_sum_arm_2', 'link_1')[0] == pytest.approx(3e-5, rel=1e-12)
    assert [arm.link(name).beam.elements for name in ('link_1', 'link_2')] == [2, 2]
    assert arm.link('payload').inertial.mass == 0.05


def test_ella_has_the_printed_stiffness_and_steel_links():
    arm = robot('ella')
    assert arm.joint_names == ['theta_y1', 'theta_z1', 'theta_z2']
    for name, length in (('link_1', 0.95), ('link_2', 0.93)):
        link = arm.link(name)
        assert (link.beam.EIy, link.beam.EIz, link.beam.length) == (2.12e3, 3.67e3, length)
        assert link.inertial.mass == pytest.approx(7800 * 2.09e-4 * length, rel=1e-7)
        # radii of gyration from EI/EA and from the rotary inertia agree
        moments = np.diag(link.inertial.inertia) - [0, *[link.inertial.mass * length**2 / 12] * 2]
        assert moments[1:] == pytest.approx(
            7800 * length * np.array([2.12e3, 3.67e3]) / 2.1e11, rel=1e-4
        )  # a small difference of large numbers
    assert arm.link('payload').inertial.mass == 2.1
    assert arm.link('elbow').inertial.mass == arm.link('shoulder').inertial.mass == 3.3


def test_ella_torsion_stiffness_fits_the_box_with_its_area_and_moments():
    deep, wide, wall = 0.02597, 0.01877, 0.00265  # outer size along y and z, and the wall
    inner_deep, inner_wide = deep - 2 * wall, wide - 2 * wall
    area = deep * wide - inner_deep * inner_wide
    moment_z = (wide * deep**3 - inner_wide * inner_deep**3) / 12
    moment_y = (deep * wide**3 - inner_deep * inner_wide**3) / 12
    assert area == pytest.approx(2.09e-4, rel=2e-3)  # sizes are rounded to 10 um
    assert moment_z == pytest.approx(3.67e3 / 2.1e11, rel=2e-3)
    assert moment_y == pytest.approx(2.12e3 / 2.1e11, rel=2e-3)
    middle = (deep - wall) * (wide - wall), 2 * (deep + wide - 2 * wall)
    torsion = 4 * middle[0] ** 2 * wall / middle[1] + middle[1] * wall**3 / 3  # Bredt, walls
    shear_modulus = 2.1e11 / (2 * 1.3)
    for name in ('link_1', 'link_2'):
        printed = robot('ella').link(name).beam.stiffness('torsion')
        assert printed == pytest.approx(shear_modulus * torsion, rel=5e-3)


def test_ella_is_stiff_in_the_vertical_direction():
    at = poses(robot('ella'), {'theta_z1': 0.3})
    assert at['tool'][1][2] > poses(robot('ella'))['tool'][1][2]
    assert at['link_1'][0][:, 2][2] == pytest.approx(0.0, abs=1e-12)  # y is vertical


def test_canadarm2_has_the_listed_values_of_the_paper():
    arm = robot('canadarm2')
    assert len(arm.joint_names) == 5
    for name in arm.joint_names:
        joint = arm.joint(name)
        assert min(abs(joint.reflected_inertia - value) for value in (2, 5, 10, 15)) < 1e-9
        assert joint.stiffness in (0.60e6, 1.33e6, 2.66e6, 5.00e6)
    for name, mass in (('upper_boom', 314.88), ('lower_boom', 279.2)):
        link = arm.link(name)
        assert link.inertial.mass == pytest.approx(mass)
        assert link.inertial.inertia[0, 0] == pytest.approx(15.41)
        assert (link.beam.EIy, link.beam.EIz, link.beam.length) == (3.8e6, 3.8e6, 7.11)
        # thin tube: radius of gyration is the radius / sqrt(2); the boom diameter is 0.35 m
        across = 2 * np.sqrt(2 * link.beam.EIz / link.beam.EA)
        assert across == pytest.approx(0.35, rel=0.1)
    assert arm.joint('elbow_pitch').position == pytest.approx([7.11, 0, 0.475])


def test_spin_up_beam_has_its_first_frequency():
    arm = robot('spin_up_8m')
    beam = arm.link('beam').beam
    first = 1.875104**2 / 8**2 * np.sqrt(beam.EIz / beam.mass_per_length) / (2 * np.pi)
    assert first == pytest.approx(0.4633, abs=5e-5)  # reference to four digits
    assert frequencies(arm)[0] == pytest.approx(first, rel=1e-4)
    assert arm.joint('hub').position == pytest.approx([0, 0, 0])


def test_rig_has_two_sensors_with_95_25_mm_active_towards_the_ends():
    # the paper prints 112.24 mm; the data sheet has an active length of 3.75 inches
    beam = robot('rig').link('strip').beam
    lengths = [sensor.end - sensor.start for sensor in beam.sensors]
    assert lengths == pytest.approx([3.75 * 0.0254] * 2)
    assert beam.sensors[0].start == pytest.approx(beam.length - beam.sensors[1].end)


def test_rig_screw_has_a_lead_of_8_mm_behind_a_gearbox_of_10():
    slide = robot('rig').joint('slide')
    assert slide.gear_ratio == pytest.approx(10 * 2 * np.pi / 0.008, rel=1e-8)
    assert slide.reflected_inertia == pytest.approx(2e-6 * (2500 * np.pi) ** 2, rel=1e-8)


def test_rcm_axes_meet_in_one_point_and_the_instrument_pivots_about_it():
    arm, random = robot('rcm'), np.random.default_rng(2)
    assert len(arm.joint_names) == 5 and not any(link.beam for link in arm.links)
    for _ in range(20):
        angles = dict(zip(arm.joint_names, random.uniform(-1.5, 1.5, 5)))
        at = poses(arm, angles)
        centre = at['remote_centre'][1]
        for link in ('body_4', 'body_5', 'instrument'):  # axes of joint 4, joint 5, instrument
            R, p = at[link]
            assert np.cross(centre - p, R[:, 0]) == pytest.approx(np.zeros(3), abs=1e-9)
        still = poses(arm, {**angles, 'joint_4': 0.0, 'joint_5': 0.0})['remote_centre'][1]
        assert centre == pytest.approx(still, abs=1e-9)
