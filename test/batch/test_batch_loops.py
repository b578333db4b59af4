"""Batches of arms with closed loops: each member equals a single simulation, to the last bit."""

import numpy as np
import pytest
from closed_loops import opening
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

EFFORTS = (0.1, 0.4, -0.3)


def is_same(batch, k, simulation):
    return (batch.q[k] == simulation.q).all() and (batch.v[k] == simulation.v).all()


def test_members_with_loops_equal_single_simulations():
    arm = frs.load('four_bar')
    batch, alone = frs.Batch(arm, 3, threads=2), [frs.Simulation(arm) for _ in EFFORTS]
    batch.effort[:, 0] = EFFORTS
    batch.set_state([0.3, 0.0, 0.0], [1.0, 0.0, 0.0], members=[1])
    batch.hold([0.5, 0.0, 0.0], 2.0, 0.1, members=[2])
    batch.push('tool', (0.0, 0.0, 1.0))
    batch.set_payload('tool', 0.2)
    batch.step(20)
    saved = batch.save_state()
    batch.step(20)
    for k, simulation in enumerate(alone):
        if k == 1:
            simulation.set_state([0.3, 0.0, 0.0], [1.0, 0.0, 0.0])
        if k == 2:
            simulation.hold([0.5, 0.0, 0.0], 2.0, 0.1)
        simulation.effort = [EFFORTS[k], 0.0, 0.0]
        simulation.push('tool', (0.0, 0.0, 1.0))
        simulation.set_payload('tool', 0.2)
        simulation.step(40)
        assert is_same(batch, k, simulation), k
        assert tuple(value[k] for value in batch.energy()) == tuple(simulation.energy())
        assert np.abs(opening(arm, batch.q[k], 'coupler_end')).max() < 1e-12
        for query, name in (('wrench', 'rocker_joint'), ('constraint_force', 'coupler_end')):
            expected = getattr(simulation, query)(name)
            assert getattr(batch, query)(name)[k] == pytest.approx(expected, abs=1e-12)
    q = batch.q
    batch.restore_state(saved)
    batch.step(20)
    assert np.array_equal(batch.q, q)
    batch.reset()
    assert np.array_equal(batch.q, np.tile(frs.Simulation(arm).q, (3, 1)))


def test_a_batch_refuses_efforts_of_passive_joints_and_other_loops():
    arm = frs.load('four_bar')
    batch = frs.Batch(arm, 2)
    batch.effort[1, 2] = 0.5
    line = 'effort of joint "rocker_joint" must be 0: it is passive'
    assert refusal(SettingError, batch.step) == line
    line = line.replace('effort of', 'stiffness of')
    assert refusal(SettingError, batch.hold, [0.0] * 3, [1.0] * 3, 0.0) == line.replace(
        'rocker', 'coupler'
    )
    other = frs.load(arm.description.text.replace('"coupler_end"', '"other"'))
    with pytest.raises(SettingError, match='the arm of member 1 is not like the first'):
        frs.Batch([arm, other])
