"""
MuJoCo's batch, `mujoco.rollout`, compared with `frs.Batch`: the task of swing.py, equal error.

`python -m benchmarks.batch_mujoco`

MuJoCo gets each flexible link as six rigid pieces. Each library takes the longest step whose tool
error stays within the same limit. Both use one thread per processor.
"""

import os
from importlib import import_module
from time import perf_counter

import flex_robot_sim as frs
from benchmarks.chopped import chop
from benchmarks.precision import TOLERANCE, extrapolated, longest_step
from benchmarks.swing import (
    DAMPING,
    END,
    SAMPLES,
    START,
    STIFFNESS,
    TARGET,
    described,
    servos,
    swing,
)
from benchmarks.timing import median_ratio
from benchmarks.work_precision import REFERENCE, SCHEMES_TRIED_QUICKLY, SHORT_STEPS
from flex_robot_sim.model.assembly import build_arm

PIECES, ARMS = 6, 16


def swing_many(arm, steps, count, threads):
    """Return the wall time of `count` arms in a Batch [s]."""
    batch = frs.Batch(arm, count, frs.SimulationSettings(time_step=END / SAMPLES / steps), threads)
    batch.set_state(START)
    batch.hold(TARGET, STIFFNESS, DAMPING)
    began = perf_counter()
    batch.step(steps * SAMPLES)
    return perf_counter() - began


def measure(quick=False):
    """Return the figures of this page."""
    description, threads = described(), len(os.sched_getaffinity(0))
    arm, finer = build_arm(description), build_arm(described(**REFERENCE))
    reference = extrapolated(*(swing(finer, steps, iterations=4)[0] for steps in (80, 160)))
    steps, error = longest_step(lambda steps: swing(arm, steps)[0], reference)
    ours = [swing_many(arm, steps, ARMS, threads) for _ in range(3)]
    result = {
        'arms': ARMS,
        'threads': threads,
        'tolerance': TOLERANCE,
        'tip_error': error,
        'step': END / SAMPLES / steps,
        'seconds_per_second': min(ours) / ARMS / END,
    }
    try:
        library = import_module('benchmarks.chopped_mujoco')
    except ImportError as error:
        return {'batch_over_mujoco': None, 'batch_mujoco': {**result, 'reason': str(error)}}
    best = None
    chain = library.build(*chop(description, PIECES, servos(description)))
    for scheme in SCHEMES_TRIED_QUICKLY:  # the best ones of the table work_precision
        if scheme not in library.SCHEMES:
            continue
        found = longest_step(
            lambda steps, scheme=scheme: library.swing(chain, scheme, steps, END, SAMPLES)[0],
            reference,
            SHORT_STEPS,
        )
        if found is None:
            continue
        rounds = [
            (
                library.swing_many(chain, scheme, found[0], END, SAMPLES, ARMS, threads),
                swing_many(arm, steps, ARMS, threads),
            )
            for _ in range(1 if quick else 3)
        ]
        ratio = median_ratio(*zip(*rounds))
        if best is None or ratio < best['ratio']:
            best = {
                'ratio': ratio,
                'scheme': scheme,
                'pieces': PIECES,
                'step': END / SAMPLES / found[0],
                'tip_error': found[1],
                'seconds_per_second': min(row[0] for row in rounds) / ARMS / END,
            }
    if best is None:
        return {
            'batch_over_mujoco': None,
            'batch_mujoco': {**result, 'reason': f'{PIECES} pieces are not near enough'},
        }
    return {'batch_over_mujoco': best['ratio'], 'batch_mujoco': {**result, 'mujoco': best}}


def as_text(result):
    """Lines of the table."""
    ours = result['batch_mujoco']
    yield (
        f'{ours["arms"]} arms, {ours["threads"]} threads',
        f'{1e3 * ours["seconds_per_second"]:.3g} ms per second of an arm; tip error '
        f'{ours["tip_error"]:.1e}, steps of {1e3 * ours["step"]:.3g} ms',
    )
    if result['batch_over_mujoco'] is None:
        yield 'MuJoCo, rollout', f'not measured: {ours["reason"]}'
        return
    theirs = ours['mujoco']
    yield (
        'MuJoCo, rollout',
        f'{1e3 * theirs["seconds_per_second"]:.3g} ms, {theirs["ratio"]:.1f} times ours; tip '
        f'error {theirs["tip_error"]:.1e}, steps of {1e3 * theirs["step"]:.3g} ms, '
        f'{theirs["pieces"]} pieces, {theirs["scheme"]}',
    )


if __name__ == '__main__':
    for line in as_text(measure()):
        print(': '.join(line))
