"""Reduced mass points keep the inertia sums and the arm."""

from dataclasses import replace

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.model.mass_points import MassPoints, reduced_points


def polynomial_points(count, shapes=2, seed=0):
    """Random mass points on a beam with a few shapes that are powers of x."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, 2.0, count))
    shape = x[:, None] ** np.arange(2, 2 + shapes)
    H = rng.normal(size=(shapes, shapes)) * x[:, None, None] ** 3
    return MassPoints(rng.uniform(0.1, 0.3, count), x, shape, H)


def sums(points):
    """Return the sums of all products of two fields of the points."""
    fields = np.column_stack(
        [np.ones(len(points.mass)), points.x, points.shape, points.H.reshape(len(points.mass), -1)]
    )
    return fields.T @ (points.mass[:, None] * fields)


@pytest.mark.parametrize('shapes', [1, 2, 4])
def test_fewer_points_have_the_same_sums(shapes):
    points = polynomial_points(20, shapes)
    found = reduced_points(points)
    # one, x, and powers from the second to the last shape, including the third for H
    assert len(found.mass) == max(2 + shapes, 4)
    assert (found.mass > 0.0).all()
    expected = sums(points)
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    # rounding of twenty terms
    np.testing.assert_allclose(sums(found) / scale, expected / scale, rtol=0, atol=1e-14)


def test_few_or_massless_points_are_not_reduced():
    points = polynomial_points(4)
    assert reduced_points(points) is points
    weightless = polynomial_points(20)._replace(mass=np.zeros(20))
    assert reduced_points(weightless) is weightless


def with_split_points(arm):
    """Return the same arm with each mass point of its first beam split in two."""
    arrays = arm.arrays
    body = int(np.flatnonzero(np.diff(arrays.point_start))[0])
    own = slice(*arrays.point_start[body : body + 2])
    mass = arrays.point_mass.copy()
    mass[own] *= 0.5
    later = np.arange(len(arrays.parent) + 1) > body
    start = arrays.point_start + (own.stop - own.start) * later
    doubled = {
        name: np.concatenate([values[: own.stop], values[own], values[own.stop :]])
        for name, values in (
            ('point_mass', mass),
            ('point_x', arrays.point_x),
            ('point_shape', arrays.point_shape),
            ('point_H', arrays.point_H),
        )
    }
    return replace(arm, arrays=arrays._replace(point_start=start, **doubled))


def test_arms_with_different_numbers_of_points_share_a_batch():
    arm = frs.load('two_link')
    arms = [arm, with_split_points(arm)]
    batch = frs.Batch(arms)
    alone: list = [frs.Simulation(one) for one in arms]
    for stepper in (batch, *alone):
        stepper.set_state([0.3, 0.9, -1.0])
        stepper.step(100)
    for row, simulation in enumerate(alone):
        np.testing.assert_array_equal(batch.q[row], simulation.q)
    # the halves are summed in another order
    np.testing.assert_allclose(batch.q[1], batch.q[0], rtol=0, atol=1e-10)
    assert (batch.q[0] != batch.q[1]).any()


def test_an_arm_with_more_points_can_be_set_later():
    arm = frs.load('two_link')
    batch = frs.Batch([arm, with_split_points(arm), arm])
    assert batch._members.arrays.point_mass.shape[0] == 3
    batch.set_arms(with_split_points(with_split_points(arm)), members=[2])
    batch.set_arms(arm, members=[1])
    twice = with_split_points(with_split_points(arm))
    alone: list = [frs.Simulation(one) for one in (arm, arm, twice)]
    for stepper in (batch, *alone):
        stepper.set_state([0.3, 0.9, -1.0])
        stepper.step(100)
    for row, simulation in enumerate(alone):
        np.testing.assert_array_equal(batch.q[row], simulation.q)
