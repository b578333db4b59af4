"""Shapers for closed loops: the modes of the constrained mechanism, and what is left of them."""

import json

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow

GAINS = 40.0, 0.1  # of the servo of the crank                            [N m/rad, N m s/rad]


def test_a_shaper_for_a_loop_removes_the_vibration_of_its_servo():
    arm, step = frs.load('four_bar', gravity=(0.0, 0.0, 0.0)), 1e-3
    start, end = (frs.equilibrium(arm, [crank, 0.0, 0.0]) for crank in (0.3, 0.4))
    shaper = frs.shaping.design_for_pose(arm, [0.35, 0.0, 0.0], gains=GAINS)
    times = step * np.arange(120)
    ramp = np.column_stack([np.interp(times, [0.0, 0.1], [0.3, 0.4]), 0 * times, 0 * times])
    left = [
        residual(arm, start, end, rows)
        for rows in (ramp, np.asarray(shaper.shape(times, ramp).positions))
    ]
    assert left[1] < 0.1 * left[0], left


def residual(arm, start, end, rows):
    """Vibration of the crank on its servo after a move of the target [rad]."""
    sim = frs.Simulation(arm, frs.SimulationSettings(drive_limits=False))
    sim.set_state(start.q)
    for row in rows:
        sim.hold(row, [GAINS[0], 0.0, 0.0], [GAINS[1], 0.0, 0.0])
        sim.step()
    positions = []
    for _ in range(150):
        sim.step()
        positions.append(sim.q[0])
    assert np.mean(positions) == pytest.approx(end.q[0], abs=0.01)
    return np.ptp(positions)


def test_the_modes_of_a_move_are_those_with_a_locked_crank():
    arm = frs.load('four_bar')
    found = excited_modes(arm, np.array([0.4, 0.0, 0.0]))
    locked = frs.frequencies(arm, [0.4, 0.0, 0.0])
    assert found.frequencies == pytest.approx(locked, rel=1e-9)
    assert found.shares.max() == 1.0


def test_the_delays_of_a_shaper_follow_the_crank():
    arm = frs.load('four_bar')
    shaper = frs.shaping.design_for_arm(arm, kind='zv', gains=GAINS)
    assert shaper.table.joints == (0,)
    for row in (8, 32, 60):  # of poses without interpolation
        pose = np.array([shaper.table.axes[0][row], 0.0, 0.0])
        exact = excited_modes(arm, pose, GAINS).frequencies[0]
        assert shaper.table.frequencies[row, 0] == pytest.approx(exact, rel=1e-9)


def test_commands_design_shapers_and_print_modes_of_loops(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(['modes', 'four_bar', '--pose', '0.5,0,0', '--json']) == 0
    first = json.loads(capsys.readouterr().out)
    assert 'coupler' in json.dumps(first)
    assert main(['shape', 'four_bar', '--pose', '0.5,0,0', '--json']) == 0
    assert '"zvd"' in capsys.readouterr().out
