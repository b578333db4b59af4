"""Identification: parameters from logs, their standard deviations, and a validation."""

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Rows
from dataclasses import replace

import numpy as np

from flex_robot_sim.identification import uncertainty
from flex_robot_sim.identification.calibration_priors import KnownNumber, near_known
from flex_robot_sim.identification.effort_scale import scale_lines
from flex_robot_sim.identification.equation_error import regression_start
from flex_robot_sim.identification.fit import COARSE_TOLERANCE, Problem, initial_deviations, solve
from flex_robot_sim.identification.gauge_trial import with_plausible_gauges
from flex_robot_sim.identification.gauss_newton import at_root
from flex_robot_sim.identification.identifiability import (
    identifiable_from_covariance,
    identifiable_from_refit,
    robust_cost,
)
from flex_robot_sim.identification.identification import (
    Identification,
    ParameterEstimate,
    min_explained_variance,
)
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.initial_guess import (
    horizon_start,
    measured_resonances,
    slowest_frequency,
    spectral_start,
)
from flex_robot_sim.identification.large_bending import (
    large_bending,
    with_bending_bias,
    with_segments,
)
from flex_robot_sim.identification.log_fits import compare_logs
from flex_robot_sim.identification.long_fit import (
    MIN_LONG_ROWS,
    LongFit,
    beginnings,
    make_long_fit,
    thinning_line,
)
from flex_robot_sim.identification.long_step import step_notes
from flex_robot_sim.identification.model_order import best_order, with_order, with_sufficient_step
from flex_robot_sim.identification.parameters import refuse_twice, unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.prior_widths import with_prior_widths
from flex_robot_sim.identification.restarts import (
    BOUND_DISTANCE,
    from_fitted_stiffness,
    with_restarts,
)
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.identification.thinning import largest_factor
from flex_robot_sim.identification.time_left import stage
from flex_robot_sim.identification.unit_checks import refuse_currents, refuse_degrees
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.identification.validation import (
    explained,
    misfit_notes,
    relative_errors,
    validate,
    validation_tables,
)

HELD_OUT_RATIO = 0.25  # share of each log, at its end, for validation
MIN_PERIODS = 3.0  # periods of the slowest resonance in a log
START_TOLERANCE = 1e-5  # the same, of the beginning of a long log
START_EVALUATIONS = 4  # of that
FINAL_WEIGHTING_ROUNDS = 3  # iterations of the channel weights in the last fit
DEFAULT_FREQUENCY_HZ = 1.0  # for the first horizons of a log without resonances


def identify(
    setup: Setup,
    free: Iterable[str] = (),
    validation: Rows[Sequence] = (),
    watch: Callable[[str], object] = lambda line: None,
    known: Rows[KnownNumber] = (),
    long_rows: int = MIN_LONG_ROWS,
) -> Identification:
    """
    Fit a Setup to its logs.

    :param free: paths, patterns or groups; none: those that logs usually determine.
    :param validation: sequences of other motions; none: the end of each log is held out.
    :param watch: receives progress messages; known: calibrated values that bound parameters.
    :param long_rows: samples above which the fit is that of `long_fit`.
    """
    free = [*free]
    setup, validation, gauge_notes = with_plausible_gauges(setup, validation, free)
    arm, data = setup.arm(), setup.data
    unknowns = [near_known(unknown, known) for unknown in unknowns_of(arm, data, free)]
    refuse_twice(unknowns)
    all_sequences = data.sequences
    if not validation:
        fitted_sequences = [
            sequence.part(0, round((1 - HELD_OUT_RATIO) * len(sequence.time)))
            for sequence in all_sequences
        ]
    else:
        fitted_sequences = all_sequences
    is_long = sum(len(row.time) for row in fitted_sequences) > long_rows
    first_sequences = beginnings(fitted_sequences) if is_long else fitted_sequences
    problem = Problem(setup, unknowns, sequences=first_sequences)
    refuse_currents(problem)
    refuse_degrees(problem)
    log_resonances = measured_resonances(first_sequences, data.channels)
    notes = [*data.notes, *gauge_notes]
    slowest = min((unknown.frequency for unknown in log_resonances), default=0.0)
    if slowest:
        for sequence in fitted_sequences:
            if (sequence.time[-1] - sequence.time[0]) * slowest < MIN_PERIODS:
                notes.append(
                    f'{sequence.name}: holds less than {MIN_PERIODS:g} periods of its '
                    f'slowest resonance, {slowest:.3g} Hz'
                )
    watch('comparing spectra')
    z = _with_regression(problem, spectral_start(problem))
    watch('fitting the beginning')
    z, finer = horizon_start(
        problem, z, slowest_frequency(problem, slowest or DEFAULT_FREQUENCY_HZ)
    )
    problem, z = with_order(problem, z, finer)
    fit = solve(
        problem, z, rounds=1, tolerance=COARSE_TOLERANCE, watch=stage(watch, 'fitting coarsely')
    )
    fit = from_fitted_stiffness(problem, fit, watch)
    problem, fit = with_restarts(problem, fit, watch)
    watch('looking how fine the model has to be')
    finer = best_order(problem, fit)
    if finer != problem.finer:
        problem, z = with_order(problem, fit.z, finer)
        fit = solve(problem, z, rounds=1, max_evaluations=1)  # slopes for the last fit
    has_given_step = setup.time_step is not None
    bending = large_bending(problem, fit)
    problem = with_sufficient_step(problem, fit)
    if bending.finding == 'needed':
        problem = with_segments(problem, bending.links)
    notes += bending.notes
    setup = problem.setup
    watch_fit = stage(
        watch, f'fitting with {setup.finer} more modes and steps of {setup.time_step:g} s'
    )
    final: Problem | LongFit = problem
    if is_long:
        fit = solve(
            problem, fit.z, fit.deviations, 1, START_EVALUATIONS, START_TOLERANCE, watch_fit
        )
        period = max(row.period for row in fitted_sequences)
        every = largest_factor(period, max([one.frequency for one in log_resonances], default=0.0))
        notes.append(thinning_line(fitted_sequences, every))
        watch(notes[-1])
        final = make_long_fit(problem, fit.z, fitted_sequences, all_sequences, every)
        fit, uncertainties = final.solve(fit.z, stage(watch, 'fitting all samples'))
        if not has_given_step:
            notes += step_notes(final, fit, uncertainties)
    else:
        problem.forget(motions=False)  # slopes of a point farther away bias the estimates
        fit = solve(problem, fit.z, fit.deviations, rounds=FINAL_WEIGHTING_ROUNDS, watch=watch_fit)
        fit = at_root(problem, fit)
        uncertainties = _uncertainty(fit, problem)
    unidentifiable, refit, last, refit_uncertainties = _without_unidentifiable(
        final, fit, uncertainties, watch
    )
    compared = compare_logs(last, refit, refit_uncertainties, watch)
    refit_uncertainties, notes = compared.uncertainties, notes + compared.notes
    refit_problem = last.problem if isinstance(last, LongFit) else last
    refit_uncertainties = with_bending_bias(
        refit_problem, refit, refit_uncertainties, bending, first_sequences
    )
    numbers = _numbers(
        unknowns, unidentifiable, (fit, uncertainties), (refit_problem, refit, refit_uncertainties)
    )
    free_count = sum(unknown.kind != 'offset' for unknown in refit_problem.unknowns)
    responses = last.last_responses if isinstance(last, LongFit) else None
    fitted_data, validation_data = validation_tables(
        setup, refit_problem, refit, all_sequences, validation, responses
    )
    if isinstance(last, LongFit):
        last.forget()
    explained_by_channel = explained(refit_problem.measured, np.concatenate(fitted_data.predicted))
    fitted = validate(setup, refit_problem.servo, fitted_data, all_sequences)
    checked = validate(setup, refit_problem.servo, validation_data, validation or all_sequences)
    explained_by_signal = checked.shares
    notes += misfit_notes(fitted.misfits)
    if checked.silent:
        notes.append(
            f'not validated, as they do not exceed their noise: {", ".join(checked.silent)}'
        )
    found = Identification(
        numbers,
        dict(zip(data.channels, explained_by_channel.tolist())),
        {name: share for name, share in explained_by_signal.items() if name in data.channels},
        {
            name.partition('/')[2]: share
            for name, share in explained_by_signal.items()
            if name not in data.channels
        },
        checked.silent,
        log_resonances,
        notes,
        refit_uncertainties.correlations[:free_count, :free_count],
        validation_data.measured,
        validation_data.predicted,
        validation_data.times,
        data.channels,
        refit,
        setup,
        {name: share for name, share in fitted.shares.items() if name in data.channels},
        _relative_errors(data.channels, fitted_data, validation_data),
        compared.estimates,
        _objections(refit_problem, refit, fitted, checked),
    )
    if not found.is_good:
        return found
    notes, objections = scale_lines(refit_problem, refit, first_sequences, watch)
    return replace(found, notes=[*found.notes, *notes], objections=objections)


def _with_regression(problem, z):
    """Return z with start values by regression of the joints whose error they reduce."""
    arm = problem.setup.arm(problem.arm_values(z))
    found = regression_start(problem.setup, arm, problem.unknowns, problem.sequences)
    deviations = initial_deviations(problem)
    cost = robust_cost(problem, z, deviations) if found else 0.0
    for joint in dict.fromkeys(path.rpartition('.')[0] for path in found):
        changed = z.copy()
        for k, unknown in enumerate(problem.unknowns):
            if unknown.path in found and unknown.path.rpartition('.')[0] == joint:
                changed[k] = unknown.normalized(found[unknown.path])
        changed_cost = robust_cost(problem, changed, deviations)
        if changed_cost < cost:
            z, cost = changed, changed_cost
    return z


def _relative_errors(channels, fitted_data, validation_data):
    """Return the RMS error over the RMS signal by log, the fit first, and by channel."""
    tables = {'fit': (np.concatenate(fitted_data.measured), np.concatenate(fitted_data.predicted))}
    for path in dict.fromkeys(validation_data.names):
        rows = [k for k, name in enumerate(validation_data.names) if name == path]
        tables[f'validation {path}'] = (
            np.concatenate([validation_data.measured[k] for k in rows]),
            np.concatenate([validation_data.predicted[k] for k in rows]),
        )
    return {
        name: dict(zip(channels, relative_errors(measured, predicted).tolist()))
        for name, (measured, predicted) in tables.items()
    }


def _objections(problem, fit, fitted, checked):
    """Return the reasons, one line each, for which the model cannot be called good."""
    lines = []
    for k, unknown in enumerate(problem.unknowns):
        low, high = unknown.bounds
        if unknown.kind == 'delay' and min(fit.z[k] - low, high - fit.z[k]) < BOUND_DISTANCE:
            lines.append(
                f'the delay ends at its bound of {unknown.value(fit.z[k]):.3g} s. Check the '
                'clocks of the log and --filter'
            )
    poor = [
        name
        for name in dict.fromkeys([*fitted.without_noise, *checked.without_noise])
        if min(fitted.shares.get(name, 1.0), checked.shares.get(name, 1.0))
        < min_explained_variance(name)
    ]
    if poor:
        lines.append(
            f'the verdict on {", ".join(poor)} is withheld: behind its low-pass no band is left '
            'that shows the noise. Record with a higher cutoff, or check --filter'
        )
    return lines


def _uncertainty(fit, problem):
    return uncertainty.uncertainty(fit, [len(row.time) for row in problem.sequences])


def _without_unidentifiable(problem, fit, uncertainties, watch):
    """Return the unidentifiable unknowns, and Fit, Problem and Uncertainty without them."""
    unknowns = problem.unknowns
    unidentifiable: list[Unknown] = []
    refit, refit_problem, refit_uncertainties = fit, problem, uncertainties
    for _ in range(2):
        is_identified = identifiable_from_covariance(refit_problem, refit, refit_uncertainties)
        if not unidentifiable:
            is_identified = identifiable_from_refit(
                refit_problem, refit, refit_uncertainties, is_identified, watch
            )
        candidates = [
            unknown
            for unknown, identified in zip(refit_problem.unknowns, is_identified)
            if not identified
            and unknown.kind != 'offset'
            and (not unidentifiable or unknown.kind == 'gain')
        ]
        # with masses as described, the gain of a gauge may become identifiable
        unidentifiable = unidentifiable + (
            [unknown for unknown in candidates if unknown.kind != 'gain'] or candidates
        )
        if not candidates or len(unidentifiable) == sum(
            unknown.kind != 'offset' for unknown in unknowns
        ):
            break
        paths = ', '.join(unknown.path for unknown in unidentifiable)
        watch_fit = stage(watch, f'fitting without {paths}')
        remaining = [k for k, unknown in enumerate(unknowns) if unknown not in unidentifiable]
        rows = remaining + list(range(len(unknowns), problem.size))
        if isinstance(problem, LongFit):
            refit_problem = problem.without(remaining)
            refit, refit_uncertainties = refit_problem.solve(fit.z[rows], watch_fit)
            continue
        refit_problem = Problem(
            problem.setup, [unknowns[k] for k in remaining], problem.servo, problem.sequences
        )
        refit = at_root(refit_problem, solve(refit_problem, fit.z[rows], watch=watch_fit))
        refit_uncertainties = _uncertainty(refit, refit_problem)
    refit_uncertainties = with_prior_widths(
        problem, unidentifiable, refit_problem, refit, refit_uncertainties
    )
    return unidentifiable, refit, refit_problem, refit_uncertainties


def _numbers(unknowns, unidentifiable, first, last):
    """Return the ParameterEstimates, identifiable or not, in the order of the unknowns."""
    fit, uncertainties = first
    problem, refit, refit_uncertainties = last
    rows = {unknown.path: k for k, unknown in enumerate(problem.unknowns)}
    numbers = []
    for k, unknown in enumerate(unknowns):
        if unknown.kind == 'offset':
            continue
        is_identified = unknown not in unidentifiable and unknown.path in rows
        z, deviation, row = (
            (
                refit.z[rows[unknown.path]],
                refit_uncertainties.deviations[rows[unknown.path]],
                rows[unknown.path],
            )
            if is_identified
            else (fit.z[k], uncertainties.deviations[k], k)
        )
        unknowns_there = problem.unknowns if is_identified else unknowns
        correlations = (refit_uncertainties if is_identified else uncertainties).correlations
        partner = uncertainty.trading(correlations, row, len(unknowns_there))
        half_width = (refit_uncertainties if is_identified else uncertainties).factor[
            row
        ] * deviation
        with np.errstate(over='ignore'):
            interval = unknown.value(z - half_width), unknown.value(z + half_width)
        value = unknown.value(z)
        numbers.append(
            ParameterEstimate(
                unknown.path,
                unknown.unit,
                unknown.start,
                value if is_identified else unknown.start,
                float(deviation * abs(unknown.slope(z))),
                interval,
                is_identified,
                unknowns_there[partner].path if partner is not None else '',
                '' if is_identified else uncertainty.HINTS.get(_kind(unknown), ''),
            )
        )
    return numbers


def _kind(unknown):
    is_imu = unknown.kind == 'gain' and imu_channel(unknown.path.rpartition('.')[0])
    return 'imu' if is_imu else unknown.kind
