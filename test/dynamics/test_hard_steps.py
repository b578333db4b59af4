"""Subdivided steps that do not converge as a whole, and their energy balance."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from arms import joint, link, robot
from random_arms import random_robot

from flex_robot_sim import load, read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings

pytestmark = pytest.mark.slow


def run_with_strong_efforts(seed, seconds):
    """Run a random tree under strong, jumping efforts; return it and its energy throughput [J]."""
    rng = np.random.default_rng(seed)
    arm = build_arm(
        read_description(
            random_robot(seed, links=int(rng.integers(1, 9)), damping=bool(rng.integers(2)))
        )
    )
    simulation = Simulation(arm)
    n = len(arm.joint_names)
    strength = 30 * rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-1, 0)
    rate, phase = rng.uniform(1, 20, n), rng.uniform(0, 6, n)
    work = [0.0]
    while simulation.time < seconds:
        simulation.effort = strength * np.sign(np.sin(rate * simulation.time + phase))
        simulation.step(10)
        work.append(simulation.energy().work)
    return simulation, np.abs(np.diff(work)).sum() + simulation.energy().dissipated


def release_with_random_rates(seed, rate, settings=None):
    """Return a random tree at zero whose joints turn with random rates of about `rate` [rad/s]."""
    arm = build_arm(read_description(random_robot(seed, links=6, damping=bool(seed % 2))))
    simulation = Simulation(arm, settings)
    simulation.set_state(
        v=np.random.default_rng(seed).normal(scale=rate, size=len(arm.joint_names))
    )
    return simulation


@pytest.mark.long(after=2)
@pytest.mark.parametrize('start', range(0, 40, 10))
def test_strong_efforts_make_no_state_of_a_random_tree_non_finite(start):
    for seed in range(start, start + 10):
        simulation, through = run_with_strong_efforts(seed, 0.6)
        assert np.isfinite(simulation.q).all()
        # for a sticking arm, only rounding
        assert abs(simulation.energy().balance) < 1e-4 * through + 1e-9, seed


@pytest.mark.parametrize('seed', [1325, 1949, 1065])
def test_strong_dampers_with_free_joints_need_no_subdivision(seed):
    # plain iterations diverge: every step was hard, and 1e5 J were created
    simulation, through = run_with_strong_efforts(seed, 0.3)
    assert simulation.hard_steps[0] <= 5
    assert simulation.hard_steps[1] == 0
    assert abs(simulation.energy().balance) < 1e-6 * through


@pytest.mark.parametrize('seed', [1001, 1002, 1004, 1008])
def test_a_step_that_does_not_converge_adds_no_energy(seed):
    # hundreds of rad/s are far too fast for steps of 20 ms
    simulation = release_with_random_rates(seed, 300.0, SimulationSettings(time_step=0.02))
    totals = []
    for _ in range(20):
        energy = simulation.energy()
        totals.append(energy.kinetic + energy.strain + energy.gravity)
        simulation.step()
        assert np.isfinite(simulation.q).all()
    assert np.diff(totals).max() < 1e-12 * totals[0]
    assert simulation.hard_steps[1] > 0
    assert any('did not converge' in line for line in simulation.reports)


@pytest.mark.long
def test_a_step_ends_after_a_bounded_number_of_evaluations():
    # the count runs in plain Python, where a function can be replaced
    environment = {
        **os.environ,
        'NUMBA_DISABLE_JIT': '1',
        'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
    }
    result = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, timeout=120, env=environment
    )
    assert result.returncode == 0, result.stderr
    evaluations, not_good = map(int, result.stdout.split())
    assert not_good > 0
    assert 400 <= evaluations < 424  # docs/theory.md, (T43)


def test_subdivided_steps_are_counted_and_reported():
    simulation, through = run_with_strong_efforts(53, 1.6)  # reaches some hundred rad/s
    assert simulation.hard_steps[0] >= 100
    assert abs(simulation.energy().balance) < 1e-4 * through
    lines = [line for line in simulation.reports if 'in parts' in line]
    assert len(lines) == 1
    assert lines[0].startswith('100 steps were taken in parts by ')
    assert lines[0].endswith(
        ' s: time_step = 0.001 s is too long for this motion. Take a shorter one'
    )


def test_easy_steps_are_not_reported():
    simulation = Simulation(load('two_link'), SimulationSettings())
    simulation.set_state([0.3, 0.9, -1.0], [1.0, 1.0, -2.0])
    simulation.advance_to(2.0)
    assert simulation.hard_steps == (0, 0)
    assert not [line for line in simulation.reports if 'step' in line]


def coarseness_reports(simulation):
    """Return the reports of a step that is too long for the motion."""
    return [line for line in simulation.reports if 'swings in fewer than 10 steps' in line]


@pytest.mark.parametrize('steps_in_a_period, is_reported', [(4, True), (8, True), (13, False)])
def test_an_oscillation_of_few_steps_per_period_is_reported(steps_in_a_period, is_reported):
    inertia, stiffness = 1 / 6 + 2 * 0.5**2, 30.0  # of the rod about its hinge
    period = 2 * math.pi * math.sqrt(inertia / stiffness)
    step = period / steps_in_a_period
    simulation = Simulation(load(robot(link(), joint())), SimulationSettings(time_step=step))
    simulation.set_state([0.5])
    simulation.hold([0.0], stiffness, 0.0)
    simulation.step(400)
    assert coarseness_reports(simulation) == is_reported * [
        f'by {step:.4g} s most of the motion swings in fewer than 10 steps: time_step = {step:g} '
        's is too long to show it. Take a shorter one'
    ]
    # the energy does not show it
    assert simulation.energy().kinetic + 0.5 * stiffness * simulation.position[0] ** 2 == (
        pytest.approx(0.5 * stiffness * 0.25, rel=1e-9)
    )


def test_coarse_steps_are_reported_when_the_motion_is_inaccurate():
    arm = load('two_link')

    def simulate_fall(step, scheme='implicit_midpoint'):
        simulation = Simulation(arm, SimulationSettings(time_step=step, scheme=scheme))
        simulation.advance_to(2.0)
        return simulation

    true = simulate_fall(5e-5, 'rk4').position  # to 3e-7
    for step, is_reported in ((1e-3, False), (1e-2, True)):
        simulation = simulate_fall(step)
        assert bool(coarseness_reports(simulation)) == is_reported
        assert (np.abs(simulation.position - true).max() > 0.02) == is_reported


def count_evaluations():
    """Print the evaluations of a subdivided step, and its inaccurate substeps."""
    from flex_robot_sim.dynamics import integrators

    calls = []

    def counting(evaluate):
        def counted(*arguments):
            calls.append(1)
            evaluate(*arguments)

        return counted

    integrators.solve_dynamics = counting(integrators.solve_dynamics)
    integrators.refine_dynamics = counting(integrators.refine_dynamics)
    simulation = release_with_random_rates(1002, 300.0, SimulationSettings(time_step=0.02))
    simulation.step()
    print(len(calls), simulation.hard_steps[1])


if __name__ == '__main__':
    count_evaluations()


def test_a_short_run_reports_that_its_steps_are_too_long():
    # four seconds of a fall, in twenty steps and in four thousand
    ends = []
    for step in (0.2, 1e-3):
        simulation = Simulation(load('two_link'), SimulationSettings(time_step=step))
        simulation.set_state([0.3, 1.0, -0.5])
        simulation.advance_to(4.0)
        ends.append(simulation.velocity[1])
        assert bool(coarseness_reports(simulation)) == (step == 0.2)
    assert abs(ends[0] - ends[1]) > 1.0
    # a slow motion in as few steps is not reported: a tenth of a turn in forty seconds
    slow = Simulation(load('two_link', gravity=(0.0, 0.0, 0.0)), SimulationSettings(time_step=0.2))
    for k in range(200):
        slow.hold([0.3 * np.sin(np.pi * k / 400) ** 2, 0.0, 0.0], 50.0, 20.0)
        slow.step()
    assert slow.reports == []
