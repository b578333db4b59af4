"""The numbers of a recorded run, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.reports.ringing import Ringing, swing_after
from flex_robot_sim.reports.series import Series, largest, plain, rms

if TYPE_CHECKING:
    from flex_robot_sim.reports.recorded_run import RecordedRun

MILLI = 1e3
LAST = 0.05                 # share of a run that its end is


def numbers_of(run: RecordedRun, ringing: Ringing | None, energy: Series | None
               ) -> dict[str, Any]:
    """Return all numbers of a run as JSON may hold them."""
    return plain({  # type: ignore[return-value]
        'recording': str(run.path), 'robot': run.name, 'seconds': run.seconds,
        'joints': {name: _joint(run, name) for name in run.position.names},
        'tips': {link: _tip(run, link) for link in run.tips},
        'modes': _modes(ringing), 'energy': _energy(energy), 'timing': _timing(run),
        'topics': {tally.name: {'type': tally.kind, 'messages': tally.count, 'rate': tally.rate}
                   for tally in sorted(run.tallies, key=lambda tally: tally.name)},
        'notes': run.notes})


def error_of(run: RecordedRun, joint: str) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and the target less the position (k,) of a joint; empty without a target."""
    if joint not in run.target.names or len(run.target.time) < 2:
        return np.zeros(0), np.zeros(0)
    time = run.position.time
    time = time[(time >= run.target.time[0]) & (time <= run.target.time[-1])]
    target = np.interp(time, run.target.time, run.target.column(joint))
    return time, target - np.interp(time, run.position.time, run.position.column(joint))


def _joint(run, name):
    position = run.position.column(name)
    _, error = error_of(run, name)
    effort = run.effort.column(name) if name in run.effort.names else np.zeros(0)
    row = {'unit': run.unit(name), 'range': float(np.ptp(position)),
           'largest_velocity': largest(run.velocity.column(name))
           if name in run.velocity.names else None,
           'error_rms': rms(error), 'error_largest': largest(error),
           'error_at_end': float(np.mean(error[-max(1, round(LAST * len(error))):]))
           if len(error) else None,
           'effort_rms': rms(effort), 'effort_largest': largest(effort)}
    if run.arm is not None and name in run.arm.joint_names:
        limit = run.arm.description.joint(name).effort
        row['effort_limit'] = limit or None
    return row


def _tip(run, link):
    size = np.linalg.norm(run.tips[link].values, axis=1)
    return {'largest': float(size.max()), 'rms': rms(size), 'at_end': float(size[-1]),
            'swing_at_rest': swing_after(run, link)}


def _modes(ringing):
    if ringing is None:
        return None
    found = [{'frequency': item.frequency, 'damping_ratio': item.ratio, 'size': item.size}
             for item in ringing.found]
    predicted = []
    for frequency, ratio in zip(ringing.predicted, ringing.ratios):
        near = min((item for item in ringing.found), default=None,
                   key=lambda item: abs(np.log(item.frequency / frequency)))
        is_it = near is not None and abs(np.log(near.frequency / frequency)) < 0.25
        predicted.append({'frequency': frequency, 'damping_ratio': ratio,
                          'found': near.frequency if is_it else None,
                          'found_ratio': near.ratio if is_it else None,
                          'off_percent': 100 * (near.frequency / frequency - 1)
                          if is_it else None})
    return {'from': ringing.span.begin, 'until': ringing.span.end, 'is_rest': ringing.is_rest,
            'held': ringing.how, 'found': found, 'predicted': predicted}


def _energy(energy):
    if energy is None:
        return None
    stored = energy.values[:, :3].sum(axis=1)
    return {'largest_kinetic': float(energy.column('kinetic').max()),
            'largest_strain': float(energy.column('strain').max()),
            'work': float(energy.column('work')[-1]),
            'stored_gain': float(stored[-1] - stored[0]),
            'taken': float(energy.column('taken')[-1])}


def _timing(run):
    gaps = np.diff(np.sort(run.arrival))
    row = {
        'state_period_median': float(np.median(gaps)), 'state_gap_longest': float(gaps.max()),
        'delay_median': float(np.median(run.delays.values)) if len(run.delays.time) else None,
        'delay_99_percent': float(np.quantile(run.delays.values, 0.99))
        if len(run.delays.time) else None}
    spoken = run.spoken.get('dynamics')
    if spoken is not None:
        def gained(key):
            column = spoken.column(key) if key in spoken.names else np.zeros(0)
            column = column[np.isfinite(column)]
            return float(column[-1] - column.min()) if len(column) else None

        def worst(key):
            return largest(spoken.column(key)) if key in spoken.names else None
        factor = spoken.column('real-time factor') if 'real-time factor' in spoken.names else []
        row.update(
            steps=gained('steps'), deadlines_missed=gained('deadlines missed by 5 ms'),
            time_dropped=gained('time dropped [s]'), refused=gained('commands refused'),
            timed_out=gained('commands timed out'),
            lateness_longest=_seconds(worst('lateness, longest [ms]')),
            energy_balance=worst('energy balance [J]'),
            real_time_factor=float(np.median(factor)) if len(factor) else None)
    return row


def _seconds(milli):
    return None if milli is None else milli / MILLI


def tables_of(numbers: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return (title, heading, rows) of numbers, written for people."""
    tables = [('Joints', ['joint', 'range', 'fastest', 'error rms', 'largest', 'at the end',
                          'effort rms', 'largest', 'of its limit'],
               [_joint_row(name, row) for name, row in numbers['joints'].items()])]
    if numbers['tips']:
        tables.append(('Tips', ['link', 'largest deflection', 'rms', 'at the end',
                                'swing at rest'],
                       [[link, *(written(row[key], 'mm', MILLI) for key in (
                           'largest', 'rms', 'at_end', 'swing_at_rest'))]
                        for link, row in numbers['tips'].items()]))
    modes = numbers['modes']
    if modes and modes['predicted']:
        tables.append((f'Modes {modes["held"]}', ['predicted', 'damping', 'found', 'damping',
                                                  'found is off by'],
                       [[written(row['frequency'], 'Hz'), written(row['damping_ratio'], '%', 100),
                         written(row['found'], 'Hz'), written(row['found_ratio'], '%', 100),
                         written(row['off_percent'], '%')] for row in modes['predicted']]))
    elif modes and modes['found']:
        tables.append(('What rings', ['frequency', 'damping', 'size'],
                       [[written(row['frequency'], 'Hz'), written(row['damping_ratio'], '%', 100),
                         written(row['size'])] for row in modes['found']]))
    if numbers['energy']:
        tables.append(('Energy', ['', ''], [
            [name, written(numbers['energy'][key], 'J')] for name, key in (
                ('largest kinetic', 'largest_kinetic'), ('largest strain', 'largest_strain'),
                ('work of the motors', 'work'), ('more is stored at the end', 'stored_gain'),
                ('taken by damping and friction', 'taken'))]))
    timing = [[name, written(numbers['timing'].get(key), unit, factor)]
              for name, key, unit, factor in TIMING if numbers['timing'].get(key) is not None]
    return [*tables, ('Timing', ['', ''], timing)]


TIMING = (
    ('joint states, median period', 'state_period_median', 'ms', MILLI),
    ('joint states, longest gap', 'state_gap_longest', 'ms', MILLI),
    ('state to command, median', 'delay_median', 'ms', MILLI),
    ('state to command, 99 %', 'delay_99_percent', 'ms', MILLI),
    ('real-time factor, median', 'real_time_factor', '', 1.0),
    ('steps', 'steps', '', 1.0),
    ('steps more than 5 ms late', 'deadlines_missed', '', 1.0),
    ('longest lateness of a step', 'lateness_longest', 'ms', MILLI),
    ('time dropped', 'time_dropped', 's', 1.0),
    ('commands refused', 'refused', '', 1.0),
    ('commands timed out', 'timed_out', '', 1.0),
    ('largest error of the energy balance', 'energy_balance', 'J', 1.0))


def _joint_row(name, row):
    unit, force = row['unit'], 'N m' if row['unit'] == 'rad' else 'N'
    limit = row.get('effort_limit')
    share = 100 * row['effort_largest'] / limit if limit and row['effort_largest'] else None
    return [name, written(row['range'], unit), written(row['largest_velocity'], f'{unit}/s'),
            written(row['error_rms'], unit), written(row['error_largest'], unit),
            written(row['error_at_end'], unit), written(row['effort_rms'], force),
            written(row['effort_largest'], force), written(share, '%')]


def written(value: float | None, unit: str = '', factor: float = 1.0) -> str:
    """Return a number with its unit for people; a dash where there is none."""
    if value is None:
        return '–'
    value *= factor
    if value and abs(value) < 1e-9:
        value = 0.0
    text = f'{value:.0f}' if abs(value) < 1e9 and value == int(value) else f'{value:.3g}'
    if abs(value) >= 1000 and '.' not in text:
        text = f'{value:.0f}'
    return f'{text} {unit}'.rstrip()
