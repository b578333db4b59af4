"""
Time of the steps of many arms in a Batch, compared with the same steps one arm at a time.

`python -m benchmarks.batch_time`
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import flex_robot_sim as frs
from benchmarks.timing import holding_gains, in_turns, median_ratio

ARMS, STEPS = 64, 100


def measure(quick=False):
    """Return the figures of this page."""
    arm = frs.load('two_link')
    gains = holding_gains(arm)
    alone = [frs.Simulation(arm) for _ in range(ARMS)]
    for simulation in alone:
        simulation.hold(np.zeros(simulation.effort.size), *gains)
    batches = [frs.Batch(arm, ARMS, threads=threads) for threads in (1, 2)]
    for batch in batches:
        batch.hold(0.0, *gains)

    def one_by_one():
        for simulation in alone:
            simulation.step(STEPS)

    halves = [frs.Batch(arm, half, threads=1) for half in (ARMS - ARMS // 2, ARMS // 2)]
    for batch in halves:
        batch.hold(0.0, *gains)
    pool = ThreadPoolExecutor(2)

    def separately():
        """Step two independent batches in parallel: the upper limit for two processors."""
        list(pool.map(lambda batch: batch.step(STEPS), halves))

    def single_steps(steppers, steps):
        for _ in range(steps):
            for stepper in steppers:
                stepper.step()

    few = max(1, STEPS // 10)
    with pool:
        loop, one, two, separate, loop_singly, singly = in_turns(
            [
                one_by_one,
                lambda: batches[0].step(STEPS),
                lambda: batches[1].step(STEPS),
                separately,
                lambda: single_steps(alone, few),
                lambda: single_steps(batches[:1], few),
            ],
            2 if quick else 15,
        )
    return {
        'batch_steps_per_second_core': ARMS * STEPS / min(one),
        'batch_efficiency_2_cores': median_ratio(one, two) / 2,
        'batch_threads_over_hardware': median_ratio(separate, two),
        'batch_over_loop': median_ratio(loop, one),
        'batch_over_loop_by_single_steps': median_ratio(loop_singly, singly),
    }


def as_text(result):
    """Lines of the table."""
    yield (
        f'{ARMS} arms (two_link), steps of 1 ms, one thread',
        f'{result["batch_steps_per_second_core"]:,.0f} steps a second',
    )
    yield (
        'two threads',
        f'{100 * result["batch_efficiency_2_cores"]:.0f} % of twice as many, '
        'where two processors are free',
    )
    yield (
        'two threads of one batch',
        f'{result["batch_threads_over_hardware"]:.2f} of what two batches of half the arms '
        'reach in a thread each',
    )
    yield (
        'a Simulation each, one after the other',
        f'takes {result["batch_over_loop"]:.2f} times as long, '
        f'{result["batch_over_loop_by_single_steps"]:.1f} times by single steps',
    )


if __name__ == '__main__':
    for line in as_text(measure()):
        print(': '.join(line))
