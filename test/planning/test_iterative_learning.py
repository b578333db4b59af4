"""Iterative learning of moves, against least squares, and on an arm unlike its description."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import flex_robot_sim as frs
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.planning.iterative_learning import REJECTION_RATIO, RepeatedMove
from flex_robot_sim.planning.learning_step import bounded_share, constrained_step
from flex_robot_sim.planning.reference_limits import ReferenceLimits
from flex_robot_sim.planning.simulated_trials import SimulatedTrials
from flex_robot_sim.simulation.loop_timing import LoopTiming

pytestmark = pytest.mark.slow

LOOP = LoopTiming(1e-3, 1e-3)
LEAD, DURATION, WHOLE = 0.25, 1.2, 2.05  # rest before the move, the move, the trial     [s]
SERVO = [60.0], [0.18]
ELASTIC_ARM = """
<mujoco><option timestep="{step}" gravity="0 0 0" integrator="RK4"/><worldbody>
  <body><joint name="motor" axis="0 0 1" damping="0.001"/>
    <inertial pos="0 0 0" mass="0.4" diaginertia="0.01 0.01 0.01"/>
    <body><joint axis="0 0 1" stiffness="{spring}" damping="0.004"/>
      <inertial pos="0.6 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body></body>
</worldbody><actuator><motor joint="motor"/></actuator></mujoco>
"""


@pytest.fixture(scope='module')
def arm():
    return frs.load('single_link')


@pytest.fixture(scope='module')
def learnt(arm):
    """SimulatedTrials and the lifted gain of the arm as described."""
    motion = minimum_jerk_motion(np.zeros(1), np.array([0.4]), duration=DURATION, begin=LEAD)
    trials = SimulatedTrials(arm, motion, duration=WHOLE, gains=SERVO, **LOOP._asdict())
    gain = RepeatedMove(motion, duration=WHOLE, count=16).model(
        lambda reference: trials.run(arm, reference), weight_step=0.01
    )
    return motion, trials, gain


@pytest.mark.long
@pytest.mark.parametrize('factor', [0.9, 1.1])
def test_ten_percent_of_stiffness_cost_a_tenth_in_five_trials_and_a_thirtieth_in_fifteen(
    arm, learnt, factor
):
    motion, trials, gain = learnt
    other, move = with_stiffness(arm, factor), RepeatedMove(motion, duration=WHOLE, count=16)
    move.gain = gain
    for _ in range(16):
        move.learn(trials.run(other, move.reference()))
    first = move.errors[0]
    assert move.errors[5] < first / 10 and move.errors[15] < first / 30
    # the first trial misses the goal by millimetres, so there is something to learn
    assert first > 2e-3


@pytest.mark.long
def test_learning_goes_on_top_of_strain_feedback(arm, learnt):
    motion, trials, _ = learnt
    design = design_damping(arm, [0.0], gains=SERVO, **LOOP._asdict())

    def run(arm, reference):
        damping = StrainFeedback(arm, design)
        damping.start()
        return trials.run(arm, reference, damping)

    move = RepeatedMove(motion, duration=WHOLE, count=12)
    move.model(lambda reference: run(arm, reference), weight_step=0.01)
    for _ in range(4):
        move.learn(run(with_stiffness(arm, 0.9), move.reference()))
    assert move.errors[-1] < move.errors[0] / 30


def linear_move(random, joints=2, count=5, noise=0.0):
    """A move whose errors are linear in the reference, and these errors."""
    still = np.zeros(joints)
    move = RepeatedMove(
        minimum_jerk_motion(still, still + 1.0, duration=1.0), duration=1.5, count=count
    )
    times = np.linspace(0.05, 1.45, 30)
    mix, plain = random.normal(size=(joints, 3)), random.normal(size=(30, 3))

    def run(reference):
        places = np.array([reference(t)[0] for t in times])
        return plain + np.cumsum(places, axis=0) @ mix

    return move, run


def test_without_caution_one_trial_leaves_what_least_squares_leave():
    move, run = linear_move(np.random.default_rng(4))
    gain = move.model(run, weight_step=0.1)
    move.regularization = move._min_regularization = 1e-13
    move.learn(run(move.reference()))
    best = np.linalg.lstsq(gain, -run(move.reference(0 * move.weights)).ravel(), rcond=None)[0]
    np.testing.assert_allclose(move.weights.ravel(), best, rtol=1e-5, atol=1e-7)


def test_with_a_gain_that_is_off_every_trial_leaves_a_share_of_what_can_be_reached():
    move, run = linear_move(np.random.default_rng(6))
    move.model(run, weight_step=0.1)
    least = np.linalg.norm(
        run(move.reference(0 * move.weights)).ravel()
        + move.gain
        @ np.linalg.lstsq(move.gain, -run(move.reference(0 * move.weights)).ravel(), rcond=None)[0]
    )
    move.gain = move.gain / 0.8  # the arm has 0.8 of the gain of the model
    move.regularization = move._min_regularization = 1e-12
    beyond = []
    for _ in range(5):
        errors = run(move.reference())
        beyond.append(np.sqrt(max(np.sum(errors**2) - least**2, 0.0)))
        move.learn(errors)
    np.testing.assert_allclose(np.divide(beyond[1:], beyond[:-1]), 0.2, rtol=1e-3)


def test_a_trial_that_was_worse_is_taken_back_and_followed_by_a_smaller_change():
    move, run = linear_move(np.random.default_rng(8))
    move.model(run, weight_step=0.1)
    move.learn(run(move.reference()))
    first, regularization = move.weights.copy(), move.regularization
    move.learn(1.01 * REJECTION_RATIO * run(move.reference(0 * first)))
    assert move.regularization > regularization
    assert np.linalg.norm(move.weights) < np.linalg.norm(first)


def test_a_trial_that_was_much_worse_ends_learning_with_the_best_reference(caplog):
    move, run = linear_move(np.random.default_rng(8))
    move.model(run, weight_step=0.1)
    errors = run(move.reference())
    move.learn(errors)
    assert not move.is_finished and move.weights.any()
    move.learn(1.2 * errors)
    first, least = (f'{np.sqrt(np.mean((share * errors) ** 2)):.3g}' for share in (1.2, 1.0))
    assert move.warning == caplog.messages[0] and move.is_finished
    assert move.warning == (
        f'trial 2 has an error of {first}, above 1.1 times the least one of {least}: learning '
        'ends with the reference of trial 1. Correct stiffness and payload of the model, or '
        'shorten the trial'
    )
    move.learn(0.1 * errors)  # a trial of the best reference changes nothing
    assert not move.weights.any() and len(caplog.messages) == 1


def elastic_arm(stiffness, motion, duration, step=2e-3):
    """Errors of the tip of an elastic-joint arm with a servo in MuJoCo, as a function."""
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(ELASTIC_ARM.format(step=step, spring=5.0 * stiffness))
    count = round(duration / step)

    def run(reference):
        data, rows = mujoco.MjData(model), np.zeros(count)
        for k in range(count):
            place, speed = reference(k * step)[:2, 0]
            data.ctrl[0] = 60.0 * (place - data.qpos[0]) + 0.18 * (speed - data.qvel[0])
            mujoco.mj_step(model, data)
            rows[k] = 0.6 * (data.qpos.sum() - motion.sample((k + 1) * step)[0, 0])
        return rows[::5]

    return run


@pytest.fixture(scope='module')
def mujoco_move():
    """Function from a factor on the stiffness to the errors of 10 trials, and the move."""
    duration = 3.0
    motion = minimum_jerk_motion(np.zeros(1), np.array([0.4]), duration=0.6, begin=0.25)
    move = RepeatedMove(motion, duration=duration, count=12)
    runs = [elastic_arm(factor, motion, duration) for factor in (1.0, 0.8, 1.2)]
    move.model(runs, weight_step=0.01)

    def learn(factor, knows_others=True):
        other = RepeatedMove(motion, duration=duration, count=12)
        other.gain, other.other_gains = move.gain, move.other_gains if knows_others else ()
        run = elastic_arm(factor, motion, duration)
        for _ in range(10):
            other.learn(run(other.reference()))
        return other

    return learn


@pytest.mark.long
@pytest.mark.parametrize('factor', [0.8, 0.9, 1.0, 1.1, 1.2])
def test_an_arm_in_mujoco_with_another_stiffness_learns_without_a_worse_trial(mujoco_move, factor):
    move = mujoco_move(factor)
    assert max(move.errors) == move.errors[0] and move.errors[-1] < 0.25 * move.errors[0]
    assert move.warning == ''


def test_one_gain_ends_learning_with_the_best_trial_where_the_stiffness_is_wrong(mujoco_move):
    move = mujoco_move(0.8, knows_others=False)
    assert max(move.errors) < 1.5 * move.errors[0] and move.errors[-1] == move.errors[0]
    assert move.warning.startswith('trial 2 has an error of ')


def test_runs_of_simulated_trials_have_other_stiffness(arm, learnt):
    motion, trials, _ = learnt
    nominal, soft, _ = trials.runs(arm)
    np.testing.assert_array_equal(nominal(motion.sample), trials.run(arm, motion.sample))
    expected = trials.run(with_stiffness(arm, 0.8), motion.sample)
    np.testing.assert_array_equal(soft(motion.sample), expected)
    with pytest.raises(frs.SettingError, match=r'^stiffness = \(0.0,\) must be factors > 0'):
        trials.runs(arm, (0.0,))


def test_references_keep_their_limits():
    move, run = linear_move(np.random.default_rng(12))
    move.model(run, weight_step=0.1)
    move.learn(run(move.reference()))
    times = np.linspace(0.0, move.duration, 3001)
    free = np.abs([move.reference()(t) for t in times]).max(axis=0)
    limits = ReferenceLimits(
        lower=(-0.1, -0.1), upper=(1.05, 1.05), velocity=(2.5, 2.5), acceleration=(9.0, 9.0)
    )
    bounded = RepeatedMove(move.motion, duration=1.5, count=5, limits=limits)
    bounded.gain = move.gain
    for _ in range(4):
        bounded.learn(run(bounded.reference()))
    rows = np.array([bounded.reference()(t) for t in times])
    assert rows[:, 0].min() >= -0.1005 and rows[:, 0].max() <= 1.0505  # between its samples
    peaks = np.abs(rows).max(axis=0)
    assert (peaks[1] <= 2.5).all() and (peaks[2] <= 9.0).all()
    assert (free[1] > 2.5).any() or (free[2] > 9.0).any()
    assert bounded.errors[-1] < bounded.errors[0]


def test_step_within_constraints_is_that_of_a_general_solver():
    random = np.random.default_rng(5)
    gain, errors = random.normal(size=(20, 6)), random.normal(size=20)
    rows, room = random.normal(size=(40, 6)), random.uniform(0.0, 0.1, 40)
    step = constrained_step(gain, errors, 0.1, rows, room)
    reference = minimize(
        lambda x: np.sum((errors + gain @ x) ** 2) + 0.1 * x @ x,
        np.zeros(6),
        constraints=LinearConstraint(rows, -np.inf, room),
        method='SLSQP',
        options={'ftol': 1e-14, 'maxiter': 500},
    )
    assert (rows @ step <= room + 1e-12).all()
    np.testing.assert_allclose(step, reference.x, atol=1e-6)


def test_share_of_a_step_ends_at_the_largest_error():
    random = np.random.default_rng(6)
    gains, errors = random.normal(size=(3, 20, 6)), random.normal(size=20)
    step = random.normal(size=6)
    largest = 1.5 * np.linalg.norm(errors)
    share = bounded_share(step, errors, gains, largest)
    found = max(np.linalg.norm(errors + share * gain @ step) for gain in gains)
    assert 0.0 < share < 1.0 and found == pytest.approx(largest)
    assert bounded_share(1e-3 * step, errors, gains, largest) == 1.0


def test_reference_begins_and_ends_as_the_move_does():
    move, run = linear_move(np.random.default_rng(9))
    move.model(run, weight_step=0.1)
    move.learn(run(move.reference()))
    reference = move.reference()
    for t in (0.0, 1.5):
        np.testing.assert_allclose(reference(t), move.motion.sample(t), atol=1e-9)
    assert np.abs(reference(0.7)[0] - move.motion.sample(0.7)[0]).max() > 1e-3


def test_bad_input_ends_in_a_line():
    still = np.zeros(1)
    motion = minimum_jerk_motion(still, still + 1.0, duration=1.0)
    limits = ReferenceLimits(velocity=(1.0,))
    with pytest.raises(frs.SettingError) as caught:
        RepeatedMove(motion, duration=2.0, count=4, limits=limits)
    assert str(caught.value) == (
        'the motion of joint 1 reaches 1.875, beyond its velocity limit of 1: give the motion '
        'more time, or raise the limit'
    )
    for arguments, line in (
        (
            (0.5, 4),
            'duration = 0.5 of a trial [s] must be finite and not shorter than the motion of 1 s',
        ),
        ((2.0, 0), 'count = 0 must be a whole number > 0'),
        ((2.0, 4, 2.0), 'regularization = 2.0 must be between 0 and 1'),
    ):
        with pytest.raises(frs.SettingError) as caught:
            RepeatedMove(motion, **dict(zip(('duration', 'count', 'regularization'), arguments)))
        assert str(caught.value) == line
    move = RepeatedMove(motion, duration=2.0, count=4)
    with pytest.raises(frs.SettingError, match='^there is no gain yet: let `model` find it first'):
        move.learn([0.0])
    with pytest.raises(frs.SettingError, match='^the model does not answer the weights'):
        move.model(lambda reference: np.zeros((3, 1)), weight_step=0.1)
    move.gain = np.ones((3, 4))
    with pytest.raises(frs.SettingError, match='^a trial has 3 errors, and not 2'):
        move.learn([0.0, 0.0])
    with pytest.raises(frs.SettingError, match='^the errors of a trial must be finite'):
        move.learn([0.0, np.nan, 0.0])
