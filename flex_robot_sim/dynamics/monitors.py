"""
Validity monitors: small bending, slow rotation without shortening, and sufficiently short steps.

The compiled loop checks every step. Each flexible body and cause is reported once, and so are
motion whose oscillations are too fast for the step length (T47) and a singular pose of loops.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy import sqrt

from flex_robot_sim.dynamics.constraints.singular_poses import monitored_joints
from flex_robot_sim.dynamics.contact.penetration import depth_limits, penetration_line
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.sliding_body import free_length
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import ELASTIC, SLIDING, bending_slices, has_spatial_bodies
from flex_robot_sim.model.slide_columns import LENGTH
from flex_robot_sim.util.eigenproblem import eigvalsh
from flex_robot_sim.util.settings import SimulationSettings

MIN_SUBDIVIDED_STEPS = 100  # from which a line reports them
MIN_STEPS_PER_PERIOD = 10  # of an oscillation; the period is then 3 % too long
MAX_RELATIVE_CHANGE = (2.0 * np.pi / MIN_STEPS_PER_PERIOD) ** 2  # of velocities in a step
AVERAGING_STEPS, MIN_COARSE_STEPS = 1000, 150  # an impact causes fewer
MIN_SLOW_COARSE_STEPS = 10  # the same, if even the slowest mode is too fast
MAX_RIGID_BODY_RATIO = 1e-9  # squared frequency over the highest; below: free motion
PRANDTL_FACTOR = 4.0126  # of the lateral buckling load of a force at the end          (T99)
MIN_STIFFNESS_RATIO = 4.0  # of bending in the two planes, from which it is checked
LATERAL_SHARE = 0.3  # of this load from which a beam without twist coupling is reported
REST_VELOCITY = 1e-2  # added to velocities, for an arm at rest         [rad/s, m/s]

# lowest natural frequency of an arm [rad/s]; finding it takes as long as a hundred steps
_lowest_frequency: WeakKeyDictionary[ArmModel, float] = WeakKeyDictionary()


@pass_by_pointer
class Watch(NamedTuple):
    """Limits and recorded events, one row per flexible body."""

    body: np.ndarray  # (k,)
    tip: np.ndarray  # (k,)  station at its end
    bend: np.ndarray  # (k,)  largest tip deflection                              [m]
    turn: np.ndarray  # (k,)  largest turn rate; inf with shortening              [rad/s]
    bent: np.ndarray  # (k,)  first step beyond the deflection limit; -1: none
    turned: np.ndarray  # (k,)  first step beyond the turn rate limit; -1: none
    lateral: np.ndarray  # (k, 2)  tip deflections along y and z near lateral buckling     [m]
    loaded: np.ndarray  # (k,)  first step beyond one of these; -1: none
    hard: np.ndarray  # (3,)  subdivided steps, inaccurate substeps, first of them
    coarse: np.ndarray  # (3,)  kinetic energy in coarse steps and in all; coarse steps
    enough: np.ndarray  # (1,)  coarse steps from which they are checked and reported
    loop_joint: np.ndarray  # (p,)  joints that closed loops determine
    gram: np.ndarray  # (p, p)  temporary
    singular: np.ndarray  # (3,)  first step that reaches a singular pose, -1: none; the rank of
    #            the loops in other poses so far, and the largest possible one
    depth: np.ndarray  # (g,)  limits of contact points                                 [m]
    pierced: np.ndarray  # (2,)  first step with a point beyond its limit, -1: none; the point


def make_watch(arm: ArmModel, settings: SimulationSettings) -> Watch:
    """Return the Watch of an ArmModel for SimulationSettings."""
    bodies = [body for link in arm.segments.values() for body in link]
    ends = {
        arm.arrays.parent[i]: arm.arrays.station[i]  # the next segment is attached to it
        for link in arm.segments.values()
        for i in link[1:]
    }
    ends.update(arm.tips.values())
    lengths = np.array([arm.beams[body].length for body in bodies])
    loop_joints, rank = monitored_joints(arm)
    return Watch(
        np.array(bodies, int),
        np.array([ends[body] for body in bodies], int),
        settings.deflection_limit * lengths,
        turn_limits(arm, arm.arrays, settings),
        np.full(len(bodies), -1),
        np.full(len(bodies), -1),
        lateral_limits(arm),
        np.full(len(bodies), -1),
        np.array([0, 0, -1]),
        np.zeros(3),
        np.array([MIN_SLOW_COARSE_STEPS]),
        loop_joints,
        np.zeros((loop_joints.size, loop_joints.size)),
        np.array([-1, 0, rank]),
        depth_limits(arm),
        np.array([-1, 0]),
    )


def _min_coarse_steps(arm, step):
    """Number of coarse steps that rules out a short impact that only excites stiff modes."""
    if arm not in _lowest_frequency:
        K, _ = spring_matrices(arm.arrays)
        squares = eigvalsh(K, mass_matrix(arm.arrays, np.zeros(arm.size)))
        positive = squares[squares > MAX_RIGID_BODY_RATIO * squares.max(initial=0.0)]
        _lowest_frequency[arm] = float(np.sqrt(positive.min(initial=np.inf)))
    return (
        MIN_SLOW_COARSE_STEPS
        if 2.0 * np.pi / MIN_STEPS_PER_PERIOD < _lowest_frequency[arm] * step < np.inf
        else MIN_COARSE_STEPS
    )


def lateral_limits(arm: ArmModel) -> np.ndarray:
    """
    Tip deflections (k, 2) [m] along y and z at a share of the load of lateral buckling.

    It is that of a force at the end of a cantilever (T99), for a beam of one body that does not
    couple bending with twist; inf for others.
    """
    rows = []
    for link, bodies in arm.segments.items():
        beam, limits = arm.description.beam(link), np.full(2, np.inf)
        stiffness = np.array([beam.EIz, beam.EIy])  # against deflections along y and z
        is_strip = stiffness.max() > MIN_STIFFNESS_RATIO * stiffness.min()  # not if one is nan
        is_coupled = has_spatial_bodies(arm, link)
        if not is_coupled and len(bodies) == 1 and is_strip and np.isfinite(beam.GJ):
            strong = int(np.argmax(stiffness))
            load = PRANDTL_FACTOR * np.sqrt(stiffness.min() * beam.GJ) / beam.length**2
            limits[strong] = LATERAL_SHARE * load * beam.length**3 / (3.0 * stiffness[strong])
        rows += [limits] * len(bodies)
    return np.array(rows).reshape(-1, 2)


def turn_limits(arm: ArmModel, arrays: ArmArrays, settings: SimulationSettings) -> np.ndarray:
    """
    Turn rate (k,) [rad/s] up to which a flexible body is valid without shortening.

    :param arrays: ArmArrays of the arm with its present payload.
    """
    if arm.coupling == 'shortening':
        return np.full(sum(map(len, arm.segments.values())), np.inf)
    q = np.zeros(arm.size)
    M, (K, _) = mass_matrix(arrays, q), spring_matrices(arrays)
    return np.array(
        [
            settings.turn_rate_limit * _first_natural_frequency(arrays, link, M, K)
            for link in arm.segments.values()
            for _ in link
        ]
    )


def _first_natural_frequency(arrays, link, M, K):
    """First natural frequency [rad/s] in bending of a link; everything else is locked at zero."""
    rows = [
        arrays.first[body] + k
        for body in link
        for part in bending_slices(arrays, body)
        for k in range(part.start, part.stop)
    ]
    if not rows:
        return np.inf
    block = np.ix_(rows, rows)
    return np.sqrt(eigvalsh(K[block], M[block])[0])


@compiled
def note_validity(arm, q, step, watch, work):
    """
    Record in `watch` the first step beyond each limit.

    :param arm: ArmModel with n coordinates; q: coordinates, (n,).
    :param work: Workspace, whose twists are those of this step.
    """
    for k in range(watch.body.size):
        i, s, share = watch.body[k], watch.tip[k], 1.0
        first, ny, nz = arm.first[i], arm.count[i, 0], arm.count[i, 1]
        if arm.kind[i] == SLIDING:  # both limits are in proportion to the free length
            share = free_length(arm, i, q) / arm.slide_data[i, LENGTH]
        if watch.bent[k] < 0:
            v = w = 0.0
            for m in range(ny):
                v += arm.station_shape[s, m] * q[first + m]
            for m in range(ny, ny + nz):
                w += arm.station_shape[s, m] * q[first + m]
            if arm.kind[i] == ELASTIC:
                v, w = tip_distance(arm, i, s, q), 0.0
            if watch.loaded[k] < 0 and (
                abs(v) > share * watch.lateral[k, 0] or abs(w) > share * watch.lateral[k, 1]
            ):
                watch.loaded[k] = step
            bend = share * watch.bend[k]
            if v * v + w * w > bend * bend:
                watch.bent[k] = step
        if watch.turned[k] < 0:
            x, y, z = work.V[i, 0], work.V[i, 1], work.V[i, 2]
            if x * x + y * y + z * z > watch.turn[k] * watch.turn[k]:
                watch.turned[k] = step


@compiled
def tip_distance(arm, i, s, q):
    """Distance of station s on elastic body i from its undeformed position, linear [m]."""
    first, x, y, z = arm.first[i], 0.0, 0.0, 0.0
    for k in range(arm.modes[i]):
        x += arm.station_U[s, k, 3] * q[first + k]
        y += arm.station_U[s, k, 4] * q[first + k]
        z += arm.station_U[s, k, 5] * q[first + k]
    return sqrt(x * x + y * y + z * z)


@compiled
def note_coarseness(arm, rate, previous_qdd, qdd, substep, watch):
    """
    Record whether the velocities oscillate within a few substeps (T47).

    :param rate: velocities at the middle of a substep, (n,); substep: its length [s].
    :param previous_qdd: accelerations of the previous substep, (n,); qdd: of this one, (n,).
    """
    change = speed = 0.0
    for k in range(rate.size):
        increment = substep * (qdd[k] - previous_qdd[k])
        change += arm.inertia_scale[k] * increment * increment
        speed += arm.inertia_scale[k] * (rate[k] * rate[k] + REST_VELOCITY * REST_VELOCITY)
    coarse = 1.0 if change > MAX_RELATIVE_CHANGE * MAX_RELATIVE_CHANGE * speed else 0.0
    decay = 1.0 - 1.0 / AVERAGING_STEPS
    watch.coarse[0] = decay * watch.coarse[0] + coarse * speed
    watch.coarse[1] = decay * watch.coarse[1] + speed
    watch.coarse[2] = decay * watch.coarse[2] + coarse


@compiled
def count_events(watch):
    """Number of events so far that `report_lines` describes."""
    events = 0
    if watch.hard[1] > 0:
        events += 1
    if watch.hard[0] >= MIN_SUBDIVIDED_STEPS:
        events += 1
    if watch.coarse[2] >= watch.enough[0] and watch.coarse[0] > 0.5 * watch.coarse[1]:
        events += 1
    events += int(watch.singular[0] >= 0) + int(watch.pierced[0] >= 0)
    for k in range(watch.body.size):
        events += int(watch.bent[k] >= 0) + int(watch.turned[k] >= 0)
        events += int(watch.loaded[k] >= 0)
    return events


def report_lines(
    arm: ArmModel,
    settings: SimulationSettings,
    watch: Watch,
    reported: set,
    time_of: Callable[[int], float],
) -> Iterator[str]:
    """
    Yield a line for each new event of the last steps.

    :param reported: events that have been reported already; added to.
    :param time_of: function from a step to its time [s].
    """
    if watch.hard[1] and 'hard' not in reported:
        reported.add('hard')
        yield (
            f'the step at {time_of(watch.hard[2]):.4g} s did not converge, not in '
            'parts either. Take a shorter time_step or smaller efforts'
        )
    if watch.hard[0] >= MIN_SUBDIVIDED_STEPS and 'parts' not in reported:
        reported.add('parts')
        yield (
            f'{MIN_SUBDIVIDED_STEPS} steps were taken in parts by {time_of(0):.4g} s: time_step = '
            f'{settings.time_step:g} s is too long for this motion. Take a shorter one'
        )
    is_coarse = watch.coarse[0] > 0.5 * watch.coarse[1] and 'coarse' not in reported
    if is_coarse and watch.coarse[2] >= watch.enough[0]:
        watch.enough[0] = _min_coarse_steps(arm, settings.time_step)  # rarely needed
    if is_coarse and watch.coarse[2] >= watch.enough[0]:
        reported.add('coarse')
        yield (
            f'by {time_of(0):.4g} s most of the motion swings in fewer than '
            f'{MIN_STEPS_PER_PERIOD} steps: time_step = {settings.time_step:g} s is too long '
            'to show it. Take a shorter one'
        )
    if watch.singular[0] >= 0 and 'singular' not in reported:
        reported.add('singular')
        meaning = (
            'the motors do not determine the passive joints there. Keep away from it'
            if arm.actuated.any()
            else 'they can move in more ways there, and their forces are not unique'
        )
        yield (
            f'the closed loops reach a singular pose at {time_of(watch.singular[0]):.4g} s: '
            f'{meaning}'
        )
    if watch.pierced[0] >= 0 and 'pierced' not in reported:
        reported.add('pierced')
        yield penetration_line(arm, watch, time_of)
    row = 0
    for link, bodies in arm.segments.items():
        for number in range(len(bodies)):
            segment = f', segment {number + 1},' if len(bodies) > 1 else ''
            if watch.bent[row] >= 0 and (row, 'bent') not in reported:
                reported.add((row, 'bent'))
                beam = arm.description.beam(link)
                remedy = 'Divide it into links' if beam.reduced else 'Give it more segments'
                yield (
                    f'link "{link}"{segment} bends by more than '
                    f'{100 * settings.deflection_limit:g} % of its '
                    f'{"free " if beam.guide else ""}length at '
                    f'{time_of(watch.bent[row]):.4g} s. '
                    f'{"Load it less, or extend it less" if beam.guide else remedy}'
                )
            if watch.turned[row] >= 0 and (link, 'turned') not in reported:
                reported.add((link, 'turned'))
                yield (
                    f'link "{link}" turns faster than {watch.turn[row]:.4g} rad/s, '
                    f'{settings.turn_rate_limit:g} of its first natural rate, at '
                    f'{time_of(watch.turned[row]):.4g} s. Take the coupling "shortening"'
                )
            if watch.loaded[row] >= 0 and (row, 'loaded') not in reported:
                reported.add((row, 'loaded'))
                slides = bool(arm.description.beam(link).guide)
                remedy = 'Load it less' if slides else 'Give it twist_coupling="on"'
                yield (
                    f'link "{link}" carries more than {LATERAL_SHARE:g} of its lateral buckling '
                    f'load at {time_of(watch.loaded[row]):.4g} s, and its bending is not coupled '
                    f'with twist. {remedy}'
                )
            row += 1
