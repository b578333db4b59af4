"""Shortened experiments on dual screws and on the remote centre of motion."""

from typing import Any

import numpy as np
import pytest

from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce import dual_screw, rcm
from flex_robot_sim.reproduce.options import Options

pytestmark = pytest.mark.slow


def ours(reproduction):
    return {row.what: row.ours for row in reproduction.comparisons}


def test_linearised_and_nonlinear_arm_have_the_same_motion():
    reproduction = dual_screw.run(lambda fraction: None, Options(0.02))
    # a run of 20 ms decides nothing, and names the required time
    assert {row.shown_reason for row in reproduction.comparisons if row.place == 'figure 6'} == {
        'needs --seconds 6 or more'
    }
    found: Any = reproduction.formulations
    assert found['wrench_dae'].acceleration_error < 1e-9
    assert found['dual_screw'].acceleration_error < 0.01
    assert [figure.name for figure in reproduction.figures] == [
        f'figure_{k}' for k in range(5, 11)
    ]


def test_targets_of_the_manoeuvre_agree_with_the_paper():
    arm = load('dual_screw_arm', coupling='zero_order')
    effort = dual_screw.servo_efforts(arm)
    kp, _ = dual_screw.joint_gains(arm)
    q = np.zeros(arm.size)
    q[:4] = [0.0, np.pi / 3, np.pi / 3, np.pi / 3]
    # at the second target, only the servo of joint 1 acts, from 3 s on
    change = effort(3.0, q, np.zeros(arm.size)) - effort(2.9, q, np.zeros(arm.size))
    assert change[0] == pytest.approx(kp[0] * np.pi / 4, rel=1e-9)
    assert change[1:] == pytest.approx(0.0, abs=1e-9)  # rotation about the vertical


@pytest.mark.long
def test_the_remote_centre_is_at_rest_in_the_experiment():
    reproduction = rcm.run(lambda fraction: None, Options(2.0))
    assert {row.verdict for row in reproduction.comparisons} == {'agrees', 'not comparable'}
    numbers = ours(reproduction)
    assert numbers['poses in three ways, largest difference'] < 1e-12
    assert numbers['Jacobians in four forms, against those of the package'] < 1e-12
    assert numbers['joint rates from the twists of all bodies'] < 1e-12
    # rigid: the difference is the energy correction of the recursion in each step (T44)
    assert reproduction.largest_disagreement < 1e-3
    assert reproduction.numbers[0].what.startswith('tool moves')
    assert float(reproduction.numbers[0].ours) > 0.05
    found: Any = reproduction.formulations
    assert max(result.acceleration_error for result in found.values()) < 1e-10


def test_rates_of_the_swing_are_the_derivatives_of_its_positions():
    times = np.linspace(0.0, 8.0, 8001)
    q, qd = rcm.motion(times)
    slope = np.gradient(q, times, axis=0)
    assert np.allclose(qd[1:-1], slope[1:-1], rtol=0, atol=2e-4)  # second order in 1 ms
