"""
Controllers, shapers and observers of trees whose parts hang on ball joints.

A controller has no positions of ball joints. The rod of these arms hangs straight down at rest, so
the hinge carries it as a point mass at its end.
"""

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.control.feed_forward import make_feed_forward
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.identification.vibration_at_rest import vibration_model
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.set_point_stream import SetPointStream
from flex_robot_sim.shaping.shaper_design import design_for_modes
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper

INERTIA = 1e-2, 1 / 6, 1 / 6
SENSOR = '<flex_sensor name="root" from="0.02" to="0.1" plane="xz"/>'
SECTION = '<section EIy="200" EIz="300" GJ="100" EA="1e6"/>'


def hanging(more='', link_words=''):
    """Return a horizontal link of 1 m on a hinge, and a rod of 1 m on a ball joint at its end."""
    return frs.load(
        robot(
            link('arm', 2.0, '0.5 0 0', INERTIA),
            link('rod', 2.0, '0.5 0 0', INERTIA),
            joint(inside='<axis xyz="0 -1 0"/>'),
            joint('wrist', 'fixed', 'arm', 'rod', '<origin xyz="1 0 0"/>'),
            flexibility(f'<joint name="wrist" type="spherical" {more}/>', link_words),
        )
    )


def hinge_effort(turn):
    return 9.81 * np.cos(turn) * (2.0 * 0.5 + 2.0 * 1.0)


@pytest.mark.parametrize('turn', [0.0, 0.4, 2.0])
def test_the_hinge_carries_the_rod_as_a_point_mass(turn):
    expected = [hinge_effort(turn), 0.0, 0.0, 0.0]
    assert carrying_efforts(hanging(), [turn, 0.0, 0.0, 0.0]) == pytest.approx(expected, abs=1e-6)


def test_gains_are_designed_for_poses_in_which_the_rod_hangs():
    arm = hanging()
    poses = poses_within(arm)
    assert len({pose[0] for pose in poses}) > 20
    for pose in poses:
        assert frs.pose(arm, pose, link='rod')[:3, 0] == pytest.approx([0, 0, -1], abs=1e-6)


def test_a_controller_holds_the_hinge_where_two_axes_of_the_ball_joint_coincide():
    arm, target = hanging('viscous_friction="1"'), 0.0  # the rod hangs at a quarter turn of y
    controller, simulation = JointController(arm), frs.Simulation(arm)
    simulation.set_state(frs.equilibrium(arm, [target, 0.0, 0.0, 0.0]).q)
    for _ in range(300):
        position, velocity = (values * arm.actuated for values in (simulation.q, simulation.v))
        simulation.effort = controller.update(simulation.time, position, velocity)
        simulation.step()
        assert simulation.q[0] == pytest.approx(target, abs=1e-4)


@pytest.mark.parametrize('seed', range(4))
def test_errors_of_computed_torque_obey_their_equation_while_the_rod_swings(seed):
    arm, rate = hanging('spring_stiffness="3" viscous_friction="0.2"'), 2 * np.pi * 2.0
    position, velocity = np.random.default_rng(seed).uniform(-0.8, 0.8, (2, 4))
    law = frs.control.ComputedTorque(arm, reference=np.zeros(4), frequency=2.0)
    effort = law.step(frs.feedback.Measurement(0.0, position, velocity))
    assert not effort[1:].any()
    a = frs.forward_dynamics(arm, position, velocity, effort)
    assert a[0] == pytest.approx(-2 * rate * velocity[0] - rate**2 * position[0], rel=1e-9)


@pytest.mark.parametrize('use', [frs.linearise, frs.modes, frs.feedback.Lqr])
def test_models_refuse_poses_where_two_axes_coincide(use):
    line = refusal(frs.SettingError, lambda: use(hanging(), np.zeros(4)))
    assert line == (
        'wrist_x, wrist_z of test move no mass in this pose, in which their axes coincide: '
        'take another pose'
    )


def test_an_lqr_names_a_spin_that_nothing_holds():
    line = refusal(frs.SettingError, lambda: frs.feedback.Lqr(hanging(), [0.3, 0.0, 0.0, 0.0]))
    assert line == (
        'nothing holds "wrist_x" of test in this pose, and no motor moves it: '
        'give its joint a spring_stiffness'
    )
    frs.feedback.Lqr(hanging('spring_stiffness="3"'), [0.3, 0.0, 0.0, 0.0])


def test_the_feed_forward_follows_the_hanging_rod():
    gravity = make_feed_forward(hanging(), 'gravity')
    for turn in np.linspace(0.0, 2.0, 201):
        gravity.update(np.array([turn, 0.0, 0.0, 0.0]))
        assert gravity.effort == pytest.approx([hinge_effort(turn), 0, 0, 0], abs=0.02)
    for _ in range(8):
        gravity.update(np.array([turn, 0.0, 0.0, 0.0]))
    assert gravity.effort == pytest.approx([hinge_effort(turn), 0, 0, 0], abs=1e-9)
    assert gravity.is_settled


def test_the_sag_of_a_bent_link_moves_what_hangs_on_it():
    arm, target = hanging('spring_stiffness="2"', beam(SECTION)), np.array([0.4, 0.0, 0.0, 0.0])
    sag, rest = make_feed_forward(arm, 'sag'), frs.equilibrium(arm, target)
    for _ in range(60):
        sag.update(target)
    assert sag.effort == pytest.approx(rest.effort, abs=1e-6)
    straight = carrying_efforts(arm, target)
    assert abs(straight[0] - rest.effort[0]) > 1e-3


def test_an_lqg_refuses_a_passive_joint_in_one_line():
    line = refusal(frs.SettingError, lambda: frs.feedback.design_lqg(hanging(), np.zeros(4)))
    assert line == (
        'test: "wrist_x" is passive, but an LQG needs a motor at each joint. Take Lqr, or give '
        'the joint a fixed type'
    )


def test_a_ball_joint_has_no_target():
    arm = hanging()
    line = refusal(
        frs.SettingError,
        lambda: Reference(arm).plan(Trajectory(['wrist_x'], [1.0], [[0.1]]), 0.0, 0.0),
    )
    assert line.endswith(
        'joint "wrist_x" is passive and has no target. Joints with a motor: hinge'
    )


def test_shapers_take_the_joints_with_a_motor():
    arm = hanging()
    shaper = TrajectoryShaper(lambda _: frs.shaping.zv(2.0), 0.01, arm)
    shaper.measured = {'hinge': 0.1}  # as joint_states have it
    shaped = shaper.shaped(Trajectory(['hinge'], [0.5], [[0.3]], [[0.0]]), 0.0)
    assert shaped.names == ('hinge',) and shaped.positions[-1] == pytest.approx([0.3], abs=1e-12)
    stream = SetPointStream(['hinge'], 0.01, design_for_modes('zv', [2.0]), arm)
    stream.receive([0.1])
    for _ in range(100):
        stream.tick()
    assert stream.position == pytest.approx([0.1])


def test_delays_that_follow_the_pose_do_so_without_the_passive_joints():
    arm = frs.load('four_bar')
    by_pose = frs.shaping.design_for_arm(arm, kind='zv', gains=(40.0, 0.1))
    assert by_pose.stages and by_pose.of_joints([0]).table.joints == (0,)
    moved = by_pose._replace(table=by_pose.table._replace(joints=(2,)))
    assert moved.of_joints([1, 2]).table.joints == (1,)
    stream = SetPointStream(['crank_joint'], 0.01, by_pose, arm)
    stream.receive([0.0])
    stream.tick()
    assert stream.position == pytest.approx([0.0])


def test_the_vibration_of_a_hanging_rod_has_the_modes_with_locked_drives():
    arm = hanging('spring_stiffness="2"', beam(SECTION + SENSOR))
    pose = np.array([0.4, 0.0, 0.0, 0.0])
    model = vibration_model(arm, pose, 3.0)
    expected = frs.frequencies(arm, pose, joints='locked')
    expected = expected[expected > 0.0][: len(model.frequencies)]
    assert model.frequencies == pytest.approx(expected, rel=1e-6)
    assert model.static_gain.shape == (1, 4) and not model.static_gain[:, 1:].any()
