"""Display and recordings of an arm on a moved base."""

import base64

import numpy as np
import pytest
from moved_bases import ship, write_ship
from walked_urdf import matrix, poses

import flex_robot_sim as frs
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.recording.simulated import SimulationRecording
from flex_robot_sim.reports.animation import motion_of
from flex_robot_sim.reports.energies import energies
from flex_robot_sim.reports.recorded_run import read_run
from flex_robot_sim.util.share import shipped_robots


@pytest.fixture
def arm(tmp_path):
    """Arm on a ship."""
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 20.0, 201))
    text = shipped_robots()['single_link'].read_text()
    path = tmp_path / 'arm.urdf'
    base = '<flexibility><base motion="ship.csv"/>'
    path.write_text(text.replace('<flexibility>', base, 1))
    return frs.load(path)


def test_the_display_has_the_links_where_the_simulation_has_them(arm):
    sim = frs.Simulation(arm)
    sim.step(700)
    joints = DisplayJoints(arm)
    positions = dict(zip(joints.names, joints.positions(sim.q)))
    found, base = poses(display_description(arm), positions), matrix(sim.base_pose)
    np.testing.assert_allclose(sim.base_pose[:3], ship(sim.time)[:3], rtol=0, atol=1e-4)
    for link in (one.name for one in arm.description.links):
        np.testing.assert_allclose(base @ found[link], sim.pose(link), rtol=0, atol=1e-6)


def test_a_report_has_the_motion_and_the_energy_of_a_recorded_base(arm, tmp_path):
    sim = frs.Simulation(arm)
    recording, rows = SimulationRecording(tmp_path / 'run.mcap', arm), []
    kinetic, tips = [], []
    for _ in range(5):
        recording.add(sim)
        rows.append([*sim.base_pose, *sim.base_twist])
        kinetic.append(sim.energy().kinetic)
        tips.append(sim.pose(arm.tool)[:3, 3])
        sim.step(20)
    recording.close()
    run = read_run(tmp_path / 'run.mcap')
    np.testing.assert_array_equal(run.base.values, rows)
    assert kinetic[-1] > 1e-3
    np.testing.assert_allclose(energies(run).column('kinetic'), kinetic, rtol=1e-6)
    motion = motion_of(run)
    assert motion is not None
    shown = np.frombuffer(base64.b64decode(motion['tips']), '<i2').reshape(-1, 3)
    frames = np.round(np.array(motion['time']) / 0.02).astype(int)
    expected = np.array(tips)[frames]
    # positions are rounded to units
    np.testing.assert_allclose(shown * motion['unit'], expected, rtol=0, atol=motion['unit'])
