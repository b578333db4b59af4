"""
Watch that an arm stays where its model holds: small bending, and slow turning without shortening.

Every step is looked at, in the compiled loop; a line is written once per flexible body and cause.
So is one where most of the motion swings in fewer steps than show how it swings (T47).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.util.eigenproblem import eigvalsh

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmArrays, ArmModel
    from flex_robot_sim.util.settings import SimulationSettings

MANY = 100              # steps taken in parts, from which they are told
FEW = 10                # steps in a period; they make it 3 % too long
COARSE = (2.0 * np.pi / FEW)**2     # change of the rates' change in a step, over the rates
MEMORY, ENOUGH = 1000, 150  # steps that are looked back upon; coarse ones: a kick has few
SOON = 10               # coarse steps that are enough where even the slowest mode swings in FEW
RIGID = 1e-9            # square of a natural rate over that of the highest: free motion
STILL = 1e-2            # rate that is added to others, for an arm at rest      [rad/s, m/s]

# slowest natural rate of an arm [rad/s], which takes as long to find as a hundred of its steps
_slowest: WeakKeyDictionary[ArmModel, float] = WeakKeyDictionary()


@pass_by_pointer
class Watch(NamedTuple):
    """One row per flexible body."""

    body: np.ndarray        # (k,)
    tip: np.ndarray         # (k,)  station at its end
    bend: np.ndarray        # (k,)  largest tip deflection                              [m]
    turn: np.ndarray        # (k,)  largest turn rate; inf with shortening              [rad/s]
    bent: np.ndarray        # (k,)  step that first went beyond; -1: none yet
    turned: np.ndarray      # (k,)  likewise
    hard: np.ndarray        # (3,)  steps in parts, parts not good in the end, first of them
    coarse: np.ndarray      # (3,)  kinetic energy in coarse steps and in all; coarse steps
    enough: np.ndarray      # (1,)  coarse steps from which they are told, or looked at


def make_watch(arm: ArmModel, settings: SimulationSettings) -> Watch:
    """Return the Watch of an ArmModel for SimulationSettings."""
    bodies = [body for link in arm.segments.values() for body in link]
    ends = {arm.arrays.parent[i]: arm.arrays.station[i]     # the next segment rides on the end
            for link in arm.segments.values() for i in link[1:]}
    ends.update(arm.tips.values())
    lengths = np.array([arm.beams[body].length for body in bodies])
    return Watch(np.array(bodies, int), np.array([ends[body] for body in bodies], int),
                 settings.deflection_limit * lengths, turn_limits(arm, arm.arrays, settings),
                 np.full(len(bodies), -1), np.full(len(bodies), -1), np.array([0, 0, -1]),
                 np.zeros(3), np.array([SOON]))


def _enough(arm, step):
    """How many coarse steps are none of a kick that only makes stiff modes ring."""
    if arm not in _slowest:
        K, _ = spring_matrices(arm.arrays)
        squares = eigvalsh(K, mass_matrix(arm.arrays, np.zeros(arm.size)))
        elastic = squares[squares > RIGID * squares.max(initial=0.0)]
        _slowest[arm] = float(np.sqrt(elastic.min(initial=np.inf)))
    return SOON if 2.0 * np.pi / FEW < _slowest[arm] * step < np.inf else ENOUGH


def turn_limits(arm: ArmModel, arrays: ArmArrays, settings: SimulationSettings) -> np.ndarray:
    """
    Turn rate (k,) [rad/s] up to which a flexible body does without shortening.

    :param arrays: ArmArrays of the arm with its present payload.
    """
    if arm.coupling == 'shortening':
        return np.full(sum(map(len, arm.segments.values())), np.inf)
    q = np.zeros(arm.size)
    M, (K, _) = mass_matrix(arrays, q), spring_matrices(arrays)
    return np.array([settings.turn_rate_limit * _first_rate(arrays, link, M, K)
                     for link in arm.segments.values() for _ in link])


def _first_rate(arrays, link, M, K):
    """First natural rate [rad/s] in bending of a link; all the rest is rigid and at zero."""
    own = [k for body in link
           for k in arrays.first[body] + np.arange(arrays.count[body, :2].sum())]
    if not own:
        return np.inf
    part = np.ix_(own, own)
    return np.sqrt(eigvalsh(K[part], M[part])[0])


@compiled
def note_validity(arm, q, step, watch, work):
    """
    Note in watch.bent and watch.turned the first step that went beyond a limit.

    :param arm: ArmModel with n coordinates; q: coordinates, (n,).
    :param work: Workspace, whose twists are those of this step.
    """
    for k in range(watch.body.size):
        i, s = watch.body[k], watch.tip[k]
        first, ny, nz = arm.first[i], arm.count[i, 0], arm.count[i, 1]
        if watch.bent[k] < 0:
            v = w = 0.0
            for m in range(ny):
                v += arm.station_shape[s, m] * q[first + m]
            for m in range(ny, ny + nz):
                w += arm.station_shape[s, m] * q[first + m]
            if v * v + w * w > watch.bend[k] * watch.bend[k]:
                watch.bent[k] = step
        if watch.turned[k] < 0:
            x, y, z = work.V[i, 0], work.V[i, 1], work.V[i, 2]
            if x * x + y * y + z * z > watch.turn[k] * watch.turn[k]:
                watch.turned[k] = step


@compiled
def note_coarseness(arm, rate, before, qdd, part, watch):
    """
    Note whether the rates swing within a few parts of steps (T47).

    :param rate: in the middle of a part, (n,); before, qdd: accelerations of the one before and
        of this one, (n,); part: its length [s].
    """
    change = speed = 0.0
    for k in range(rate.size):
        jump = part * (qdd[k] - before[k])
        change += arm.inertia_scale[k] * jump * jump
        speed += arm.inertia_scale[k] * (rate[k] * rate[k] + STILL * STILL)
    coarse = 1.0 if change > COARSE * COARSE * speed else 0.0
    kept = 1.0 - 1.0 / MEMORY
    watch.coarse[0] = kept * watch.coarse[0] + coarse * speed
    watch.coarse[1] = kept * watch.coarse[1] + speed
    watch.coarse[2] = kept * watch.coarse[2] + coarse


@compiled
def count_events(watch):
    """How many of the things that `lines_of` tells have happened."""
    signs = 0
    if watch.hard[1] > 0:
        signs += 1
    if watch.hard[0] >= MANY:
        signs += 1
    if watch.coarse[2] >= watch.enough[0] and watch.coarse[0] > 0.5 * watch.coarse[1]:
        signs += 1
    for k in range(watch.body.size):
        signs += int(watch.bent[k] >= 0) + int(watch.turned[k] >= 0)
    return signs


def report_lines(arm: ArmModel, settings: SimulationSettings, watch: Watch, seen: set,
             time_of: Callable[[int], float]) -> Iterator[str]:
    """
    Lines about what the last steps brought.

    :param seen: set of what has been written already; added to.
    :param time_of: function from a step to its time [s].
    """
    if watch.hard[1] and 'hard' not in seen:
        seen.add('hard')
        yield (f'the step at {time_of(watch.hard[2]):.4g} s did not converge, not in '
               'parts either. Take a shorter time_step or smaller efforts')
    if watch.hard[0] >= MANY and 'parts' not in seen:
        seen.add('parts')
        yield (f'{MANY} steps were taken in parts by {time_of(0):.4g} s: time_step = '
               f'{settings.time_step:g} s is too long for this motion. Take a shorter one')
    is_coarse = watch.coarse[0] > 0.5 * watch.coarse[1] and 'coarse' not in seen
    if is_coarse and watch.coarse[2] >= watch.enough[0]:
        watch.enough[0] = _enough(arm, settings.time_step)      # few runs ever ask for it
    if is_coarse and watch.coarse[2] >= watch.enough[0]:
        seen.add('coarse')
        yield (f'by {time_of(0):.4g} s most of the motion swings in fewer than {FEW} steps: '
               f'time_step = {settings.time_step:g} s is too long to show it. Take a shorter one')
    row = 0
    for link, bodies in arm.segments.items():
        for number in range(len(bodies)):
            part = f', segment {number + 1},' if len(bodies) > 1 else ''
            if watch.bent[row] >= 0 and (row, 'bent') not in seen:
                seen.add((row, 'bent'))
                yield (f'link "{link}"{part} bends by more than '
                       f'{100 * settings.deflection_limit:g} % of its length at '
                       f'{time_of(watch.bent[row]):.4g} s. Give it more segments')
            if watch.turned[row] >= 0 and (link, 'turned') not in seen:
                seen.add((link, 'turned'))
                yield (f'link "{link}" turns faster than {watch.turn[row]:.4g} rad/s, '
                       f'{settings.turn_rate_limit:g} of its first natural rate, at '
                       f'{time_of(watch.turned[row]):.4g} s. Take the coupling "shortening"')
            row += 1
