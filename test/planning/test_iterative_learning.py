"""Iterative learning of moves, against least squares, and on an arm unlike its description."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.planning.iterative_learning import REJECTION_RATIO, RepeatedMove
from flex_robot_sim.planning.simulated_trials import SimulatedTrials
from flex_robot_sim.simulation.loop_timing import LoopTiming

pytestmark = pytest.mark.slow

LOOP = LoopTiming(1e-3, 1e-3)
LEAD, DURATION, WHOLE = 0.25, 1.2, 2.05  # rest before the move, the move, the trial     [s]
SERVO = [60.0], [0.18]


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


@pytest.mark.long(after=1)
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
    move.learn(10 * REJECTION_RATIO * run(move.reference(0 * first)))
    assert move.regularization > regularization
    assert np.linalg.norm(move.weights) < np.linalg.norm(first)


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
