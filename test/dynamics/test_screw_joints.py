"""Screw joints: closed forms, Pinocchio, finite differences, other formulations, the display."""

import functools
import re

import numpy as np
import pytest
from arms import complaint, flexibility, joint, link, robot
from random_arms import random_state
from scipy.linalg import expm
from walked_urdf import poses

import flex_robot_sim as frs
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.formulations import make

LEAD = 0.05 / (2 * np.pi)  # of a pitch of 50 mm  [m/rad]
SCREW = '<joint name="hinge" type="screw" pitch="0.05"/>'
FALLING = 9.81


def nut(**gear):
    """Return an arm whose only link, of 2 kg, moves on a vertical screw."""
    builder = frs.ArmBuilder('nut').add_rigid('nut', mass=2.0, inertia=(2e-3, 2e-3, 3e-3))
    builder.add_joint('lead', parent='base', child='nut', type='screw', pitch=0.05)
    return builder.add_gear('lead', **gear) if gear else builder


@functools.cache
def press():
    """Return an arm with two screws, an elastic one and one with a beam."""
    builder = frs.ArmBuilder('press')
    builder.add_rigid('ram', mass=2.0, centre=(0.1, 0.05, 0.2), inertia=(0.02, 0.03, 0.01))
    stiffness = frs.SectionStiffness(EIy=40, EIz=60, GJ=30)
    builder.add_beam('boom', length=0.8, mass=1.2, section=stiffness, section_inertia=(1e-3, 0, 0))
    builder.add_rigid('tool', mass=0.5, centre=(0.05, 0.02, 0), inertia=(1e-3, 2e-3, 3e-3))
    axis = np.array([0.2, -0.3, 1.0])
    builder.add_joint(
        'lead', parent='base', child='ram', type='screw', pitch=0.4, axis=axis, rpy=(0.1, 0.2, 0.3)
    )
    builder.add_gear('lead', stiffness=500, rotor_inertia=1e-4, gear_ratio=10)
    builder.add_joint('elbow', parent='ram', child='boom', axis='y', xyz=(0.1, 0, 0.3))
    builder.add_joint(
        'drill', parent='boom', child='tool', type='screw', pitch=-0.3, axis='x', lower=-3, upper=3
    )
    return builder.build(gravity=(3.0, -5.0, 7.0))


def rigid_press():
    """Return the same arm without its beam and its gear."""
    text = re.sub('<link name="boom" end.*?</link>', '', press().description.text, flags=re.DOTALL)
    return frs.load(text.replace(' stiffness="500"', ''), gravity=(3.0, -5.0, 7.0))


def test_a_nut_falls_as_its_closed_form():
    arm = nut().build()
    # along the screw, m z'' + (J / l^2) z'' = -m g
    expected = -2.0 * FALLING * LEAD / (3e-3 + 2.0 * LEAD**2)
    assert frs.forward_dynamics(arm, np.zeros(1), np.zeros(1))[0] == pytest.approx(expected, 1e-14)
    assert frs.inverse_dynamics(arm, np.zeros(1))[0] == pytest.approx(2 * FALLING * LEAD, 1e-14)
    assert (arm.units, arm.effort_units) == (('rad',), ('N m',))
    turn = 2.5 * 2 * np.pi
    assert frs.pose(arm, [turn], link='nut')[2, 3] == pytest.approx(0.125, rel=1e-14)


def test_an_elastic_gear_of_a_screw_vibrates_as_its_closed_form():
    arm = nut(stiffness=200.0, rotor_inertia=1e-3).build(gravity=(0, 0, 0))
    # the motor stands by default
    expected = np.sqrt(200.0 / (3e-3 + 2.0 * LEAD**2)) / (2 * np.pi)
    assert frs.modes(arm).frequencies[0] == pytest.approx(expected, rel=1e-12)


def test_accelerations_equal_those_of_pinocchio():
    pin = pytest.importorskip('pinocchio')
    rng = np.random.default_rng(3)
    builder, model, parent = frs.ArmBuilder('chain'), pin.Model(), 0
    model.gravity.linear = np.array([3.0, -5.0, 7.0])
    for k, pitch in enumerate((0.5, 0.0, -0.7, 0.2)):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        xyz, rpy, centre, mass = *rng.normal(size=(3, 3)), rng.uniform(1, 2)
        moments = rng.uniform(1, 1.5, size=3)
        builder.add_rigid(f'link_{k}', mass=mass, centre=centre, inertia=moments)
        words = {'type': 'screw', 'pitch': pitch} if pitch else {}
        builder.add_joint(
            f'joint_{k}',
            parent='base' if k == 0 else f'link_{k - 1}',
            child=f'link_{k}',
            axis=axis,
            xyz=xyz,
            rpy=rpy,
            **words,
        )
        kind = (
            pin.JointModelHelicalUnaligned(axis, pitch / (2 * np.pi))
            if pitch
            else pin.JointModelRevoluteUnaligned(axis)
        )
        place = pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)
        parent = model.addJoint(parent, kind, place, f'joint_{k}')
        inertia = pin.Inertia(mass, centre, np.diag(moments))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    arm = builder.build(gravity=(3.0, -5.0, 7.0))
    q, v, effort = rng.normal(size=(3, 4))
    expected = pin.aba(model, model.createData(), q, v, effort)
    found = frs.forward_dynamics(arm, q, v, effort)
    assert np.allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())
    partial = frs.derivatives(arm, q, v, effort=effort)
    data = model.createData()
    pin.computeABADerivatives(model, data, q, v, effort)
    assert np.allclose(partial.da_dq, data.ddq_dq, atol=1e-9 * np.abs(data.ddq_dq).max())
    assert np.allclose(partial.da_dv, data.ddq_dv, atol=1e-9 * np.abs(data.ddq_dv).max())


def test_poses_equal_exponentials_of_the_screw():
    arm = press()
    q = np.zeros(arm.size)
    q[arm.idx_q['drill']] = angle = 0.7
    joint = arm.description.joint('drill')
    home, moved = (frs.pose(arm, at, link='tool') for at in (np.zeros(arm.size), q))
    screw = np.zeros((4, 4))
    screw[1, 2], screw[2, 1] = -1.0, 1.0
    screw[0, 3] = joint.pitch / (2 * np.pi)
    assert np.allclose(moved, home @ expm(angle * screw), atol=1e-13)


def test_derivatives_equal_differences_and_energy_is_kept():
    arm = press()
    q, v = random_state(arm, 2)
    q, v = 0.3 * q, 0.3 * v
    partial = frs.derivatives(arm, q, v)
    step = 1e-5
    for k in range(arm.size):
        unit = step * np.eye(arm.size)[k]
        ahead, behind = (frs.forward_dynamics(arm, q + d, v) for d in (unit, -unit))
        expected = (ahead - behind) / (2 * step)
        assert np.allclose(partial.da_dq[:, k], expected, atol=1e-5 * np.abs(partial.da_dq).max())
    sim = frs.Simulation(arm)
    sim.set_state(q=q, v=v)
    start = sim.energy()
    sim.step(300)
    end = sim.energy()
    changes = [after - before for before, after in zip(start[:3], end[:3])]
    assert sum(changes) + end.dissipated == pytest.approx(0.0, abs=1e-9)
    assert max(map(abs, changes)) > 1.0


def test_the_display_moves_along_the_screw():
    arm = press()
    q, _ = random_state(arm, 4)
    display = DisplayJoints(arm)
    found = poses(display_description(arm), dict(zip(display.names, display.positions(q))))
    for frame in arm.frames:
        np.testing.assert_allclose(found[frame], frs.pose(arm, q, link=frame), atol=1e-12)
    assert 'lead_travel' in display.names


def test_inverse_kinematics_and_a_batch_take_screws():
    arm = press()
    target = frs.pose(arm, 0.4 * np.eye(arm.size)[0], link='ram')
    found = frs.inverse_kinematics(arm, target[:3, 3], link='ram', straight=True)
    assert found.joints[0] == pytest.approx(0.4, abs=1e-6)
    sim, batch = frs.Simulation(arm), frs.Batch([arm, arm])
    sim.step(20)
    batch.step(20)
    assert (batch.q == sim.q).all()


@pytest.mark.parametrize('name', ['wrench_dae', 'stiffened', 'element_sum', 'dual_screw'])
def test_other_formulations_agree(name):
    arm = press() if name == 'wrench_dae' else rigid_press()
    q, v = random_state(arm, 6)
    force = np.linspace(-1.0, 1.0, arm.size)
    expected = make('recursion', arm).accelerations(q, v, force)
    found = make(name, arm).accelerations(q, v, force)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    'kind, words, message',
    [
        ('prismatic', 'type="screw" pitch="0.05"', 'is a screw here and prismatic in the URDF'),
        ('continuous', 'type="screw"', 'screw joint "hinge" has no pitch'),
        ('continuous', 'type="screw" pitch="0"', 'screw joint "hinge" has no pitch'),
        ('continuous', 'pitch="0.05"', 'joint "hinge" has a pitch, but no type'),
        (
            'continuous',
            'type="screw" pitch="0.1" lower="0"',
            'has a lower here, but one coordinate',
        ),
    ],
)
def test_impossible_screws_are_refused(kind, words, message):
    inside = '<axis xyz="0 0 1"/><limit lower="0" upper="1" effort="1" velocity="1"/>'
    text = robot(
        link(), joint(kind=kind, inside=inside), flexibility(f'<joint name="hinge" {words}/>')
    )
    assert message in complaint(text)


def test_a_screw_as_type_of_a_urdf_joint_is_explained():
    text = complaint(robot(link(), joint(kind='screw')))
    assert (
        'Write type="continuous" here, and <joint name="hinge" type="screw" pitch="..."/>' in text
    )


def test_pitch_belongs_to_screws():
    builder = frs.ArmBuilder().add_rigid('nut', mass=1.0, inertia=(1, 1, 1))
    words = {'parent': 'base', 'child': 'nut'}
    with pytest.raises(frs.SettingError, match='a screw joint needs one'):
        builder.add_joint('lead', type='screw', **words)
    with pytest.raises(frs.SettingError, match='leave it out'):
        builder.add_joint('lead', pitch=0.1, **words)


def test_a_pitch_in_millimetres_is_a_warning():
    text = robot(link(), joint(), flexibility(SCREW.replace('0.05', '5')))
    (line,) = frs.read_description(text).warnings
    assert line == (
        '<text>:5: screw joint "hinge" travels 5 m per turn. Give pitch in m per turn, not in mm.'
    )


HELD_SCREW = """<robot name="arm"><link name="base"/>
{links}
<joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/>
  <axis xyz="0 0 1"/></joint>
<joint name="lift" type="continuous"><parent link="wheel"/><child link="nut"/>
  <origin xyz="0 0 {height!r}"/><axis xyz="0 0 1"/><mimic joint="turn" offset="{offset}"/></joint>
<flexibility{choice}>{screw}</flexibility></robot>"""


def test_the_line_about_a_held_screw_says_how_to_replace_it():
    body = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    links = ''.join(f'<link name="{name}">{body}</inertial></link>' for name in ('wheel', 'nut'))
    words = {'links': links, 'offset': 0.7, 'screw': SCREW.replace('hinge', 'lift')}
    held = ' mimic="held"'
    assert complaint(HELD_SCREW.format(height=0.2, choice=held, **words)) == (
        '<text>:7: joint "lift" is a mimic joint, which is held, so its screw does not turn. Let '
        'it move, without mimic="held" and behind a joint that moves; or add the travel of its '
        'offset to its <origin>, and remove it here.'
    )
    moving = frs.load(HELD_SCREW.format(height=0.2, choice='', **words))
    sim = frs.Simulation(moving)
    assert sim.position[moving.joint_names.index('lift')] == pytest.approx(0.7)
    pitch = float(SCREW.partition('pitch="')[2].partition('"')[0])
    words['screw'] = ''
    height = 0.2 + pitch * 0.7 / (2 * np.pi)
    replaced = frs.load(HELD_SCREW.format(height=height, choice=held, **words))
    found = frs.pose(replaced, np.zeros(replaced.size), link='nut')
    np.testing.assert_allclose(found, sim.pose(link='nut'), atol=1e-12)
