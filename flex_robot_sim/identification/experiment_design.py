"""
What a motion would tell: the information of Fisher, and the motion that has most of it.

Slopes are those of the fit, of the full nonlinear arm along the trial; noise is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.identification.excitation_trajectories import (
    Course,
    course,
    lines,
    moving,
    multisine,
)
from flex_robot_sim.identification.fit import Problem
from flex_robot_sim.identification.log_file import Log
from flex_robot_sim.identification.parameters import Unknown, unknowns_of
from flex_robot_sim.identification.prediction import Setup, soft_servo
from flex_robot_sim.identification.sequences import Measured
from flex_robot_sim.identification.simulated_experiment import (
    Trial,
    known_to,
    try_out,
    within_limits,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.summary import summarized

NOISE = {'position': 1e-4, 'motor': 1e-4, 'tip': 1e-4, 'gauge': 5e-4,   # [rad, m; 1/m]
         'gyro': 2e-3, 'acceleration': 2e-2}                            # [rad/s, m/s2]
WEAKEST = 1e-10         # least singular value over the largest, that tells anything
ENOUGH = 6.0            # of a motion, to compare poses                                     [s]
FINALISTS = 2           # sets of phases, of which the information is found
ROUNDS = 600            # of finding the shares of lines
WORST = 4               # power of the variances of which a design makes the sum least
UNTOLD = 1e-9           # eigenvalue over the largest, that all lines together must have to tell
LOWEST = 0.2            # frequency of a motion [Hz]
MODES = 4               # of the arm, that a motion is to reach
BEYOND = 1.3            # over the frequency of the last of them, to which motions go
MOST_SHARE = 0.1        # of the rate of samples, likewise


def with_noise(log: Log, seed: int) -> Log:
    """Return a Log of a Trial as its sensors would have it: with the noise that is assumed."""
    rng = np.random.default_rng(seed)
    return log._replace(columns={
        name: column if name.startswith('effort/') else column._replace(
            values=column.values + _noise(name) * rng.standard_normal(column.values.size))
        for name, column in log.columns.items()})


def _noise(channel):
    """Deviation of a sensor; the flex sensors of links have names of their own."""
    return NOISE.get(channel.partition('/')[0], NOISE['gauge'])


@summarized
class Information(NamedTuple):
    """What a trial tells of each unknown."""

    unknowns: list[Unknown]
    deviations: np.ndarray      # (p,)  of z, for white noise; inf: not told
    matrix: np.ndarray          # (p, p)    the information itself (I16)

    @property
    def size(self) -> float:
        """Logarithm of its determinant."""
        return float(np.log(_lifted(self.matrix)[0]).sum())

    @property
    def worst(self) -> tuple[str, float]:
        """The number that is told least, and its deviation."""
        k = int(np.argmax(self.deviations))
        return self.unknowns[k].path, float(self.deviations[k])


def information(arm: ArmModel, trial: Trial, free: Iterable[str] = ()) -> Information:
    """Return the Information of a Trial about what is free, see `unknowns_of`."""
    unknowns, J = slopes_of(arm, trial, free)
    J = J.reshape(-1, len(unknowns))
    wanted = [k for k, one in enumerate(unknowns) if one.kind != 'offset']
    others = [k for k in range(len(unknowns)) if k not in wanted]
    F = J.T @ J
    if others:      # zeros of gauges are found along with the rest
        F = F[np.ix_(wanted, wanted)] - F[np.ix_(wanted, others)] @ np.linalg.pinv(
            F[np.ix_(others, others)]) @ F[np.ix_(others, wanted)]
    values, vectors = _lifted(F)
    variances = (vectors**2 / values).sum(axis=1)
    return Information([unknowns[k] for k in wanted], np.sqrt(variances), F)


def slopes_of(arm: ArmModel, trial: Trial,
              free: Iterable[str] = ()) -> tuple[list[Unknown], np.ndarray]:
    """Return what is free, and how a Trial depends on it, (k, c, p), over the noise."""
    channels, seen = trial.channels, known_to(arm)[1]
    data = Measured([trial.sequence], channels, seen, True, [])
    setup = Setup(arm.description, data, arm.coupling, tuple(-arm.arrays.base_acceleration[3:]),
                  finer=0, time_step=2e-3)
    unknowns = unknowns_of(arm, data, free)
    problem = Problem(setup, unknowns, soft_servo(setup),
                      starts=[np.zeros((2 * arm.size, 0))])
    noise = np.array([_noise(name) for name in channels])
    J = problem.slopes(problem.initial_point()) / noise[:, None]
    if not np.isfinite(J).all():
        raise UsageError('the arm is lost on the way of this motion. Give another --pose.')
    return unknowns, J


def by_lines(arm: ArmModel, trial: Trial, joint: int, frequencies: np.ndarray,
             free: Iterable[str] = (), for_energy: bool = False
             ) -> tuple[np.ndarray, np.ndarray]:
    """
    Return what each line of a series tells by itself for what it costs, and its size for cost one.

    About a pose an arm is nearly linear: what one joint does at one frequency comes back at that
    frequency, so that one trial of all lines shows each of them.

    :param joint: that moves, by sines of these frequencies (m,) [Hz].
    :param for_energy: whether efforts cost alone, and not the use of any limit.
    :returns: matrices of information (m, p, p); accelerations (m,).
    """
    unknowns, J = slopes_of(arm, trial, free)
    time = trial.course.time
    J = J[:, :, [k for k, one in enumerate(unknowns) if one.kind != 'offset']]
    turn = np.hanning(len(time)) * np.exp(-2j * np.pi * np.outer(frequencies, time))
    told = np.tensordot(turn, J, 1)
    matrices = np.real(np.einsum('mcp,mcq->mpq', told.conj(), told))
    uses = trial.uses[:, -len(arm.joint_names):] if for_energy else trial.uses
    use = np.sum(np.abs(turn @ uses)**2, axis=1) * (time[1] - time[0])
    way = np.abs(turn @ (trial.course.position[:, joint] - trial.course.pose[joint]))
    root = np.sqrt(np.maximum(use, 1e-300))
    return matrices / root[:, None, None]**2, way * (2 * np.pi * frequencies)**2 / root


def _lifted(F):
    """Eigenvalues, none of them zero, and vectors."""
    values, vectors = np.linalg.eigh(F)
    return np.maximum(values, WEAKEST * max(values.max(initial=0.0), 1e-300)), vectors


class Design(NamedTuple):
    """An experiment."""

    trial: Trial
    information: Information
    tried: int                  # motions that were compared

    def rank(self, for_energy: bool = False) -> tuple[int, float]:
        """
        Return what is made least: numbers that are not told, then the spread of the others.

        :param for_energy: whether as if the motion were made as large as energy one makes it.
        """
        size = self.trial.energy**0.5 if for_energy else 1.0
        deviations = size * self.information.deviations
        told = deviations[deviations < 1.0]
        return len(deviations) - len(told), float(np.sum(told**(2 * WORST)))


def poses_of(arm: ArmModel, pose: np.ndarray | None) -> list[np.ndarray]:
    """Return poses about which to move: the one that is given, or some all over the range."""
    if pose is not None:
        return [np.asarray(pose, float)]
    lower = np.where(np.isfinite(arm.arrays.lower), arm.arrays.lower, -1.0)
    upper = np.where(np.isfinite(arm.arrays.upper), arm.arrays.upper, 1.0)
    middle, half = 0.5 * (lower + upper), np.minimum(0.5 * (upper - lower), 1.0)
    turns = np.where(np.arange(len(middle)) % 2, -1.0, 1.0)
    return [middle, middle + 0.5 * half * turns, middle - 0.5 * half]


def rings_of(arm: ArmModel, pose: np.ndarray) -> np.ndarray:
    """Return frequencies of the arm with its drives locked [Hz]."""
    if arm.size == len(arm.joint_names):
        return np.zeros(0)
    found = modes(arm, pose, 'locked').frequencies
    return found[found > 0.0]


def band_of(arm: ArmModel, pose: np.ndarray, period: float) -> tuple[float, float]:
    """Return the lowest and the highest frequency at which an arm is worth moving [Hz]."""
    rings = rings_of(arm, pose)
    high = BEYOND * rings[:MODES].max(initial=2.0 * LOWEST)
    return LOWEST, float(min(max(high, 5 * LOWEST), MOST_SHARE / period))


def best_shares(matrices: np.ndarray, power: int = WORST) -> np.ndarray:
    """
    Return shares (m,) of one cost for m motions that tell the worst number best (I17).

    :param matrices: their information for the same cost (m, p, p); they add up.
    :param power: of the variances, of which the sum is made least.
    """
    shares = np.full(len(matrices), 1 / len(matrices))
    size = np.sqrt(np.maximum(np.einsum('mpp->p', matrices), 1e-300))
    values, vectors = np.linalg.eigh(np.mean(matrices / np.outer(size, size), axis=0))
    vectors = vectors[:, values > UNTOLD * values.max()]        # what nothing tells has no say
    rows = vectors / size[:, None]
    matrices = np.einsum('pa,mpq,qb->mab', rows, matrices, rows)
    for _ in range(ROUNDS):
        told = rows @ np.linalg.pinv(np.tensordot(shares, matrices, 1), hermitian=True)
        variances = np.einsum('pa,pa->p', told, rows)
        weights = (variances / variances.max())**(power - 1)
        gains = np.einsum('pa,p,pb,mab->m', told, weights, told, matrices, optimize=True)
        shares = shares * np.maximum(gains, 0.0)**(1 / (power + 1))
        shares /= shares.sum()
    return shares


def designed(arm: ArmModel, kind: str, seconds: float, period: float,
             free: Iterable[str] = (), pose: np.ndarray | None = None, tries: int = 8,
             seed: int = 0, for_energy: bool = False,
             watch: Callable[[int, float], object] = lambda count, size: None,
             signals: Iterable[str] = ()) -> Design:
    """
    Return the Design of a kind that tells most of what is free.

    :param tries: sets of phases of a fourier that are compared.
    :param for_energy: whether most is told for the energy, and not within the limits.
    :param signals: beyond those of joints and flex sensors, see `known_to`.
    """
    signals = [*signals]
    free, tried, best = [*free], 0, None
    complaint: FlexRobotSimError | None = None

    def attempt(plan: Course) -> Trial | None:
        nonlocal tried, complaint
        tried += 1
        try:
            return within_limits(arm, plan, signals=signals)
        except FlexRobotSimError as error:
            complaint = error
            return None

    def told_by(trial: Trial | None) -> Design | None:
        nonlocal complaint
        if trial is None:
            return None
        try:
            found = Design(trial, information(arm, trial, free), tried)
        except FlexRobotSimError as error:
            complaint = error
            return None
        watch(tried, found.information.size)
        return found

    def better(one: Design | None, other: Design | None) -> Design | None:
        if one is None or other is None:
            return one or other
        return other if other.rank(for_energy) < one.rank(for_energy) else one

    def plan_of(place: np.ndarray, length: float, coefficients: np.ndarray | None = None
                ) -> Course:
        return course(kind, place, length, band_of(arm, place, period), period, coefficients,
                      rings_of(arm, place))

    places = poses_of(arm, pose)
    if len(places) > 1 and seconds > ENOUGH:
        # which pose tells most is seen in a shorter motion
        for place in places:
            best = better(best, told_by(attempt(plan_of(place, ENOUGH))))
        places, best = [best.trial.course.pose] if best else places, None
    for place in places:
        best = better(best, told_by(attempt(plan_of(place, seconds))))
    if best is None:
        raise complaint or UsageError('there is nothing to move.')
    if kind == 'fourier':
        place, joints = best.trial.course.pose, len(arm.joint_names)
        frequencies = lines(moving(seconds), band_of(arm, place, period), rings_of(arm, place))
        sizes, matrices = np.zeros((joints, len(frequencies))), []
        p = len(best.information.unknowns)
        for j in range(joints):
            alone = np.zeros((joints, len(frequencies), 2))
            alone[j] = multisine(frequencies, joints)[j]
            trial = attempt(plan_of(place, seconds, alone))
            found, sizes[j] = (np.zeros((len(frequencies), p, p)), 0.0) if trial is None else (
                by_lines(arm, trial, j, frequencies, free, for_energy))
            matrices.append(found)
        shares = best_shares(np.concatenate(matrices)).reshape(sizes.shape)
        random, now = np.random.default_rng(seed), multisine(frequencies, joints)
        now = now * (sizes * np.sqrt(shares))[..., None]
        trials = []
        for _ in range(max(tries, 1)):      # phases: how much fits between the limits
            trials.append(attempt(plan_of(place, seconds, now)))
            turn = random.uniform(0, 2 * np.pi, sizes.shape)
            size = np.hypot(*np.moveaxis(now, -1, 0))
            now = np.stack([size * np.cos(turn), size * np.sin(turn)], axis=-1)
        # of the same shares, more energy tells more
        kept = sorted([trial for trial in trials if trial], key=lambda one: -one.energy)
        for trial in kept[:FINALISTS]:
            best = better(best, told_by(trial))
    assert best is not None
    return best._replace(tried=tried)


def smaller(arm: ArmModel, design: Design, size: float, free: Iterable[str] = ()) -> Design:
    """Return a Design with all ways from its pose times a size."""
    trial = try_out(arm, design.trial.course.scaled(size), signals=design.trial.channels)
    return Design(trial, information(arm, trial, free), design.tried)
