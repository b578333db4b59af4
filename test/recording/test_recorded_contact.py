"""Recordings of contacts."""

import numpy as np
import pytest
from contact_arms import pressing_beam

import flex_robot_sim as frs
from flex_robot_sim.recording.simulated import SimulationRecording


def test_another_reader_finds_the_contact_forces(tmp_path):
    make_reader = pytest.importorskip('mcap.reader').make_reader
    decoder = pytest.importorskip('mcap_ros2.decoder')
    arm = frs.load(pressing_beam('stiffness="1e4" damping="20"'))
    sim, wrenches = frs.Simulation(arm), []
    recording = SimulationRecording(tmp_path / 'press.mcap', arm)
    for _ in range(20):
        recording.add(sim)
        wrenches.append(sim.contact('tool').wrench)
        sim.step(20)
    recording.close()
    with (tmp_path / 'press.mcap').open('rb') as file:
        reader = make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        messages = [row[-1] for row in reader.iter_decoded_messages(topics=['/contacts/tool'])]
    assert {message.header.frame_id for message in messages} == {'ball'}
    found = [
        [w.torque.x, w.torque.y, w.torque.z, w.force.x, w.force.y, w.force.z]
        for w in (message.wrench for message in messages)
    ]
    np.testing.assert_array_equal(found, wrenches)
    assert found[-1][5] > 1.0
