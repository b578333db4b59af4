"""Coordinates of public robots, against Pinocchio and by a batch of one."""

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs

ROBOTS = sorted((ROOT / 'test' / 'data' / 'robots').glob('*.urdf'))
robots = pytest.mark.parametrize('path', ROBOTS, ids=lambda path: path.stem)


def load_held(path):
    """Return an arm whose mimic joints have no coordinate."""
    held = '<flexibility mimic="held"/></robot>'
    return frs.load(path.read_text('utf-8').replace('</robot>', held))


@robots
def test_each_joint_has_the_coordinate_that_pinocchio_gives_it(path):
    pin = pytest.importorskip('pinocchio')
    arm, model = load_held(path), pin.buildModelFromUrdf(str(path))
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


@robots
def test_free_drives_hang_where_pinocchio_finds_no_gravity_force(path):
    pin = pytest.importorskip('pinocchio')
    # without the stops of the joints, so that nothing but gravity acts
    arm = frs.with_parameters(load_held(path), {'*.lower': -50.0, '*.upper': 50.0})
    model = pin.buildModelFromUrdf(str(path))
    if model.nq != arm.nq:
        pytest.skip('Pinocchio gives mimicking fingers and endless joints more coordinates')
    start = np.random.default_rng(8).uniform(-1.0, 1.0, arm.nq)
    rest = frs.equilibrium(arm, start, joints='free')
    data = model.createData()
    weight = np.abs(pin.computeGeneralizedGravity(model, data, start)).max()
    assert np.abs(pin.computeGeneralizedGravity(model, data, rest.q)).max() < 1e-6 * weight
    # no pose nearby has less energy
    lowest = pin.computePotentialEnergy(model, data, rest.q)
    for change in 1e-3 * np.random.default_rng(9).standard_normal((20, arm.nq)):
        assert pin.computePotentialEnergy(model, data, rest.q + change) > lowest - 1e-9 * weight


@robots
def test_a_batch_has_the_poses_and_twists_of_pinocchio(path):
    pin = pytest.importorskip('pinocchio')
    arm, model = load_held(path), pin.buildModelFromUrdf(str(path))
    if model.nq != arm.nq:
        pytest.skip('Pinocchio gives mimicking fingers and endless joints more coordinates')
    data, frame = model.createData(), model.getFrameId(arm.tool)
    batch, rng = frs.Batch(arm, 3), np.random.default_rng(6)
    q = rng.uniform(
        np.maximum(arm.arrays.lower, -1.0), np.minimum(arm.arrays.upper, 1.0), (3, arm.nq)
    )
    v = rng.standard_normal((3, arm.nv))
    batch.set_state(q, v)
    poses, twists = batch.pose(), batch.twist(representation='hybrid')
    for k in range(3):
        pin.forwardKinematics(model, data, q[k], v[k])
        pin.updateFramePlacements(model, data)
        np.testing.assert_allclose(poses[k], data.oMf[frame].homogeneous, rtol=0.0, atol=1e-13)
        V = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(twists[k], [*V.angular, *V.linear], rtol=0.0, atol=1e-12)
