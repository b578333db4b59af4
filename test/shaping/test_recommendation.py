"""Recommended shapers, against another formulation, other moves, and single linear models."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import modes_along
from flex_robot_sim.shaping.impulses import NONE, of_kind
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.recommendation import following, recommend
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_comparison import (
    MAX_MOVE_SHARE,
    ShaperCandidate,
    meets_tolerance,
    recommended_row,
    try_moves,
)
from flex_robot_sim.shaping.validation_moves import ValidationMoves, trapezoid
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

pytestmark = pytest.mark.slow

STEP = 4e-3


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


@pytest.fixture(scope='module')
def best(arm):
    return recommend(arm)


def swing(arm, samples, **settings):
    """Largest distance of the tool from its rest after set points (k, joints), by `prescribe`."""
    simulation = frs.Simulation(arm, SimulationSettings(time_step=STEP, **settings))
    simulation.set_state(q=frs.equilibrium(arm, samples[0]).q)
    rates = np.gradient(samples, STEP, axis=0)
    rates[[0, -1]] = 0.0
    for j, name in enumerate(arm.joint_names):

        def along(t, j=j):
            k = min(round(t / STEP), len(samples) - 1)
            return samples[k, j], rates[k, j]

        simulation.prescribe(name, along)
    simulation.step(len(samples) - 1)
    rest = frs.pose(arm, frs.equilibrium(arm, samples[-1]).q, link='tool')[:3, 3]
    largest = 0.0
    for _ in range(int(1 / frs.frequencies(arm, samples[-1])[0] / STEP)):
        simulation.step()
        largest = max(largest, np.linalg.norm(simulation.pose('tool')[:3, 3] - rest))
    return largest


def test_drives_that_follow_samples_are_those_that_are_prescribed(arm):
    rng = np.random.default_rng(3)
    t = np.arange(150) * STEP
    places = 0.3 * np.sin(2 * np.pi * t[:, None] * rng.uniform(0.5, 2.0, 3))
    rates = np.gradient(places, STEP, axis=0)
    rates[0] = 0.0
    ends = []
    for follows in (True, False):
        simulation = frs.Simulation(arm, SimulationSettings(time_step=STEP))
        if follows:
            seen = simulation.follow(places, rates)
            assert (seen[-1] == simulation.q).all()
        else:
            for j, name in enumerate(arm.joint_names):
                simulation.prescribe(
                    name, lambda t, j=j: (places[round(t / STEP), j], rates[round(t / STEP), j])
                )
            simulation.step(len(t) - 1)
        ends.append(np.concatenate([simulation.q, simulation.v]))
        assert simulation.time == pytest.approx(t[-1])
    assert ends[0] == pytest.approx(ends[1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    'places, rates',
    [
        (np.zeros((5, 2)), np.zeros((5, 3))),
        (np.zeros((5, 3)), np.zeros((4, 3))),
        (np.full((5, 3), np.nan), np.zeros((5, 3))),
        (np.zeros((0, 3)), np.zeros((0, 3))),
    ],
)
def test_samples_that_lead_nowhere_are_refused(arm, places, rates):
    with pytest.raises(SettingError, match='positions and velocities of drives to follow must be'):
        frs.Simulation(arm).follow(places, rates)


def test_what_is_left_by_a_shaped_move_is_what_another_formulation_says():
    """The wrench DAE shares no dynamics with the recursion that simulates the trial moves."""
    arm = frs.load('single_link')
    found = modes_along(arm, [[0.8]], 1)[0].item()
    plain = -0.4 + 1.2 * trapezoid(200)[:, None]
    shaped = shaped_samples(of_kind('zv', found, 0.005), plain, STEP)
    # at least so many: two that stop as soon as a step has converged to 1e-7 stop elsewhere; with
    # eight they agree to 1e-7
    left = [
        swing(arm, samples, formulation=formulation, iterations=8)
        for samples in (plain, shaped)
        for formulation in ('recursion', 'wrench_dae')
    ]
    assert left[0] == pytest.approx(left[1], rel=1e-6)
    assert left[2] == pytest.approx(left[3], rel=1e-4)
    assert 0.0 < left[2] < 0.1 * left[0]  # plain ZV, in a fast move


def test_trial_moves_say_what_a_simulation_of_the_same_move_says(arm, best):
    trials = ValidationMoves(arm, count=3, uncertainty=0.0)
    choice = next(one for one in best.candidates if one.name == 'ei by pose')
    table, stages = following(arm, choice.design, count=3)
    for k in (0, 5):
        move = trials._move(k)
        assert move.step == STEP and move.arm is arm
        plain = move.start + move.share[:, None] * (move.end - move.start)
        assert trials._unshaped(k) == pytest.approx(swing(arm, plain), rel=0.03)
        shaped = OnlineShaper(3, STEP, table=table, stages=stages).run(plain)
        left = trials._vibration(move, trials._shaped(move, choice))
        assert left == pytest.approx(swing(arm, shaped), rel=0.1, abs=5e-3 * swing(arm, plain))


def test_no_shaper_leaves_all_and_a_long_one_little(arm):
    trials = ValidationMoves(arm, count=3)
    whole = ShaperCandidate(NONE, 1.0, 0.0, 0.0)
    # a move with less vibration than the median has a smaller weight
    assert 0.9 < trials.residual_vibration(whole) <= 1.0 + 1e-9
    assert trials.residual_vibration(whole, limit=0.5) > 0.5


def test_moves_stay_between_given_poses(arm):
    poses = np.array([[0.0, 0.3, -1.0], [0.4, 0.8, 0.5], [-0.3, 1.0, 1.0]])
    trials = ValidationMoves(arm, poses, count=3)
    pairs = {(tuple(start), tuple(end)) for start, end in trials._pairs}
    assert pairs == {(tuple(a), tuple(b)) for a in poses for b in poses if (a != b).any()}
    assert len(trials) >= 16
    limits = [arm.description.joint(name).velocity for name in arm.joint_names]
    for k in range(len(trials)):
        move = trials._move(k)
        speed = np.diff(move.share).max() / move.step * np.abs(move.end - move.start)
        assert (speed <= 0.61 * np.array(limits)).all()


@pytest.mark.parametrize('jerk', [None, 30.0, 400.0])
def test_trial_moves_keep_the_limits_of_acceleration_and_jerk(arm, jerk):
    changes = {'*.acceleration': 4.0, 'waist.deceleration': 2.0}
    changes |= {} if jerk is None else {'*.jerk': jerk}
    trials = ValidationMoves(frs.with_parameters(arm, changes), count=1, uncertainty=0.0)
    plain = ValidationMoves(arm, count=1, uncertainty=0.0)
    for k in (0, 3, 7):
        move = trials._move(k)
        assert (move.share[0], move.share[-1]) == (0.0, pytest.approx(1.0, abs=1e-12))
        path = np.concatenate([np.zeros(4), move.share, np.ones(4)])
        accelerations = np.diff(path, 2) / move.step**2
        jerks = np.abs(np.diff(path, 3)).max() / move.step**3
        way = np.abs(move.end - move.start)
        largest = np.abs(accelerations).max() * way
        assert (largest <= 1.01 * np.array([2.0, 4.0, 4.0])).all()
        assert jerk is None or (jerks * way <= 1.01 * jerk).all()
        assert len(move.share) > len(plain._move(k).share)


def test_what_is_recommended_keeps_the_tolerance_in_moves_of_its_own(arm, best):
    """These moves are not those of the rule."""
    assert best.choice.follows and meets_tolerance(best.choice)
    table, stages = following(arm, best.choice.design, count=3)
    rng = np.random.default_rng(11)
    for _ in range(3):
        start, end = rng.uniform([-1.0, -0.3, -1.5], [1.0, 1.5, 1.5], (2, 3))
        end = start + np.clip(end - start, -1.0, 1.0)
        plain = start + trapezoid(220)[:, None] * (end - start)
        shaped = OnlineShaper(3, STEP, table=table, stages=stages).run(plain)
        assert swing(arm, shaped) <= 0.05 * swing(arm, plain)


def choice(moving, added, vibration=0.01):
    return ShaperCandidate(of_kind('zv', 1 / added), vibration, 1.0, added, move_vibration=moving)


def test_the_shortest_that_passes_the_moves_is_taken():
    found = [choice(np.nan, 0.01), choice(0.04, 0.2), choice(0.02, 0.4), choice(0.01, 0.5)]
    assert recommended_row(found, 0.05) == 2
    # none passes: the recommended one has the least vibration
    found = [choice(np.nan, 0.01), choice(0.08, 0.2), choice(0.03, 0.4), choice(0.06, 0.5)]
    assert recommended_row(found, 0.05) == 2
    assert meets_tolerance(found[2], 0.05) and not meets_tolerance(found[1], 0.05)


def test_none_is_taken_where_each_leaves_as_much_as_none():
    found = [choice(np.nan, 0.01), choice(1.3, 0.2), choice(1.2, 0.4)]
    assert recommended_row(found, 0.05) == 0
    assert recommended_row([*found, choice(0.99, 0.5)], 0.05) == 3
    # without moves, from linear models
    found = [choice(np.nan, 0.01), choice(np.nan, 0.2, vibration=1.0)]
    assert recommended_row(found, 0.05) == 0


def test_moves_are_made_with_what_may_be_taken_the_shortest_first():
    asked = []

    def trial(one, limit):
        asked.append((one.added_time, limit))
        return {0.2: 0.04, 0.4: 0.02, 0.5: 0.01}[one.added_time]

    found = [
        choice(np.nan, 0.01),
        choice(np.nan, 0.5),
        choice(np.nan, 0.4),
        choice(np.nan, 0.1, vibration=0.2),
        choice(np.nan, 0.2),
    ]
    done = try_moves(found, trial, 0.05)
    assert asked == [(0.2, MAX_MOVE_SHARE * 0.05), (0.4, MAX_MOVE_SHARE * 0.05)]
    assert recommended_row(done, 0.05) == 2 and np.isnan(done[3].move_vibration)


def test_one_shaper_suits_all_payloads_of_a_range():
    arm = frs.load('single_link')
    found = recommend(arm, [[0.0], [0.9]], payloads=[('tool', 0.0), ('tool', 0.3)])
    one = found.choice
    assert found.moves >= 12 and len(found.cases) == 4 and one.follows
    # with both payloads and between them; a ZV shaper for the middle frequency fails
    low, high = (case.frequencies[0] for case in (found.cases[2], found.cases[0]))
    assert low < 0.9 * high
    assert one.shaper.vibration(np.linspace(low, high, 9), 0.004).max() <= 0.05
    assert of_kind('zv', np.sqrt(low * high)).vibration(high) > 0.05


def test_one_pose_is_about_small_motions(arm):
    found = recommend(arm, [[0.0, 0.4, -0.8]])
    assert found.moves == 0 and not any(
        np.isfinite(one.move_vibration) for one in found.candidates
    )


def test_an_arm_that_does_not_bend_gets_none():
    assert recommend(frs.load('rcm')).cases == []
