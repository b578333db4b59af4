"""Set points of the joint controller behind a shaper: closed forms and continuity."""

import numpy as np
import pytest
from controlled import POSE, rigid_arm, see, started

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.motion.profiles import motion_of_profile
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.impulses import ShapingSettings, of_kind
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaper_design import design_shaper
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

T = 2e-3
SWING = ProfileSettings(
    profile='swing',
    profile_start=0.0,
    profile_duration=1.3,
    profile_dwell=0.3,
    profile_poses=(0.5, 0.8, -0.6, -0.4, 0.1, 0.7),
)
# of minimum jerk over 1.3 s, from -0.6 to 0.7
FASTEST, HARDEST = 15 / 8 * 1.3 / 1.3, 10 / np.sqrt(3) * 1.3 / 1.3**2


@pytest.fixture(scope='module')
def two_link():
    return frs.load('two_link')


def fixed(shaper, joints=3):
    return OnlineShaper(2 * joints, T, shaper=shaper)


def by_pose(kind, joints=3):
    """Shaper of a mode whose frequency doubles with the position of the first joint."""
    axis = np.linspace(-0.6, 0.7, 41)
    frequencies = np.geomspace(1.5, 3.0, 41)[:, None]
    table = ModeTable((0,), (axis,), frequencies, np.full((41, 1), 0.01))
    return OnlineShaper(2 * joints, T, table=table, stages=stages_of(table, kind))


def watched(controller, times, do=lambda k: None):
    """Positions and velocities of the target (k, joints) each, with states at rest at times."""
    rows = []
    for k, now in enumerate(times):
        do(k)
        see(controller, now, np.zeros(len(controller.joint_names)))
        rows.append([controller.target, controller.target_velocity])
    return np.array(rows).transpose(1, 0, 2)


def test_set_points_are_the_mean_of_the_motion_at_several_times(two_link):
    shaper = of_kind('zvd', 1 / 0.4, 0.0)  # impulses at 0, 0.2 and 0.4 s: whole samples
    controller = started(two_link, profile=SWING)
    controller.use_shaper(fixed(shaper))
    times = T * np.arange(1, 1500)
    position, velocity = watched(controller, times)
    motion = motion_of_profile(SWING, two_link.joint_names, np.zeros(3))
    expected = np.average(
        [[motion.sample(t - delay)[:2] for t in times] for delay in (0.0, 0.2, 0.4)],
        axis=0,
        weights=(0.25, 0.5, 0.25),
    )
    np.testing.assert_allclose(position, expected[:, 0], atol=3e-7)  # rounding of times
    # the mean slope between two samples is the slope half a sample earlier
    np.testing.assert_allclose(velocity, expected[:, 1], atol=HARDEST * T)


@pytest.mark.parametrize('make', [lambda: fixed(of_kind('ei', 2.2, 0.02)), lambda: by_pose('zvd')])
def test_states_that_come_when_they_like_change_no_set_point(two_link, make):
    rng = np.random.default_rng(4)
    even = T * np.arange(1, 1000)
    uneven = np.sort(rng.uniform(T, even[-1], 700))
    found = []
    for times in (even, uneven):
        controller = started(two_link, profile=SWING)
        controller.use_shaper(make())
        found.append(watched(controller, times)[0])
    for joint in range(3):
        # lines between samples of a curve
        np.testing.assert_allclose(
            np.interp(uneven, even, found[0][:, joint]), found[1][:, joint], atol=HARDEST * T**2
        )


@pytest.mark.parametrize('kind', ['zv', 'zvd', 'ei2'])
def test_velocities_are_the_slope_of_positions_that_follow_the_pose(two_link, kind):
    controller = started(two_link, profile=SWING)
    controller.use_shaper(by_pose(kind))
    position, velocity = watched(controller, T * np.arange(1, 2000))
    slope = np.diff(position, axis=0) / T
    np.testing.assert_allclose(velocity[1:], slope, atol=1e-3 * FASTEST)


@pytest.mark.long(after=2)
@pytest.mark.parametrize('kind', ['zv', 'zvd', 'ei2'])
@pytest.mark.parametrize('goal', [0.7, -0.6])
def test_delays_that_shrink_make_no_joint_faster_than_it_may_be(kind, goal):
    duration = 0.6
    fastest = 15 / 8 * abs(goal) / duration  # of the motion: exactly the limit of the joint
    found = {}
    for limit in (fastest, 100.0):
        arm = rigid_arm(f'<limit lower="-2" upper="2" effort="90" velocity="{limit}"/>')
        controller = started(arm)
        controller.use_shaper(by_pose(kind, 1))
        controller.follow(
            Trajectory(['hinge_0'], [duration], [[goal]], [[0.0]], [[0.0]]), controller.newest
        )
        found[limit] = watched(controller, T * np.arange(1, 1500))
        assert not controller.is_moving
    (kept, speed), (free, free_speed) = found[fastest], found[100.0]
    steps = np.abs(np.diff(kept[:, 0])) / T
    assert steps.max() <= (1 + 1e-6) * fastest and np.abs(speed).max() <= (1 + 1e-6) * fastest
    # it ends exactly there, no sooner than without the limit, and not much later
    assert kept[-1, 0] == free[-1, 0] == goal
    arrives = [np.argmax(rows[:, 0] == goal) for rows in (kept, free)]
    assert arrives[1] <= arrives[0] <= arrives[1] + 1.0 / T
    if np.abs(free_speed).max() > 1.001 * fastest:
        assert np.abs(kept - free).max() > 1e-4
        # the velocity does not jump where the limit begins or ends to act
        assert np.abs(np.diff(steps)).max() < 2 * np.abs(np.diff(free_speed[:, 0])).max()
    else:
        np.testing.assert_array_equal(kept, free)


def test_a_target_that_leaps_leaps_behind_a_shaper_though_joints_have_limits():
    arm = rigid_arm('<limit lower="-2" upper="2" effort="90" velocity="0.5"/>')
    controller = started(arm)
    controller.use_shaper(fixed(of_kind('zv', 2.0), 1))
    controller.set_target([0.5])
    position, _ = watched(controller, T * np.arange(1, 400))
    assert set(np.round(position[:, 0], 12)) == {0.25, 0.5}


@pytest.mark.long(after=2)
@pytest.mark.parametrize('seed', range(6))
def test_shapers_that_change_in_motion_make_no_jump(two_link, seed):
    rng = np.random.default_rng(seed)
    changes = set(rng.integers(5, 2500, 8))
    jitter = rng.uniform(0.0, 0.9 * T, 4000)

    def change(k):
        if k in changes:
            kind = rng.choice(['none', 'zv', 'zvd', 'ei', 'by pose'])
            controller.use_shaper(
                None
                if kind == 'none'
                else by_pose('zvd')
                if kind == 'by pose'
                else fixed(of_kind(kind, rng.uniform(1.5, 4.0), 0.01))
            )
        if k == 2600:
            controller.set_target([0.1, 0.2, 0.3])  # a step, which is shaped, too

    controller = started(two_link, profile=SWING)
    times = T * np.arange(1, 4001) + jitter
    position, velocity = watched(controller, times, change)
    steps = np.diff(times)[:2599, None]
    moved, gained = (np.abs(np.diff(rows[:2600], axis=0)) for rows in (position, velocity))
    # a little faster and harder than the reference where one shaper fades into another
    assert (moved < 1.3 * FASTEST * (steps + T)).all()
    assert (gained < 2.0 * HARDEST * (steps + T)).all()
    # within the range of the reference, and finally exactly at its end
    assert (position[:2600].min(axis=0) >= [-0.4, 0.0, -0.6] - np.full(3, 1e-9)).all()
    assert (position[:2600].max(axis=0) <= [0.5, 0.8, 0.7] + np.full(3, 1e-9)).all()
    np.testing.assert_array_equal(position[-1], [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(velocity[-1], 0.0)
    assert not controller.is_moving


def test_a_step_has_no_spike_of_velocity(two_link):
    controller = started(two_link)
    controller.use_shaper(fixed(of_kind('zv', 2.0)))
    controller.set_target([0.5, 0.5, 0.5])
    position, velocity = watched(controller, T * np.arange(1, 400))
    assert set(np.round(position[:, 0], 12)) == {0.25, 0.5}
    np.testing.assert_array_equal(velocity, 0.0)


def test_a_trajectory_in_place_of_another_goes_on_where_the_first_one_is(two_link):
    controller = started(two_link)
    controller.use_shaper(fixed(of_kind('zvd', 2.0)))

    def replace(k):
        if k in (0, 170, 333):
            controller.follow(
                Trajectory(
                    ['waist'], [1.0], [[{0: 0.5, 170: -0.3, 333: 0.2}[k]]], [[0.0]], [[0.0]]
                ),
                controller.newest,
            )

    position, velocity = watched(controller, T * np.arange(1, 1500), replace)
    assert np.abs(np.diff(position, axis=0)).max() < 3.0 * T
    assert np.abs(np.diff(velocity, axis=0)).max() < 20.0 * T
    np.testing.assert_allclose(position[-1], [0.2, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize('event', ['hold', 'reset', 'silence', 'other controller'])
def test_shaping_restarts_at_the_present_position(two_link, event):
    controller = started(two_link, profile=SWING)
    controller.use_shaper(by_pose('zvd'))
    watched(controller, T * np.arange(1, 200))
    still, now = np.zeros(3), 200 * T
    if event == 'hold':
        controller.hold()
    elif event == 'reset':
        controller.update(now, POSE, still, POSE, still)
    elif event == 'silence':
        now += 1.0
        controller.update(now, POSE, still, POSE, still)
    else:
        controller.update(now, POSE, still, POSE, still, False)
        now += T
        controller.update(now, POSE, still, POSE, still)
    where = np.zeros(3) if event == 'hold' else POSE
    np.testing.assert_allclose(controller.target, where, atol=1e-9)
    # the swing profile restarts smoothly
    controller.update(now + T, where, still, where, still)
    np.testing.assert_allclose(controller.target, where, atol=1e-4)


def test_joints_that_a_doublet_drives_are_held_where_it_leaves_them(two_link):
    controller = started(
        two_link,
        ControllerSettings(feed_forward='none'),
        ProfileSettings(
            profile='bang_bang',
            profile_start=0.0,
            profile_duration=0.1,
            profile_effort=(1.0, 0.0, 0.0),
        ),
    )
    controller.use_shaper(fixed(of_kind('zvd', 2.0)))
    still = np.zeros(3)
    for k in range(1, 100):
        where = np.array([min(1e-4 * k, 5e-3), 0.0, 0.0])
        controller.update(T * k, where, still, where, still)
    np.testing.assert_allclose(controller.target, [5e-3, 0.0, 0.0], atol=1e-9)


def test_without_a_shaper_the_target_is_the_reference():
    controller = started(rigid_arm())
    controller.use_shaper(None)
    controller.set_target([0.4])
    np.testing.assert_array_equal(controller.target, [0.4])
    controller.use_shaper(OnlineShaper(2, T))
    see(controller, T)
    see(controller, 2 * T)
    np.testing.assert_array_equal(controller.target, [0.4])


@pytest.mark.long(after=1)
@pytest.mark.parametrize('is_by_pose', [True, False])
def test_a_shaper_of_the_urdf_stills_the_arm_that_its_servo_holds(is_by_pose):
    arm = frs.load('single_link')
    left = []
    for kind in ('none', 'zvd'):
        simulation = frs.Simulation(arm)
        controller = JointController(
            arm,
            ControllerSettings(bandwidth=3.0, state_period=1e-3),
            ProfileSettings(
                profile='minimum_jerk',
                profile_start=0.5,
                profile_duration=0.3,
                profile_displacement=(0.2,),
            ),
        )
        shaping = ShapingSettings(shaper=kind, shaper_by_pose=is_by_pose)
        servo = controller.servo
        controller.use_shaper(
            design_shaper(arm, shaping, (servo.stiffness, servo.damping), np.zeros(1), 1e-3)
        )
        tip = []
        while simulation.time < 6.0:
            simulation.effort = controller.update(
                simulation.time,
                simulation.position,
                simulation.velocity,
                simulation.motor_position,
                simulation.motor_velocity,
            )
            simulation.step()
            tip.append(np.linalg.norm(simulation.deflection[next(iter(arm.tips))][:3]))
        assert not controller.is_moving
        left.append(np.ptp(tip[4000:]))
    assert left[1] < 0.05 * left[0]


def test_what_does_not_ring_needs_no_shaper_and_what_is_too_fast_has_none(two_link):
    arm = rigid_arm()
    servo = JointController(arm).servo
    for is_by_pose in (True, False):
        with pytest.raises(SettingError, match='vibrates in .* it needs no shaper'):
            design_shaper(
                arm,
                ShapingSettings(shaper='zv', shaper_by_pose=is_by_pose),
                (servo.stiffness, servo.damping),
                np.zeros(1),
            )
    with pytest.raises(SettingError, match='is not below half of the 4 set points per second'):
        design_shaper(
            two_link, ShapingSettings(shaper='zv', shaper_by_pose=False), None, np.zeros(3), 0.25
        )
