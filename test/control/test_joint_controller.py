"""The joint controller in closed loop with the simulation, against closed forms and statics."""

from dataclasses import replace

import numpy as np
import pytest
from beam_arms import beam_arm, with_elements
from closed_loops import TREES
from controlled import INERTIA, NOTHING, POSE, SWING, feed, rigid_arm, see, started
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.feed_forward import make_feed_forward
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.gravity_table import GravityTable
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.motion.profile_settings import ProfileSettings
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def two_link():
    return frs.load('two_link')


@pytest.mark.parametrize('ratio', [0.1, 0.7])
def test_a_rigid_joint_is_a_damped_oscillator(ratio):
    h, frequency = 1e-4, 2.0
    simulation = frs.Simulation(rigid_arm(), frs.SimulationSettings(time_step=h))
    controller = JointController(
        simulation.arm,
        ControllerSettings(bandwidth=frequency, damping_ratio=ratio),
        ProfileSettings(profile='step', profile_start=0.0, profile_displacement=(0.3,)),
    )
    t, position, _ = feed(controller, simulation, 1.0)
    rate = 2 * np.pi * frequency
    damped = rate * np.sqrt(1 - ratio**2)
    expected = 0.3 - 0.3 * np.exp(-ratio * rate * t) * (
        np.cos(damped * t) + ratio * rate / damped * np.sin(damped * t)
    )
    # efforts held over a step lag by h/2, which is equivalent to a damping ratio lower by
    # h rate / 4; over 1 s that changes the swing by h rate^2 / 4 of its size at most
    np.testing.assert_allclose(position, expected, atol=0.3 * h * rate**2 / 4)


def test_gains_come_from_bandwidth_and_ratio_or_are_given():
    arm = rigid_arm()
    k = INERTIA * (2 * np.pi * 3.0) ** 2
    for settings, stiffness, damping in (
        ({'bandwidth': 3.0, 'damping_ratio': 0.5}, k, np.sqrt(k * INERTIA)),
        ({'position_gain': (8.0,), 'damping_ratio': 1.0}, 8.0, 2 * np.sqrt(8.0 * INERTIA)),
        ({'position_gain': (8.0,), 'velocity_gain': (0.25,)}, 8.0, 0.25),
    ):
        controller = started(arm, replace(NOTHING, **settings))
        effort = controller.update(0.0, np.zeros(1), np.array([-1.0]))
        assert effort[0] == pytest.approx(damping, rel=1e-12)
        controller.set_target([1.0])
        assert see(controller, 0.0)[0] == pytest.approx(stiffness, rel=1e-12)


def test_a_doublet_turns_a_free_joint_by_a_quarter_of_effort_T2_over_inertia():
    simulation = frs.Simulation(rigid_arm())
    controller = JointController(
        simulation.arm,
        NOTHING,
        ProfileSettings(
            profile='bang_bang',
            profile_start=0.2,
            profile_duration=0.6,
            profile_effort=(0.5,),
            profile_end='free',
        ),
    )
    t, position, effort = feed(controller, simulation, 1.5)
    assert set(effort[t < 0.7999]) == {0.0, 0.5, -0.5}
    np.testing.assert_array_equal(effort[t > 0.8001], 0.0)
    # half way after T/2 with constant acceleration, and the other half mirrored; rounding decides
    # whether a half lasts a step of 1 ms more
    assert position[-1] == pytest.approx(0.5 / INERTIA * 0.6**2 / 4, rel=1e-2)


def test_a_doublet_ends_in_a_hold_if_it_is_to():
    simulation = frs.Simulation(rigid_arm())
    controller = JointController(
        simulation.arm,
        NOTHING,
        ProfileSettings(
            profile='bang_bang', profile_start=0.0, profile_duration=0.6, profile_effort=(0.5,)
        ),
    )
    feed(controller, simulation, 1.0)
    assert not controller.is_moving
    assert controller.target[0] == pytest.approx(0.5 / INERTIA * 0.6**2 / 4, rel=1e-2)
    simulation.set_state(q=controller.target + 0.015)  # more would be a reset
    feed(controller, simulation, 4.0)
    # exp(-0.7 2 pi 3) of it is left
    np.testing.assert_allclose(simulation.position, controller.target, atol=1e-5)


def test_joints_that_a_doublet_does_not_drive_are_held():
    arm = rigid_arm(count=2)
    controller = started(
        arm,
        replace(NOTHING, position_gain=(8.0, 8.0), velocity_gain=(0, 0)),
        ProfileSettings(profile='bang_bang', profile_start=0.0, profile_effort=(0.5, 0.0)),
    )
    np.testing.assert_allclose(see(controller, 0.01, [0.015, 0.015]), [0.5, -0.12])


@pytest.mark.parametrize('pose', [POSE, np.array([-1.0, 0.2, 0.9])])
def test_gravity_holds_a_rigid_arm_where_it_is(pose):
    simulation = frs.Simulation(frs.load('rcm'))
    pose = np.append(pose, [0.3, -0.2])
    simulation.set_state(pose)
    feed(JointController(simulation.arm), simulation, 0.5)
    np.testing.assert_allclose(simulation.position, pose, atol=1e-9)  # rounding of efforts


@pytest.mark.parametrize('name', TREES)
def test_a_table_of_weight_is_exact_everywhere(name):
    arm = build_arm(frs.read_description(name), gravity=(2.0, -3.0, -9.0))
    table = GravityTable(arm)
    for pose in np.random.default_rng(1).uniform(-4.0, 4.0, (20, len(arm.joint_names))):
        table.update(pose)
        expected = carrying_efforts(arm, pose)
        # rounding of hundreds of terms
        np.testing.assert_allclose(table.effort, expected, atol=1e-12 * np.abs(expected).max())


def test_sag_brings_the_link_side_of_flexible_joints_to_the_target(two_link):
    simulation = frs.Simulation(two_link)
    controller = started(two_link, ControllerSettings(feed_forward='sag'))
    controller.set_target(POSE)
    feed(controller, simulation, 8.0)
    # the remainder of the slowest mode, 1 Hz, after 8 s
    np.testing.assert_allclose(simulation.position, POSE, atol=1e-6)
    at_rest = frs.equilibrium(two_link, simulation.motor_position)
    np.testing.assert_allclose(at_rest.q[:3], POSE, atol=1e-6)
    np.testing.assert_allclose(controller.effort, at_rest.effort, atol=2e-5)


def test_the_feed_forward_holds_springs_across_joints(two_link):
    spring, rest = np.array([0.0, 30.0, 20.0]), np.array([0.0, 0.2, -0.4])
    arrays = two_link.arrays._replace(spring=spring, spring_rest=rest)
    arm, pose = replace(two_link, arrays=arrays), np.array(POSE)
    sag, gravity = make_feed_forward(arm, 'sag'), make_feed_forward(arm, 'gravity')
    for _ in range(60):
        sag.update(pose)
    at_rest = frs.equilibrium(arm, pose + sag.motor_offset)
    np.testing.assert_allclose(at_rest.q[:3], POSE, atol=1e-8)
    np.testing.assert_allclose(sag.effort, at_rest.effort, atol=1e-8)
    gravity.update(pose)
    without = make_feed_forward(two_link, 'gravity')
    without.update(pose)
    expected = without.effort + spring * (pose - rest)
    np.testing.assert_allclose(gravity.effort, expected, atol=1e-12)
    np.testing.assert_allclose(carrying_efforts(arm, pose), expected, atol=1e-9)


@pytest.mark.parametrize('feedback', ['motor', 'link'])
def test_sag_needs_no_position_error_at_rest(two_link, feedback):
    controller = started(
        two_link, ControllerSettings(feed_forward='sag', feedback=feedback), position=POSE
    )
    for k in range(40):
        see(controller, 1e-3 * k, POSE)
    motor = POSE + controller._feed.motor_offset
    at_rest = frs.equilibrium(two_link, motor)
    np.testing.assert_allclose(at_rest.q[:3], POSE, atol=1e-9)  # SETTLED
    effort = controller.update(0.04, POSE, np.zeros(3), motor, np.zeros(3))
    np.testing.assert_allclose(effort, at_rest.effort, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize('ratio', [0.3, 2.0, 20.0])
def test_sag_holds_a_beam_that_weight_stiffens(ratio):
    # a hanging beam near the vertical, which gravity stiffens up to about ten times
    arm = beam_arm(
        with_elements(3, bending_z='all'),
        axis='0 1 0',
        gravity=(ratio, 0.0, 0.0),
        gear='stiffness="50" rotor_inertia="0.1"',
    )
    controller = started(
        arm, ControllerSettings(feed_forward='sag', feedback='link'), position=[0.05]
    )
    for k in range(400):
        see(controller, 1e-3 * k, [0.05])
    assert controller.reports == []
    at_rest = frs.equilibrium(arm, 0.05 + controller._feed.motor_offset)
    np.testing.assert_allclose(at_rest.q[0], 0.05, atol=1e-9)
    np.testing.assert_allclose(controller.effort, at_rest.effort, rtol=1e-6)


def test_an_arm_that_buckles_is_taken_as_straight_and_it_is_said_once():
    # its weight is 30 times the buckling load 7.84 EI / L^2
    arm = beam_arm(
        with_elements(3, bending_z='all'), axis='0 1 0', EIy=0.01, gravity=(-9.81, 0.0, 0.0)
    )
    controller = started(arm, ControllerSettings(feed_forward='sag'), position=[0.1])
    for k in range(2000):
        see(controller, 1e-3 * k, [0.1])
    assert controller.reports == [
        'feed_forward sag: the arm bends too much for it, and is taken as straight'
    ]
    straight = JointController(arm, ControllerSettings(feed_forward='gravity'))
    see(straight, 0.0, [0.1])
    controller.hold()
    np.testing.assert_allclose(see(controller, 2.0, [0.1]), see(straight, 0.0, [0.1]), rtol=1e-12)


def test_it_begins_where_the_arm_is():
    controller = started(rigid_arm(), position=[1.2])
    assert controller.target.tolist() == [1.2]
    assert controller.effort.tolist() == [0.0]
    assert not controller.is_moving


def test_motor_side_or_link_side_is_held(two_link):
    motor, still = POSE + [0.1, 0.2, 0.3], np.zeros(3)
    for feedback, held in (('motor', motor), ('link', POSE)):
        controller = JointController(two_link, replace(NOTHING, feedback=feedback))
        controller.update(0.0, POSE, still, motor, still)
        np.testing.assert_array_equal(controller.target, held)
        np.testing.assert_array_equal(controller.effort, still)


def test_there_is_no_effort_before_the_first_state():
    controller = JointController(rigid_arm())
    assert controller.is_stale(0.0)
    assert controller.effort.tolist() == [0.0]
    assert controller.reports == []
    with pytest.raises(SettingError, match='there is no joint state to start from'):
        controller.set_target([1.0])
    assert controller.refused == 1


def test_efforts_are_zero_when_states_stop_and_it_is_said_once():
    controller = started(rigid_arm())
    controller.set_target([1.0])
    assert see(controller, 0.01)[0] > 0.0
    assert not controller.is_stale(0.51)
    assert controller.effort[0] > 0.0
    for now in (0.511, 0.7, 5.0):
        assert controller.is_stale(now)
        assert controller.effort.tolist() == [0.0]
    assert controller.state_timeouts == 1
    assert see(controller, 5.1, [0.4]).tolist() == [0.0]
    assert controller.reports == [
        'no joint state for 0.5 s: efforts are zero until the next joint state',
        'joint states arrive again: the arm goes back to its target',
    ]


def test_a_gap_between_states_counts_as_a_timeout_without_a_query():
    controller = started(rigid_arm())
    controller.set_target([1.0])
    see(controller, 3.0, [0.4])
    assert (controller.state_timeouts, controller.target.tolist()) == (1, [0.4])


def test_a_timeout_that_only_a_query_has_noticed_ends_with_the_next_state():
    controller = started(rigid_arm(), position=[0.1])
    assert controller.is_stale(0.6)  # states were measured in the meantime and arrive late
    see(controller, 0.002, [0.1])
    assert controller.is_live and not controller.is_stale(0.01)
    assert controller.target.tolist() == [0.1]


def test_after_a_silence_the_target_goes_back_from_where_the_arm_is_to_where_it_was():
    controller = started(rigid_arm(), position=[0.8])
    controller.set_target([1.0])
    see(controller, 0.1, [0.8])
    targets = []
    for now in np.arange(2.0, 9.0, 0.01):  # it has fallen to -0.7 in the meantime
        see(controller, now, [-0.7])
        targets.append(controller.target[0])
    assert targets[0] == -0.7 and targets[-1] == 1.0
    # minimum jerk at 0.5 rad/s at most
    assert 0.0 <= np.diff(targets).min() and np.diff(targets).max() <= 0.5 * 0.01 + 1e-9
    assert not controller.is_moving


@pytest.mark.parametrize('joint_speed, is_reset', [(0.0, True), (0.4, True), (3.0, False)])
def test_an_arm_that_is_suddenly_elsewhere_and_at_rest_was_put_there(joint_speed, is_reset):
    controller = started(rigid_arm())
    controller.set_target([1.0])
    see(controller, 0.1)
    controller.update(0.102, np.array([0.5]), np.array([joint_speed]))
    assert controller.target.tolist() == ([0.5] if is_reset else [1.0])
    assert controller.reports == is_reset * [
        'the arm is suddenly elsewhere, as after a reset: it is held where it is'
    ]


def test_an_arm_that_moves_as_fast_as_it_says_was_not_put_anywhere():
    controller = started(rigid_arm())
    controller.set_target([1.0])
    for k in range(200):  # every third state arrives, at up to 30 rad/s
        t = 0.006 * k
        controller.update(t, np.array([5 * np.sin(6 * t)]), np.array([30 * np.cos(6 * t)]))
    assert controller.target.tolist() == [1.0] and not controller.reports


def test_after_a_reset_of_the_simulation_the_arm_stays_where_it_is_put():
    simulation = frs.Simulation(frs.load('two_link'))
    controller = started(simulation.arm, ControllerSettings())
    controller.set_target(POSE)
    feed(controller, simulation, 3.0)
    simulation.reset()
    feed(controller, simulation, 6.0)
    assert controller.target.tolist() == [0.0, 0.0, 0.0]
    assert np.abs(simulation.position).max() < 0.05  # it sags and vibrates a little


def test_while_another_controller_drives_the_arm_the_target_follows_it():
    simulation = frs.Simulation(rigid_arm())
    controller = started(simulation.arm, NOTHING)
    controller.set_target([0.4])
    for _ in range(200):  # an external effort turns it away
        simulation.effort = [0.5]
        controller.update(
            simulation.time, simulation.position, simulation.velocity, drives_arm=False
        )
        simulation.step()
    place, speed = simulation.position[0], simulation.velocity[0]
    np.testing.assert_allclose(controller.target, place, atol=speed * 1e-3)
    assert refusal(SettingError, controller.set_target, [0.0]) == (
        'the arm ignores efforts now: enable it, or let others end first'
    )
    effort = controller.update(simulation.time, simulation.position, simulation.velocity)
    # it only brakes; no effort acts towards another position
    np.testing.assert_allclose(effort, -controller.servo.damping * speed, rtol=1e-9)
    feed(controller, simulation, 4.0)
    np.testing.assert_allclose(simulation.position, place, atol=1e-4)


def test_a_profile_waits_until_the_arm_is_to_be_led(two_link):
    step = ProfileSettings(profile='step', profile_start=0.0, profile_displacement=(0.3, 0, 0))
    controller, still = JointController(two_link, NOTHING, step), np.zeros(3)
    for now in (0.0, 0.1):
        controller.update(now, POSE, still, POSE, still, drives_arm=False)
        np.testing.assert_array_equal(controller.target, POSE)
    see(controller, 0.2, POSE)
    see(controller, 0.21, POSE)
    np.testing.assert_allclose(controller.target, POSE + [0.3, 0.0, 0.0])


def test_a_clock_that_is_set_back_ends_what_went_on():
    controller = started(rigid_arm(), now=50.0)
    controller.set_target([1.0])
    assert see(controller, 49.95, [0.01])[0] > 0.0  # two states in swapped order
    assert controller.reports == []
    see(controller, 3.0, [0.4])
    assert controller.target.tolist() == [0.4] and not controller.is_moving
    assert controller.reports[0] == (
        'the clock was set back: efforts are zero until the next joint state'
    )


def test_a_swing_begins_anew_after_a_silence_and_a_step_does_not(two_link):
    step = ProfileSettings(profile='step', profile_start=0.0, profile_displacement=(0.3, 0, 0))
    for profile, end in ((SWING, None), (step, [0.3, 0.0, 0.0])):
        controller = started(two_link, NOTHING, profile)
        see(controller, 0.1)
        see(controller, 7.0, POSE)
        np.testing.assert_array_equal(controller.target, POSE)
        for now in np.arange(7.0, 20.0, 0.25):
            see(controller, now, POSE)
        if end is None:
            assert controller.is_moving
        else:
            np.testing.assert_array_equal(controller.target, end)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize('place', range(4))
def test_a_state_that_is_no_state_is_refused(two_link, bad, place):
    controller = started(two_link, replace(NOTHING, feed_forward='gravity'), position=POSE)
    before = controller.effort.copy()
    state = [POSE.copy(), np.zeros(3), POSE.copy(), np.zeros(3)]
    state[place][1] = bad
    if place == 1:
        controller.change(replace(NOTHING, feedback='link'))
    np.testing.assert_array_equal(controller.update(0.05, *state), before)
    np.testing.assert_array_equal(controller.update(0.09, *state), before)
    np.testing.assert_array_equal(controller.update(0.6, *state), np.zeros(3))
    assert controller.refused == 3
    assert controller.reports == [
        'a joint state is not finite, or beyond all reason: it is refused',
        'no joint state for 0.5 s: efforts are zero until the next joint state',
    ]


def test_efforts_stay_within_the_limits_and_it_is_counted(two_link):
    limits = np.array([10.0, 15.0, 4.0])  # <limit effort> of two_link
    np.testing.assert_array_equal(effort_limits(two_link), limits)
    controller = started(two_link, replace(NOTHING, position_gain=(1e3,) * 3))
    controller.set_target([1.0, -0.4, 0.0])
    np.testing.assert_array_equal(see(controller, 0.0), [10.0, -15.0, 0.0])
    np.testing.assert_array_equal(controller.saturated, [1, 1, 0])
    controller.change(replace(controller.settings, effort_limits=(1.0, 2.0, 3.0)))
    np.testing.assert_array_equal(see(controller, 0.0), [1.0, -2.0, 0.0])


@pytest.mark.parametrize(
    'limit, expected',
    [
        ('', np.inf),
        ('<limit effort="0" velocity="0"/>', np.inf),
        ('<limit effort="2" velocity="0"/>', 2.0),
    ],
)
def test_no_limit_of_the_description_is_no_limit(limit, expected):
    controller = started(rigid_arm(limit), replace(NOTHING, position_gain=(1e6,)))
    assert controller.limits.tolist() == [expected]
    controller.set_target([1.0])
    assert see(controller, 0.0)[0] == min(1e6, expected)


def test_settings_change_while_it_runs(two_link):
    controller = started(two_link, replace(NOTHING, position_gain=(1.0, 2.0, 3.0)))
    controller.set_target([1.0, 1.0, 1.0])
    np.testing.assert_allclose(see(controller, 0.0), [1.0, 2.0, 3.0])
    controller.change(replace(controller.settings, position_gain=(0.5,) * 3))
    np.testing.assert_allclose(see(controller, 0.0), [0.5] * 3)
    np.testing.assert_array_equal(controller.target, [1.0, 1.0, 1.0])


@pytest.mark.parametrize('name', ['position_gain', 'velocity_gain', 'effort_limits'])
def test_a_change_that_does_not_fit_leaves_everything(two_link, name):
    controller = started(two_link)
    controller.set_target([0.1, 0.1, 0.1])
    before, settings = see(controller, 0.0).copy(), controller.settings
    assert refusal(
        SettingError, controller.change, replace(settings, bandwidth=9.0, **{name: (1.0,)})
    ) == (f'{name} must be 3 finite numbers, in this order: waist, shoulder, elbow')
    assert controller.settings is settings
    np.testing.assert_array_equal(see(controller, 0.0), before)
