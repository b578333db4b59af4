"""
Time of many short runs as a sweep with a results folder, compared with a plain loop.

`python -m benchmarks.sweep_time`

Both use one process and one thread. The loop represents a program without `frs.sweeps`: a
Simulation for each run, its figures, and a CSV file at the end.
"""

import csv
import tempfile
from pathlib import Path

import numpy as np

import flex_robot_sim as frs
from benchmarks.timing import median_ratio, seconds
from flex_robot_sim.analysis.deflection import tip_translations
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.sweeps import Manoeuvre, sweep

RUNS, QUICK_RUNS, BLOCKS = 10_000, 300, 10
SECONDS, LOOK = 0.1, 0.01
VARY = {'payload': 'uniform:0,0.2', 'elbow.to': 'uniform:-0.1,0.1'}


def plain_loop(payloads, goals, path):
    """Execute runs one by one, and write their results."""
    arm = frs.load('two_link')
    servo = design_servo(arm)
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        for payload, goal in zip(payloads, goals):
            to = np.array([0.0, 0.0, goal])
            laden = frs.with_payload(arm, 'tool', payload)
            sim = frs.Simulation(laden)
            sim.hold(to, servo.stiffness, servo.damping)
            sim.effort = carrying_efforts(arm, to)
            states = [sim.q]
            for _ in range(round(SECONDS / LOOK)):
                sim.step(round(LOOK / sim.settings.time_step))
                states.append(sim.q)
            row = [payload, goal, *(sim.position - to)]
            for link in arm.tips:
                tips = tip_translations(laden, link, np.array(states))
                row += [
                    np.linalg.norm(tips, axis=1).max(),
                    np.linalg.norm(np.ptp(tips, axis=0)) / 2,
                ]
            writer.writerow(row)


def swept(count, seed, folder):
    """Make as many runs as a sweep."""
    move = Manoeuvre(seconds=SECONDS, at_rest=False, rate=1 / LOOK)
    return sweep(
        'two_link', vary=VARY, run=move, method='random', count=count, seed=seed, folder=folder
    )


def measure(quick=False):
    """Return the figures of this page."""
    runs = QUICK_RUNS if quick else RUNS
    block = runs // BLOCKS
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        table = swept(2, 0, place / 'first')  # machine code is cached
        plain_loop(table['payload'], table['elbow.to'], place / 'first.csv')
        own, plain = [], []
        for k in range(BLOCKS):  # in turns, because a machine changes its speed
            own.append(seconds(lambda k=k: table.update(swept(block, 1 + k, place / f'runs_{k}'))))
            plain.append(
                seconds(
                    lambda k=k: plain_loop(
                        table['payload'], table['elbow.to'], place / f'plain_{k}.csv'
                    )
                )
            )
    return {
        'sweep_overhead': median_ratio(own, plain),
        'sweep_runs': runs,
        'sweep_ms_per_run': 1e3 * min(own) / block,
    }


def as_text(result):
    """Lines of the table."""
    yield (
        f'{result["sweep_runs"]} runs of {SECONDS:g} s as a sweep, one process',
        f'{result["sweep_ms_per_run"]:.2f} ms a run, {result["sweep_overhead"]:.2f} of what a '
        'plain loop takes',
    )


if __name__ == '__main__':
    for line in as_text(measure()):
        print(': '.join(line))
