"""
How soon the drift watch finds a link that has become softer, and how it leaves one alone.

`python -m benchmarks.drift_watch [--robot two_link] [--stops 60] [--soft 0.9]`

An arm moves between random poses by a servo of 3 Hz, and rests for 3 to 7 s after each move. The
payload changes every four stops. Gauges have noise of 5e-4 1/m. The program prints the stops, the
false alarms, the stop that detects the softer arm, and the CPU time for a second of 1 kHz input.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.drift_watch import DriftWatch, ObservedStop
from flex_robot_sim.model.assembly import build_arm

SERVO, DAMPING = 3.0, 0.7  # [Hz], and ratio
SPAN = 0.8, 1.0  # of the limits, or [rad]
MOVE, REST = (0.6, 1.2), (3.0, 7.0)  # [s]
NOISE = 1e-5, 5e-4  # of drives and gauges                    [rad, m; 1/m]
HEAVIEST = 0.5  # payload                                            [kg]
CHANGE = 4  # stops with one payload


class Watched(NamedTuple):
    """Result of a run."""

    stops: list[tuple[int, ObservedStop, float]]  # number, its estimate, true payload
    warned: list[int]  # stops after which there was a warning
    rested: int
    seconds: float  # simulated
    taking: float  # processor time for samples                     [s]
    looking: float  # the same for stops


def watched(
    robot: str = 'two_link',
    soft: float = 1.0,
    stops: int = 60,
    seed: int = 1,
    rate: int = 100,
    carries: bool = True,
) -> Watched:
    """Watch a robot whose links have `soft` of their stiffness; samples at `rate` [Hz]."""
    arm = frs.load(robot)
    truth = build_arm(
        with_parameters(arm.description, {f'{link}.stiffness': soft for link in arm.tips})
    )
    random, simulation = np.random.default_rng(seed), frs.Simulation(truth)
    watch, gauges = DriftWatch(arm), flex_sensors(arm).matrix
    inertia, servo = joint_space_inertia(arm).largest, 2 * np.pi * SERVO
    stiffness, damping = inertia * servo**2, 2 * DAMPING * inertia * servo
    low = np.maximum(arm.arrays.lower, -SPAN[1] / SPAN[0]) * SPAN[0]
    high = np.minimum(arm.arrays.upper, SPAN[1] / SPAN[0]) * SPAN[0]
    here, steps, mass = 0.5 * (low + high), round(1 / rate / 1e-3), 0.0
    simulation.set_state(here)
    out, warned, taking, looking = [], [], 0.0, 0.0
    for number in range(stops):
        if carries and number % CHANGE == 0:
            mass = random.uniform(0.0, HEAVIEST)
            simulation.set_payload('tool', mass)
        goal, lasts = random.uniform(low, high), random.uniform(*MOVE)
        simulation.effort = equilibrium(arm, goal).effort
        for k in range(round((lasts + random.uniform(*REST)) * rate)):
            u = min(k / rate / lasts, 1.0)
            simulation.hold(
                here + u**3 * (10 - 15 * u + 6 * u**2) * (goal - here),
                stiffness,
                damping,
                30 * u**2 * (1 - u) ** 2 / lasts * (goal - here),
            )
            simulation.step(steps)
            sample = (
                simulation.time,
                simulation.motor_position + random.normal(0.0, NOISE[0], len(here)),
                gauges @ simulation.q + random.normal(0.0, NOISE[1], len(gauges)),
                simulation.applied_effort,
            )
            begun = time.thread_time()
            watch.take(*sample)
            taken = time.thread_time()
            stop = watch.look()
            looking += time.thread_time() - taken
            taking += taken - begun
            if stop is not None:
                out.append((number, stop, mass))
                if watch.verdict()[0] == 'warning':
                    warned.append(number)
        here = goal
    return Watched(out, warned, watch.rests, simulation.time, taking, looking)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--robot', default='two_link')
    parser.add_argument('--stops', type=int, default=60)
    parser.add_argument('--soft', type=float, default=0.9)
    words = parser.parse_args()
    healthy = watched(words.robot, stops=words.stops)
    shares = np.array([stop.share for _, stop, _ in healthy.stops])
    print(
        f'healthy: {words.stops} stops in {healthy.seconds:.0f} s, {healthy.rested} looked at, '
        f'{len(shares)} vibrated; frequency over expected {shares.mean():.4f} +- '
        f'{shares.std():.4f}; false alarms: {len(healthy.warned)}'
    )
    softer = watched(words.robot, words.soft, min(words.stops, 20), 2)
    found = softer.warned[0] + 1 if softer.warned else 'never'
    shares = np.array([stop.share for _, stop, _ in softer.stops])
    print(
        f'stiffness {words.soft:g}: found as {np.median(shares) ** 2:.3f}, first at stop {found}'
    )
    fast = watched(words.robot, stops=3, rate=1000)
    print(
        f'1 kHz: {fast.taking / fast.seconds:.2%} of a core for samples, '
        f'{fast.looking / fast.seconds:.2%} for {fast.rested} stops'
    )


if __name__ == '__main__':
    main()
