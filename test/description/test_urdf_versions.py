"""URDF 1.1 and 1.2: limits, quaternions and versions, compared with SciPy and with urdfdom."""

import json
from importlib.metadata import version

import numpy as np
import pytest
from arms import Z, complaint, joint, link, robot
from lxml import etree
from project_files import ROOT
from public_robots import public_robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.cli import main
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.motion.limits import acceleration_limits, deceleration_limits, jerk_limits

UR5E = ROOT / 'test/data/robots/ur5e.urdf'
ADDED = {'acceleration': 14.0, 'deceleration': 20.0, 'jerk': 300.0}
OLD = (
    'ROS 2 Kilted and older refuse a file of version {}. Write version="1.0" for them{}: all '
    'limits are read here in every version, and unknown ones are ignored there.'
)


def hinge(limit='', origin='', number='', kind='continuous', basic='effort="1" velocity="2"'):
    text = robot(link(), joint(kind=kind, inside=f'{Z}{origin}<limit {basic} {limit}/>'))
    return text.replace('<robot', f'<robot version="{number}"') if number else text


def edited(path, change):
    """Return the text of a description after `change` of its <robot>."""
    root = etree.parse(str(path)).getroot()
    change(root)
    return etree.tostring(root, encoding='unicode')


def with_limits(root):
    for limit in root.iterfind('joint/limit'):
        for name, value in ADDED.items():
            limit.set(name, str(value))


def with_quaternions(root):
    root.set('version', '1.1')
    for origin in [*root.iterfind('joint/origin'), *root.iterfind('link/inertial/origin')]:
        angles = [float(word) for word in origin.attrib.pop('rpy', '0 0 0').split()]
        quaternion = 3.0 * Rotation.from_euler('xyz', angles).as_quat()  # not normalised
        origin.set('quat_xyzw', ' '.join(map(repr, quaternion.tolist())))


@pytest.mark.parametrize('number', ['', '1.0', '1.1', '1.2'])
def test_limits_are_read_in_every_version(number):
    read = read_description(hinge('acceleration="3" deceleration="4" jerk="50"', '', number))
    one = read.joint('hinge')
    assert (one.acceleration, one.deceleration, one.jerk) == (3.0, 4.0, 50.0)


@pytest.mark.parametrize('text', ['', 'acceleration="-1" jerk="1e30" deceleration="1e30"'])
def test_a_limit_that_is_absent_or_below_zero_is_none(text):
    arm = frs.load(hinge(text))
    for limits in (acceleration_limits, deceleration_limits, jerk_limits):
        assert limits(arm).tolist() == [np.inf]


def test_without_a_deceleration_its_limit_is_that_of_acceleration():
    arm = frs.load(hinge('acceleration="3"'))
    assert arm.description.joint('hinge').deceleration == np.inf
    assert deceleration_limits(arm).tolist() == [3.0]
    assert deceleration_limits(frs.load(hinge('deceleration="5"'))).tolist() == [5.0]


@pytest.mark.parametrize(
    'text, message',
    [
        (
            hinge('jerk="0"', kind='prismatic'),
            'the <limit> of joint "hinge" has the jerk 0, so that it could not move. Give jerk '
            'above 0 [m/s3], or leave it out.',
        ),
        (
            hinge('acceleration="fast"'),
            'acceleration = "fast" is not a number. Write a finite decimal number in rad/s2.',
        ),
        (
            hinge(origin='<origin quat_xyzw="0 0 2 2"/>'),
            'other tools ignore quat_xyzw of <origin> in a file of version 1.0. Write rpy="0 0 '
            '1.570796327" [rad] in its place, or version="1.1" in <robot>.',
        ),
        (
            hinge(origin='<origin quat_xyzw="0 0 0 0"/>', number='1.1'),
            'quat_xyzw = "0 0 0 0" has the norm 0. Write quat_xyzw="0 0 0 1" for no rotation.',
        ),
        (
            hinge(origin='<origin quat_xyzw="0 0 1"/>', number='1.2'),
            'quat_xyzw = "0 0 1" is not four numbers. Write quat_xyzw="x y z w".',
        ),
        (
            hinge(origin='<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', number='1.1'),
            '<origin> has rpy and quat_xyzw. Keep one of them.',
        ),
    ],
)
def test_a_mistake_is_one_line(text, message):
    assert complaint(text).removeprefix('<text>:4: ') == message


def test_a_quaternion_of_a_visual_is_an_error_in_a_file_of_version_1_0():
    visual = '<visual><origin quat_xyzw="1 0 0 0"/><geometry><sphere radius="1"/></geometry>'
    text = robot(link().replace('</link>', f'{visual}</visual></link>'), joint())
    assert 'Write rpy="3.141592654 0 0" [rad]' in complaint(text)
    read_description(text.replace('<robot', '<robot version="1.1"'))


@pytest.mark.parametrize(
    'number, warnings',
    [
        ('1.0', []),
        ('1.1', [OLD.format('1.1', '')]),
        ('1.2', [OLD.format('1.2', '')]),
        (
            '3',
            [
                'version = "3" of <robot> is not 1.0, 1.1 or 1.2, and ROS refuses the file. Write '
                'version="1.0".'
            ],
        ),
    ],
)
def test_a_version_that_excludes_ros_releases_is_one_warning(number, warnings):
    found = read_description(hinge('jerk="9"', '', number)).warnings
    assert [warning.removeprefix('<text>:1: ') for warning in found] == warnings


def test_a_warning_names_what_version_1_0_does_not_have():
    capsule = '<visual><geometry><capsule radius="0.1" length="1"/></geometry></visual>'
    text = robot(link().replace('</link>', f'{capsule}</link>'), joint())
    assert read_description(text).warnings == (
        '<text>:3: <capsule> needs version 1.1 of URDF, which ROS 2 Kilted and older refuse. '
        'Write version="1.1" in <robot>, or a cylinder and two spheres.',
    )
    text = text.replace('<robot', '<robot version="1.2"').replace(
        '<origin xyz', '<origin quat_xyzw="0 0 0 1" xyz'
    )
    instead = ', and rpy in place of quat_xyzw and other shapes in place of <capsule>'
    assert read_description(text).warnings == ('<text>:1: ' + OLD.format('1.2', instead),)


@pytest.mark.parametrize('number, count', [('1.1', 1), ('1.2', 0)])
def test_effort_and_velocity_are_optional_from_version_1_2_on(number, count):
    warnings = read_description(hinge('jerk="9"', number=number, basic='')).warnings
    assert sum('has no effort and no velocity' in warning for warning in warnings) == count


@pytest.mark.parametrize('number, count', [('1.1', 0), ('1.2', 1)])
def test_a_range_is_complete_from_version_1_2_on(number, count):
    text = hinge('upper="1"', number=number, kind='revolute')
    warnings = [line.split(': ', 1)[1] for line in read_description(text).warnings]
    message = (
        'the <limit> of joint "hinge" has no lower, read as 0. Write both: ROS refuses the file '
        'without them from version 1.2 on.'
    )
    assert warnings.count(message) == count


def test_limits_of_a_public_robot_change_nothing_but_the_limits():
    plain, limited = frs.load(UR5E), frs.load(edited(UR5E, with_limits))
    for array, other in zip(plain.arrays, limited.arrays):
        np.testing.assert_array_equal(array, other)
    for limits, name in (
        (acceleration_limits, 'acceleration'),
        (deceleration_limits, 'deceleration'),
        (jerk_limits, 'jerk'),
    ):
        assert limits(limited).tolist() == [ADDED[name]] * 6
        assert limits(plain).tolist() == [np.inf] * 6


@pytest.mark.parametrize('name', ['', 'panda_description/urdf/panda.urdf'])
def test_quaternions_place_joints_and_bodies_of_a_public_robot_as_rpy(name):
    path = public_robot(name) if name else UR5E
    plain, turned = read_description(path), read_description(edited(path, with_quaternions))
    for mine, other in zip(plain.joints, turned.joints):
        np.testing.assert_allclose(mine.rotation, other.rotation, atol=1e-14)
    for mine, other in zip(plain.links, turned.links):
        if mine.inertial is not None:
            np.testing.assert_allclose(mine.inertial.inertia, other.inertial.inertia, atol=1e-13)


def test_quarter_turns_by_quaternions_are_exact():
    text = hinge(origin='<origin quat_xyzw="0 0.70710678 0 0.70710678"/>', number='1.1')
    expected = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    assert read_description(text).joint('hinge').rotation.tolist() == expected


def urdfdom_reads(number):
    try:
        return tuple(map(int, version('cmeel-urdfdom').split('.'))) >= (5, number)
    except ImportError:
        return False


@pytest.mark.skipif(not urdfdom_reads(1), reason='needs urdfdom 5.1 or later')
def test_urdfdom_finds_the_same_placements_by_quaternions():
    pin = pytest.importorskip('pinocchio')
    text = edited(UR5E, with_quaternions)
    model, read = pin.buildModelFromXML(text), read_description(text)
    for frame in model.frames:
        if frame.type == pin.FrameType.FIXED_JOINT or frame.parentFrame == 0:
            continue
        if frame.type == pin.FrameType.JOINT:
            parent = model.frames[frame.parentFrame]
            found = (
                parent.placement.inverse() * model.jointPlacements[frame.parentJoint]
            ).rotation
            np.testing.assert_allclose(read.joint(frame.name).rotation, found, atol=1e-12)


def test_an_arm_from_code_has_the_limits_of_its_arguments():
    def builder(**limits):
        one = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
        return one.add_joint('hinge', parent='base', child='arm', axis='y', **limits)

    made = read_description(builder(**ADDED).to_urdf()).joint('hinge')
    assert {name: getattr(made, name) for name in ADDED} == ADDED
    for name, unit in (('acceleration', 's2'), ('deceleration', 's2'), ('jerk', 's3')):
        with pytest.raises(frs.SettingError) as caught:
            builder(**{name: 0.0})
        assert str(caught.value) == (
            f'{name} = 0.0 of joint "hinge" must be a finite number > 0 [rad/{unit} or m/{unit}]'
        )


def test_limits_are_parameters():
    arm = frs.load(hinge('acceleration="3"'))
    changed = frs.with_parameters(arm, {'hinge.acceleration': ('*', 2), 'hinge.jerk': 70.0})
    assert acceleration_limits(changed).tolist() == deceleration_limits(changed).tolist() == [6.0]
    assert jerk_limits(changed).tolist() == [70.0]
    known = frs.parameters(arm)
    assert [known[f'hinge.{name}'].unit for name in ADDED] == ['rad/s2', 'rad/s2', 'rad/s3']
    with pytest.raises(frs.SettingError, match=r'^hinge.jerk = 0 cannot be: it must be above 0'):
        frs.with_parameters(arm, {'hinge.jerk': 0.0})


@pytest.mark.parametrize('value', [25.0, np.inf])
def test_a_changed_limit_is_written_to_the_text(value):
    before = read_description(hinge('jerk="9"'))
    after = with_parameters(before, {'hinge.jerk': value})
    text = rewritten(before.text, edits_of(before, after, 'hinge.jerk'), {})
    assert read_description(text).joint('hinge').jerk == value


def test_a_rewritten_inertia_has_no_quaternion_left():
    turn = '<origin quat_xyzw="0 0 1 1" xyz'
    before = read_description(hinge(number='1.1').replace('<origin xyz', turn))
    after = with_parameters(before, {'arm.ixx': 0.2})
    read = read_description(rewritten(before.text, edits_of(before, after, 'arm.ixx'), {}))
    np.testing.assert_allclose(
        read.link('arm').inertial.inertia, after.link('arm').inertial.inertia, rtol=1e-8
    )


def test_check_prints_the_limits_and_the_version(tmp_path, capsys):
    path = tmp_path / 'arm.urdf'
    path.write_text(hinge('acceleration="3" jerk="40"', number='1.2'))
    assert main(['check', str(path)]) == 0
    said = capsys.readouterr().out
    assert '[hinge: continuous z, acceleration 3 rad/s2, jerk 40 rad/s3]' in said
    assert f'warning: {path}:1: {OLD.format("1.2", "")}' in said
    assert main(['check', str(path), '--json']) == 0
    one = json.loads(capsys.readouterr().out)['joints'][0]
    assert (one['acceleration'], one['deceleration'], one['jerk']) == (3.0, None, 40.0)
