"""Gaps, closing rates and energy of closed loops, and the time of their steps."""

from time import process_time

import numpy as np
from closed_loops import LOOPS, ONE_LOOP, energy_rise, moving_loop, opening

import flex_robot_sim as frs
from benchmarks.limits import Row
from benchmarks.timing import in_turns, median_ratio

DRIFT_STEPS = 100_000
DRIFT_CHECKS = 100  # of gaps and rates, evenly over these steps
RANDOM_LOOPS = 200
STEPS = 150  # of each random loop
LEAST_STEP, LARGEST_STEP = 1e-4, 5e-3  # [s]
EFFORT, DAMPING = 2.0, 0.2  # of the crank of four_bar: 10 rad/s [N m, N m s/rad]


def rows(quick):
    """Yield the Rows of this module."""
    yield from _drift(2000 if quick else DRIFT_STEPS)
    yield _random_energy(6 if quick else RANDOM_LOOPS)
    yield _shipped_energy(50 if quick else 2000)
    yield _step_ratio(5 if quick else 31)


def _drift(steps):
    simulation, gap, rate = _turning(frs.read_description('four_bar').text), 0.0, 0.0
    for _ in range(DRIFT_CHECKS):
        simulation.step(steps // DRIFT_CHECKS)
        gap = max(gap, np.abs(opening(simulation.arm, simulation.q, 'coupler_end')).max())
        rate = max(rate, np.abs(_tip_rates(simulation)).max())
    turns = abs(simulation.position[0]) / (2 * np.pi)
    words = f'four_bar, {steps:,} steps of 1 ms, {turns:.0f} turns'
    yield Row(f'gap, {words}', gap, 1e-12, 'm')
    yield Row(f'closing rate, {words}', rate, 1e-12, 'm/s')


def _turning(text):
    """Return the Simulation of a four_bar whose crank turns."""
    simulation = frs.Simulation(frs.load(text))
    simulation.hold([0.0] * 3, [0.0] * 3, [DAMPING, 0.0, 0.0])
    simulation.effort = [EFFORT, 0.0, 0.0]
    return simulation


def _tip_rates(simulation):
    """Rate of the tip of the coupler against that of the rocker, by their Jacobians (3,)."""
    tip, rocker = (
        simulation.jacobian(link, representation='mixed') for link in ('tool', 'rocker')
    )
    arm = simulation.pose('rocker')[:3, :3] @ [0.0, 0.0, 0.4]
    return (tip[3:] - rocker[3:] + np.cross(arm, rocker[:3].T).T) @ simulation.v


def _random_energy(count):
    rise = -np.inf
    for seed in range(count):
        share = np.random.default_rng([seed, 9]).random()
        step = LEAST_STEP * (LARGEST_STEP / LEAST_STEP) ** share
        kind = ('fixed', *ONE_LOOP)[seed % 6]
        simulation = moving_loop(seed, kind, step, damping=seed % 4 == 0)
        rise = max(rise, energy_rise(simulation, STEPS))
    return Row(
        f'rise of energy in a step, {count} random loops of {STEPS} steps, 0.1 to 5 ms',
        max(rise, 0.0),
        1e-10,
        'J/J',
    )


def _shipped_energy(steps):
    rise, names = -np.inf, LOOPS
    for name in names:
        for step in (LEAST_STEP, 1e-3, LARGEST_STEP):
            arm = frs.load(name)
            simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
            v = np.zeros(arm.size)
            arm.set_joints(v, np.random.default_rng(0).normal(size=len(arm.joint_names)))
            simulation.set_state(v=v)
            rise = max(rise, energy_rise(simulation, steps))
    return Row(f'rise of energy in a step, {", ".join(names)}', max(rise, 0.0), 1e-10, 'J/J')


def _step_ratio(rounds):
    text = frs.read_description('four_bar').text
    start, end = text.index('<constraint name'), text.index('</constraint>')
    tree = text[:start] + text[end + len('</constraint>') :]
    runs = []
    for one in (text, tree):
        simulation = _turning(one)
        runs.append(lambda simulation=simulation: simulation.step(1000))
    ratio = median_ratio(*in_turns(runs, rounds, process_time))
    return Row('step of four_bar over that of its tree', ratio, 1.6, '')
