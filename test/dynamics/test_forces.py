"""Springs, dampers and motors of a whole arm: where the energy goes."""

import numpy as np
import pytest
from compare import CASES, arm_of, forward, judged, robot_text
from random_arms import random_state

from flex_robot_sim.dynamics.forces import add_powers, spring_energy
from flex_robot_sim.dynamics.kinematics import set_motion
from flex_robot_sim.model.arm_model import make_workspace

cases = pytest.mark.parametrize('case', CASES)


@cases
def test_springs_pull_with_the_slope_of_their_energy_and_nothing_else_acts_at_rest(case):
    judge = judged(case)
    arm, work = judge.arm, make_workspace(judge.arm.arrays)
    forward(arm, judge.q, np.zeros(arm.size), np.zeros(len(arm.joint_names)), work)
    expected = judge.reference.potential_force(judge.reference.spring_energy, judge.q)
    # stiffnesses of one beam span some orders, hence by the largest force
    np.testing.assert_allclose(work.force, expected, rtol=0.0, atol=1e-12 * abs(expected).max())
    assert spring_energy(arm.arrays, judge.q) == pytest.approx(
        judge.reference.spring_energy(judge.q), rel=1e-12)


@cases
def test_what_depends_on_rates_only_takes_energy_and_all_of_it_is_counted(case):
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
