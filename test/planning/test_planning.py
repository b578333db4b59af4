"""
Plans from rest to rest, against the reference integrator, a servo, and Fourier integrals.

A mode of angular frequency w comes to rest if and only if the drive acceleration has no spectral
content at w. This criterion needs neither planner nor simulation.
"""

import numpy as np
import pytest
from controlled import rigid_arm
from scipy.interpolate import BSpline

import flex_robot_sim as frs
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, minimum_jerk_motion, rest
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.spline_path import SplinePaths
from flex_robot_sim.motion.trajectory import Interpolation
from flex_robot_sim.planning.plan import PlanLimits
from flex_robot_sim.planning.rest_to_rest import plan_move
from flex_robot_sim.simulation.rollout import rollout

pytestmark = pytest.mark.slow

DURATION = 0.9
START, GOAL = np.array([0.0]), np.array([0.8])


@pytest.fixture(scope='module')
def arm():
    return frs.load('single_link')


@pytest.fixture(scope='module')
def plan(arm):
    return plan_move(arm, START, GOAL, duration=DURATION)


def tip_after(arm, motion, start, goal, end, scheme='reference', seconds=0.8, step=4e-3):
    """Largest distance of the tip from its goal after a motion that the drives follow exactly."""
    simulation = frs.Simulation(arm, frs.SimulationSettings(scheme=scheme, time_step=step))
    simulation.set_state(q=frs.equilibrium(arm, goal).q)
    there = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=frs.equilibrium(arm, start).q)
    for j, name in enumerate(arm.joint_names):
        simulation.prescribe(name, lambda t, j=j: motion.sample(t)[:2, j])
    simulation.advance_to(end)
    away = []
    while simulation.time < end + seconds:
        simulation.step()
        away.append(np.linalg.norm(simulation.pose('tool')[:3, 3] - there))
    return max(away)


@pytest.mark.long
def test_reference_integrator_finds_the_arm_at_rest(arm, plan):
    plain = minimum_jerk_motion(START, GOAL, duration=DURATION)
    left = tip_after(arm, plan.motion, START, GOAL, DURATION)
    assert left < 0.02 * tip_after(arm, plain, START, GOAL, DURATION)
    assert plan.duration == DURATION and plan.residual_vibration < 0.02


def test_acceleration_has_nothing_at_the_natural_rates():
    # nearly linear: a short move, with bending of a thousandth
    arm = frs.load('single_link')
    way = np.array([0.02])
    motion = plan_move(arm, START, way, duration=0.7).motion
    t = np.linspace(0.0, 0.7, 4001)
    swung = []
    for frequency in frs.frequencies(arm):
        rate = 2 * np.pi * frequency
        wave = np.exp((0.005 * rate + 1j * rate) * t) * (t[1] - t[0]) / rate
        # accelerations are zero at both ends, so that a sum is the trapezoidal rule
        swung.append(
            [
                abs(sum(each.sample(x)[2, 0] * part for x, part in zip(t, wave)))
                for each in (motion, minimum_jerk_motion(START, way, duration=0.7))
            ]
        )
    # the second mode hardly vibrates; its remainder is negligible compared with the first one
    assert swung[0][0] < 0.01 * swung[0][1] and swung[1][0] < 0.005 * swung[0][1]


@pytest.fixture(scope='module')
def short_move():
    """Start, goal and duration of a move so short that the arm is linear, and its plan."""
    way, duration = np.array([0.02]), 1.0
    plan = plan_move(frs.load('single_link'), START, way, duration=duration)
    return START, way, duration, plan


@pytest.mark.parametrize('factor', [0.9, 1.0, 1.1])
def test_acceleration_has_little_at_frequencies_that_are_ten_percent_off(short_move, factor):
    start, way, duration, plan = short_move
    t = np.linspace(0.0, duration, 4001)
    rate = 2 * np.pi * factor * frs.frequencies(frs.load('single_link'))[0]
    plain = minimum_jerk_motion(start, way, duration=duration)
    left, unplanned = (
        abs(np.sum(motion.samples(t)[:, 2, 0] * np.exp(1j * rate * t)))
        for motion in (plan.motion, plain)
    )
    assert left < 0.1 * unplanned
    assert plan.warning == '' and plan.worst_residual < 0.15


def test_a_long_plan_leaves_little_between_the_frequencies_of_its_design():
    # five periods, in which minimum jerk leaves a hundredth of a move in one period
    arm, way = frs.load('single_link'), np.array([0.02])
    first = frs.frequencies(arm)[0]
    plan = plan_move(arm, START, way, duration=5 / first)
    t = np.linspace(0.0, plan.duration, 8001)
    plain = minimum_jerk_motion(START, way, duration=plan.duration)
    for factor in np.linspace(0.9, 1.1, 9):
        wave = np.exp(2j * np.pi * factor * first * t)
        left, unplanned = (
            abs(np.sum(motion.samples(t)[:, 2, 0] * wave)) for motion in (plan.motion, plain)
        )
        assert left < 0.15 * unplanned


def test_sensitivity_of_a_plan_is_its_spectrum(short_move):
    start, way, duration, plan = short_move
    first, t = frs.frequencies(frs.load('single_link'))[0], np.linspace(0.0, duration, 4001)

    def swing(motion, factor):
        rate = 2 * np.pi * factor * first
        return abs(np.sum(motion.samples(t)[:, 2, 0] * np.exp(1j * rate * t))) / rate

    factors, left = plan.sensitivity.T
    scale = swing(minimum_jerk_motion(start, way, duration=duration), 1.0)
    expected = [swing(plan.motion, factor) / scale for factor in factors]
    np.testing.assert_allclose(left, expected, atol=0.03)
    lines = plan.sensitivity_table().splitlines()
    assert len(lines) == 10 and lines[0] == 'frequency  residual vibration'


@pytest.mark.long
def test_plan_for_a_range_of_payloads_leaves_little_with_each(arm):
    duration = 1.3
    plan = plan_move(
        arm, START, GOAL, duration=duration, payload={'tool': (0.0, 0.05)}, uncertainty=0.0
    )
    plain = minimum_jerk_motion(START, GOAL, duration=duration)
    assert plan.warning == ''
    for mass in (0.0, 0.025, 0.05):
        loaded = with_payload(arm, 'tool', mass)
        left, unplanned = (
            tip_after(loaded, motion, START, GOAL, duration, 'implicit_midpoint', step=1e-3)
            for motion in (plan.motion, plain)
        )
        assert left < 0.15 * unplanned


def test_a_short_plan_warns_of_other_frequencies(arm):
    plan = plan_move(arm, START, np.array([0.05]), duration=0.5, uncertainty=0.35)
    assert plan.worst_residual > 0.15
    assert plan.warning == (
        f'{plan.worst_residual:.2g} of the residual vibration would be left with other '
        'payloads or frequencies of the design: take more time, or a smaller uncertainty'
    )


def test_a_duration_far_too_short_is_refused_by_what_it_takes(arm):
    rng = np.random.default_rng(3)
    drawn = 10.0 ** rng.uniform(-5.0, -1.0, 6)
    two_link, way = frs.load('two_link'), np.array([0.5, 0.3, -0.8])
    for case, goal, durations in (
        (arm, np.ones(1), [0.06, 0.05, 0.005, 1e-3, *drawn]),
        (two_link, way, drawn[:2]),
    ):
        names = case.joint_names
        limits = [case.description.joint(name).velocity for name in names]
        for duration in durations:
            with pytest.raises(frs.SettingError, match='is not possible: the ') as caught:
                plan_move(case, np.zeros(goal.size), goal, duration=duration)
            share = float(str(caught.value).split('would be ')[1].split()[0])
            # on any path, the peak velocity of some joint is at least its mean velocity
            assert share > (np.abs(goal) / duration / limits).max()
            assert str(caught.value).endswith('for the shortest one')


@pytest.mark.long
def test_a_servo_with_the_efforts_of_the_plan_leaves_little(arm, plan):
    stiffness, damping = np.array([60.0]), np.array([0.18])
    left = []
    for motion, efforts in (
        (plan.motion, plan.effort),
        (minimum_jerk_motion(START, GOAL, duration=DURATION), None),
    ):
        simulation = frs.Simulation(arm)
        simulation.set_state(q=GOAL)
        there = simulation.pose('tool')[:3, 3]
        simulation.set_state(q=START)

        def control(seen, motion=motion, efforts=efforts):
            place, speed, _ = motion.sample(seen.time)
            feed = efforts(seen.time) if efforts else 0.0
            return feed + stiffness * (place - seen.position) + damping * (speed - seen.velocity)

        log = rollout(
            simulation,
            duration=2.0,
            controller=sensor_feedback(arm, control),
            record='pose:tool',
            period=1e-3,
            delay=1e-3,
        )
        distance = np.linalg.norm(log['pose:tool'][:, :3, 3] - there, axis=1)
        left.append(distance[log.time > DURATION].max())
    assert left[0] < 0.1 * left[1]


@pytest.mark.long
def test_shortest_plan_keeps_to_every_limit_and_uses_one(arm):
    limits = PlanLimits(
        effort=(0.4,), velocity=(2.0,), acceleration=(12.0,), jerk=(200.0,), deflection=0.08
    )
    plan = plan_move(arm, START, np.array([0.5]), limits=limits, uncertainty=0.0)
    t = np.linspace(0.0, plan.duration, 2000)
    rows = np.array([plan.motion.sample(x) for x in t])[:, :, 0]
    assert np.abs(rows[:, 1]).max() <= 2.0 and np.abs(rows[:, 2]).max() <= 12.0
    assert np.abs(np.gradient(rows[:, 2], t)).max() <= 200.0 * 1.02  # sampled in another way
    assert np.abs(plan.efforts).max() <= 0.4
    assert max(plan.limit_usage.values()) > 0.9 and plan.residual_vibration < 0.05
    # a duration shorter by a tenth violates some limit
    with pytest.raises(frs.SettingError):
        plan_move(
            arm,
            START,
            np.array([0.5]),
            duration=0.9 * plan.duration,
            limits=limits,
            uncertainty=0.0,
        )


def test_a_rigid_joint_needs_what_its_jerk_limit_says():
    # for a rigid arm, only limits count; from rest to rest under a jerk limit alone, the
    # shortest time is (32 d / j)^(1/3), and quintic pieces that start without acceleration come
    # near it
    arm, way, jerk = rigid_arm(), 1.0, 100.0
    plan = plan_move(arm, START, np.array([way]), limits=PlanLimits(jerk=(jerk,)))
    shortest = (32 * way / jerk) ** (1 / 3)
    assert shortest < plan.duration < 1.25 * shortest
    assert plan.residual_vibration == 0.0


@pytest.mark.long
def test_payload_is_part_of_the_plan(arm):
    heavy = with_payload(arm, 'tool', 0.1)
    plan = plan_move(arm, START, GOAL, duration=1.2, payload={'tool': 0.1})
    left = tip_after(heavy, plan.motion, START, GOAL, 1.2, 'implicit_midpoint', step=1e-3)
    unaware = plan_move(arm, START, GOAL, duration=1.2)
    assert left < 0.1 * tip_after(
        heavy, unaware.motion, START, GOAL, 1.2, 'implicit_midpoint', step=1e-3
    )


@pytest.mark.long
def test_three_joints_in_space_with_weight():
    arm, duration = frs.load('two_link'), 0.7
    start, goal = np.array([0.0, 0.3, -0.4]), np.array([0.8, 1.2, -1.4])
    plan = plan_move(arm, start, goal, duration=duration)
    plain = minimum_jerk_motion(start, goal, duration=duration)
    left, unplanned = (
        tip_after(arm, motion, start, goal, duration, 'implicit_midpoint', step=1e-3)
        for motion in (plan.motion, plain)
    )
    assert left < 0.05 * unplanned


def test_a_joint_that_ends_where_it_begins_stands_all_the_time():
    plan = plan_move(frs.load('rig'), [0.15, 0.4], [0.15, 0.1], duration=0.4)
    rows = np.array([plan.motion.sample(t)[:, 0] for t in np.linspace(0.0, 0.4, 50)])
    assert (rows == [0.15, 0.0, 0.0]).all() and plan.residual_vibration < 0.05


def test_trajectory_of_a_plan_says_the_same(arm, plan):
    motion = Interpolation(plan.trajectory(), arm.joint_names).motion(np.zeros((3, 1)))
    for t in np.linspace(0.0, DURATION, 37):
        np.testing.assert_allclose(motion.sample(t), plan.motion.sample(t), atol=1e-5)


def test_path_is_the_sum_of_its_splines():
    random = np.random.default_rng(2)
    start, goal, weights = random.normal(size=2), random.normal(size=2), random.normal(size=(2, 6))
    motion = SplinePaths(start, goal, 6).motion(weights, 1.7)
    knots = np.concatenate([np.zeros(5), np.linspace(0, 1, 8), np.ones(5)])
    plain = Motion([0.0, 1.7], [rest(start), minimum_jerk(start, goal), rest(goal)])
    for t in random.uniform(0.0, 1.7, 20):
        for order in range(3):
            added = [
                BSpline(knots, [0.0, 0.0, 0.0, *row, 0.0, 0.0, 0.0], 5)(t / 1.7, nu=order)
                / 1.7**order
                for row in weights
            ]
            np.testing.assert_allclose(
                motion.sample(t)[order], plain.sample(t)[order] + added, rtol=1e-9, atol=1e-9
            )
    for t in (0.0, 1.7 - 1e-12):
        np.testing.assert_allclose(motion.sample(t)[1:], 0.0, atol=1e-6)


def test_a_plan_that_the_limits_do_not_allow_says_which(arm):
    with pytest.raises(frs.SettingError) as caught:
        plan_move(arm, START, GOAL, duration=0.3)
    message = str(caught.value)
    assert message.startswith('a move in 0.3 s is not possible: the effort of "motor" would be ')
    assert message.endswith(
        ' times its limit. Take more time, or leave the duration out for the shortest one'
    )
    with pytest.raises(frs.SettingError, match='the deflection of "arm" would be'):
        plan_move(arm, START, GOAL, duration=1.0, limits=PlanLimits(deflection=0.02))


@pytest.mark.parametrize(
    'arguments, line',
    [
        (([0.0], [0.0], {}), 'start and goal are the same pose: there is nothing to plan'),
        (
            ([0.0], [4.0], {}),
            'target 4 of "motor" is beyond its stops at -3.14159 and 3.14159 rad',
        ),
        (([0.0], [1.0, 2.0], {}), 'goal must be 1 finite numbers, in this order: motor'),
        (([0.0], [1.0], {'duration': -1.0}), 'duration = -1.0 must be from 1e-06 to 10000 s'),
        (([0.0], [1.0], {'duration': 1e-200}), 'duration = 1e-200 must be from 1e-06 to 10000 s'),
        (([0.0], [1.0], {'uncertainty': 0.5}), 'uncertainty = 0.5 must be from 0 to below 0.5'),
        (
            ([0.0], [1.0], {'payload': {'tool': (0.2, 0.1)}}),
            'payload of "tool" = (0.2, 0.1) must be a mass >= 0 [kg], or the smallest and the '
            'largest mass',
        ),
        (
            ([0.0], [1.0], {'payload': {'hand': 1.0}}),
            'no link "hand" that carries a payload. Known: hub, arm, tip_mass, tool',
        ),
        (
            ([0.0], [1.0], {'payload': {'base': 1.0}}),
            'no link "base" that carries a payload. Known: hub, arm, tip_mass, tool',
        ),
    ],
)
def test_bad_input_ends_in_a_line(arm, arguments, line):
    with pytest.raises(frs.SettingError) as caught:
        plan_move(arm, *arguments[:2], **arguments[2])
    assert str(caught.value) == line


def test_nothing_to_be_shortest_under():
    with pytest.raises(frs.SettingError, match='^nothing limits this move: give a duration, or'):
        plan_move(rigid_arm(), [0.0], [1.0])


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    'changes',
    [
        {'motor.acceleration': 5.0},
        {'motor.acceleration': 9.0, 'motor.deceleration': 5.0},
        {'motor.jerk': 60.0},
    ],
)
def test_a_plan_keeps_the_limits_of_the_description(arm, changes):
    arm = frs.with_parameters(arm, {'motor.effort': np.inf})
    limited = frs.with_parameters(arm, changes)
    plan = plan_move(limited, START, GOAL, uncertainty=0.0)
    times = np.linspace(0.0, plan.duration, 20_000)
    samples = plan.motion.samples(times)[:, :, 0]
    speeds_up = samples[:, 2] * np.sign(samples[:, 1])
    found = {
        'motor.acceleration': speeds_up.max(),
        'motor.deceleration': -speeds_up.min(),
        'motor.jerk': np.abs(np.gradient(samples[:, 2], times)).max(),
    }
    for name, limit in changes.items():
        assert found[name] <= 1.02 * limit, name  # the planner samples the path
    reference = Reference(limited)  # it accepts the trajectory
    reference.follow(reference.plan(plan.trajectory(), 0.0), 0.0)
    binding = max(found[name] / limit for name, limit in changes.items())
    assert binding > 0.9
    with pytest.raises(frs.SettingError, match=f'the {[*changes][-1].split(".")[1]} of "motor"'):
        plan_move(limited, START, GOAL, duration=0.6 * plan.duration)
    if [*changes] == ['motor.acceleration']:  # the same limit as an argument
        limits = PlanLimits(acceleration=(5.0,))
        same = plan_move(arm, START, GOAL, limits=limits, uncertainty=0.0)
        assert same.duration == plan.duration
