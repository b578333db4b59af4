"""What works on trees only refuses an arm with a closed loop in one line."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.formulations import make
from flex_robot_sim.util.exceptions import SettingError

LINE = (
    '"four_bar" has the closed loop "coupler_end", and this works on trees only: use {}, '
    'or remove <constraint> from the robot'
)
FORMULATION = (
    "the closed loops of four_bar need the formulation recursion: give formulation='recursion'"
)
ZERO = np.zeros(8)


CALLS = {  # and what to use instead
    'derivatives': lambda arm: frs.inverse_dynamics_derivatives(arm, ZERO, ZERO),
    'Simulation': lambda arm: make('stiffened', arm),
    'Lqr or design_damping': lambda arm: frs.feedback.design_lqg(arm, [0.0] * 3),
}


@pytest.mark.parametrize('name', CALLS)
def test_it_refuses_a_closed_loop(name):
    assert refusal(SettingError, CALLS[name], frs.load('four_bar')) == LINE.format(name)


def test_a_loop_needs_the_recursion():
    settings = frs.SimulationSettings(formulation='stiffened')
    assert refusal(SettingError, frs.Simulation, frs.load('four_bar'), settings) == FORMULATION


def test_a_command_simulates_a_closed_loop(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ['simulate', 'four_bar', '--seconds', '0.02', '--start', '0.5,0,0', '--json']
    assert main(words) == 0
    assert '"crank_joint"' in capsys.readouterr().out


def test_a_command_moves_a_closed_loop_by_its_motor(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ['simulate', 'four_bar', '--to', '0.5,0,0', '--stiffness', '20', '--damping', '2']
    assert main([*words, '--seconds', '1.5', '--output', 'move.csv']) == 0
    table = np.genfromtxt('move.csv', delimiter=',', names=True, deletechars='')
    assert table['position/crank_joint'][-1] == pytest.approx(0.5, abs=0.01)
    assert np.ptp(table['position/rocker_joint']) > 0.1
    assert not table['effort/rocker_joint'].any()


def test_kinematics_and_inertia_work_on_a_closed_loop():
    arm = frs.load('four_bar')
    assert frs.pose(arm, ZERO)[:3, 3] == pytest.approx([0.5, 0.0, 0.4])
    assert frs.jacobian(arm, ZERO).shape == (6, 8)
    assert np.linalg.eigvalsh(frs.mass_matrix(arm, ZERO)).min() > 0
    assert np.array_equal(frs.gravity_forces(arm, ZERO), frs.nonlinear_effects(arm, ZERO))
