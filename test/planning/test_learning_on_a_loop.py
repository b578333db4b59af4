"""Iterative learning of a closed loop: trials change the reference of the motor only."""

import numpy as np
import pytest

import flex_robot_sim as frs

pytestmark = pytest.mark.slow


def test_trials_of_a_four_bar_with_another_coupler_get_better():
    arm = frs.load('four_bar')
    start = frs.Simulation(arm).position
    goal = np.where(arm.actuated, start + 0.4, start)
    motion = frs.planning.minimum_jerk_motion(start, goal, duration=0.2)
    trials = frs.planning.SimulatedTrials(arm, motion, duration=0.4, gains=(30.0, 0.6))
    learning = frs.planning.RepeatedMove(motion, duration=0.4, count=6)
    learning.model(lambda reference: trials.run(arm, reference), weight_step=1e-3)
    other = frs.load(arm.description.text.replace('206e9', '150e9'))
    for _ in range(4):
        learning.learn(trials.run(other, learning.reference()))
    assert learning.errors[-1] < 0.3 * learning.errors[0]
    assert not learning.weights[~arm.actuated].any() and learning.weights[arm.actuated].any()
