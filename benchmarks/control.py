"""
Residual vibration of an arm with shapers, feedback, plans and learning, and their costs.

`python -m benchmarks.control`, or `flexsim benchmark control --json`

| key | what |
|---|---|
| `linear_residual` | largest vibration of any shaper at its design, on an exact oscillator |
| `nominal_residual` | of 200 random moves of three arms, designed from their URDF: median, worst |
| | `recommended`: the shaper by `flexsim shape`; `shapers`: its name for each robot |
| `robust_residual` | the same with stiffness +-20 % and a payload from none to full |
| `core_residual` | of 60 of the nominal moves, shaped by the C++ core, and the difference |
| `servo_residual` | the same as nominal, with drives moved by a servo |
| `moving_residual` | of an oscillator whose frequency doubles, or halves, during the move |
| `shaper_tick_us` | one set point of 7 joints, three modes whose delays follow the pose [us] |
| `bench_residual` | of the true tip of the emulated bench: profiles by the bridge, set points |
| `damping_added` | to the first mode by strain feedback and by PPF; residue of a push |
| `lqg_settling_periods` | from the end of the reference until the tip stays within 2 % |
| `two_planes` | of a push, of strain feedback and PPF on a link that bends in two planes |
| `unknown_payload` | frequency and payload that LQG measures; vibration before, redesigned |
| `planned_residual` | of the tip after a planned move, over that of minimum jerk; with a servo |
| `plan_10_percent_off` | after planned moves if the frequencies are 10 % off: worst, median |
| `learning` | tip error after 5 and 15 trials over that of the first one |
| `learning_20_percent_off` | largest and last error over the first one, of an arm in MuJoCo |
| `logs_whole` | of 16 logs with a move, of arms in MuJoCo: modes found within 1 % |
| `deviations_covered` | of 200 logs with a move: share of modes within 2 standard deviations |
| `settles_first` | of 45 moves on other plants: share with the recommended shaper first at rest |
| `found_above_claim` | of 200 logs: share that leaves more than the stated interval |
| `klipper_method` | of 30 sweeps: vibration left and time added, by Klipper's method and ours |
| `tune_hidden_arms` | of arms in MuJoCo, tuned by logs: errors and vibration in other poses |
| `sweep_left` | of 24 sweeps with two modes: frequencies, and shapers that exceed their claim |

Each part of PARTS has two functions: one of `quick` that returns the figures, and one that formats
them as lines.
"""

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import expm

from benchmarks import (
    bench_moves,
    core_moves,
    feedback_claims,
    found_above_claim,
    klipper_method,
    learning_sensitivity,
    logs_whole,
    modal_logs,
    plan_sensitivity,
    settles_first,
    tune_hidden_arms,
)
from benchmarks import control_feedback as feedback
from benchmarks.shaped_moves import DESIGNS, recommended, residuals, summed
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import KINDS, of_kind
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.specified_insensitivity import Band, for_modes, si

PERIOD = 1e-3


def left_by(shaper, frequency, ratio):
    """Vibration of an oscillator after impulses, over that of one at time 0, by its exact step."""
    rate = 2 * np.pi * frequency
    A = np.array([[0.0, 1.0], [-(rate**2), -2 * ratio * rate]])
    state = np.zeros(2)
    steps = np.diff(shaper.times, append=shaper.times[-1])
    for step, amplitude in zip(steps, shaper.amplitudes):
        state = expm(A * step) @ (state + [0.0, amplitude])
    quadrature = (state[1] + ratio * rate * state[0]) / np.sqrt(1 - ratio**2)
    return float(np.hypot(rate * state[0], quadrature) * np.sqrt(1 - ratio**2))


def linear_residual(_quick):
    """Every shaper at its design point; those with a tolerance over their band, beyond it."""
    zeros, beyond = [0.0], [0.0]
    for ratio, frequency in itertools.product((0.0, 0.01, 0.1), (0.5, 3.0, 20.0)):
        for kind in KINDS:
            shaper = of_kind(kind, frequency, ratio)
            if not KINDS[kind].has_tolerance:
                zeros.append(left_by(shaper, frequency, ratio))
                continue
            half = 0.45 * of_kind(kind, 1.0).insensitivity(1.0) * frequency  # 90 % of the band
            beyond += [
                left_by(shaper, f, ratio) - 0.05
                for f in np.linspace(frequency - half, frequency + half, 61)
            ]
    for modes in ([(1.0, 0.0), (2.3, 0.01)], [(2.7, 0.006), (2.9, 0.007), (11.3, 0.016)]):
        for kind in ('zv', 'zvd'):
            shaper = for_modes(kind, modes)
            zeros += [left_by(shaper, *mode) for mode in modes]
    for low, high in ((0.8, 1.2), (2.0, 4.0)):
        shaper = si([Band(low, high, 0.01)])
        beyond += [left_by(shaper, f, 0.01) - 0.05 for f in np.linspace(low, high, 101)]
    return {'zeros': max(zeros), 'beyond_tolerance': max(beyond)}


def _linear_text(found):
    yield 'vibration at zeros', f'{found["zeros"]:.1e}'
    yield 'EI and SI beyond 5 %', f'{found["beyond_tolerance"]:.1e}'


def nominal_residual(quick, seed=0):
    """Nonlinear arms, designed from their URDF alone."""
    return _summed(residuals(30 if quick else 200, seed=seed), False)


def robust_residual(quick, seed=0):
    """The same arms with another stiffness and payload than those of the design."""
    return _summed(residuals(30 if quick else 200, is_varied=True, seed=seed), True)


def servo_residual(quick, seed=0):
    """The nominal arms, with joints moved by a stiff servo, and shapers designed for its gains."""
    return _summed(residuals(12 if quick else 60, by_servo=True, seed=seed), False, True)


def _summed(rows, is_varied, by_servo=False):
    return {
        **{design: summed(rows, design) for design in DESIGNS},
        'shapers': {
            name: recommended(name, is_varied, by_servo).name
            for name in sorted({row[0] for row in rows})
        },
    }


def _moves_text(found):
    yield (
        'recommended',
        ', '.join(f'{name}: {shaper}' for name, shaper in found['shapers'].items()),
    )
    for design in DESIGNS:
        one = found[design]
        yield (
            design,
            (
                f'median {100 * one["median"]:.2f} %, worst {100 * one["worst"]:.2f} %, '
                f'{one["added"]:.2f} s more'
            ),
        )


def moving_residual(_quick):
    """An oscillator whose frequency changes by a factor of two with the place of its base."""
    axis = np.linspace(0.0, 1.0, 65)
    table = ModeTable((0,), (axis,), (2.0 + 2.0 * axis)[:, None], np.full((axis.size, 1), 0.01))
    worst, end, jump = {}, 0.0, 0.0
    moves = [
        _move(duration, forward) for duration in (0.3, 0.4, 0.5, 0.7) for forward in (True, False)
    ]
    before = max(_ring_after(move) for move in moves[:4])
    for kind in KINDS:
        left = []
        for move in moves:
            shaper = OnlineShaper(1, PERIOD, table=table, stages=stages_of(table, kind))
            shaped = shaper.run(move[:, None])[:, 0]
            left.append(_ring_after(shaped) / before)
            end = max(end, abs(shaped[-1] - move[-1]))
            jump = max(
                jump, float(np.abs(np.diff(shaped, 2)).max() / np.abs(np.diff(move, 2)).max())
            )
        worst[kind] = max(left)
    return {**worst, 'end': end, 'second_difference': jump}


def _moving_text(found):
    for kind in found:
        if kind not in ('end', 'second_difference'):
            yield f'frequency doubles: {kind}', f'{100 * found[kind]:.2f} %'
    yield 'end point off by', f'{found["end"]:.0e}'
    yield 'velocity per sample', f'{found["second_difference"]:.2f} of the unshaped change'


def _move(duration, forward):
    u = np.clip(np.arange(0.0, duration + PERIOD, PERIOD) / duration, 0.0, 1.0)
    s = 10 * u**3 - 15 * u**4 + 6 * u**5
    return s if forward else 1 - s


def _ring_after(base, parts=4):
    """Amplitude at the end of an oscillator on a moving base, by small steps of Runge-Kutta."""
    base = base.tolist()  # of two numbers, plain ones are the fastest
    x, v, h = base[0], 0.0, PERIOD / parts

    def pull(place, x, v):
        rate = 2 * math.pi * (2 + 2 * place)
        return rate**2 * (place - x) - 0.02 * rate * v

    for start, end in zip(base, base[1:]):
        for k in range(parts):
            a, b, c = (start + (end - start) * (k + share) / parts for share in (0.0, 0.5, 1.0))
            a1 = pull(a, x, v)
            v2 = v + h / 2 * a1
            a2 = pull(b, x + h / 2 * v, v2)
            v3 = v + h / 2 * a2
            a3 = pull(b, x + h / 2 * v2, v3)
            v4 = v + h * a3
            a4 = pull(c, x + h * v3, v4)
            x, v = (
                x + h / 6 * (v + 2 * v2 + 2 * v3 + v4),
                v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
            )
    return math.hypot(x - base[-1], v / (2 * math.pi * (2 + 2 * base[-1])))


def shaper_tick_us(quick):
    """One sample of seven joints, three modes that depend on two of them."""
    axes = np.linspace(-1.0, 1.0, 33), np.linspace(-1.0, 1.0, 33)
    rows = np.random.default_rng(0).uniform(0.9, 1.1, (33 * 33, 3)) * [2.7, 3.3, 9.0]
    table = ModeTable((1, 2), axes, rows, np.full(rows.shape, 0.01))
    shaper = OnlineShaper(7, PERIOD, table=table, stages=stages_of(table, 'zvd'))
    samples = np.cumsum(np.random.default_rng(1).normal(size=(2000, 7)), axis=0) * 1e-3
    times = []
    for _ in range(2 if quick else 6):
        for sample in samples:
            started = perf_counter()
            shaper.step(sample)
            times.append(perf_counter() - started)
    times = 1e6 * np.array(times[len(samples) :])
    return {'median': float(np.median(times)), 'p99': float(np.percentile(times, 99))}


def _tick_text(found):
    yield (
        'shaper, 7 joints, 3 modes',
        (f'median {found["median"]:.1f} us, 99 % below {found["p99"]:.1f} us'),
    )


def _nested_text(found, before=''):
    for what, value in found.items():
        if isinstance(value, dict):
            yield from _nested_text(value, f'{before}{what}: ')
        else:
            yield f'{before}{what}', f'{value:g}' if isinstance(value, float) else str(value)


PARTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    'linear_residual': (linear_residual, _linear_text),
    'moving_residual': (moving_residual, _moving_text),
    'shaper_tick_us': (shaper_tick_us, _tick_text),
    'nominal_residual': (nominal_residual, _moves_text),
    'robust_residual': (robust_residual, _moves_text),
    'servo_residual': (servo_residual, _moves_text),
    'core_residual': (core_moves.core_residual, core_moves.as_lines),
    'bench_residual': (bench_moves.bench_residual, bench_moves.as_lines),
    'damping_added': (feedback.damping_added, _nested_text),
    'lqg_settling_periods': (feedback.lqg_settling_periods, _nested_text),
    'two_planes': (feedback_claims.two_planes, _nested_text),
    'unknown_payload': (feedback_claims.unknown_payload, _nested_text),
    'planned_residual': (feedback.planned_residual, _nested_text),
    'plan_10_percent_off': (plan_sensitivity.plan_10_percent_off, plan_sensitivity.as_lines),
    'learning': (feedback.learning, _nested_text),
    'learning_20_percent_off': (learning_sensitivity.learning_20_percent_off, _nested_text),
    'logs_whole': (logs_whole.logs_whole, logs_whole.as_lines),
    'deviations_covered': (modal_logs.deviations_covered, modal_logs.deviations_lines),
    'settles_first': (settles_first.settles_first, settles_first.as_lines),
    'found_above_claim': (found_above_claim.found_above_claim, found_above_claim.as_lines),
    'klipper_method': (klipper_method.klipper_method, klipper_method.as_lines),
    'tune_hidden_arms': (tune_hidden_arms.tune_hidden_arms, tune_hidden_arms.as_lines),
    'sweep_left': (modal_logs.sweep_left, modal_logs.sweep_lines),
}
DRAWN = (
    'nominal_residual',
    'robust_residual',
    'servo_residual',
    'core_residual',
)  # of moves at random


def measure(quick=False, only=(), seed=0):
    """Return all figures by key."""
    return {
        key: part(quick, seed) if key in DRAWN else part(quick)
        for key, (part, _) in PARTS.items()
        if not only or key in only
    }


def as_text(summary):
    """Lines of a summary."""
    return [
        (f'{key.partition("_")[0]}: {what}' if key.endswith('residual') else what, value)
        for key, found in summary.items()
        for what, value in PARTS[key][1](found)
    ]


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--only', action='append', default=[], metavar='KEY', choices=PARTS)
    parser.add_argument('--seed', type=int, default=0, help='of the moves that are drawn')
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    found = measure(arguments.quick, arguments.only, arguments.seed)
    if arguments.json:
        json.dump(found, sys.stdout, indent=2)
        return
    for what, value in as_text(found):
        print(f'{what:34s}{value}')


if __name__ == '__main__':
    main()
