"""Friction, stops, servo and springs: signs, slopes, and where the energy goes."""

import numpy as np
import pytest
from arms import joint, link, robot
from compare import CASES, arm_of, forward, judged, robot_text
from random_arms import random_state
from reference import along

from flex_robot_sim.forces import (
    add_powers,
    friction_force,
    limit_force,
    motor_force,
    stored_in_springs,
)
from flex_robot_sim.kinematics import set_motion
from flex_robot_sim.model import make_workspace

LIMIT = '<limit lower="-0.5" upper="0.5" effort="1" velocity="1"/>'
LOSSES = '<dynamics damping="0.3" friction="0.2"/>'
cases = pytest.mark.parametrize('case', CASES)


def hinge(inside=LIMIT):
    return arm_of(robot(link(), joint(kind='revolute', inside='<axis xyz="0 0 1"/>' + inside)),
                  gravity=(0.0, 0.0, -9.81))


def test_a_stop_pushes_and_never_pulls():
    arm = hinge().arrays
    for q in np.concatenate([[0.5, -0.5], np.linspace(-0.6, 0.6, 241)]):
        for qd in (-30.0, -0.1, -1e-9, 0.0, 0.2, 30.0):
            force, stiffness, damping = limit_force(arm, 0, q, qd)
            assert force * q <= 0.0
            assert stiffness >= 0.0 and damping >= 0.0
            if abs(q) <= 0.5:
                assert (force, stiffness, damping) == (0.0, 0.0, 0.0)
            elif qd * q >= 0.0:         # still moving into the stop
                assert force * q < 0.0


def test_the_force_of_a_stop_starts_at_zero_even_at_speed():
    arm = hinge().arrays
    scale = abs(limit_force(arm, 0, 0.501, 3.0)[0])
    assert abs(limit_force(arm, 0, 0.5 + 1e-12, 3.0)[0]) < 1e-8 * scale     # linear over 1e-3


def test_a_stop_has_the_slopes_that_it_says():
    arm = hinge().arrays
    force, stiffness, damping = limit_force(arm, 0, 0.55, 0.3)
    assert force < 0.0
    assert -along(lambda t: limit_force(arm, 0, 0.55 + t, 0.3)[0]) == pytest.approx(stiffness)
    assert -along(lambda t: limit_force(arm, 0, 0.55, 0.3 + t)[0]) == pytest.approx(damping)


def test_friction_is_viscous_and_coulomb_with_a_smooth_start():
    arm = hinge(LIMIT + LOSSES).arrays
    for rate in (0.1, 1.0, 20.0):       # ten times the rate of smoothing: 1 - tanh(10) = 4e-9
        force, _ = friction_force(arm, 0, rate)
        assert force == pytest.approx(-0.3 * rate - 0.2, rel=1e-8)
        assert friction_force(arm, 0, -rate)[0] == -force
    assert friction_force(arm, 0, 0.0)[0] == 0.0
    for rate in (0.0, 3e-3, 1e-2, -2e-2):
        slope = -along(lambda t, rate=rate: friction_force(arm, 0, rate + t)[0], 1e-4)
        assert friction_force(arm, 0, rate)[1] == pytest.approx(slope, rel=1e-8)
        assert abs(friction_force(arm, 0, rate)[0]) <= 0.3 * abs(rate) + 0.2


def test_a_servo_pulls_to_its_target_with_no_more_than_the_motor_has():
    work = make_workspace(hinge().arrays)
    assert motor_force(7.0, 0, 0.4, 3.0, work) == (7.0, 0.0, 0.0)
    work.target[0], work.servo_stiffness[0], work.servo_damping[0] = 0.3, 50.0, 2.0
    assert motor_force(1.0, 0, 0.2, 0.5, work) == pytest.approx((1.0 + 5.0 - 1.0, 50.0, 2.0))
    work.effort_limit[0] = 4.0
    assert motor_force(1.0, 0, 0.2, 0.5, work) == (4.0, 0.0, 0.0)
    assert motor_force(1.0, 0, 0.9, 0.5, work) == (-4.0, 0.0, 0.0)


@cases
def test_springs_pull_with_the_slope_of_their_energy_and_nothing_else_acts_at_rest(case):
    judge = judged(case)
    arm, work = judge.arm, make_workspace(judge.arm.arrays)
    forward(arm, judge.q, np.zeros(arm.size), np.zeros(len(arm.joint_names)), work)
    expected = judge.reference.potential_force(judge.reference.spring_energy, judge.q)
    # stiffnesses of one beam span some orders, hence by the largest force
    np.testing.assert_allclose(work.force, expected, rtol=0.0, atol=1e-12 * abs(expected).max())
    assert stored_in_springs(arm.arrays, judge.q) == pytest.approx(
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
        add_powers(arm.arrays, q, qd, 0.5, work, flow)
        loads = np.sum(work.load * work.V)
        np.testing.assert_allclose(flow, [(with_motors + loads) / 2, dissipated / 2], rtol=1e-9)


@pytest.mark.parametrize('qd', [-30.0, -0.3, -0.05, 0.1, 3.0])
@pytest.mark.parametrize('q', [0.5001, 0.52, -0.5003])
def test_a_stop_stores_or_dissipates_what_it_takes(q, qd):
    arm = hinge().arrays
    flow = np.zeros(2)
    add_powers(arm, np.array([q]), np.array([qd]), 1.0, make_workspace(arm), flow)
    storing = qd * along(lambda x: stored_in_springs(arm, np.array([q + x])), 1e-6)
    taken = -limit_force(arm, 0, q, qd)[0] * qd
    # the energy is quadratic, so that its difference is exact but for rounding
    assert storing + flow[1] == pytest.approx(taken, abs=1e-9 * abs(storing))
    assert flow[1] >= 0.0
