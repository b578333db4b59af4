"""Recommended shapers, against another formulation, other moves, and single linear models."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import modes_along
from flex_robot_sim.shaping.impulses import of_kind
from flex_robot_sim.shaping.motion_profiles import trapezoid
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.recommendation import following, recommend
from flex_robot_sim.shaping.shaped_samples import shaped_samples
from flex_robot_sim.shaping.shaper_comparison import shaped_path
from flex_robot_sim.shaping.validation_moves import ValidationMoves, pairs_between, pairs_in_range
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

pytestmark = pytest.mark.slow

STEP = 4e-3
ALLOWED = 5e-4
START, GOAL = np.array([-0.4, 0.2, -0.8]), np.array([0.6, 0.9, 0.3])


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


@pytest.fixture(scope='module')
def best(arm):
    return recommend(arm, move=(START, GOAL), acceleration=2.0)


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


@pytest.mark.long
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


@pytest.mark.long
def test_moves_leave_what_a_simulation_of_the_same_move_leaves(arm, best):
    trials = ValidationMoves(arm, [(START, GOAL)], count=3, uncertainty=0.0)
    (move,) = trials.moves
    assert move.step == STEP and move.arm is arm
    choice = next(one for one in best.candidates if one.name == 'ei by pose')
    plain = START + move.share[:, None] * (GOAL - START)
    unshaped = trials.figures(lambda move: move.share, ALLOWED)
    assert unshaped.left == pytest.approx(swing(arm, plain), rel=0.03)
    table, stages = following(arm, choice.design, count=len(choice.units))
    shaped = OnlineShaper(3, STEP, table=table, stages=stages).run(plain)
    found = trials.figures(lambda move: shaped_path(choice, move, ALLOWED), ALLOWED)
    same = START + shaped_path(choice, move, ALLOWED)[:, None] * (GOAL - START)
    assert found.left == pytest.approx(swing(arm, same), rel=0.05)
    # the table of the path has five poses, that of the arm has the whole range
    assert found.left == pytest.approx(swing(arm, shaped), rel=0.1, abs=1e-2 * unshaped.left)


def test_time_to_rest_is_that_of_a_long_simulation():
    arm = frs.with_parameters(frs.load('single_link'), {})
    trials = ValidationMoves(arm, [([-0.3], [0.5])], uncertainty=0.0)
    (move,) = trials.moves
    allowed = 0.5 * trials.figures(lambda move: move.share, ALLOWED).left
    found = trials.figures(lambda move: move.share, allowed)
    simulation = frs.Simulation(arm, SimulationSettings(time_step=move.step))
    simulation.set_state(q=frs.equilibrium(arm, [-0.3]).q)
    path = np.append(move.share, np.ones(int(20.0 / move.step)))[:, None] * 0.8 - 0.3
    rates = np.gradient(path, move.step, axis=0)
    rates[0] = 0.0
    seen = simulation.follow(path, rates)
    rest = frs.pose(arm, frs.equilibrium(arm, [0.5]).q, link='tool')[:3, 3]
    far = [np.linalg.norm(frs.pose(arm, q, link='tool')[:3, 3] - rest) > allowed for q in seen]
    last = move.step * np.flatnonzero(far)[-1]
    # the vibration passes the limit twice per period, its envelope earlier or later
    assert found.rest_time == pytest.approx(last, abs=move.window)


def test_the_path_error_of_a_slow_move_is_small(arm):
    fast, slow = (
        ValidationMoves(arm, [(START, GOAL)], count=3, uncertainty=0.0, acceleration=limit)
        for limit in (np.inf, 0.05)
    )
    errors = [one.figures(lambda move: move.share, ALLOWED).path_error for one in (fast, slow)]
    assert 0.0 < errors[1] < 0.05 * errors[0]


def test_acceleration_limits_that_of_the_tool(arm):
    trials = ValidationMoves(arm, [(START, GOAL)], count=3, uncertainty=0.0, acceleration=0.5)
    (move,) = trials.moves
    tools = [
        frs.pose(arm, frs.equilibrium(arm, START + share * (GOAL - START)).q, link='tool')[:3, 3]
        for share in move.share[-60:]
    ]
    peak = np.linalg.norm(np.diff(tools, 2, axis=0), axis=1).max() / move.step**2
    assert peak == pytest.approx(0.5, rel=0.1)


def test_moves_stay_between_given_poses(arm):
    poses = np.array([[0.0, 0.3, -1.0], [0.4, 0.8, 0.5], [-0.3, 1.0, 1.0]])
    pairs = {(tuple(start), tuple(end)) for start, end in pairs_between(poses)}
    assert pairs == {(tuple(a), tuple(b)) for a in poses for b in poses if (a != b).any()}
    trials = ValidationMoves(arm, pairs_between(poses), count=3)
    limits = [arm.description.joint(name).velocity for name in arm.joint_names]
    for move in trials.moves:
        speed = np.diff(move.share).max() / move.step * np.abs(move.end - move.start)
        assert (speed <= 0.61 * np.array(limits)).all()


@pytest.mark.parametrize('jerk', [None, 30.0, 400.0])
def test_trial_moves_keep_the_limits_of_acceleration_and_jerk(arm, jerk):
    changes = {'*.acceleration': 4.0, 'waist.deceleration': 2.0}
    changes |= {} if jerk is None else {'*.jerk': jerk}
    pairs = pairs_in_range(arm)[:8:3]
    trials = ValidationMoves(frs.with_parameters(arm, changes), pairs, count=1, uncertainty=0.0)
    plain = ValidationMoves(arm, pairs, count=1, uncertainty=0.0)
    for k, move in enumerate(trials.moves):
        assert (move.share[0], move.share[-1]) == (0.0, pytest.approx(1.0, abs=1e-12))
        path = np.concatenate([np.zeros(4), move.share, np.ones(4)])
        accelerations = np.diff(path, 2) / move.step**2
        jerks = np.abs(np.diff(path, 3)).max() / move.step**3
        way = np.abs(move.end - move.start)
        largest = np.abs(accelerations).max() * way
        assert (largest <= 1.01 * np.array([2.0, 4.0, 4.0])).all()
        assert jerk is None or (jerks * way <= 1.01 * jerk).all()
        assert len(move.share) > len(plain.moves[k].share)


def test_the_recommended_shaper_meets_the_constraint_in_its_move(arm, best):
    """The same move, by drives that are prescribed one by one."""
    assert best.choice.meets_constraint and best.choice.added_time > 0.0
    trials = ValidationMoves(arm, [(START, GOAL)], count=3, uncertainty=0.0, acceleration=2.0)
    share = shaped_path(best.choice, trials.moves[0], ALLOWED)
    assert swing(arm, START + share[:, None] * (GOAL - START)) <= 1.05 * ALLOWED
    zvd = next(one for one in best.candidates if one.name == 'zvdd by pose')
    assert best.choice.figures.rest_time < zvd.figures.rest_time


@pytest.mark.long
def test_one_shaper_suits_all_payloads_of_a_range():
    arm = frs.load('single_link')
    found = recommend(arm, move=([0.0], [0.9]), payloads=[('tool', 0.0), ('tool', 0.3)])
    one = found.choice
    assert found.moves == 10 and len(found.cases) == 6
    assert one.meets_constraint
    low, high = (case.frequencies[0] for case in (found.cases[3], found.cases[0]))
    assert low < 0.9 * high
    zv = next(row for row in found.candidates if row.name.startswith('zv'))
    assert not zv.meets_constraint


def test_one_pose_is_about_small_motions(arm):
    found = recommend(arm, [[0.0, 0.4, -0.8]])
    assert found.moves == 0 and found.choice.meets_constraint
    assert found.candidates[0].figures.acceleration == pytest.approx(1.0, rel=0.02)


def test_a_move_needs_two_poses(arm):
    with pytest.raises(SettingError, match='move must be two different poses'):
        recommend(arm, move=(START, START))


def test_an_arm_that_needs_no_shaper_says_so():
    arm = frs.load('single_link')
    found = recommend(arm, [[0.3]], acceleration=1e-3)
    assert found.best == 0
    with pytest.raises(SettingError, match='mm at most after its moves: it needs no shaper'):
        found.refuse_none(arm)


def test_an_arm_that_does_not_bend_gets_none():
    assert recommend(frs.load('rcm')).cases == []
