"""Report of `flexsim identify`: table, verdict, and a picture of the fit."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flex_robot_sim.identification.calibration_priors import KnownNumber
    from flex_robot_sim.identification.identification import Identification

MIN_SEGMENT_SAMPLES = 64  # of a spectrum
SEGMENTS = 4  # of the log, for a spectrum
SHOWN_SPECTRUM = 1e-5  # lowest amplitude, over the largest of a measured spectrum


def print_verdict(fit: Identification) -> None:
    """Print on stderr why the fit is not good, if it is not."""
    if not fit.validation_variance:
        print(
            'flexsim identify: there is nothing but noise where the fit has not looked, so that '
            'the model cannot be checked. Record more motion, or give --validate.',
            file=sys.stderr,
        )
    elif fit.objections:
        print(f'flexsim identify: {fit.objections[0]}.', file=sys.stderr)
    elif not fit.is_good:
        print(f'flexsim identify: {_worst_signal(fit)}', file=sys.stderr)


def _worst_signal(fit):
    """Return one line on the signal that the model explains worst."""
    from flex_robot_sim.identification.identification import (
        MIN_EXPLAINED_VARIANCE,
        min_explained_variance,
    )

    remedy = 'Free more parameters, or describe what is missing.'
    efforts = {f'effort/{name}': share for name, share in fit.validation_effort_variance.items()}
    rows = [
        (share - least(name), name, share, place)
        for place, shares, least in (
            ('the data of the fit', fit.fit_variance, min_explained_variance),
            ('the validation data', fit.validation_variance, min_explained_variance),
            ('the validation data', efforts, lambda name: MIN_EXPLAINED_VARIANCE),
        )
        for name, share in shares.items()
    ]
    _, name, share, place = min(rows)
    return (
        f'the model errs by {math.sqrt(1 - share):.0%} of the RMS of {name} beyond noise in '
        f'{place}. {remedy}'
    )


def _finite_or_none(value):
    return float(value) if math.isfinite(value) else None


def summary_of(
    fit: Identification, paths: Sequence[str], robot: str, calibrated: Sequence[KnownNumber]
) -> dict[str, Any]:
    """Return the result of a fit for JSON."""
    return {
        'robot': robot,
        'logs': [str(path) for path in paths],
        'by': 'motion' if fit.setup.has_prescribed_motion else 'efforts',
        'additional_shapes': fit.setup.finer,
        'time_step': fit.setup.time_step,
        'samples': int(sum(len(row.time) for row in fit.setup.data.sequences)),
        'rate': 1 / fit.setup.data.sequences[0].period,
        'resonances': [number._asdict() for number in fit.resonances],
        'estimates': {
            number.path: {
                'unit': number.unit,
                'initial_value': number.initial_value,
                'value': number.value,
                'standard_deviation': _finite_or_none(number.standard_deviation),
                'interval': [_finite_or_none(end) for end in number.interval],
                'is_identifiable': number.is_identifiable,
                'correlated_with': number.correlated_with,
                'hint': number.hint,
            }
            for number in fit.estimates
        },
        'calibrated': {
            number.path: {
                'unit': number.unit,
                'initial_value': number.initial_value,
                'value': number.value,
                'standard_deviation': number.standard_deviation,
            }
            for number in calibrated
        },
        'explained_variance': fit.explained_variance,
        'validation_variance': fit.validation_variance,
        'validation_effort_variance': fit.validation_effort_variance,
        'relative_errors': fit.relative_errors,
        'log_estimates': {
            name: {path: one._asdict() for path, one in rows.items()}
            for name, rows in fit.log_estimates.items()
        },
        'signals_below_noise': list(fit.signals_below_noise),
        'is_good': fit.is_good,
        'notes': fit.notes,
    }


def as_text(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a summary."""
    yield (
        f'{", ".join(summary["logs"])}: {summary["samples"]} samples at {summary["rate"]:.4g} Hz, '
        f'driven by {summary["by"]}; {summary["additional_shapes"]} shapes of bending beyond '
        f'those described, steps of {summary["time_step"]:.3g} s'
    )
    for row in summary['resonances']:
        yield (
            f'  vibrates at {row["frequency"]:.4g} Hz (+-{row["frequency_deviation"]:.1g}), '
            f'damping {row["ratio"]:.2%} (+-{row["ratio_deviation"]:.1%})'
        )
    width = max([len(path) for path in [*summary['estimates'], *summary['calibrated']]] + [9])
    yield f'  {"parameter":{width}s}      before       value         +-'
    for path, row in summary['estimates'].items():
        deviation = row['standard_deviation']
        line = f'  {path:{width}s}  {row["initial_value"]:10.4g}'
        if row['is_identifiable']:
            line += f'  {row["value"]:10.5g}  {deviation:9.2g}  {row["unit"]}'
        else:
            line += f'           -          -  not determined by this log: {row["hint"]}'
        if row['correlated_with']:
            line += f'; correlated with {row["correlated_with"]}'
        yield line.rstrip()
    for path, row in summary['calibrated'].items():
        if path not in summary['estimates']:
            yield (
                f'  {path:{width}s}  {row["initial_value"]:10.4g}  {row["value"]:10.5g}  '
                f'{row["standard_deviation"]:9.2g}  {row["unit"]}, by the calibration'
            )
    yield '  +-: standard deviation, from the residuals of blocks of time'
    yield from _log_lines(summary['log_estimates'], width)
    for name, share in summary['validation_variance'].items():
        yield (
            f'  {name}: {summary["explained_variance"][name]:.1%} of the variance explained, '
            f'{share:.1%} of the variance beyond noise in the validation data'
        )
    yield '  RMS error over RMS signal, noise included'
    for place, errors in summary['relative_errors'].items():
        rows = ', '.join(f'{name} {error:.2%}' for name, error in errors.items())
        yield f'    {place}: {rows}'
    for name, share in summary['validation_effort_variance'].items():
        yield f'  effort/{name}: {share:.1%} explained in the validation data'
    for note in summary['notes']:
        yield f'  note: {note}'


def _log_lines(log_estimates, width):
    """Yield a table: how far each log alone is from all logs together."""
    if not log_estimates:
        return
    yield '  each log alone, minus all logs together, over the standard deviation of the log alone'
    for k, name in enumerate(log_estimates):
        yield f'  {"log " + str(k + 1):{width}s}  {name}'
    yield f'  {"parameter":{width}s}' + ''.join(
        f'  {"log " + str(k + 1):>8s}' for k in range(len(log_estimates))
    )
    for path in dict.fromkeys(path for rows in log_estimates.values() for path in rows):
        cells = [
            f'{rows[path]["difference"]:+8.1f}' if path in rows else f'{"-":>8s}'
            for rows in log_estimates.values()
        ]
        yield f'  {path:{width}s}  {"  ".join(cells)}'


def draw_fit(path: str, fit: Identification) -> None:
    """Draw measured, model and residual signals and their spectra, a row for each channel."""
    import numpy as np
    from scipy.signal import welch

    from flex_robot_sim.util.plots import Chart, Curve, write_charts

    time, measured, predicted = fit.times[0], fit.measured[0], fit.predicted[0]
    rate = 1 / (time[1] - time[0])
    length = min(len(time), max(MIN_SEGMENT_SAMPLES, len(time) // SEGMENTS))
    charts = []
    for k, name in enumerate(fit.channels):
        rows = (measured[:, k], predicted[:, k], measured[:, k] - predicted[:, k])
        labels = ('measured', 'model', 'residual')
        signals = [Curve(label, time, row, j) for j, (label, row) in enumerate(zip(labels, rows))]
        charts.append(Chart(name, 'time [s]', name, signals))
        frequency = np.fft.rfftfreq(length, 1 / rate)[1:]
        spectra = [np.sqrt(welch(row, rate, nperseg=length)[1][1:]) for row in rows]
        floor = SHOWN_SPECTRUM * spectra[0].max()
        curves = [
            Curve(label, frequency, np.where(row > floor, row, np.nan), j)
            for j, (label, row) in enumerate(zip(labels, spectra))
        ]
        charts.append(Chart(f'{name}, spectrum', 'frequency [Hz]', 'per root of Hz', curves, True))
    write_charts(path, 'validation data: measured, model and residual', charts)
