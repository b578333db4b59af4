"""A batch of arms on free bases: the bits of single simulations."""

import pickle

import numpy as np
import pytest
from compare import arm_of
from free_arms import SPACE_ARM

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

KINDS = 'floating', 'planar'


def members(kind):
    """Return arms whose bases start at different poses."""
    texts = [
        SPACE_ARM.replace('"floating">', f'"{kind}"><axis xyz="0.6 0 0.8"/>').replace(
            'xyz="1 2 3"', f'xyz="{k} 2 3"'
        )
        for k in range(3)
    ]
    return [arm_of(text, gravity=(0.3, 0.0, -1.0)) for text in texts]


@pytest.mark.parametrize('kind', KINDS)
def test_each_member_has_the_bits_of_its_simulation(kind):
    arms = members(kind)
    batch, sims = frs.Batch(arms), [frs.Simulation(arm) for arm in arms]
    rates = np.random.default_rng(1).normal(size=(3, arms[0].nv)) * 0.1
    q = np.zeros((3, arms[0].nq))
    q[:, arms[0].base_q] = 0.2
    batch.set_state(q, rates)
    batch.push('fore', force=(1.0, 2.0, 3.0))
    batch.set_payload('fore', [0.1, 0.2, 0.3])
    for k, sim in enumerate(sims):
        sim.set_state(q[k], rates[k])
        sim.push('fore', force=(1.0, 2.0, 3.0))
        sim.set_payload('fore', [0.1, 0.2, 0.3][k])
    batch.step(20)
    state = pickle.loads(pickle.dumps(batch.save_state()))
    batch.step(20)
    for k, sim in enumerate(sims):
        sim.step(40)
        for name in ('q', 'v', 'base_pose', 'base_twist', 'centre_of_mass'):
            np.testing.assert_array_equal(getattr(batch, name)[k], getattr(sim, name))
        np.testing.assert_array_equal(batch.momentum()[k], sim.momentum())
        # another order of the same products
        np.testing.assert_allclose(batch.pose('fore')[k], sim.pose('fore'), rtol=0, atol=1e-14)
    end = batch.q
    batch.restore_state(state)
    batch.step(20)
    np.testing.assert_array_equal(batch.q, end)
    batch.reset([0])
    sims[0].reset()
    np.testing.assert_array_equal(batch.base_pose[0], sims[0].base_pose)
    np.testing.assert_array_equal(batch.q[1:], end[1:])


def test_poses_and_twists_of_the_bases_can_be_set():
    arms = members('floating')
    batch, pose = frs.Batch(arms), [0.1, 0.2, 0.3, 0.0, 0.0, 0.6, 0.8]
    batch.set_state(base_pose=pose, base_twist=np.arange(6.0), members=[2])
    np.testing.assert_allclose(batch.base_pose[2], pose, rtol=0, atol=1e-15)
    np.testing.assert_allclose(batch.base_twist[2], np.arange(6.0), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(batch.base_pose[1], frs.Simulation(arms[1]).base_pose)
    with pytest.raises(SettingError, match='base_pose must be seven finite numbers'):
        batch.set_state(base_pose=np.zeros(7))
    with pytest.raises(SettingError, match='the base of "single_link" is not free'):
        frs.Batch(frs.load('single_link'), 2).set_state(base_twist=np.zeros(6))
