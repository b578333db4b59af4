"""Shapers of all kinds for generated code, and random moves for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.shaping.impulses import NONE
from flex_robot_sim.shaping.online_shaper_kernel import shape_samples
from flex_robot_sim.shaping.shaped_reference import FADE_DURATIONS, MIN_FADE_S, _fading
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.textbook_shapers import ei, zv, zvd
from flex_robot_sim.shaping.velocity_limiter import VelocityLimiter, follow

PERIOD = 1e-3
DWELL = 0.3  # longest rest between two moves                                              [s]


class ShaperCase(NamedTuple):
    """A design, and the joints that it is for."""

    name: str
    specification: ShaperSpecification
    joints: tuple[str, ...]


def _table(axes, modes):
    """Modes over axes of joints 1, 0, whose frequencies rise with both."""
    grids = np.meshgrid(*axes, indexing='ij')
    slope = 1.0 + sum(0.25 * (k + 1) * grid.ravel() for k, grid in enumerate(grids))
    frequencies = slope[:, None] * np.asarray(modes)
    return ModeTable(
        tuple(range(len(axes)))[::-1], tuple(axes), frequencies, np.full(frequencies.shape, 0.01)
    )


def shaper_cases():
    """Return the cases: fixed delays, several modes, by pose, and everything at once."""
    one = _table([np.linspace(-1.0, 1.0, 9)], [6.0])
    two = _table([np.linspace(-1.0, 1.0, 9), np.linspace(-1.2, 1.2, 5)], [5.0, 8.1, 13.0, 21.0])
    limits = np.array([1.1, 1.3, 1.2, 0.9, np.inf, 1.4])
    return [
        ShaperCase('unshaped', ShaperSpecification('none', NONE), ('a', 'b')),
        ShaperCase(
            'two_modes',
            ShaperSpecification('zv', zv([4.3, 11.7], damping_ratios=[0.01, 0.03])),
            ('x', 'y'),
        ),
        ShaperCase(
            'by_pose',
            ShaperSpecification('zvd by pose', NONE, one, tuple(stages_of(one, 'zvd'))),
            ('shoulder', 'elbow'),
        ),
        ShaperCase(
            'limited',
            ShaperSpecification('ei', ei(7.3), velocity_limits=np.array([0.8, 1.2])),
            ('swing', 'lift'),
        ),
        ShaperCase(
            'limited_slow',
            ShaperSpecification('zvd', zvd(3.1), velocity_limits=np.array([0.8, 1.2])),
            ('swing', 'lift'),
        ),
        ShaperCase(
            'limited_fast',
            ShaperSpecification('zv', zv(20.0), velocity_limits=np.array([0.8, 1.2])),
            ('swing', 'lift'),
        ),
        ShaperCase(
            'six_joints',
            ShaperSpecification(
                'zvd, ei by pose',
                zvd(47.0, damping_ratios=0.02),
                two,
                (*stages_of(two, 'zvd')[:2], *stages_of(two, 'ei')[2:]),
                velocity_limits=limits,
            ),
            tuple(f'joint_{j}' for j in range(6)),
        ),
    ]


def random_moves(count, joints, seed, speed=1.0, begin=None):
    """
    Return set points (count, joints) [rad] of random moves with rests.

    :param speed: of the fastest joint [rad/s]; begin: first set point (joints,), default 0.
    """
    rng = np.random.default_rng(seed)
    here, rows = np.zeros(joints) if begin is None else begin, 1
    out = [here[None, :]]
    while rows < count:
        goal = rng.uniform(-1.3, 1.3, joints)
        peak = 1.875 * np.abs(goal - here).max()
        steps = max(int(peak / (speed * rng.uniform(0.4, 1.0)) / PERIOD), 2)
        u = np.arange(1, steps + 1)[:, None] / steps
        move = here + (goal - here) * (u**3 * (10.0 - 15.0 * u + 6.0 * u**2))
        move[-1] = goal
        rest = np.repeat(goal[None, :], rng.integers(1, int(DWELL / PERIOD)), axis=0)
        # some moves are cut short by the next one
        keep = len(move) if rng.random() < 0.7 else rng.integers(1, len(move) + 1)
        out += [move[:keep]] if keep < len(move) else [move, rest]
        here = out[-1][-1]
        rows += sum(map(len, out[-2:] if keep == len(move) else out[-1:]))
    return np.concatenate(out)[:count]


def golden(case, samples):
    """Shape set points (k, joints) by the compiled law of the library, after a reset at row 0."""
    return GoldenShaper(case, samples[0]).run(samples[1:])


# old and new design of replacements: without velocity limits, with them, and one of each
REPLACEMENTS = (
    ('two_modes', 'by_pose'),
    ('limited', 'limited_slow'),
    ('limited', 'two_modes'),
    ('two_modes', 'limited'),
)


def replaced(samples, row, old, new):
    """
    Shape set points (k, joints) by the library, by a case that another one replaces in motion.

    The mixture (S11) of the shaped positions of both keeps the velocity limits of the new one.
    :param row: first set point of the new case.
    """
    out = golden(old, samples)
    design = new.specification._replace(velocity_limits=None)
    limits = new.specification.velocity_limits
    online = design.online(samples.shape[1], PERIOD)
    online.reset(samples[row - 1])
    added = old.specification.online(samples.shape[1], PERIOD).duration
    fade = max(MIN_FADE_S, FADE_DURATIONS * max(added, online.duration))
    limiter = None
    if limits is not None:
        limiter = VelocityLimiter(limits, PERIOD, online.duration)
        limiter.reset(out[row - 2])
    for k in range(row, len(samples)):
        age = ((k - row + 1) * PERIOD - online.duration) / fade
        position = online.step(samples[k])
        position = position + _fading(max(age, 0.0))[0] * (out[k - 1] - position)
        if limiter is not None:
            limiter.step(position)
            position = limiter.position
        out[k - 1] = position
    return out


class GoldenShaper:
    """The compiled law of the library, piece by piece."""

    def __init__(self, case: ShaperCase, position: np.ndarray) -> None:
        """Reset the shaper of a case to a position (joints,)."""
        limits = case.specification.velocity_limits
        design = case.specification._replace(velocity_limits=None)
        self._online = design.online(len(case.joints), PERIOD)
        self._online.reset(position)
        self._limiter = None
        if limits is not None:
            self._limiter = VelocityLimiter(limits, PERIOD, self._online.duration)
            self._limiter.reset(position)

    def run(self, samples: np.ndarray) -> np.ndarray:
        """Shape set points (k, joints)."""
        shaped, limiter = np.empty_like(samples), self._limiter
        arrays, frequencies, _ = self._online.tables
        shape_samples(arrays, frequencies, self._online._state, samples, shaped)
        if limiter is not None:
            for row in shaped:
                follow(limiter.state, row)
                row[:] = limiter.position
        return shaped
