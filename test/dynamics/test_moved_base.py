"""Moved bases: against prescribed joints, tilted gravity, Pinocchio and closed forms."""

import copy
import pickle
import re

import numpy as np
import pytest
from closed_loops import closed_robot
from compare import GRAVITY, arm_of
from moved_bases import Roll, on_a_joint, ship, write_ship
from project_files import ROOT
from random_arms import random_robot
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation
from sliding_arms import sliding_arm, telescope

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.description.base_motion import read_motion_table
from flex_robot_sim.motion.base_motion import FunctionBaseMotion, SampledBaseMotion
from flex_robot_sim.simulation import queries
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.share import shipped_robots

KELVIN_VOIGT = '<damping time_constant="2e-4"/>'
LIMIT = '<limit lower="-9" upper="9" effort="1e4" velocity="10"/>'
UR5E = ROOT / 'test/data/robots/ur5e.urdf'
AT_REST = np.tile([0, 0, 0, 0, 0, 0, 1], (2, 1))  # poses


@pytest.mark.parametrize(
    ('robot', 'motion'),
    [
        ('two_link', Roll((1, 0, 0))),
        ('spin_up_8m', Roll((0, 0, 1), rate=3.0)),  # centrifugal stiffening
        ('four_bar', Roll((1, 0, 0))),  # a loop that is closed by the base
    ],
)
def test_a_moved_base_equals_a_prescribed_joint_at_the_root(robot, motion):
    text = shipped_robots()[robot].read_text()
    settings = frs.SimulationSettings(iterations=12)  # converged: loops stop at 5e-7
    moved = frs.Simulation(frs.load(text), settings)
    moved.move_base(motion.base)
    driven = frs.Simulation(frs.load(on_a_joint(text, motion.axis)), settings)
    driven.prescribe('roll', motion.drive)
    motor = moved.arm.joint_names[0]
    for sim in (moved, driven):
        sim.effort[sim.arm.joint_names.index(motor)] = 0.1
        sim.step(150)
        assert not sim.reports
    index = [driven.arm.coordinate_names.index(name) for name in moved.arm.coordinate_names]
    assert abs(moved.q).max() > 1e-3
    np.testing.assert_allclose(moved.q, driven.q[index], rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved.pose(), driven.pose(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved.twist(), driven.twist(), rtol=0, atol=1e-7)
    # the roll joint moves a link of its own, too
    assert moved.energy().balance == pytest.approx(driven.energy().balance, rel=0.1, abs=1e-9)


@pytest.mark.parametrize('text', [sliding_arm(damping=KELVIN_VOIGT), telescope()])
@pytest.mark.parametrize('motion', [Roll((0, 1, 0)), Roll((0, 0, 1), rate=3.0), 'rail'])
def test_sliding_links_on_a_moved_base_equal_those_on_a_prescribed_joint(text, motion):
    axis, drive = (0, 1, 0), Roll((0, 1, 0)).drive
    if motion == 'rail':
        angle = Roll((0, 1, 0)).angle

        def base(time):
            place, speed, acceleration = angle(time)
            return [0, place, 0, 0, 0, 0, 1], [0, 0, 0, 0, speed, 0], [0, 0, 0, 0, acceleration, 0]
    else:
        axis, drive, base = motion.axis, motion.drive, motion.base
    carried = on_a_joint(text, axis)
    if motion == 'rail':
        carried = carried.replace('"roll" type="continuous">', f'"roll" type="prismatic">{LIMIT}')
    settings = frs.SimulationSettings(iterations=12)
    moved, driven = (frs.Simulation(frs.load(one), settings) for one in (text, carried))
    moved.move_base(base)
    driven.prescribe('roll', drive)
    for sim in (moved, driven):
        sim.effort[sim.arm.joint_names.index('out')] = 20.0
        sim.step(300)
        assert not sim.reports
    index = [driven.arm.coordinate_names.index(name) for name in moved.arm.coordinate_names]
    assert abs(moved.q[moved.arm.idx_q['out']]) > 0.05  # the link slides
    np.testing.assert_allclose(moved.q, driven.q[index], rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved.v, driven.v[index], rtol=0, atol=1e-7)


def test_an_accelerated_base_is_a_tilted_gravity():
    a, text = np.array([2.0, -1.0, 0.5]), random_robot(3, 4)
    gravity = np.array(GRAVITY)
    sims = [frs.Simulation(arm_of(text, gravity=tuple(g))) for g in (gravity, gravity - a)]
    sims[0].move_base(
        lambda t: ([*(0.5 * t * t * a), 0, 0, 0, 1], [0, 0, 0, *(t * a)], [0, 0, 0, *a])
    )
    sims[1].move_base()  # without the energy correction of (T44), as the other
    for sim in sims:
        sim.step(100)
    assert abs(sims[0].q).max() > 1e-2
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=1e-9)


def test_the_energy_balance_of_a_ship_closes_with_the_step():
    text = re.sub('<dynamics[^>]*/>', '', UR5E.read_text())
    motion = SampledBaseMotion(*samples_of(ship, np.linspace(0.0, 2.0, 101)))
    errors = []
    for h in (2e-3, 1e-3):
        sim = frs.Simulation(frs.load(text), frs.SimulationSettings(time_step=h))
        sim.move_base((motion.times, motion.poses))
        sim.advance_to(0.2)
        energy = sim.energy()
        errors.append(energy.balance)
        assert abs(energy.work) > 1.0
        assert abs(energy.balance) < 1e-3 * energy.kinetic
    assert abs(errors[1]) < 0.3 * abs(errors[0])


@pytest.mark.parametrize('drive', ['free', 'prescribed', 'prescribed, base at rest'])
def test_the_energy_balance_of_a_loop_closes_with_the_square_of_the_step(drive):
    loop = closed_robot(2, 'spherical', damping=False, gears=False)
    arm = frs.load('four_bar' if 'rest' in drive else loop)
    motion = SampledBaseMotion(*samples_of(lambda t: ship(3.0 * t), np.linspace(0.0, 1.0, 201)))
    times, errors = np.linspace(0.0, 1.0, 201), []
    for h in (2e-3, 1e-3):
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h, iterations=12))
        if 'rest' not in drive:
            sim.move_base((motion.times, motion.poses))
        if drive != 'free':
            sim.prescribe(arm.joint_names[0], (times, 2.5 * times**2))
        sim.advance_to(0.1)
        energy = sim.energy()
        errors.append(energy.balance)
        assert abs(energy.work) > 1e-2 and abs(energy.balance) < 1e-5 * energy.kinetic
    assert abs(errors[1]) < 0.3 * abs(errors[0])


def samples_of(function, times):
    """Times and poses of a motion."""
    rows = np.array([function(time) for time in times])
    return times, np.column_stack([rows[:, :3], Rotation.from_euler('xyz', rows[:, 3:]).as_quat()])


@pytest.mark.parametrize('seed', range(5))
def test_a_random_motion_of_the_base_gives_the_accelerations_of_pinocchio(seed):
    pin = pytest.importorskip('pinocchio')
    text = re.sub('<dynamics[^>]*/>', '', UR5E.read_text())
    rng = np.random.default_rng(seed)
    sim = frs.Simulation(frs.load(text))
    quaternion = rng.normal(size=4)
    pose = np.concatenate([rng.normal(size=3), quaternion / np.linalg.norm(quaternion)])
    twist, rate = rng.normal(size=(2, 6))
    sim.move_base(lambda time: (pose, twist, rate))
    q, v, effort = rng.normal(size=(3, 6))
    sim.set_state(q, v)
    sim.effort = 10.0 * effort
    acceleration = queries.accelerations(sim._simulated)
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    data, order = model.createData(), [3, 4, 5, 0, 1, 2]
    configuration = np.concatenate([pose, q])
    force = pin.rnea(
        model,
        data,
        configuration,
        np.concatenate([twist[order], v]),
        np.concatenate([rate[order], acceleration]),
    )
    np.testing.assert_allclose(force[6:], 10.0 * effort, rtol=0, atol=1e-11 * abs(force).max())
    pin.forwardKinematics(
        model,
        data,
        configuration,
        np.concatenate([twist[order], v]),
        np.concatenate([rate[order], acceleration]),
    )
    frame = model.getFrameId(sim.arm.tool)
    pin.updateFramePlacement(model, data, frame)
    np.testing.assert_allclose(sim.pose(), data.oMf[frame].homogeneous, rtol=0, atol=1e-12)
    theirs = pin.getFrameVelocity(model, data, frame)
    np.testing.assert_allclose(sim.twist(), [*theirs.angular, *theirs.linear], atol=1e-12)
    theirs = pin.getFrameAcceleration(model, data, frame)
    np.testing.assert_allclose(sim.twist_rate(), [*theirs.angular, *theirs.linear], atol=1e-9)
    wrench = sim.wrench(sim.arm.joint_names[0])
    assert wrench[2] == pytest.approx(10.0 * effort[0], abs=1e-9)


@pytest.mark.parametrize('kind', ['samples', 'function'])
def test_twist_and_rate_of_a_motion_are_the_slopes_of_its_pose(kind):
    times, poses = samples_of(ship, np.linspace(0.0, 5.0, 201))
    motion = SampledBaseMotion(times, poses)
    if kind == 'function':
        sampled = motion
        motion = FunctionBaseMotion(lambda t: sampled.samples(np.array([t]))[0, :7])
    np.testing.assert_allclose(motion.samples(times[::50])[:, :3], poses[::50, :3], atol=1e-12)
    at, h = 2.512, 1e-3
    before, now, after = motion.samples(at + h * np.array([-1.0, 0.0, 1.0]))
    R = [Rotation.from_quat(row[3:7]) for row in (before, now, after)]
    turn = (R[0].inv() * R[2]).as_rotvec() / (2 * h)
    way = R[1].inv().apply(after[:3] - before[:3]) / (2 * h)
    np.testing.assert_allclose(now[7:13], [*turn, *way], atol=1e-6)
    np.testing.assert_allclose(now[13:], (after[7:13] - before[7:13]) / (2 * h), atol=1e-5)
    # the accelerations of both sides of a sample agree: its motion is smooth
    left, right = motion.samples(times[100] + 1e-6 * np.array([-1.0, 1.0]))
    np.testing.assert_allclose(left[13:], right[13:], atol=1e-4)


def test_a_motion_through_uneven_samples_has_the_velocities_of_splines_of_scipy():
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.uniform(0.01, 0.3, 50))
    poses = samples_of(ship, times)[1]
    spline = CubicSpline(times, poses)
    at = np.concatenate([times, rng.uniform(times[0], times[-1], 200)])
    samples = SampledBaseMotion(times, poses).samples(at)
    omega, v = samples[:, 7:10], samples[:, 10:13]
    R = Rotation.from_quat(spline(at)[:, 3:])
    velocity, acceleration = R.apply(v), R.apply(samples[:, 16:] + np.cross(omega, v))
    # rounding only: SciPy evaluates the same polynomials
    np.testing.assert_allclose(samples[:, :3], spline(at)[:, :3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(velocity, spline(at, 1)[:, :3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(acceleration, spline(at, 2)[:, :3], rtol=0, atol=1e-13)
    assert (R.inv() * Rotation.from_quat(samples[:, 3:7])).magnitude().max() < 1e-14
    outside = SampledBaseMotion(times, poses).samples(np.array([times[0] - 1.0, times[-1] + 1.0]))
    np.testing.assert_allclose(outside[:, :7], poses[[0, -1]], rtol=0, atol=1e-14)
    assert not outside[:, 7:].any()


def test_states_with_a_moved_base_continue_bit_for_bit(tmp_path):
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 1.0, 101))
    text = shipped_robots()['single_link'].read_text()
    text = text.replace('<flexibility>', '<flexibility><base motion="ship.csv"/>', 1)
    (tmp_path / 'arm.urdf').write_text(text)
    arm = frs.load(tmp_path / 'arm.urdf')
    sim = frs.Simulation(arm)
    assert sim.base_pose[2] == pytest.approx(0.4) and sim.energy().balance == 0.0
    sim.step(20)
    state = sim.save_state()
    copies = [copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    sim.step(30)
    for one in copies:
        one.step(30)
        np.testing.assert_array_equal(one.q, sim.q)
        np.testing.assert_array_equal(one.base_pose, sim.base_pose)
    end = sim.q
    sim.restore_state(state)
    sim.step(30)
    np.testing.assert_array_equal(sim.q, end)
    times, poses = read_motion_table(tmp_path / 'ship.csv')
    at = SampledBaseMotion(times, poses).samples(np.array([sim.time]))[0]
    np.testing.assert_allclose(sim.base_pose, at[:7], atol=1e-14)
    np.testing.assert_allclose(sim.base_twist, at[7:13], atol=1e-14)
    with pytest.raises(SettingError, match='follows "ship.csv", and this needs a base at rest'):
        frs.Batch(arm, 2)


def _on_a_ship(tmp_path):
    """Return the single link at rest, and on a ship that starts away from the origin."""
    text = frs.load('single_link').description.text
    write_ship(tmp_path / 'ship.csv', np.arange(0.0, 5.0, 0.05))
    path = tmp_path / 'arm.urdf'
    path.write_text(text.replace('<flexibility>', '<flexibility><base motion="ship.csv"/>', 1))
    return frs.load('single_link'), frs.load(path)


@pytest.mark.slow
def test_plans_and_shapers_refer_to_a_base_at_rest(tmp_path):
    plans, found = [], []
    for arm in _on_a_ship(tmp_path):
        plans.append(frs.planning.plan_move(arm, [0.0], [0.3], duration=0.9, uncertainty=0.0))
        found.append(frs.shaping.recommend(arm, move=([0.0], [0.8])).choice)
    assert plans[0].limit_usage == plans[1].limit_usage
    assert plans[0].residual_vibration == plans[1].residual_vibration
    assert found[0].name == found[1].name
    assert found[0].figures == found[1].figures


def test_identification_refuses_a_moved_base(tmp_path, capsys):
    _, arm = _on_a_ship(tmp_path)
    line = (
        f'the base of "{arm.description.name}" follows "ship.csv", and this needs a base at rest: '
        'use Simulation, or remove <base> from <flexibility>'
    )
    log = frs.identification.make_log([0.0, 0.1], {'position': np.zeros(2)})
    for refused in (
        lambda: frs.identification.identify_parameters(arm, log),
        lambda: frs.identification.design_experiment(arm, duration=2.0, period=1e-2),
    ):
        with pytest.raises(SettingError) as caught:
            refused()
        assert str(caught.value) == line
    assert main(['identify', 'log.csv', str(tmp_path / 'arm.urdf')]) == 2
    assert capsys.readouterr().err == f'flexsim identify: {line}\n'


def test_a_boom_on_a_slowly_rolling_ship_bends_as_under_the_tilted_weight():
    hold, arm = np.array([0.5, 0.6]), frs.load('ship_boom')
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=5e-3))
    rest = frs.equilibrium(arm, hold)
    sim.set_state(rest.q)
    sim.effort = rest.effort
    sim.hold(hold, 1e6, 1e5)
    table = arm.description.base_motion
    slow = SampledBaseMotion(10.0 * table.times, table.poses)  # inertia is a hundredth
    sim.move_base((slow.times + sim.time, slow.poses))
    sim.advance_to(100.0)
    R = Rotation.from_quat(sim.base_pose[3:])
    assert R.magnitude() > 0.05 and not sim.reports
    tilted = frs.load('ship_boom', gravity=R.inv().apply([0.0, 0.0, -9.81]))
    expected = frs.equilibrium(tilted, sim.motor_position).q
    upright = frs.equilibrium(arm, sim.motor_position).q
    bent, tip = sim.q[arm.elastic_q], expected[arm.elastic_q]
    assert abs(tip - upright[arm.elastic_q]).max() > 1e-4
    np.testing.assert_allclose(bent, tip, rtol=0, atol=0.02 * abs(tip).max())


def test_a_motion_that_ends_moving_or_jumps_is_reported_once():
    sim = frs.Simulation(frs.load('single_link'))
    sim.move_base(([0.0, 0.05], [[0, 0, 0, 0, 0, 0, 1], [0.1, 0, 0, 0, 0, 0, 1]]))
    sim.step(100)
    assert [line.partition(':')[0] for line in sim.reports] == [
        'the motion of the base ends at 0.05 s, while the base moves'
    ]
    sim = frs.Simulation(frs.load('single_link'))
    sim.move_base(lambda time: [0.1 * (time > 0.0205), 0, 0, 0, 0, 0, 1])
    sim.step(100)
    (line,) = sim.reports
    assert line.startswith('the motion of the base jumps by 0.1 m or rad before 0.021 s. Presc')
    sim.move_base(lambda time: [0, 0, 0, 0, 0, 0, 1])
    assert sim.reports[1].startswith('the motion of the base is 0.1 m and 0 rad from the base')


def test_a_sampled_motion_that_comes_to_rest_is_not_reported():
    times = np.linspace(0.0, 0.05, 12)
    poses = np.tile([0.0, 0, 0, 0, 0, 0, 1], (12, 1))
    poses[:, 0] = 0.01 * (1.0 - np.cos(np.pi * times / times[-1]))
    sim = frs.Simulation(frs.load('single_link'))
    sim.move_base((times, poses))
    sim.step(100)
    assert sim.reports == []


@pytest.mark.parametrize(
    ('motion', 'message'),
    [
        (lambda time: [np.nan, 0, 0, 0, 0, 0, 1], 'the motion of the base at 0 s must be a fin'),
        (lambda time: [0, 0, 0, 0, 0, 0, 2], 'the motion of the base at 0 s must be a finite'),
        (lambda time: None, 'the motion of the base at 0 s must be a finite pose'),
        (([0.0, 0.0], AT_REST), 'must be a function of time, or'),
        ('ship.csv', "must be a function of time, or a pair of arrays.*; not 'ship.csv'$"),
        (([0.0, 1.0], np.zeros((2, 6))), r'; not arrays of the shapes \(2,\) and \(2, 6\)$'),
        (([0.0, np.nan], AT_REST), '; row 1 is not finite$'),
        (([0.0, 2.0, 1.0], [*AT_REST, AT_REST[0]]), '; the time 1 s of row 2 is not after 2 s$'),
        (([0.0, 1.0], np.ones((2, 7))), '; a quaternion has another length than 1$'),
        (
            (np.arange(9.0), [[0, 0, k > 4, 0, 0, 0, 1] for k in range(9)]),
            'samples of the motion of the base: the position jumps or is sampled too coarsely at '
            '4 s: it is 0.5 m from the smooth curve through its neighbours. Remove the jump',
        ),
    ],
)
def test_unusable_motions_of_a_base_end_in_one_line(motion, message):
    sim = frs.Simulation(frs.load('single_link'))
    with pytest.raises(SettingError, match=message):
        sim.move_base(motion)
    sim.step()


def test_a_motion_that_fails_later_leaves_the_last_good_state():
    sim = frs.Simulation(frs.load('single_link'))
    sim.move_base(lambda time: [0, 0, 0 if time < 0.01 else np.nan, 0, 0, 0, 1])
    with pytest.raises(SettingError, match='at 0.0100 s must be a finite pose|at 0.01'):
        sim.step(100)
    assert np.isfinite(sim.q).all()
    sim.move_base(lambda time: [0.1 * (time > 0.02), 0, 0, 0, 0, 0, 1])
    message = 'the motion of the base jumps by about 0.13 m or rad at 0.02 s: give a smooth'
    with pytest.raises(SettingError, match=message):
        sim.step(100)


def test_explicit_schemes_and_free_bases_refuse_a_motion():
    sim = frs.Simulation(frs.load('single_link'), frs.SimulationSettings(scheme='rk4'))
    with pytest.raises(SettingError, match='needs the scheme implicit_midpoint'):
        sim.move_base()
