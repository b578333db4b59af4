"""
Whether the recommended shaper is the first whose tool rests, on plants of other programs.

`python -m benchmarks.settles_first`, part of `python -m benchmarks.control`. Each move has its own
plant: its frequencies are off by up to the stated uncertainty, and its payload is in the stated
range. Every row of the table of `flexsim shape` is tried on it (settling_plants.py). The vibration
left is that of the shaper which `--allowed 5%` recommends.
"""

from __future__ import annotations

import numpy as np

from flex_robot_sim.shaping.recommendation import recommend
from flex_robot_sim.shaping.shaper_comparison import shaped_path
from flex_robot_sim.shaping.validation_moves import ValidationMoves

MOVES = 45
NAMES = 'ur5', 'fr3', 'two_link'
PAYLOADS = {
    'ur5': (0.5, 2.0),
    'fr3': (0.0, 1.0),
    'two_link': (0.0, 0.2),
}  # lightest, heaviest [kg]
REACH = {'ur5': (0.4, 1.0), 'fr3': (0.3, 0.8), 'two_link': (0.3, 0.9)}  # largest turn [rad]
ACCELERATION = {'two_link': 2.0}  # largest one of the tool; default: by the limits      [m/s2]
UNCERTAINTY = 0.1
ALLOWED = 5e-4  # [m]
SHARE = '5%'  # allowed vibration of the shaper whose vibration counts
FAR = 20.0  # distance of set points from their end, over the allowed one
TIE = 2e-3  # difference of two samples                                             [s]
LATE = 0.02  # [s]


def settles_first(quick=False):
    """Return shares of moves in which the recommended row rests first, and what it leaves."""
    try:
        from benchmarks import settling_plants as plants
    except ImportError as error:
        return {'reason': str(error)}
    rows = [_move(plants, k) for k in range(3 if quick else MOVES)]
    return summed(rows)


def summed(rows):
    """Return the figures of moves, each as of `_move`."""
    late, late_of_all, left, claims = zip(*rows)
    left = np.array(left)
    return {
        'moves': len(rows),
        'first': float(np.mean(np.array(late) <= TIE)),
        'within_20_ms': float(np.mean(np.array(late) <= LATE)),
        'largest_delay': float(max(late)),
        'first_with_profiles': float(np.mean(np.array(late_of_all) <= TIE)),
        'meets_constraint': float(np.mean([claim.meets for claim in claims])),
        'allowed': SHARE,
        'left_nominal': _summary(left[:, 0]),
        'left_10_percent_off': _summary(left[:, 1]),
        'left_over_claim': _summary(np.array([claim.left_over_claim for claim in claims])),
        'shapers': sorted({claim.name for claim in claims}),
    }


class _Claim:
    def __init__(self, choice, left):
        self.name, self.meets = choice.name, choice.meets_constraint
        self.left_over_claim = left / choice.figures.left


def _summary(values):
    return {'median': float(np.median(values)), 'worst': float(values.max())}


def _move(plants, number):
    """Delay of the recommended row [s], the same with profiles, what it leaves, and its claim."""
    rng = np.random.default_rng(100 + number)
    name = NAMES[number % len(NAMES)]
    arm, (light, heavy) = plants.arm(name), PAYLOADS[name]
    start, goal = _poses(arm, rng, REACH[name])
    tool = plants.tool(name)
    payloads = ((tool, light), (tool, heavy))
    limit = ACCELERATION.get(name)
    found, of_share = (
        recommend(
            arm,
            move=(start, goal),
            payloads=payloads,
            uncertainty=UNCERTAINTY,
            acceleration=limit,
            allowed_vibration=allowed,
        )
        for allowed in (ALLOWED, SHARE)
    )
    count = found.cases[0].frequencies.size
    move = ValidationMoves(
        arm, [(start, goal)], payloads, 0.0, count, acceleration=limit or np.inf
    ).moves[0]

    def path_of(candidate, added=0.0):
        return start + shaped_path(candidate, move, ALLOWED, added)[:, None] * (goal - start)

    paths = [
        None if one.figures is None else path_of(one, found.choice.added_time)
        for one in found.candidates
    ]
    drawn = plants.plant(name, rng.uniform(-UNCERTAINTY, UNCERTAINTY), rng.uniform(light, heavy))
    best = _rest_time(*drawn.distances(paths[found.best], move.step))
    times = {found.best: best}
    for k, (one, path) in enumerate(zip(found.candidates, paths)):
        is_rival = path is not None and one.meets_constraint >= found.choice.meets_constraint
        if is_rival and k != found.best and not _is_far(path, move, best):
            times[k] = _rest_time(*drawn.distances(path, move.step))
    shapers = [time for k, time in times.items() if not found.candidates[k].profile]
    left, tried = [], (path_of(of_share.choice), paths[0])
    middle = (light + heavy) / 2
    for errors in ((0.0,), (-UNCERTAINTY, UNCERTAINTY)):
        shares = []
        for error in errors:
            plant = plants.plant(name, error, middle)
            shaped, plain = (_vibration(plant, path, move.step) for path in tried)
            shares.append((shaped / plain, shaped))
        left.append(max(shares))
    claim = _Claim(of_share.choice, left[1][1])
    return (best - min(shapers), best - min(times.values()), [left[0][0], left[1][0]], claim)


def _poses(arm, rng, reach):
    """Start and goal of a move well inside the limits [rad]."""
    lower = np.maximum(arm.arrays.lower, -1.5)
    upper = np.minimum(arm.arrays.upper, 1.5)
    swap = lower > upper  # a range beyond 1.5 rad
    lower, upper = np.where(swap, upper - 1.0, lower), np.where(swap, lower + 1.0, upper)
    lower, upper = np.maximum(lower, arm.arrays.lower), np.minimum(upper, arm.arrays.upper)
    start, goal = rng.uniform(lower, upper, (2, lower.size))
    return start, start + (goal - start) * rng.uniform(*reach) / np.abs(goal - start).max()


def _is_far(path, move, time):
    """Whether the set points are far from their end at a time [s], so that no arm rests there."""
    row = int(time / move.step)
    if row >= len(path):
        return False
    travel = np.abs(move.end - move.start).max()
    return move.tool_travel * np.abs(path[-1] - path[row]).max() / travel > FAR * ALLOWED


def _rest_time(distances, period):
    """Time of the last sample beyond the allowed distance [s]; at most the end of the samples."""
    beyond = np.flatnonzero(distances > ALLOWED)
    return period * (beyond[-1] + 1 if beyond.size else 0)


def _vibration(plant, path, step):
    """Largest distance after the set points [m]."""
    distances, period = plant.distances(path, step)
    return float(distances[int(np.ceil(step * (len(path) - 1) / period)) :].max())


def as_lines(found):
    """Lines of the table."""
    if 'reason' in found:
        yield 'time to rest', f'not measured: {found["reason"]}'
        return
    yield (
        'recommended shaper at rest first',
        (
            f'{found["first"]:.0%} of {found["moves"]} moves, at most '
            f'{found["largest_delay"]:.3f} s later; {found["first_with_profiles"]:.0%} with '
            'motion profiles'
        ),
    )
    for key, what in (
        ('left_nominal', 'it leaves, frequencies right'),
        ('left_10_percent_off', 'it leaves, frequencies 10 % off'),
        ('left_over_claim', 'the same over the claim of the table'),
    ):
        yield what, f'median {found[key]["median"]:.2%}, worst {found[key]["worst"]:.2%}'


if __name__ == '__main__':
    for line in as_lines(settles_first()):
        print(': '.join(line))
