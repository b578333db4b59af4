"""A closed loop in the display description: TF of both sides of the constraint agree."""

import numpy as np
import pytest
from displayed_loops import displayed_gaps

import flex_robot_sim as frs
from flex_robot_sim.display.display_joints import DisplayJoints


@pytest.mark.parametrize('turn', [0.0, 0.8, 2.5])
def test_the_frames_of_a_displayed_loop_meet(turn):
    arm = frs.load('four_bar')
    simulation, joints = frs.Simulation(arm), DisplayJoints(arm)
    simulation.set_state([turn, 0.0, 0.0], [4.0, 0.0, 0.0])
    simulation.step(10)
    assert np.abs(simulation.q[arm.elastic_q]).max() > 1e-5
    (gap,) = displayed_gaps(arm, joints.names, [joints.positions(simulation.q)])
    assert gap < 1e-9
