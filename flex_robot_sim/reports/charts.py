"""The plots of a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.reports.numbers import error_of
from flex_robot_sim.reports.ringing import Ringing
from flex_robot_sim.reports.series import Series, thinned
from flex_robot_sim.util.plots import Chart, Curve

if TYPE_CHECKING:
    from flex_robot_sim.reports.recorded_run import RecordedRun

MILLI, TIME = 1e3, 'time [s]'
FLOOR = 1e-3                # of what is drawn on a logarithmic scale                  [ms, mm]
BEYOND = 2.5                # times the highest frequency of interest that a spectrum shows
ORDINALS = '1st', '2nd', '3rd', '4th'


class Plot(NamedTuple):
    """A chart of the page, and the word that its files are named by."""

    word: str
    chart: Chart
    is_of_time: bool = True


def plots_of(run: RecordedRun, ringing: Ringing | None, energy: Series | None) -> list[Plot]:
    """Return the Plots of a run: those for which something was recorded."""
    found = []
    for unit, force, what in (('rad', 'N m', 'turning'), ('m', 'N', 'sliding')):
        names = [name for name in run.position.names if run.unit(name) == unit]
        if not names:
            continue
        word = '' if unit == 'rad' else f'_{what}'
        found += [
            _plot(f'positions{word}', f'Joints and targets, {what}', f'position [{unit}]',
                  _positions(run, names)),
            _plot(f'errors{word}', f'Tracking error, {what}', f'target - position [{unit}]', [
                _curve(name, *error_of(run, name), k) for k, name in enumerate(names)]),
            _plot(f'efforts{word}', f'Efforts, {what}', f'effort [{force}]', [
                _curve(name, run.effort.time, run.effort.column(name), k)
                for k, name in enumerate(names) if name in run.effort.names])]
    found.append(_plot('tips', 'Tip deflections', 'deflection [mm]', [
        _curve(f'{link}, {axis}', tip.time, MILLI * tip.column(axis), k, dashes=number)
        for k, (link, tip) in enumerate(run.tips.items()) for number, axis in enumerate('yz')]))
    if ringing is not None:
        found.append(_spectrum(ringing))
    if energy is not None:
        found.append(_plot('energy', 'Energy since the beginning', 'energy [J]', [
            _curve(word, energy.time, energy.column(name), colour, dashes=dashes)
            for colour, (name, word, dashes) in enumerate((
                ('kinetic', 'kinetic', 0), ('strain', 'strain', 0), ('gravity', 'gravity', 0),
                ('work', 'work of the motors', 1),
                ('taken', 'taken by damping and friction', 2)))]))
    found.append(_plot('timing', 'Timing', '[ms]', _timing(run), is_logarithmic=True))
    return [plot for plot in found if any(len(curve.time) for curve in plot.chart.curves)]


def _plot(word, title, label, curves, is_logarithmic=False):
    kept = tuple(curve for curve in curves if len(curve.time))
    return Plot(word, Chart(title, TIME, label, kept, is_logarithmic))


def _curve(label, time, values, colour, **style):
    return Curve(label, *thinned(np.asarray(time), np.asarray(values)), colour, **style)


def _positions(run, names):
    for k, name in enumerate(names):
        yield _curve(name, run.position.time, run.position.column(name), k)
        if name in run.target.names:
            yield _curve(f'{name}, target', run.target.time, run.target.column(name), k, dashes=2)


def _spectrum(ringing):
    tops = [*ringing.predicted, *(item.frequency for item in ringing.found)]
    shown = ringing.frequencies <= BEYOND * max(tops, default=ringing.frequencies[-1])
    frequencies = ringing.frequencies[shown]
    sizes = {link: np.maximum(MILLI * amplitude[shown], 1e-9)
             for link, amplitude in ringing.amplitudes.items()}
    curves = [_curve(link, frequencies, size, k) for k, (link, size) in enumerate(sizes.items())]
    ends = np.array([min(size.min() for size in sizes.values()),
                     max(size.max() for size in sizes.values())])
    ends[0] = max(ends[0], 1e-6 * ends[1])
    for k, frequency in enumerate(ringing.predicted):
        curves.append(Curve(f'{ORDINALS[k]} mode {ringing.how}, {frequency:.3g} Hz',
                            np.full(2, frequency), ends, 3 + k, dashes=1))
    where = 'at rest' if ringing.is_rest else 'of the whole run'
    return Plot('spectrum', Chart(
        f'Spectrum of the tips {where}, {ringing.span.begin:.1f} to {ringing.span.end:.1f} s',
        'frequency [Hz]', 'amplitude [mm]', tuple(curves), is_logarithmic=True), False)


def _timing(run):
    spoken, order = run.spoken.get('dynamics'), np.argsort(run.arrival)
    gaps = MILLI * np.diff(run.arrival[order])
    yield _curve('between joint states', run.arrival[order][1:], np.maximum(gaps, FLOOR), 5)
    if len(run.delays.time):
        yield _curve('state to command', run.delays.time,
                     np.maximum(MILLI * run.delays.values[:, 0], FLOOR), 1)
    if spoken is not None and 'lateness, longest [ms]' in spoken.names:
        late = spoken.column('lateness, longest [ms]')
        yield Curve('longest lateness of a step\nin a second', spoken.time,
                    np.maximum(late, FLOOR), 0, has_marks=True)
