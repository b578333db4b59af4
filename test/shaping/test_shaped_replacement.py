"""Shaped trajectories: joined during motions, thinned, off their path; modes of streams."""

import re
from unittest.mock import Mock

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import PoseModes
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.impulses import NONE, of_kind
from flex_robot_sim.shaping.path_accuracy import path_deviation
from flex_robot_sim.shaping.set_point_stream import SetPointStream
from flex_robot_sim.shaping.shaper_design import design_for_arm
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import ShaperStage
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.util.exceptions import SettingError

ZV = of_kind('zv', 2.3, 0.0)


def sine(start, end, duration, offset=0.0, spacing=0.02):
    """A smooth motion of one joint as a Trajectory, and its largest speed."""
    times = np.arange(0.0, duration + spacing / 2, spacing)
    phase = np.pi * times / duration
    places = start + (end - start) * (1 - np.cos(phase)) / 2 + offset
    speeds = (end - start) * np.pi / (2 * duration) * np.sin(phase)
    speeds[-1] = 0.0
    return Trajectory(['a'], times, places[:, None], speeds[:, None]), abs(speeds).max()


def speeds_of(shaped):
    return np.abs(np.diff(shaped.positions[:, 0]) / np.diff(shaped.times)).max()


@pytest.mark.parametrize('offset', [0.0, 0.15, 0.3])
def test_one_that_begins_elsewhere_in_motion_is_no_faster_than_its_input(offset):
    shaper = TrajectoryShaper(lambda end: ZV, 0.01)
    first, speed = sine(0.0, 1.2, 1.0)
    shaper.keep(shaper.shaped(first, 0.0))
    second, other = sine(0.6, -0.4, 1.0, offset)
    shaped = shaper.shaped(second, 0.5)
    assert speeds_of(shaped) <= 1.03 * max(speed, other)
    assert shaped.positions[-1, 0] == pytest.approx(-0.4 + offset)


def test_one_that_reverses_a_motion_is_a_little_faster_than_its_input():
    shaper = TrajectoryShaper(lambda end: ZV, 0.01)
    shaper.keep(shaper.shaped(Trajectory(['a'], [0.0, 2.0], [[0.0], [1.0]], [[0.0]] * 2), 0.0))
    shaped = shaper.shaped(Trajectory(['a'], [0.0, 2.0], [[0.5], [-0.5]], [[0.0]] * 2), 1.0)
    assert speeds_of(shaped) <= 1.5 * 0.75  # a cubic of 1 rad in 2 s has 0.75 rad/s
    assert shaped.positions[-1, 0] == -0.5


def test_one_that_begins_too_far_away_in_motion_is_refused():
    shaper = TrajectoryShaper(lambda end: ZV, 0.01)
    first, _ = sine(0.0, 0.4, 1.0)
    shaper.keep(shaper.shaped(first, 0.0))
    with pytest.raises(SettingError) as caught:
        shaper.shaped(Trajectory(['a'], [0.0, 0.5], [[2.0], [2.5]]), 0.5)
    assert str(caught.value) == (
        'the trajectory begins with "a" at 2, but it moves at 0.2 then: to get there, it would be '
        'faster than the trajectory. Let it begin where the arm is, or give it more time'
    )
    assert shaper.is_moving(0.6)


@pytest.mark.parametrize('shortest', [0.02, 0.03, 0.1])
def test_no_two_points_are_nearer_than_the_shortest_period(shortest):
    shaper = TrajectoryShaper(lambda end: ZV, 0.1, shortest_period=shortest)
    trajectory, _ = sine(0.0, 1.0, 2.0, spacing=0.007)
    shaped = shaper.shaped(trajectory, 0.0)
    every = TrajectoryShaper(lambda end: ZV, 0.1).shaped(trajectory, 0.0)
    assert np.diff(shaped.times).min() >= shortest * (1 - 1e-6)
    assert len(shaped.times) <= every.times[-1] / shortest + 1
    assert shaped.times[-1] == every.times[-1]
    assert (shaped.positions[-1] == every.positions[-1]).all()


def test_a_shortest_period_above_the_longest_is_refused():
    with pytest.raises(SettingError, match='must not be above period'):
        TrajectoryShaper(lambda end: NONE, 0.02, shortest_period=0.05)


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


def test_a_straight_way_of_one_joint_is_not_left(arm):
    rows = np.zeros((50, 3))
    rows[:, 0] = np.linspace(0.0, 1.0, 50)
    assert path_deviation(arm, rows[::3], rows) < 2e-4  # chords of an arc
    assert path_deviation(arm, rows, rows) < 1e-12


def test_the_deviation_is_the_distance_to_the_nearest_place_of_the_path(arm):
    def place(row):
        simulation = frs.Simulation(arm)
        simulation.set_state(q=row)
        return simulation.pose('tool')[:3, 3]

    path = np.linspace([0.0, 0.5, 0.5], [0.5, 0.5, 0.5], 150)
    off = np.array([[0.25, 0.6, 0.5]])
    nearest = min(np.linalg.norm(place(off[0]) - place(row)) for row in path[::5])
    assert path_deviation(arm, off, path) == pytest.approx(nearest, rel=1e-2)


def test_a_shaped_corner_leaves_the_path_and_an_unshaped_one_does_not(arm):
    corners = Trajectory(
        arm.joint_names,
        [0.0, 1.0, 2.0],
        [[0.0, 0.5, 0.5], [0.6, 0.5, 0.5], [0.6, 1.0, 0.5]],
        np.zeros((3, 3)),
    )
    for kind, low, high in ((NONE, 0.0, 0.0), (of_kind('zv', 1.0, 0.0), 1e-3, 0.2)):
        shaper = TrajectoryShaper(Mock(return_value=kind), 0.02, arm)
        deviation = shaper.path_deviation(shaper.shaped(corners, 0.0))
        assert deviation is not None and low <= deviation <= high
    without = TrajectoryShaper(lambda end: NONE, 0.02)
    moved = without.shaped(Trajectory(['a'], [0.0, 1.0], [[0.0], [1.0]]), 0.0)
    assert without.path_deviation(moved) is None


def parts(*shares):
    """ShaperSpecification for modes of 9 and 58 Hz with shares of the tool motion."""
    frequencies = np.array([9.0, 58.0])
    stages = tuple(
        ShaperStage(np.array([0.0, 0.5]), np.array([0.5, 0.5]), np.full(4, f)) for f in frequencies
    )
    return ShaperSpecification(
        'zv by pose', stages=stages, modes=(PoseModes(frequencies, np.zeros(2), np.array(shares)),)
    )


def test_a_mode_that_is_too_fast_for_a_stream_is_left_out_if_its_share_is_negligible():
    kept, line = parts(1.0, 0.02).for_samples(0.01)
    assert [stage.frequencies[0] for stage in kept.stages] == [9.0]
    assert line == (
        'modes from 49 to 58 Hz are left out: too fast for 100 set points a second, '
        'they have at most 2.0% of the vibration at the tool'
    )
    whole, line = parts(1.0, 0.02).for_samples(0.002)
    assert len(whole.stages) == 2 and line == ''


def test_a_mode_that_is_too_fast_and_matters_is_refused_with_the_rate_that_it_needs():
    with pytest.raises(SettingError) as caught:
        parts(1.0, 0.6).for_samples(0.01)
    assert str(caught.value) == (
        'modes up to 58 Hz have 60% of the vibration at the tool, too fast for 100 set points a '
        'second: set stream_rate to 119 Hz or more, if the driver takes so many'
    )


@pytest.mark.slow
def test_a_stream_to_ur5e_with_elastic_joints_omits_its_fast_modes(tmp_path):
    text = ROOT.joinpath('test', 'data', 'robots', 'ur5e.urdf').read_text('utf-8')
    joints = [joint for joint in frs.read_description(text).joints if joint.moves]
    elastic = ''.join(
        f'<joint name="{joint.name}" stiffness="{100 * joint.effort}" damping="0.3" '
        'rotor_inertia="1e-4" gear_ratio="101"/>'
        for joint in joints
    )
    path = tmp_path / 'ur5e.urdf'
    path.write_text(
        text.replace('</robot>', f'<flexibility>{elastic}</flexibility></robot>'), 'utf-8'
    )
    ur5e = frs.load(path)
    stream = SetPointStream(ur5e.joint_names, 0.01, design_for_arm(ur5e, kind='zv'), ur5e)
    found = re.fullmatch(
        r'modes from 49 to (\S+) Hz are left out: .* they have at most (\S+)% of '
        'the vibration at the tool',
        stream.omitted_modes,
    )
    assert found and 50.0 < float(found[1]) < 80.0 and float(found[2]) < 10.0
