"""
Watch that an arm stays where its model holds: small bending, and slow turning without shortening.

Every step is looked at, in the compiled loop; a line is written once per flexible body and cause.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from flex_robot_sim.compiled import compiled
from flex_robot_sim.mass import mass_matrix
from flex_robot_sim.stability import spring_matrices


class Watch(NamedTuple):
    """One row per flexible body."""

    body: np.ndarray        # (k,)
    tip: np.ndarray         # (k,)  station at its end
    bend: np.ndarray        # (k,)  largest tip deflection                              [m]
    turn: np.ndarray        # (k,)  largest turn rate; inf with shortening              [rad/s]
    bent: np.ndarray        # (k,)  step that first went beyond; -1: none yet
    turned: np.ndarray      # (k,)  likewise


def make_watch(arm, settings):
    """Return the Watch of an ArmModel for SimulationSettings."""
    bodies = [body for link in arm.segments.values() for body in link]
    ends = {arm.arrays.parent[i]: arm.arrays.station[i]     # the next segment rides on the end
            for link in arm.segments.values() for i in link[1:]}
    ends.update(arm.tips.values())
    lengths = np.array([arm.beams[body].length for body in bodies])
    return Watch(np.array(bodies, int), np.array([ends[body] for body in bodies], int),
                 settings.deflection_limit * lengths, turn_limits(arm, arm.arrays, settings),
                 *np.full((2, len(bodies)), -1))


def turn_limits(arm, arrays, settings):
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
    return np.sqrt(eigh(K[part], M[part], eigvals_only=True, subset_by_index=[0, 0])[0])


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


def lines_of(arm, settings, watch, seen, time_of):
    """
    Lines about what the last steps brought.

    :param seen: set of what has been written already; added to.
    :param time_of: function from a step to its time [s].
    """
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
