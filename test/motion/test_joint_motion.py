"""Motions: their duration, representation, and wrong arguments."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.motion.joint_motion import Motion, line, minimum_jerk_motion, rest

START, END = np.zeros(2), np.array([0.3, -0.2])


def swing():
    """Return a Motion that repeats from its second knot."""
    pieces = [rest(START), line(START, END), line(END, START), rest(START)]
    return Motion([1.0, 1.5, 2.5], pieces, repeats_from=1)


def test_the_duration_is_from_the_first_knot_to_the_end():
    motion = minimum_jerk_motion(START, END, duration=0.8, begin=0.5)
    assert motion.duration == pytest.approx(0.8, rel=1e-12) and motion.end == 1.3
    plan = frs.planning.minimum_jerk_motion([0.0], [0.3], duration=0.8)
    assert plan.duration == plan.end == 0.8
    assert swing().duration == np.inf


def test_the_representation_has_joints_pieces_and_times():
    motion = minimum_jerk_motion(START, END, duration=0.8, begin=0.5)
    assert repr(motion) == 'Motion of 2 joints, 1 piece, 0.5 to 1.3 s'
    assert repr(swing()) == 'Motion of 2 joints, 2 pieces, 1 to 2.5 s, repeats from 1.5 s'
    assert repr(minimum_jerk_motion([0.0], [1.0], duration=2.0)).startswith('Motion of 1 joint, ')


def test_samples_are_those_of_each_time():
    motion, times = swing(), [0.0, 1.2, 2.0, 7.7]
    np.testing.assert_array_equal(motion.samples(times), [motion.sample(t) for t in times])
