"""Motion of arms with spatial beams, against sums over mass points and closed forms."""

import numpy as np
import pytest
from spatial_arms import PointSum, spatial_robot

import flex_robot_sim as frs


def random_state(arm, seed, size=0.03):
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=arm.nq), rng.normal(size=arm.nq)
    q[arm.elastic_q] *= size
    v[arm.elastic_q] *= 0.3
    return q, v


@pytest.mark.parametrize('segments', [1, 2])
def test_accelerations_are_those_of_lagrange_for_a_sum_over_points(segments):
    gravity = (1.0, -2.0, -9.81)
    arm = frs.load(spatial_robot(3, segments), gravity=gravity)
    q, v = random_state(arm, 1)
    effort = np.array([0.4, -0.3])
    reference = PointSum(arm, gravity)
    found = frs.forward_dynamics(arm, q, v, effort)
    applied = reference.strain_force(q)
    applied[:2] = effort
    required = reference.required_force(q, v, found)
    inertia = np.abs(reference.mass_matrix(q)) @ np.abs(found)
    assert (np.abs(required - applied) < 1e-10 * inertia).all()
    applied[2:] = 0.0  # as are the forces beyond those of the springs
    assert np.abs(frs.inverse_dynamics(arm, q, v, found) - applied).max() < 1e-14 * inertia.max()
