"""Coordinates of public robots, against Pinocchio and by a batch of one."""

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs

ROBOTS = sorted((ROOT / 'test' / 'data' / 'robots').glob('*.urdf'))
robots = pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)


@robots
def test_each_joint_has_the_coordinate_that_pinocchio_gives_it(path):
    pin = pytest.importorskip('pinocchio')
    arm, model = frs.load(str(path)), pin.buildModelFromUrdf(str(path))
    # Pinocchio gives the fingers that mimic another joint a coordinate of their own
    places = [model.joints[model.getJointId(name)].idx_v for name in arm.joint_names]
    assert [arm.idx_v[name] for name in arm.joint_names] == [*np.argsort(np.argsort(places))]
    assert (arm.idx_q, arm.nq, arm.nv) == (arm.idx_v, len(places), len(places))
    if model.nv == arm.nv:
        assert places == [*range(arm.nv)]
    assert arm.motor_q.tolist() == [*range(arm.nv)] and arm.elastic_q == slice(arm.nv, arm.nv)


@robots
def test_a_batch_of_one_moves_as_a_simulation_bit_for_bit(path):
    arm, rng = frs.load(str(path)), np.random.default_rng(5)
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 1)
    position = rng.uniform(np.maximum(arm.arrays.lower, -1.0), np.minimum(arm.arrays.upper, 1.0))
    for moving in (sim, batch):
        moving.set_state(position)
        moving.hold(0.5 * position, 40.0, 4.0)
        moving.push(arm.tool, (5.0, -3.0, 2.0))
        moving.set_payload(arm.tool, 0.7, (0.0, 0.05, 0.1))
        moving.step(200)
    np.testing.assert_array_equal(batch.q, [sim.q])
    np.testing.assert_array_equal(batch.v, [sim.v])
