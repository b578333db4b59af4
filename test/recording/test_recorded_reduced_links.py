"""Recordings of arms with reduced links: with their file, without it, and with another one."""

import numpy as np
import pytest
from reduced_bar import REDUCED, WIDTH, bar_robot, reduced_bar, write_bar

import flex_robot_sim as frs
from flex_robot_sim.description import read_recorded_text, read_text
from flex_robot_sim.recording.simulated import SimulationRecording
from flex_robot_sim.reduction.reduced_file import content_hash, write_reduced
from flex_robot_sim.reports.animation import motion_of
from flex_robot_sim.reports.recorded_run import read_run

GAUGE = f'<strain_gauge name="root" at="0.1 {-WIDTH / 2} 0" along="1 0 0" distance="1"/>'
PACKAGE = REDUCED.replace('arm.npz', 'package://my_arm/arm.npz') + GAUGE


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Folder of an installed package with the reduced link."""
    folder = tmp_path / 'install' / 'share' / 'my_arm'
    folder.mkdir(parents=True)
    write_bar(folder, PACKAGE)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'install'))
    return folder


def record(path, robot):
    arm = frs.load(robot)
    sim, recording = frs.Simulation(arm), SimulationRecording(path, arm)
    for _ in range(20):
        sim.step(5)
        recording.add(sim, np.zeros((2, 1)))
    recording.close()
    return sim


def test_a_recording_finds_its_file_in_the_package(package, tmp_path):
    sim = record(tmp_path / 'run.mcap', package / 'arm.urdf')
    run = read_run(tmp_path / 'run.mcap')
    assert not [note for note in run.notes if 'rigid' in note]
    assert run.arm.coordinate_names == sim.arm.coordinate_names
    motion = motion_of(run)
    assert motion is not None and motion['links']


def test_without_the_file_the_link_is_rigid_and_one_line_says_so(package, tmp_path):
    record(tmp_path / 'run.mcap', package / 'arm.urdf')
    (package / 'arm.npz').unlink()
    run = read_run(tmp_path / 'run.mcap')
    (note,) = (note for note in run.notes if 'rigid' in note)
    assert 'link "arm" is shown as a rigid one' in note and '\n' not in note
    assert 'the file "package://my_arm/arm.npz" of <reduced> is not found' in note
    motion = motion_of(run)
    assert run.arm.coordinate_names == ('hinge',)
    assert motion is not None and motion['movers'] > 0


def test_another_file_is_not_used(package, tmp_path):
    record(tmp_path / 'run.mcap', package / 'arm.urdf')
    write_reduced(package / 'arm.npz', reduced_bar((14, 1, 1)))
    (note,) = (note for note in read_run(tmp_path / 'run.mcap').notes if 'rigid' in note)
    assert note == (
        'link "arm" is shown as a rigid one: the file "package://my_arm/arm.npz" is not the one '
        'of the recording'
    )


def test_a_recording_of_a_relative_file_shows_a_rigid_link(tmp_path):
    record(tmp_path / 'run.mcap', write_bar(tmp_path))
    (note,) = (note for note in read_run(tmp_path / 'run.mcap').notes if 'rigid' in note)
    assert 'the robot comes without a folder, and its <reduced> names the file "arm.npz"' in note


def test_files_are_found_by_package_path_and_file(package):
    for name in (
        'arm.npz',
        f'{package}/arm.npz',
        f'file://{package}/arm.npz',
        '../my_arm/arm.npz',
    ):
        inside = REDUCED.replace('arm.npz', name)
        assert frs.load(write_bar(package, inside)).beams, name
    # from a message: packages only, and no way out of them
    assert read_text(bar_robot(PACKAGE)).beam('arm').reduced.file_hash == content_hash(
        package / 'arm.npz'
    )
    (package.parent / 'arm.npz').write_bytes((package / 'arm.npz').read_bytes())
    for name, problem in {
        'arm.npz': 'the robot comes without a folder',
        f'{package}/arm.npz': 'the robot comes without a folder',
        f'file://{package}/arm.npz': 'the robot comes without a folder',
        'package://my_arm/../arm.npz': 'is not found',
        'package://../my_arm/arm.npz': 'is not found',
        'package://other/arm.npz': 'is not found',
    }.items():
        text = bar_robot(REDUCED.replace('arm.npz', name))
        with pytest.raises(frs.DescriptionError, match=problem):
            read_text(text)
        robot, notes = read_recorded_text(text)
        assert robot.link('arm').beam is None and len(notes) == 1


def test_a_xacro_file_names_a_file_in_its_folder(tmp_path):
    pytest.importorskip('xacro')
    path = write_bar(tmp_path)
    xacro = tmp_path / 'arm.urdf.xacro'
    text = path.read_text().replace(
        '<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" '
    )
    xacro.write_text(text.replace('</robot>', '<xacro:property name="x" value="1"/></robot>'))
    assert frs.load(xacro).nq == frs.load(path).nq
