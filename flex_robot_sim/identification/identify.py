"""From logs and a description to fitted numbers, their deviations, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Rows
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter1d

from flex_robot_sim.analysis.recorded_vibration import Resonance
from flex_robot_sim.identification import uncertainty
from flex_robot_sim.identification.calibration_priors import KnownNumber, near_known
from flex_robot_sim.identification.fit import Fit, Problem, solve
from flex_robot_sim.identification.identifiability import (
    identifiable_from_covariance,
    identifiable_from_refit,
    squares,
)
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.initial_guess import (
    grown_start,
    horizon_frequency,
    measured_resonances,
    spectral_start,
)
from flex_robot_sim.identification.model_order import best_order, fine_enough
from flex_robot_sim.identification.parameters import Unknown, refuse_twice, unknowns_of
from flex_robot_sim.identification.prediction import Setup, fitting_rate, respond, tight
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError
from flex_robot_sim.util.summary import summarized

HELD_OUT = 0.25         # of every log, at its end, that the fit does not see
ACCEPTED = 0.9          # share of the variance that a good model explains there
FEW_PERIODS = 3.0       # of the slowest resonance, that a log lasts at least
ALIKE = 0.8             # correlation from which efforts are those that a motion needs
TIGHTER = 5.0           # servo that shows them, over the soft one, by frequency
ENOUGH = 15.0           # of a log, to look at them                                         [s]
DEGREES = 180 / np.pi
THAT_MANY = 2.0         # factor within which rates of gyros are taken for degrees
CURRENT = 3.0           # factor by which efforts are off, from which they are none
ROUGH = 1e-3            # of the sum of squares, as long as the model is coarse
FINE_ROUNDS = 3         # of finding weights, in the end
LITTLE = 0.8            # share that the best channel has at least, or the fit begins elsewhere
AT_END = 0.05           # from the factor of a hundred, in its logarithm: a number has fled there
OTHERS = 0.6, 0.8, 1.0, 1.25, 1.6       # times the stiffness
NOTHING_RINGS = 1.0     # frequency for the first horizons then                             [Hz]


class Number(NamedTuple):
    """A number that was looked for."""

    path: str
    unit: str
    before: float
    value: float
    deviation: float        # standard deviation; inf: the log does not tell
    interval: tuple[float, float]       # of 95 %
    is_identifiable: bool
    trades_with: str        # another one, or ''
    hint: str               # what would tell more, or ''


@summarized
@dataclass(frozen=True, eq=False)
class Identification:
    """What came out."""

    numbers: list[Number]
    explained: dict[str, float]             # share of the variance by channel, in the fit
    held_out: dict[str, float]              # of what the fit has not seen and is not noise
    effort_explained: dict[str, float]      # of the motors there, by joint; {} if by motion
    silent: tuple[str, ...]                 # signals there that are covered by noise
    resonances: list[Resonance]             # of the log
    notes: list[str]
    correlations: np.ndarray                # (numbers, numbers)
    measured: list[np.ndarray]              # of the motions held out, (k, c) each
    predicted: list[np.ndarray]
    times: list[np.ndarray]
    channels: tuple[str, ...]
    fit: Fit
    setup: Setup

    @property
    def is_good(self) -> bool:
        """Whether motions that the fit has not seen are explained, as far as they are seen."""
        return bool(self.held_out) and all(share >= ACCEPTED for share in (
            *self.held_out.values(), *self.effort_explained.values()))

    @property
    def values(self) -> dict[str, float]:
        """Numbers that the logs tell, by path."""
        return {number.path: number.value for number in self.numbers if number.is_identifiable}


def identify(setup: Setup, free: Iterable[str] = (), validation: Rows[Sequence] = (),
             watch: Callable[[str], object] = lambda line: None,
             known: Rows[KnownNumber] = ()) -> Identification:
    """
    Fit a Setup to its logs.

    :param free: paths, patterns or groups; none: what the logs may tell.
    :param validation: sequences of other motions; none: the end of each log is held out.
    :param watch: is told what goes on; known: of a calibration, near which numbers stay.
    """
    arm, data = setup.arm(), setup.data
    unknowns = [near_known(one, known) for one in unknowns_of(arm, data, free)]
    refuse_twice(unknowns)
    whole = data.sequences
    if not validation:
        parts = [row.part(0, round((1 - HELD_OUT) * len(row.time))) for row in whole]
    else:
        parts = whole
    problem = Problem(setup, unknowns, sequences=parts)
    refuse_currents(problem)
    refuse_degrees(problem)
    rings = measured_resonances(parts, data.channels)
    notes = [*data.notes]
    slowest = min((one.frequency for one in rings), default=0.0)
    if slowest:
        for row in parts:
            if (row.time[-1] - row.time[0]) * slowest < FEW_PERIODS:
                notes.append(f'{row.name}: holds less than {FEW_PERIODS:g} periods of its '
                             f'slowest resonance, {slowest:.3g} Hz')
    watch('comparing spectra')
    z = spectral_start(problem)
    watch('fitting the beginning')
    z, finer = grown_start(problem, z, horizon_frequency(problem, slowest or NOTHING_RINGS))
    problem, z = _with_order(problem, z, finer)
    watch('fitting')
    fit = _elsewhere(problem, solve(problem, z, rounds=1, tolerance=ROUGH), watch)
    watch('looking how fine the model has to be')
    finer = best_order(problem, fit)
    if finer != problem.finer:
        problem, z = _with_order(problem, fit.z, finer)
        fit = solve(problem, z, rounds=1, most=1)       # slopes alone: the last fit goes on
    problem = fine_enough(problem, fit)
    setup = problem.setup
    watch(f'fitting with {setup.finer} more modes and steps of {setup.time_step:g} s')
    fit = solve(problem, fit.z, fit.deviations, rounds=FINE_ROUNDS)
    spread = _spread(fit, problem)
    lost, refitted, refit_problem, refit_spread = _left_alone(problem, fit, spread, watch)
    numbers = _numbers(unknowns, lost, (fit, spread), (refit_problem, refitted, refit_spread))
    free_count = sum(one.kind != 'offset' for one in refit_problem.unknowns)
    read = refit_problem.read(refit_problem.simulated(refitted.z), refitted.z)
    shares = uncertainty.explained(refit_problem.measured, read)
    held = _held_out(setup, refit_problem, refitted, whole, validation)
    judged, silent = _judged(setup, refit_problem.servo, held, validation or whole)
    if silent:
        notes.append(f'not judged, as noise covers what is there: {", ".join(silent)}')
    return Identification(
        numbers, dict(zip(data.channels, shares.tolist())),
        {name: share for name, share in judged.items() if name in data.channels},
        {name.partition('/')[2]: share for name, share in judged.items()
         if name not in data.channels}, silent, rings, notes,
        refit_spread.correlations[:free_count, :free_count], held.measured, held.predicted,
        held.times, data.channels, refitted, setup)


def _with_order(problem, z, finer):
    """The problem with other shapes, and z there: what begins in motion begins otherwise."""
    if finer == problem.finer:
        return problem, z
    other = Problem(replace(problem.setup, finer=finer), problem.unknowns, problem.servo,
                    problem.sequences)
    start = other.first()
    start[:len(problem.unknowns)] = z[:len(problem.unknowns)]
    return other, z if other.size == problem.size else start


def _elsewhere(problem, fit, watch):
    """The Fit, or a better one from other stiffnesses, where it explains little or has fled."""
    read = problem.read(problem.simulated(fit.z), fit.z)
    low, high = problem.bounds()
    has_fled = any(min(fit.z[k] - low[k], high[k] - fit.z[k]) < AT_END
                   for k, one in enumerate(problem.unknowns) if one.scale == 0.0)
    if uncertainty.explained(problem.measured, read).max() > LITTLE and not has_fled:
        return fit
    stiff = [k for k, one in enumerate(problem.unknowns)
             if one.kind == 'stiffness' and one.scale == 0.0]
    for factor in OTHERS if stiff else ():
        watch(f'fitting from {factor:g} of the stiffness')
        z = problem.first()
        z[stiff] += np.log(factor)
        try:
            other = solve(problem, z, fit.deviations, rounds=1, tolerance=ROUGH)
        except (FlexRobotSimError, np.linalg.LinAlgError):
            continue
        # by the same measure
        cost = squares(problem, other.z, fit.deviations)
        if cost < squares(problem, fit.z, fit.deviations):
            fit = other
    return fit


def _spread(fit, problem):
    return uncertainty.uncertainty(fit, [len(row.time) for row in problem.sequences])


def _left_alone(problem, fit, spread, watch):
    """Numbers that the log does not tell, and Fit, Problem and Uncertainty of the others."""
    unknowns, lost = problem.unknowns, []
    refitted, refit_problem, refit_spread = fit, problem, spread
    for _ in range(2):
        told = identifiable_from_covariance(refit_problem, refitted, refit_spread)
        if not lost:
            told = identifiable_from_refit(refit_problem, refitted, refit_spread, told)
        vague = [one for one, is_identifiable in zip(refit_problem.unknowns, told)
                 if not is_identifiable and one.kind != 'offset'
                 and (not lost or one.kind == 'gain')]
        # a gauge that is not told apart from masses may be told by those described
        lost = lost + ([one for one in vague if one.kind != 'gain'] or vague)
        if not vague or len(lost) == sum(one.kind != 'offset' for one in unknowns):
            break
        watch('fitting without ' + ', '.join(one.path for one in lost))
        kept = [k for k, one in enumerate(unknowns) if one not in lost]
        refit_problem = Problem(problem.setup, [unknowns[k] for k in kept], problem.servo,
                                problem.sequences)
        keep = kept + list(range(len(unknowns), problem.size))
        refitted = solve(refit_problem, fit.z[keep])
        refit_spread = _spread(refitted, refit_problem)
    return lost, refitted, refit_problem, refit_spread


def _numbers(unknowns, lost, first, last):
    """Numbers, told or not, in the order of the unknowns."""
    fit, spread = first
    problem, refit, refit_spread = last
    rows = {one.path: k for k, one in enumerate(problem.unknowns)}
    out = []
    for k, one in enumerate(unknowns):
        if one.kind == 'offset':
            continue
        told = one not in lost and one.path in rows
        z, deviation, row = ((refit.z[rows[one.path]], refit_spread.deviations[rows[one.path]],
                              rows[one.path]) if told else (fit.z[k], spread.deviations[k], k))
        among = problem.unknowns if told else unknowns
        which = (refit_spread if told else spread).correlations
        other = uncertainty.trading(which, row, len(among))
        half = (refit_spread if told else spread).factor[row] * deviation
        with np.errstate(over='ignore'):
            interval = one.value(z - half), one.value(z + half)
        value = one.value(z)
        out.append(Number(
            one.path, one.unit, one.start, value if told else one.start,
            float(deviation * abs(one.slope(z))), interval, told,
            among[other].path if other is not None else '',
            '' if told else uncertainty.HINTS.get(_kind(one), '')))
    return out


def _kind(unknown):
    is_imu = unknown.kind == 'gain' and imu_channel(unknown.path.rpartition('.')[0])
    return 'imu' if is_imu else unknown.kind


class _HeldOut(NamedTuple):
    """Tables of motions that the fit has not seen, one of each."""

    measured: list[np.ndarray]
    predicted: list[np.ndarray]
    times: list[np.ndarray]
    pulls: list[np.ndarray]
    efforts: list[np.ndarray]


def _held_out(setup, problem, fit, whole, validation):
    """What model and log say where the fit has not looked."""
    values = problem.values(fit.z)
    arm = setup.arm({path: value for path, value in values.items() if not _is_signal(
        problem.unknowns, path)})
    delay = values.get('delay', 0.0)
    out = _HeldOut([], [], [], [], [])
    for row, sequence in enumerate(validation or whole):
        start = None if validation else problem._start(fit.z, row)
        response = respond(setup, problem.servo, arm, sequence, delay, start)
        begin = 0 if validation else len(problem.sequences[row].time)
        for table, values_of in zip(out, (
                sequence.measured, problem.read([response.channels], fit.z), sequence.time,
                response.pull, sequence.efforts)):
            table.append(values_of[begin:])
    return out


def _judged(setup, servo, held, sequences):
    """Shares by signal that are explained; and the signals that are covered by noise."""
    data, names = setup.data, setup.arm().joint_names
    measured, predicted = np.concatenate(held.measured), np.concatenate(held.predicted)
    filters, period = setup.filters or {}, sequences[0].period

    def passes(frequency):
        return np.column_stack([filters[name].passes(frequency / period) if name in filters
                                else np.ones(len(frequency)) for name in data.channels])

    noise = uncertainty.noise_floor(held.measured, passes)
    share = uncertainty.explainable(
        (measured - predicted).var(axis=0), measured.var(axis=0), predicted.var(axis=0), noise,
        np.concatenate([row.measured for row in sequences]).var(axis=0), len(measured))
    found = dict(zip(data.channels, zip(*share)))
    if not setup.leads:
        pull, effort = np.concatenate(held.pulls), np.concatenate(held.efforts)
        seen = [data.channels.index(f'{side}/{name}') if side else 0
                for name, side in zip(names, data.seen)]
        # of two neighbours, whose noise goes through as by a spring
        of_servo = 0.5 * servo.gains()[0]**2 * noise[seen]
        share = uncertainty.explainable(
            (pull**2).mean(axis=0), effort.var(axis=0), 0.0 * servo.damping,
            of_servo + uncertainty.noise_floor(held.efforts),
            np.concatenate([row.efforts for row in sequences]).var(axis=0), len(pull))
        found.update({f'effort/{name}': one for name, one, side in zip(
            names, zip(*share), data.seen) if side and effort[:, names.index(name)].any()})
    silent = tuple(name for name, (_, is_seen) in found.items() if not is_seen)
    return {name: float(one) for name, (one, is_seen) in found.items() if is_seen}, silent


def _is_signal(unknowns: Rows[Unknown], path: str) -> bool:
    return any(one.path == path and one.kind in ('gain', 'offset', 'delay') for one in unknowns)


def refuse_currents(problem: Problem) -> None:
    """Refuse efforts that explain the motion only if they are multiplied: currents, or percent."""
    setup = problem.setup
    if setup.leads:
        return
    arm, stiff = setup.arm(), TIGHTER * fitting_rate(problem.servo)
    # a tight servo alone shows what the motion needs, as far as the model is right
    servo = tight(problem.servo, stiff)
    needed, logged = [], []
    for row in problem.sequences:
        short = row.part(0, max(4, round(ENOUGH / row.period)))
        alone = short._replace(efforts=np.zeros_like(short.efforts))
        width = max(1, round(0.5 / stiff / row.period))
        needed.append(uniform_filter1d(respond(setup, servo, arm, alone).pull, width, axis=0))
        logged.append(uniform_filter1d(short.efforts, width, axis=0))
    for j, name in enumerate(arm.joint_names):
        need, own = (np.concatenate(rows)[:, j] for rows in (needed, logged))
        need, own = need - need.mean(), own - own.mean()
        size = own.std() * need.std()
        if not 0.0 < size < np.inf:
            continue
        alike, factor = (own * need).mean() / size, need.std() / own.std()
        if alike < -ALIKE:
            raise UsageError(f'{problem.sequences[0].name}: "effort/{name}" has the wrong sign. '
                             f'Give --signal effort/{name}=COLUMN*-1.')
        if alike > ALIKE and not 1 / CURRENT < factor < CURRENT:
            raise UsageError(f'{problem.sequences[0].name}: the motion of "{name}" needs '
                             f'{factor:.3g} times the efforts that were logged: a current, or '
                             f'another unit? Give --signal effort/{name}=COLUMN*FACTOR [N m], or '
                             '--by motion.')


def refuse_degrees(problem: Problem) -> None:
    """Refuse gyros that turn as many times faster than the model as a radian has degrees."""
    setup = problem.setup
    columns: dict[str, list[int]] = {}
    for k, name in enumerate(setup.data.channels):
        one = imu_channel(name)
        if one and one.kind == 'gyro':
            columns.setdefault(one.link, []).append(k)
    if not columns:
        return
    arm, row = setup.arm(), problem.sequences[0]
    row = row.part(0, max(4, round(ENOUGH / row.period)))
    read = respond(setup, problem.servo, arm, row).channels
    for link, own in columns.items():
        size, wanted = (np.sqrt(table[:, own].var(axis=0).sum()) for table in (row.measured, read))
        if wanted * DEGREES / THAT_MANY < size < wanted * DEGREES * THAT_MANY:
            raise UsageError(f'{row.name}: the gyro on "{link}" turns {size / wanted:.3g} times '
                             'as fast as the arm: these are degrees. Give --signal '
                             f'gyro/{link}/x=COLUMN*deg and so on.')
