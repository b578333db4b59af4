"""Input shapers compared with exact oscillators, and trajectories with their own samples."""

import numpy as np

import flex_robot_sim as frs
from benchmarks.control import left_by
from benchmarks.trust.check import Case, Check
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory
from flex_robot_sim.shaping.impulses import KINDS, convolved, kinds_for, of_kind
from flex_robot_sim.shaping.online_shaper import SPARE_SAMPLES, OnlineShaper
from flex_robot_sim.shaping.shaper_stages import stages_of

EXACT = [name for name, kind in KINDS.items() if not kind.has_tolerance]


def _mode(rng):
    """Return a random frequency [Hz] and damping ratio."""
    return 10.0 ** rng.uniform(-0.7, 1.7), rng.choice([0.0, rng.uniform(0.0, 0.6)])


def _residual(seed):
    """Return the vibration that a shaper for one to three modes leaves of them, over all of it."""
    rng = np.random.default_rng(seed)
    modes = [_mode(rng) for _ in range(rng.integers(1, 4))]
    shaper = convolved([of_kind(str(rng.choice(EXACT)), *mode) for mode in modes])
    return Case(max(left_by(shaper, *mode) for mode in modes), {'shapers': 1, 'modes': len(modes)})


def _tolerance(seed):
    """Return by how much a shaper with a tolerance exceeds it, in its band of frequencies."""
    rng = np.random.default_rng(seed)
    frequency, ratio = _mode(rng)
    low, tolerance = frequency, rng.uniform(0.02, 0.1)
    high, ratio = low * rng.uniform(1.05, 1.5), min(ratio, 0.1)
    shaper = frs.shaping.si([frs.shaping.Band(low, high, ratio, tolerance)])
    left = [left_by(shaper, f, ratio) for f in np.linspace(low, high, 41)]
    return Case(max(left) - tolerance, {'shapers': 1, 'frequencies': len(left)})


def _set_points(rng, joints, count=400):
    """Return random set points (count, joints): a walk, or moves from rest to rest."""
    if rng.random() < 0.5:
        return np.cumsum(rng.normal(size=(count, joints)), axis=0) * 1e-2
    u = np.clip(np.arange(count) / rng.integers(50, count - 50), 0.0, 1.0)[:, None]
    return rng.normal(size=joints) + rng.normal(size=joints) * u**3 * (10 - 15 * u + 6 * u**2)


def _excess(found, allowed):
    """Return the excess of numbers over a limit, relative to the limit."""
    return float(((found - allowed) / np.maximum(allowed, 1e-12)).max())


def _online_limits(seed):
    """
    Shape random set points one by one.

    The shaped ones stay in their range, reach the last one exactly, and in the promised time. A
    fixed shaper keeps the largest velocity and acceleration, too.
    """
    rng = np.random.default_rng(seed)
    joints, period = int(rng.integers(1, 5)), float(10.0 ** rng.uniform(-3.3, -2))
    frequency, ratio = rng.uniform(0.05, 0.2) / period / 10, rng.uniform(0.0, 0.2)
    kind = str(rng.choice(kinds_for(ratio)))
    samples = _set_points(rng, joints)
    is_fixed = bool(rng.integers(2))
    if is_fixed:
        shaper = OnlineShaper(joints, period, shaper=of_kind(kind, frequency, ratio))
    else:  # the frequency changes with the first joint
        axis = np.linspace(samples[:, 0].min(), samples[:, 0].max() + 1e-3, 9)
        frequencies = frequency * rng.uniform(0.5, 1.5, (9, 1))
        table = ModeTable((0,), (axis,), frequencies, np.full((9, 1), ratio))
        shaper = OnlineShaper(joints, period, table=table, stages=stages_of(table, kind))
    shaped = np.vstack([samples[:1], shaper.run(samples)])
    span = np.ptp(samples, axis=0)
    errors = [
        ((shaped - samples.max(axis=0)) / span).max(),
        ((samples.min(axis=0) - shaped) / span).max(),
        np.inf if (shaped[-1] != samples[-1]).any() else 0.0,
    ]
    longest = len(samples) + shaper.duration / period + 2 * SPARE_SAMPLES
    errors.append(np.inf if len(shaped) > longest else 0.0)
    if is_fixed:
        still = np.vstack([samples[:1], samples, samples[-1:], samples[-1:]])
        errors += [
            _excess(*(np.abs(np.diff(x, order, axis=0)).max(axis=0) for x in (shaped, still)))
            for order in (1, 2)
        ]
    return Case(float(max(errors)), {'runs': 1, 'set points': len(shaped)})


def _trajectory(seed):
    """
    Compare a random trajectory with many samples of it.

    Its points are met, positions and given rates are continuous, samples stay within the stated
    extremes, and a slower one is the same motion.
    """
    rng = np.random.default_rng(seed)
    k, joints, order = (int(rng.integers(1, high)) for high in (7, 4, 4))
    times = np.cumsum(rng.uniform(0.05, 2.0, k))
    tables = rng.normal(size=(3, k, joints))
    tables[1, -1] = 0.0
    names = [f'joint_{j}' for j in range(joints)]
    present = np.zeros((3, joints))
    present[0] = rng.normal(size=joints)
    slowness = rng.uniform(0.2, 5.0)

    def motion_of(slower):
        given = [table / slower**power for power, table in enumerate(tables[:order])]
        return Interpolation(Trajectory(names, slower * times, *given), names).motion(present)

    motion, slow = motion_of(1.0), motion_of(slowness)
    scale, errors = 10.0 + np.abs(tables).max(), [0.0]
    for number, time in enumerate(times):
        before = motion.sample(np.nextafter(time, 0.0))
        after = motion.sample(time)
        for power in range(order):
            where = before if number == k - 1 else after
            errors += [
                np.abs(before[power] - tables[power, number]).max(),
                np.abs(where[power] - tables[power, number]).max(),
            ]
    lowest, highest, knots = motion.extremes()
    fastest = motion.max_speeds()
    count = 0
    for piece, (start, end) in enumerate(zip(knots, knots[1:])):
        inside = np.linspace(start, np.nextafter(end, 0.0), 60)
        samples = motion.samples(inside)
        count += len(samples)
        errors += [
            (samples[:, 0] - highest[piece]).max(),
            (lowest[piece] - samples[:, 0]).max(),
            (np.abs(samples[:, 1]) - fastest[piece]).max(),
        ]
        slower = slow.samples(slowness * inside[1:-1])
        for power in range(3):
            errors.append(
                np.abs(samples[1:-1, power] - slowness**power * slower[:, power]).max()
                / (1.0 + np.abs(samples[:, power]).max())
            )
    return Case(float(max(errors)) / scale, {'trajectories': 1, 'samples': count})


CHECKS = {
    'shaper_residual': Check(
        'vibration left by shapers of one to three modes, oscillators by matrix exponentials',
        1e-10, 500, 20, _residual,
    ),
    'shaper_tolerance': Check(
        'vibration above the tolerance in the band of SI shapers, the same oscillators',
        1e-3, 40, 1, _tolerance,
    ),
    'shaper_limits': Check(
        'excess of shaped set points over range, velocity, acceleration and delay, the unshaped',
        1e-9, 1000, 20, _online_limits,
    ),
    'trajectories': Check(
        'points, continuity, extremes and time scaling of random trajectories, dense samples',
        1e-9, 2000, 40, _trajectory,
    ),
}  # fmt: skip
