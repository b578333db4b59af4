"""Energy balance of the springs, dampers and motors of an arm."""

import numpy as np
import pytest
from compare import CASES, arm_of, forward, reference_case, robot_text
from random_arms import random_state

from flex_robot_sim.dynamics.forces import add_powers, spring_energy
from flex_robot_sim.dynamics.kinematics import set_motion
from flex_robot_sim.model.workspace import make_workspace

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)


@cases
def test_at_rest_the_only_forces_are_the_gradients_of_the_spring_energy(case):
    sample = reference_case(case)
    arm, work = sample.arm, make_workspace(sample.arm.arrays)
    forward(arm, sample.q, np.zeros(arm.size), np.zeros(len(arm.joint_names)), work)
    expected = sample.reference.potential_force(sample.reference.spring_energy, sample.q)
    # relative to the largest force: stiffnesses of one beam differ by orders of magnitude
    np.testing.assert_allclose(work.force, expected, rtol=0.0, atol=1e-12 * abs(expected).max())
    assert spring_energy(arm.arrays, sample.q) == pytest.approx(
        sample.reference.spring_energy(sample.q), rel=1e-12
    )


@cases
def test_rate_dependent_forces_dissipate_energy_and_the_balance_includes_it(case):
    arm = arm_of(robot_text(case, damping=True))
    work, nothing = make_workspace(arm.arrays), np.zeros(len(arm.joint_names))
    effort = np.arange(1.0, 1.0 + len(nothing))
    for k in range(10):
        q, qd = random_state(arm, k, turn=1.0)
        forward(arm, q, 0 * qd, nothing, work)
        still = work.force.copy()
        forward(arm, q, qd, nothing, work)
        dissipated = -qd @ (work.force - still)
        assert dissipated > 0.0
        forward(arm, q, qd, effort, work)
        with_motors = qd @ (work.force - still) + dissipated
        work.load[:] = np.random.default_rng(k).normal(size=work.load.shape)
        set_motion(arm.arrays, q, qd, work)
        flow = np.zeros(2)
        add_powers(arm.arrays, q, qd, 0 * q, effort, 0.0, 0.5, work, flow)
        loads = np.sum(work.load * work.V)
        np.testing.assert_allclose(flow, [(with_motors + loads) / 2, dissipated / 2], rtol=1e-9)
