"""Rollouts, compared with loops that take one step after the other."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import ControlLoop, rollout

H = 1e-3
GOAL = np.array([0.3, 0.2, -0.4])


def servo(time, simulation):
    """Return the efforts of PD and a sine."""
    return (60.0 * (GOAL - simulation.position) - 3.0 * simulation.velocity
            + 0.2 * np.sin(20.0 * time))


def step_by_step(simulation, controller, steps, period, delay):
    """Return the coordinates after every step of a loop in which each step asks what is due."""
    due, rows = {}, [simulation.q]
    for k in range(steps):
        if k % period == 0:
            due[k + delay] = controller(simulation.time, simulation)
        if k in due:
            simulation.effort = due[k]
        simulation.step()
        rows.append(simulation.q)
    return np.array(rows)


@pytest.mark.parametrize('period, delay', [(1, 0), (4, 0), (3, 3), (3, 1), (2, 7)])
def test_rollout_is_a_loop_that_asks_at_every_step_what_is_due(period, delay):
    arm = frs.load('two_link')
    expected = step_by_step(frs.Simulation(arm), servo, 50, period, delay)
    time, q, qd, effort = rollout(frs.Simulation(arm), servo, 50 * H,
                                  LoopTiming(period * H, delay * H), record_period=H)
    # times are sums of different numbers of steps: rounding in the sine
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(time, H * np.arange(51), atol=1e-12)
    assert qd.shape == q.shape and effort.shape == (51, 3)
    assert not effort[:delay].any() and effort[delay:].all()


def test_samples_have_their_own_period_and_end_with_the_last_step():
    time, height = rollout(
        frs.Simulation(frs.load('two_link')), servo, 25 * H, LoopTiming(4 * H, 0.0),
        lambda simulation: (simulation.time, simulation.pose('tool')[2, 3]), 10 * H)
    np.testing.assert_allclose(time, [0.0, 0.01, 0.02, 0.025], atol=1e-12)
    assert len(set(height)) == 4


def test_without_a_controller_the_arm_moves_as_by_its_own_steps():
    arm = frs.load('two_link')
    simulation, other = frs.Simulation(arm), frs.Simulation(arm)
    simulation.effort = other.effort = [0.2, -1.0, 0.4]
    rollout(simulation, None, 0.03)
    other.step(30)
    np.testing.assert_array_equal(simulation.q, other.q)


def test_a_controller_may_set_the_inputs_itself():
    arm = frs.load('two_link')
    simulation, other = frs.Simulation(arm), frs.Simulation(arm)
    rollout(simulation, lambda time, arm: arm.hold(GOAL * (1 + time), 50.0, 2.0), 0.02)
    for _ in range(20):
        other.hold(GOAL * (1 + other.time), 50.0, 2.0)
        other.step()
    np.testing.assert_array_equal(simulation.q, other.q)


def test_a_loop_in_two_parts_keeps_its_samples_and_its_delay():
    arm, timing = frs.load('two_link'), LoopTiming(4 * H, 6 * H)
    whole, parts = frs.Simulation(arm), frs.Simulation(arm)
    rows = []
    rollout(whole, servo, 0.03, timing)
    loop = ControlLoop(parts, servo, timing, lambda arm: rows.append(arm.time))
    loop.advance(13)
    loop.advance(17)
    np.testing.assert_allclose(parts.q, whole.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(rows, H * np.arange(0, 30, 4), atol=1e-12)


def test_a_batch_moves_as_its_members_do():
    arm = frs.load('two_link')
    rows, = rollout(frs.Batch(arm, 2), servo, 0.02, LoopTiming(2 * H, 0.0),
                    lambda batch: [batch.q])
    _, q, *_ = rollout(frs.Simulation(arm), servo, 0.02, LoopTiming(2 * H, 0.0))
    for member in (0, 1):
        np.testing.assert_array_equal(rows[:, member], q)


def test_a_period_between_two_steps_ends_in_a_line():
    with pytest.raises(frs.SettingError) as caught:
        rollout(frs.Simulation(frs.load('two_link')), servo, 0.1, LoopTiming(1.5e-3, 0.0))
    assert str(caught.value) == ('period and delay of a loop, 0.0015 and 0 s, must be whole '
                                 'numbers of time steps of 0.001 s')
