"""
LQG, against closed forms and the separation of its eigenvalues, and on arms unlike its model.

The arm is a ruler with a bending mode of 1.9 Hz, simulated with four modes. The law models one of
them and has a period of 5 ms and a delay of 50 ms.
"""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from arms import joint, link, robot
from controlled import INERTIA, rigid_arm
from scipy.signal import cont2discrete

import flex_robot_sim as frs
from flex_robot_sim.feedback.gain_table import GainTable
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.lqg_gains import gains_at, lqg_law
from flex_robot_sim.feedback.pose_model import closed_loop_step, pose_model
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import rollout
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

LOOP = LoopTiming(5e-3, 50e-3)
START, GOAL = np.array([0.0]), np.array([0.6])
BEGIN, DURATION = 0.2, 1.2


@pytest.fixture(scope='module')
def arm():
    text = shipped_robots()['single_link'].read_text()
    return build_arm(frs.read_description(text.replace('bending_y="2"', 'bending_y="4"')))


@pytest.fixture(scope='module')
def designs(arm):
    return {
        sensors: design_lqg(
            arm, [0.0], **LOOP._asdict(), modes=1, sensors=sensors, stiffness_range=(0.3, 1.5)
        )
        for sensors in ('all', 'encoders')
    }


def led(arm, design, seconds=4.0, limits=None, push=None, duration=DURATION):
    """Distance of the tip from its goal, relative to the start, and efforts of a move."""
    law, simulation = Lqg(arm, design, limits=limits), frs.Simulation(arm)
    motion = Motion(
        [BEGIN, BEGIN + duration], [rest(START), minimum_jerk(START, GOAL), rest(GOAL)]
    )
    simulation.set_state(q=GOAL)
    goal = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=START)
    whole = np.linalg.norm(simulation.pose('tool')[:3, 3] - goal)

    def control(seen):
        if not law.is_on:
            law.start(seen.position, effort=np.zeros(1))
        return law.update(seen.position, seen.velocity, seen.curvature, motion.sample(seen.time))

    def watch(simulation):
        if push is not None:
            simulation.push('tool', force=(0.0, push(simulation.time), 0.0))
        away = np.linalg.norm(simulation.pose('tool')[:3, 3] - goal) / whole
        return simulation.time, away, simulation.effort[0]

    log = rollout(
        simulation,
        duration=seconds,
        controller=sensor_feedback(arm, control),
        record=watch,
        **design.loop._asdict(),
    )
    return log.watch.T, law


@pytest.mark.parametrize('sensors', ['all', 'encoders'])
def test_tip_is_within_two_percent_one_period_after_the_reference_ends(arm, designs, sensors):
    design = designs[sensors]
    assert design.warning == ''
    (time, away, _), law = led(arm, design)
    period = 1 / frs.frequencies(arm)[0]
    assert away[time > BEGIN + DURATION + period].max() < 0.02
    assert away[-1] < 1e-4  # the integral action has settled
    assert not law.saturated.any()


@pytest.mark.long(after=2)
@pytest.mark.parametrize('factor', [0.3, 0.7, 1.5])
@pytest.mark.parametrize('sensors', ['all', 'encoders'])
def test_arm_of_another_stiffness_comes_to_rest(arm, designs, sensors, factor):
    (time, away, effort), _ = led(with_stiffness(arm, factor), designs[sensors], seconds=8.0)
    assert away[time > 7.5].max() < 0.002 and np.abs(effort[time > 7.5]).max() < 1e-3


@pytest.mark.parametrize('factor', [0.3, 0.5, 0.8, 1.0, 1.2, 1.5])
def test_whole_arm_and_law_decay_in_eigenvalues_put_together_here(arm, designs, factor):
    design = designs['all']
    model = frs.linearise(with_stiffness(arm, factor), [0.0])
    n, gauges = arm.size, pose_model(arm, [0.0]).gauges
    C = np.vstack([np.eye(2 * n)[0], np.hstack([gauges, 0 * gauges])])
    A, B, *_ = cont2discrete((model.A, model.B, C, np.zeros((len(C), 1))), LOOP.period)
    P, Q, R, S = lqg_law(design.gains[0,], design.delay_periods)
    late, total = design.delay_periods, 2 * n + len(P)
    # x, z: the delayed efforts are states of the law, the newest is first of the last late + 1
    step = np.zeros((total, total))
    step[: 2 * n, : 2 * n] = A
    step[: 2 * n, 2 * n + len(P) - 2] = B[:, 0]  # u[k-10] in z[k-1], of which u[k-11] is last
    step[2 * n :, 2 * n :], step[2 * n :, : 2 * n] = P, Q @ C
    assert late == 10 and np.abs(np.linalg.eigvals(step)).max() < 0.999


def test_eigenvalues_are_those_of_regulator_and_filter_where_the_design_knows_all():
    arm = frs.load('single_link')
    model = pose_model(arm, [0.0]).reduced(2)
    gains = gains_at(model, LOOP, 1.0, 1.9)
    outputs = np.vstack(
        [
            np.hstack([model.encoders, 0 * model.encoders]),
            np.hstack([model.gauges, 0 * model.gauges]),
        ]
    )
    closed = np.linalg.eigvals(closed_loop_step(model.sampled(LOOP), lqg_law(gains, 10), outputs))
    A = np.block([[gains.A, gains.B], [np.zeros((1, len(gains.A))), np.eye(1)]])
    C = np.hstack([gains.C, np.zeros((len(gains.C), 1))])
    parts = np.concatenate(
        [
            np.linalg.eigvals(gains.A - gains.B @ gains.regulator),
            np.linalg.eigvals(A - gains.filter @ C @ A),
        ]
    )
    for value in parts:
        # the delay leaves eigenvalues at zero whose rounding spreads by its 20th root
        assert np.abs(closed - value).min() < 1e-5
    assert np.abs(closed[np.abs(closed) > 0.3]).size <= parts.size


def test_a_rigid_joint_is_closed_as_the_closed_form_of_its_cost_says():
    arm, bandwidth = rigid_arm(), 1.5
    w = 2 * np.pi * bandwidth
    gains = gains_at(
        pose_model(arm, [0.0]).reduced(0), LoopTiming(1e-5, 0.0), bandwidth, 1.0, 'encoders'
    )
    # J s^2 with weights J w^2, J and 1 / (J w^2) has the gains J w^2 and sqrt(3) J w
    np.testing.assert_allclose(
        gains.regulator[0], [INERTIA * w**2, 3**0.5 * INERTIA * w], rtol=1e-3
    )  # to first order in rate times period


@pytest.mark.parametrize('sensors', ['all', 'encoders'])
def test_law_at_every_sample_does_what_its_matrices_say(arm, designs, sensors):
    design, random = designs[sensors], np.random.default_rng(5)
    law = Lqg(arm, design, limits=[1e9])
    P, Q, R, S = lqg_law(design.gains[0,], design.delay_periods)
    z, still = np.zeros(len(P)), np.zeros((3, 1))
    law.start([0.0], effort=np.zeros(1))
    law.update(np.zeros(1), None, np.zeros(2), still)
    for _ in range(40):
        y = 0.01 * random.normal(size=3)[: len(Q.T)]
        u, z = R @ z + S @ y, P @ z + Q @ y
        curvature = y[1:] if sensors == 'all' else np.full(2, np.nan)
        np.testing.assert_allclose(
            law.update(y[:1], None, curvature, still), u, rtol=1e-9, atol=1e-12
        )


def test_efforts_keep_to_their_limits_and_nothing_winds_up(arm, designs):
    # a push of three times the motor limit
    pull = 0.5
    limits = [0.1]
    (time, away, effort), law = led(
        arm,
        designs['all'],
        11.0,
        limits,
        duration=2.4,
        push=lambda t: -pull if 2.5 < t < 2.8 else 0.0,
    )
    assert np.abs(effort).max() <= limits[0] + 1e-12 and law.saturated[0] > 20
    assert away[time > 10.5].max() < 0.01
    # the slow part never exceeds the pull itself
    assert abs(law.disturbance[0]) < pull * 0.64


def test_takes_a_swinging_arm_over_without_a_jump(arm, designs):
    design, law = designs['all'], Lqg(arm, designs['all'])
    simulation, rows = frs.Simulation(arm), []
    simulation.set_state(q=[0.2], v=[0.5])
    before, place = np.zeros(1), np.zeros((3, 1))

    def control(seen):
        nonlocal before, place
        if seen.time < 1.0:
            effort = 0.05 * np.sin(8.0 * seen.time) - 0.02 * seen.position
            law.watch(seen.position, seen.velocity, seen.curvature, effort)
        else:
            if not law.is_on:
                law.start(seen.position, seen.velocity, seen.curvature, before)
                place = np.array([seen.position, [0.0], [0.0]])
            effort = law.update(seen.position, seen.velocity, seen.curvature, place)
        before = effort.copy()
        rows.append((seen.time, *effort))
        return effort

    rollout(
        simulation, duration=8.0, controller=sensor_feedback(arm, control), **design.loop._asdict()
    )
    time, effort = np.array(rows).T
    k = np.searchsorted(time, 1.0 - 1e-9)
    assert effort[k] == pytest.approx(effort[k - 1], abs=1e-12)
    others = np.abs(np.diff(effort[:k])).max()
    assert np.abs(np.diff(effort[k - 1 :])).max() < 5 * others < 0.02
    assert abs(simulation.position[0] - place[0][0]) < 1e-3


def test_a_measurement_that_is_no_number_is_left_out(arm, designs):
    law = Lqg(arm, designs['all'])
    law.start([0.1], effort=np.zeros(1))
    still = np.array([[0.1], [0.0], [0.0]])
    for curvature in ([np.nan, 0.0], [0.0, np.inf], [0.0, 0.0]):
        assert np.isfinite(law.update(np.array([0.1]), None, np.array(curvature), still)).all()
    assert law.refused == 2


def test_gains_between_poses_are_bilinear():
    axes = [np.array([0.0, 1.0, 3.0]), np.array([0.5]), np.array([-1.0, 1.0])]

    def value(a, c):
        return {'one': np.array([[1.0 + 2 * a - c + 0.5 * a * c]]), 'two': np.array([a, c])}

    table = GainTable(
        axes, {(i, 0, k): value(axes[0][i], axes[2][k]) for i in range(3) for k in range(2)}
    )
    for a, c in ((0.3, 0.2), (2.2, -0.7), (3.0, 1.0)):
        table.update(np.array([a, 9.0, c]))
        for name, expected in value(a, c).items():
            np.testing.assert_allclose(table.values[name], expected, rtol=1e-12)
    table.update(np.array([7.0, 0.0, -8.0]))
    np.testing.assert_allclose(table.values['two'], [3.0, -1.0])


@pytest.mark.parametrize('copied', [deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_a_copy_of_gains_follows_the_pose(copied):
    table = copied(
        GainTable(
            [np.linspace(0.0, 1.0, 3)], {(k,): {'gain': np.array([float(k)])} for k in range(3)}
        )
    )
    table.update(np.array([0.75]))
    assert table.values['gain'] == pytest.approx([1.5])


def test_gains_over_poses_lead_an_arm_with_weight_in_space():
    arm = frs.load('two_link')
    design = design_lqg(
        arm, [[0.0], np.linspace(0.0, 1.6, 5), np.linspace(-1.8, 0.0, 5)], period=2e-3, delay=2e-3
    )
    start, goal = np.array([0.0, 0.3, -0.4]), np.array([0.8, 1.2, -1.4])
    law, simulation = Lqg(arm, design), frs.Simulation(arm)
    place = {}
    for name, pose in (('goal', goal), ('start', start)):
        simulation.set_state(q=frs.equilibrium(arm, pose).q)
        place[name] = simulation.pose('tool')[:3, 3]
    carrying, motion = (
        frs.equilibrium(arm, start).effort,
        Motion([BEGIN, BEGIN + 1.2], [rest(start), minimum_jerk(start, goal), rest(goal)]),
    )
    whole = np.linalg.norm(place['goal'] - place['start'])

    def control(seen):
        if not law.is_on:
            law.start(seen.position, effort=carrying)
        return law.update(seen.position, seen.velocity, seen.curvature, motion.sample(seen.time))

    log = rollout(
        simulation,
        duration=2.5,
        controller=sensor_feedback(arm, control),
        record='pose:tool',
        **design.loop._asdict(),
    )
    away = np.linalg.norm(log['pose:tool'][:, :3, 3] - place['goal'], axis=1) / whole
    period = 1 / frs.frequencies(arm, goal)[0]
    assert away[log.time > BEGIN + 1.2 + period].max() < 0.02 and away[-1] < 1e-3


@pytest.mark.parametrize(
    'line, change',
    {
        'poses must be a position per joint, or positions that rise, in this order: motor': {
            'poses': [0.0, 1.0]
        },
        'a pose is beyond the stops of "motor" at -3.14159 and 3.14159 rad': {'poses': [4.0]},
        "sensors = 'eyes' must be one of encoders, all": {'sensors': 'eyes'},
        'stiffness_range = (1.1, 1.2) must be two factors, the one '
        '> 0 and at most 1, the other at least 1': {'stiffness_range': (1.1, 1.2)},
        'bandwidth = 60.0 must be > 0 and below a quarter of the 200 samples per second [Hz]': {
            'bandwidth': 60.0
        },
        'modes = -1 must be a whole number >= 0': {'modes': -1},
    }.items(),
)
def test_bad_numbers_end_in_a_line(arm, change, line):
    with pytest.raises(frs.SettingError) as caught:
        design_lqg(arm, **{'poses': [0.0], **LOOP._asdict(), **change})
    assert str(caught.value) == line


def test_all_sensors_of_an_arm_that_has_none_and_a_loop_that_is_too_late():
    ella = frs.load('ella')
    with pytest.raises(frs.SettingError) as caught:
        design_lqg(ella, [0.0, 0.5, 0.5], sensors='all')
    assert str(caught.value) == (
        'ella has no flex sensors: take sensors = encoders, or give '
        '<flex_sensor> to a flexible link'
    )


def test_an_arm_that_falls_faster_than_the_loop_reacts_causes_a_warning():
    # upright, falling at a rate of 3.3 per second, with a second of delay
    upright = build_arm(
        frs.read_description(
            robot(
                joint('hinge', child='arm', inside='<axis xyz="0 1 0"/>'),
                link('arm', 1.0, '0 0 0.5', (0.2,) * 3),
            )
        )
    )
    design = design_lqg(upright, [0.0], period=1e-2, delay=1.0)
    assert design.warning == (
        'no bandwidth from 1 Hz down holds test at 0.8 to 1.25 of its stiffness: take a shorter '
        'delay, more damping, or a narrower range'
    )
    with pytest.raises(frs.SettingError, match='^no bandwidth from 1 Hz down'):
        Lqg(upright, design)
