"""Recordings of an arm on a free base, and their reports."""

import numpy as np
import pytest
from compare import arm_of
from free_arms import SPACE_ARM

import flex_robot_sim as frs
from flex_robot_sim.recording.simulated import SimulationRecording
from flex_robot_sim.reports.animation import motion_of
from flex_robot_sim.reports.energies import coordinates, energies
from flex_robot_sim.reports.recorded_run import read_run


@pytest.fixture(scope='module', params=['floating', 'planar'])
def run(request, tmp_path_factory):
    """Path of a recording, and poses, twists and coordinates of the same simulation."""
    kind = f'type="{request.param}"><axis xyz="0.6 0 0.8"/>'
    arm = arm_of(SPACE_ARM.replace('type="floating">', kind), gravity=(0.0, 0.0, 0.0))
    path = tmp_path_factory.mktemp('free') / 'run.mcap'
    sim, v = frs.Simulation(arm), np.zeros(arm.nv)
    v[: arm.base_q.stop] = 0.5
    sim.set_state(v=v)
    recording, rows = SimulationRecording(path, arm), []
    for _ in range(60):
        recording.add(sim)
        rows.append((sim.base_pose, sim.base_twist, sim.q, sim.v))
        sim.step(50)  # more than a whole turn of the base in all
    recording.close()
    return path, sim, [np.array(part) for part in zip(*rows)]


def test_another_reader_finds_the_odometry(run):
    make_reader = pytest.importorskip('mcap.reader').make_reader
    decoder = pytest.importorskip('mcap_ros2.decoder')
    path, _, (poses, twists, *_) = run
    with path.open('rb') as file:
        reader = make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        messages = [row[-1] for row in reader.iter_decoded_messages(topics=['/base_odometry'])]
    assert {(m.header.frame_id, m.child_frame_id) for m in messages} == {('world', 'bus')}
    for message, pose, twist in zip(messages, poses, twists, strict=True):
        p, o = message.pose.pose.position, message.pose.pose.orientation
        np.testing.assert_array_equal([p.x, p.y, p.z, o.x, o.y, o.z, o.w], pose)
        w, u = message.twist.twist.angular, message.twist.twist.linear
        np.testing.assert_array_equal([w.x, w.y, w.z, u.x, u.y, u.z], twist)


def test_a_report_has_the_recorded_motion_of_the_base(run):
    path, sim, (_, _, q, v) = run
    read = read_run(path)
    found = coordinates(read, read.arm, read.position.time)
    assert found is not None
    # coordinates of a base are infinite after half a turn: compare the poses that they make
    for ours, theirs in zip(found[0], q, strict=True):
        np.testing.assert_allclose(
            frs.pose(read.arm, ours), frs.pose(sim.arm, theirs), rtol=0, atol=1e-9
        )
    np.testing.assert_allclose(found[1], v, rtol=0, atol=1e-12)
    energy = energies(read)
    M = frs.mass_matrix(sim.arm, q[-1])
    assert energy.column('kinetic')[-1] == pytest.approx(v[-1] @ M @ v[-1] / 2, rel=1e-9)
    picture = motion_of(read)
    assert picture is not None
    assert picture['reach'] > np.linalg.norm(np.ptp(read.base.values[:, :3], axis=0))
