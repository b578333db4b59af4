"""
Six seconds of the dual-screw arm under PD, as in its paper, with the longest sufficient step.

`python -m benchmarks.manoeuvre`
"""

from math import pi
from time import perf_counter

import numpy as np

import flex_robot_sim as frs
from benchmarks.precision import TOLERANCE, extrapolated, longest_step
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.util.exceptions import FlexRobotSimError

SAMPLE = 0.05  # time between two points of the path [s]
END = 6.0  # [s]
START = (0.0, pi / 6, 2 * pi / 3, pi / 6)
THERE = 0.05  # from the last target at the end: the manoeuvre is complete [rad]
# fmt: off
TARGETS = (                 # from this time on [s]
    (0.0, START),
    (0.5, (0.0,    pi / 3, pi / 3, pi / 3)),
    (3.0, (pi / 4, pi / 3, pi / 3, pi / 3)),
)
# fmt: on


def run(arm, time_step, sample=SAMPLE):
    """
    Return the path of the tool, (samples + 1, 3) [m], the wall time [s], and the final error.

    It misses its last target by the largest distance of a joint at the end [rad].

    :param time_step: [s]; sample: time between two points of the path [s].
    """
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=time_step))
    simulation.set_state(START)
    servo, wall, targets = design_servo(arm), 0.0, dict(TARGETS)
    path = [simulation.pose('tool')[:3, 3]]
    for k in range(round(END / sample)):
        target = targets.get(round(k * sample, 9))
        started = perf_counter()
        if target is not None:
            simulation.hold(target, servo.stiffness, servo.damping)
            simulation.effort = carrying_efforts(arm, target)
        simulation.step(round(sample / time_step))
        wall += perf_counter() - started
        path.append(simulation.pose('tool')[:3, 3])
    missed = float(np.abs(simulation.position - TARGETS[-1][1]).max())
    return np.array(path), wall, missed


def measure(quick=False):
    """Return the figures of this page."""
    arm = frs.load('dual_screw_arm')
    finest = SAMPLE / (128 if quick else 512)
    coarse, _, missed = run(arm, finest)
    reference = extrapolated(coarse, run(arm, finest / 2)[0])
    if missed > THERE:
        raise FlexRobotSimError(
            f'the manoeuvre is not made: a joint ends {missed:.2g} rad from its target'
        )
    steps, error = longest_step(lambda number: run(arm, SAMPLE / number)[0], reference)
    step = SAMPLE / steps
    wall = min(run(arm, step, TARGETS[1][0])[1] for _ in range(5 if quick else 21))
    return {
        'manoeuvre_times_real_time': END / wall,
        'manoeuvre_step_s': step,
        'manoeuvre_tip_error': error,
        'manoeuvre_missed_rad': missed,
    }


def as_text(result):
    """Lines of the table."""
    yield (
        'manoeuvre of 6 s',
        f'{result["manoeuvre_times_real_time"]:.0f} times real time with '
        f'steps of {result["manoeuvre_step_s"] * 1e3:.3g} ms, tip error '
        f'{result["manoeuvre_tip_error"]:.1e} (allowed: {TOLERANCE:g}), '
        f'{result["manoeuvre_missed_rad"]:.2g} rad from its target at the end',
    )


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
