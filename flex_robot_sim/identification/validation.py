"""
Validation: the shares of measured signals that a fitted model predicts, beyond their noise.

Spikes are removed from the measured signals first, as they are no motion of the arm.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Rows
from typing import NamedTuple

import numpy as np

from flex_robot_sim.identification.drive_terms import driven
from flex_robot_sim.identification.fit import Fit, Problem
from flex_robot_sim.identification.noise import highest_frequencies, noise_floor, without_spikes
from flex_robot_sim.identification.prediction import Setup, SoftServo
from flex_robot_sim.identification.response import Response, respond
from flex_robot_sim.identification.sensor_terms import rate_signs, read
from flex_robot_sim.identification.sequences import Sequence

MIN_SIGNAL_TO_NOISE = 1.0  # variance of a visible signal, over that of its noise
NOISE_MARGIN_STDS = 4.0  # random scatter of a variance, in its standard deviations
MIN_MISFIT = 3.0  # prediction error over noise, of a channel whose misfit is reported
MIN_VARIANCE_RATIO = 1e-3  # least variance of a motion, over that of the whole log


class Share(NamedTuple):
    """Explained variance of channels."""

    explained: np.ndarray  # (c,)  share of the variance that is not noise
    is_seen: np.ndarray  # (c,)  whether the signal exceeds the noise


class Tables(NamedTuple):
    """Signals of some samples, one table per sequence."""

    measured: list[np.ndarray]
    predicted: list[np.ndarray]
    times: list[np.ndarray]
    servo_efforts: list[np.ndarray]
    efforts: list[np.ndarray]
    names: list[str]  # of the files


class Validation(NamedTuple):
    """Explained shares of signals beyond their noise."""

    shares: dict[str, float]  # by channel or effort
    silent: tuple[str, ...]  # signals that do not exceed their noise
    without_noise: tuple[str, ...]  # channels whose noise before a low-pass is unknown
    misfits: dict[str, float]  # RMS of the prediction error over that of the noise, by channel


def explained(measured: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the share (c,) of the variance of channels (k, c) that is explained."""
    total = measured.var(axis=0)
    return 1 - (measured - predicted).var(axis=0) / np.where(total > 0, total, np.inf)


def relative_errors(measured: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the RMS error (c,) of channels (k, c) over the RMS of their motion."""
    size = measured.std(axis=0)
    error = np.sqrt(((measured - predicted) ** 2).mean(axis=0))
    return error / np.where(size > 0, size, np.inf)


def explainable(
    error: np.ndarray,
    total: np.ndarray,
    predicted: np.ndarray,
    noise: np.ndarray,
    log_variance: np.ndarray,
    scatter: np.ndarray | float,
) -> Share:
    """
    Return the Share of variances (c,) (I19).

    :param error: of the prediction error; total: of the measurement; predicted: of the prediction.
    :param noise: of the measurement noise.
    :param log_variance: of the whole log; MIN_VARIANCE_RATIO of it is the least variance.
    :param scatter: relative standard deviation of the variance of noise.
    """
    # upper bound of the noise in these samples
    chance = NOISE_MARGIN_STDS * scatter
    signal = np.maximum(total - noise, 0.0)
    # a predicted signal that is missing in the measurement counts as visible
    is_seen = np.maximum(signal, predicted) > np.maximum(
        (MIN_SIGNAL_TO_NOISE + chance) * noise, 1e-300
    )
    signal = np.maximum(signal, MIN_VARIANCE_RATIO * log_variance)
    unexplained = np.maximum(error - (1 + chance) * noise, 0.0)
    return Share(1 - unexplained / np.where(signal > 0, signal, np.inf), is_seen)


def validation_tables(
    setup: Setup,
    problem: Problem,
    fit: Fit,
    all_sequences: Rows[Sequence],
    validation: Rows[Sequence],
    responses: Rows[Response] | None = None,
) -> tuple[Tables, Tables]:
    """
    Return the signals of the samples that the fit used, and of those that it did not use.

    :param responses: of the model along `all_sequences`; default: those of the fitted values.
    """
    arm = setup.arm(problem.arm_values(fit.z))
    delay = problem.values(fit.z).get('delay', 0.0)
    fitted, unused = Tables([], [], [], [], [], []), Tables([], [], [], [], [], [])

    def add(tables, sequence, response, rows):
        tables.names.append(sequence.name)
        for table, column in zip(
            tables,
            (
                without_spikes(sequence.measured),
                read(response.channels, rate_signs([sequence]), problem.unknowns, fit.z),
                sequence.time,
                response.servo_effort,
                sequence.efforts,
            ),
        ):
            table.append(column[rows])

    for row, sequence in enumerate(all_sequences):
        sequence = driven(sequence, problem.unknowns, fit.z)
        response = (
            respond(setup, problem.servo, arm, sequence, delay, problem._start(fit.z, row))
            if responses is None
            else responses[row]
        )
        end = len(problem.sequences[row].time)
        add(fitted, sequence, response, slice(end))
        if not validation:
            add(unused, sequence, response, slice(end, None))
    for sequence in validation:
        sequence = driven(sequence, problem.unknowns, fit.z)
        response = respond(setup, problem.servo, arm, sequence, delay, None)
        add(unused, sequence, response, slice(None))
    return fitted, unused


def validate(
    setup: Setup, servo: SoftServo, tables: Tables, sequences: Rows[Sequence]
) -> Validation:
    """
    Return the Validation of signals.

    :param sequences: whole logs of these signals.
    """
    data, names = setup.data, setup.arm().joint_names
    measured, predicted = np.concatenate(tables.measured), np.concatenate(tables.predicted)
    filters, period = setup.filters or {}, sequences[0].period

    def passes(frequency):
        return np.column_stack(
            [
                filters[name].passes(frequency / period)
                if name in filters
                else np.ones(len(frequency))
                for name in data.channels
            ]
        )

    highest = np.maximum(
        highest_frequencies(tables.predicted), highest_frequencies(tables.measured)
    )
    noise = noise_floor(tables.measured, passes, highest)
    error = (measured - predicted).var(axis=0)
    shares = explainable(
        error,
        measured.var(axis=0),
        predicted.var(axis=0),
        noise.variance,
        np.concatenate([sequence.measured for sequence in sequences]).var(axis=0),
        noise.scatter,
    )
    by_signal = dict(zip(data.channels, zip(*shares)))
    if not setup.has_prescribed_motion:
        servo_effort = np.concatenate(tables.servo_efforts)
        effort = np.concatenate(tables.efforts)
        channel_of_joint = [
            data.channels.index(f'{side}/{name}') if side else 0
            for name, side in zip(names, data.sides)
        ]
        # mean of two samples; the stiffness of the servo amplifies their noise
        servo_noise = 0.5 * servo.gains()[0] ** 2 * noise.variance[channel_of_joint]
        effort_noise = noise_floor(tables.efforts)
        shares = explainable(
            (servo_effort**2).mean(axis=0),
            effort.var(axis=0),
            0.0 * servo.damping,
            servo_noise + effort_noise.variance,
            np.concatenate([sequence.efforts for sequence in sequences]).var(axis=0),
            effort_noise.scatter,
        )
        by_signal.update(
            {
                f'effort/{name}': explained
                for name, explained, side in zip(names, zip(*shares), data.sides)
                if side and effort[:, names.index(name)].any()
            }
        )
    return Validation(
        {name: float(share) for name, (share, is_seen) in by_signal.items() if is_seen},
        tuple(name for name, (_, is_seen) in by_signal.items() if not is_seen),
        tuple(
            name for name, is_complete in zip(data.channels, noise.is_complete) if not is_complete
        ),
        {
            name: float(np.sqrt(variance / floor))
            for name, variance, floor, is_complete in zip(
                data.channels, error, noise.variance, noise.is_complete
            )
            if is_complete and floor > 0
        },
    )


def misfit_notes(misfits: Mapping[str, float]) -> list[str]:
    """Return a line on the channels whose prediction error exceeds their noise, if any does."""
    rows = sorted(misfits.items(), key=lambda row: -row[1])
    large = [f'{name} {ratio:.3g}' for name, ratio in rows if ratio > MIN_MISFIT]
    if not large:
        return []
    return [
        'misfit dominates noise. RMS error over RMS noise in the data of the fit: '
        f'{", ".join(large)}. Several logs show how far the estimates differ'
    ]
