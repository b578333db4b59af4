"""Plots of a recorded run."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.reports.energies import DISSIPATED
from flex_robot_sim.reports.numbers import error_of
from flex_robot_sim.reports.recorded_run import RecordedRun
from flex_robot_sim.reports.series import Series, decimate
from flex_robot_sim.reports.tip_vibration import RecordedVibration
from flex_robot_sim.util.plots import Chart, Curve

MILLI, TIME_LABEL = 1e3, 'time [s]'
LOG_SCALE_FLOOR = 1e-3  # smallest value on a logarithmic axis                      [ms, mm]
SPECTRUM_RANGE_RATIO = 2.5  # end of a plotted spectrum over the highest frequency of interest
MODE_ORDINALS = '1st', '2nd', '3rd', '4th'


class Plot(NamedTuple):
    """A chart of the page and the stem of its file names."""

    file_stem: str
    chart: Chart
    is_of_time: bool = True


def plots_of(
    run: RecordedRun, vibration: RecordedVibration | None, energy: Series | None
) -> list[Plot]:
    """Return the Plots of a run; a quantity that was not recorded has none."""
    plots = []
    for unit, force, motion in (('rad', 'N m', 'turning'), ('m', 'N', 'sliding')):
        names = [name for name in run.position.names if run.unit(name) == unit]
        if not names:
            continue
        suffix = '' if unit == 'rad' else f'_{motion}'
        plots += [
            _plot(
                f'positions{suffix}',
                f'Joints and targets, {motion}',
                f'position [{unit}]',
                _positions(run, names),
            ),
            _plot(
                f'errors{suffix}',
                f'Tracking error, {motion}',
                f'target - position [{unit}]',
                [_curve(name, *error_of(run, name), k) for k, name in enumerate(names)],
            ),
            _plot(
                f'efforts{suffix}',
                f'Efforts, {motion}',
                f'effort [{force}]',
                [
                    _curve(name, run.effort.time, run.effort.column(name), k)
                    for k, name in enumerate(names)
                    if name in run.effort.names
                ],
            ),
        ]
    plots.append(
        _plot(
            'tips',
            'Tip deflections',
            'deflection [mm]',
            [
                _curve(f'{link}, {axis}', tip.time, MILLI * tip.column(axis), k, dashes=number)
                for k, (link, tip) in enumerate(run.tips.items())
                for number, axis in enumerate('yz')
            ],
        )
    )
    if vibration is not None:
        plots.append(_spectrum(vibration))
    if energy is not None:
        plots.append(
            _plot(
                'energy',
                'Energy since the beginning',
                'energy [J]',
                [
                    _curve(label, energy.time, energy.column(name), colour, dashes=dashes)
                    for colour, (name, label, dashes) in enumerate(
                        (
                            ('kinetic', 'kinetic', 0),
                            ('strain', 'strain', 0),
                            ('gravity', 'gravity', 0),
                            ('work', 'work of the motors', 1),
                            ('dissipated', DISSIPATED, 2),
                        )
                    )
                ],
            )
        )
    plots.append(_plot('timing', 'Timing', '[ms]', _timing(run), is_logarithmic=True))
    return [plot for plot in plots if any(len(curve.time) for curve in plot.chart.curves)]


def _plot(file_stem, title, label, curves, is_logarithmic=False):
    nonempty = tuple(curve for curve in curves if len(curve.time))
    return Plot(file_stem, Chart(title, TIME_LABEL, label, nonempty, is_logarithmic))


def _curve(label, time, values, colour, **style):
    return Curve(label, *decimate(np.asarray(time), np.asarray(values)), colour, **style)


def _positions(run, names):
    for k, name in enumerate(names):
        yield _curve(name, run.position.time, run.position.column(name), k)
        if name in run.target.names:
            yield _curve(f'{name}, target', run.target.time, run.target.column(name), k, dashes=2)


def _spectrum(vibration):
    peaks = [*vibration.predicted, *(item.frequency for item in vibration.resonances)]
    is_shown = vibration.frequencies <= SPECTRUM_RANGE_RATIO * max(
        peaks, default=vibration.frequencies[-1]
    )
    frequencies = vibration.frequencies[is_shown]
    amplitudes = {
        link: np.maximum(MILLI * column[is_shown], 1e-9)
        for link, column in vibration.amplitudes.items()
    }
    curves = [
        _curve(link, frequencies, amplitude, k)
        for k, (link, amplitude) in enumerate(amplitudes.items())
    ]
    limits = np.array(
        [
            min(amplitude.min() for amplitude in amplitudes.values()),
            max(amplitude.max() for amplitude in amplitudes.values()),
        ]
    )
    limits[0] = max(limits[0], 1e-6 * limits[1])
    for k, frequency in enumerate(vibration.predicted):
        curves.append(
            Curve(
                f'{MODE_ORDINALS[k]} mode {vibration.drive_condition}, {frequency:.3g} Hz',
                np.full(2, frequency),
                limits,
                3 + k,
                dashes=1,
            )
        )
    where = 'at rest' if vibration.is_rest else 'of the whole run'
    return Plot(
        'spectrum',
        Chart(
            f'Spectrum of the tips {where}, {vibration.span.begin:.1f} to '
            f'{vibration.span.end:.1f} s',
            'frequency [Hz]',
            'amplitude [mm]',
            tuple(curves),
            is_logarithmic=True,
        ),
        False,
    )


def _timing(run):
    diagnostics, order = run.diagnostics.get('dynamics'), np.argsort(run.arrival)
    gaps = MILLI * np.diff(run.arrival[order])
    yield _curve(
        'between joint states', run.arrival[order][1:], np.maximum(gaps, LOG_SCALE_FLOOR), 5
    )
    if len(run.delays.time):
        yield _curve(
            'state to command',
            run.delays.time,
            np.maximum(MILLI * run.delays.values[:, 0], LOG_SCALE_FLOOR),
            1,
        )
    if diagnostics is not None and 'lateness, longest [ms]' in diagnostics.names:
        lateness = diagnostics.column('lateness, longest [ms]')
        yield Curve(
            'longest lateness of a step\nin a second',
            diagnostics.time,
            np.maximum(lateness, LOG_SCALE_FLOOR),
            0,
            has_marks=True,
        )
