"""Key figures of a recorded run, as JSON and as text tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flex_robot_sim.reports.energies import DISSIPATED
from flex_robot_sim.reports.recorded_run import RecordedRun
from flex_robot_sim.reports.series import Series, max_abs, rms, to_json_value
from flex_robot_sim.reports.tip_vibration import RecordedVibration, mean_residual_amplitude

MILLI = 1e3
END_FRACTION = 0.05  # final fraction of the samples that counts as the end of a run


def numbers_of(
    run: RecordedRun, vibration: RecordedVibration | None, energy: Series | None
) -> dict[str, Any]:
    """Return all key figures of a run as a dictionary for JSON."""
    return to_json_value(
        {
            'recording': str(run.path),
            'robot': run.name,
            'seconds': run.seconds,
            'joints': {name: _joint(run, name) for name in run.position.names},
            'tips': {link: _tip(run, link) for link in run.tips},
            'modes': _modes(vibration),
            'energy': _energy(energy),
            'timing': _timing(run),
            'topics': {
                tally.name: {'type': tally.kind, 'messages': tally.count, 'rate': tally.rate}
                for tally in sorted(run.tallies, key=lambda tally: tally.name)
            },
            'notes': run.notes,
        }
    )


def error_of(run: RecordedRun, joint: str) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and tracking error (k,) of a joint, target minus position; empty if no target."""
    if joint not in run.target.names or len(run.target.time) < 2:
        return np.zeros(0), np.zeros(0)
    time = run.position.time
    time = time[(time >= run.target.time[0]) & (time <= run.target.time[-1])]
    target = np.interp(time, run.target.time, run.target.column(joint))
    return time, target - np.interp(time, run.position.time, run.position.column(joint))


def _joint(run, name):
    position = run.position.column(name)
    _, error = error_of(run, name)
    effort = run.effort.find(name)
    row = {
        'unit': run.unit(name),
        'range': float(np.ptp(position)),
        'largest_velocity': max_abs(run.velocity.find(name)),
        'error_rms': rms(error),
        'error_largest': max_abs(error),
        'error_at_end': float(np.mean(error[-max(1, round(END_FRACTION * len(error))) :]))
        if len(error)
        else None,
        'effort_rms': rms(effort),
        'effort_largest': max_abs(effort),
    }
    if run.arm is not None and name in run.arm.joint_names:
        limit = run.arm.description.joint(name).effort
        row['effort_limit'] = limit or None
    return row


def _tip(run, link):
    size = np.linalg.norm(run.tips[link].values, axis=1)
    return {
        'largest': float(size.max()),
        'rms': rms(size),
        'at_end': float(size[-1]),
        'residual_vibration': mean_residual_amplitude(run, link),
    }


def _modes(vibration):
    if vibration is None:
        return None
    found = [
        {'frequency': item.frequency, 'damping_ratio': item.ratio, 'size': item.size}
        for item in vibration.resonances
    ]
    predicted = []
    for frequency, ratio in zip(vibration.predicted, vibration.ratios):
        nearest = min(
            (item for item in vibration.resonances),
            default=None,
            key=lambda item: abs(np.log(item.frequency / frequency)),
        )
        if nearest is not None and not abs(np.log(nearest.frequency / frequency)) < 0.25:
            nearest = None
        predicted.append(
            {
                'frequency': frequency,
                'damping_ratio': ratio,
                'measured': None if nearest is None else nearest.frequency,
                'measured_damping_ratio': None if nearest is None else nearest.ratio,
                'difference_percent': None
                if nearest is None
                else 100 * (nearest.frequency / frequency - 1),
            }
        )
    return {
        'from': vibration.span.begin,
        'until': vibration.span.end,
        'is_rest': vibration.is_rest,
        'drive_condition': vibration.drive_condition,
        'measured': found,
        'predicted': predicted,
    }


def _energy(energy):
    if energy is None:
        return None
    stored = energy.values[:, :3].sum(axis=1)
    return {
        'largest_kinetic': float(energy.column('kinetic').max()),
        'largest_strain': float(energy.column('strain').max()),
        'work': float(energy.column('work')[-1]),
        'stored_gain': float(stored[-1] - stored[0]),
        'dissipated': float(energy.column('dissipated')[-1]),
    }


def _timing(run):
    periods = np.diff(np.sort(run.arrival))
    row = {
        'state_period_median': float(np.median(periods)),
        'state_gap_longest': float(periods.max()),
        'delay_median': float(np.median(run.delays.values)) if len(run.delays.time) else None,
        'delay_99_percent': float(np.quantile(run.delays.values, 0.99))
        if len(run.delays.time)
        else None,
    }
    diagnostics = run.diagnostics.get('dynamics')
    if diagnostics is not None:

        def increase(key):
            column = diagnostics.find(key)
            column = column[np.isfinite(column)]
            return float(column[-1] - column.min()) if len(column) else None

        factor = diagnostics.find('real-time factor')
        row.update(
            steps=increase('steps'),
            deadlines_missed=increase('deadlines missed by 5 ms'),
            time_dropped=increase('time dropped [s]'),
            refused=increase('commands refused'),
            timed_out=increase('commands timed out'),
            lateness_longest=max_abs(diagnostics.find('lateness, longest [ms]')) / MILLI,
            energy_balance=max_abs(diagnostics.find('energy balance [J]')),
            real_time_factor=float(np.median(factor)) if len(factor) else None,
        )
    return row


def tables_of(numbers: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return the key figures as text tables: (title, heading, rows)."""
    tables = [
        (
            'Joints',
            [
                'joint',
                'range',
                'fastest',
                'error rms',
                'largest',
                'at the end',
                'effort rms',
                'largest',
                'of its limit',
            ],
            [_joint_row(name, row) for name, row in numbers['joints'].items()],
        )
    ]
    if numbers['tips']:
        tables.append(
            (
                'Tips',
                ['link', 'largest deflection', 'rms', 'at the end', 'residual vibration'],
                [
                    [
                        link,
                        *(
                            format_value(row[key], 'mm', MILLI)
                            for key in ('largest', 'rms', 'at_end', 'residual_vibration')
                        ),
                    ]
                    for link, row in numbers['tips'].items()
                ],
            )
        )
    modes = numbers['modes']
    if modes and modes['predicted']:
        tables.append(
            (
                f'Modes {modes["drive_condition"]}',
                ['predicted', 'damping', 'found', 'damping', 'found is off by'],
                [
                    [
                        format_value(row['frequency'], 'Hz'),
                        format_value(row['damping_ratio'], '%', 100),
                        format_value(row['measured'], 'Hz'),
                        format_value(row['measured_damping_ratio'], '%', 100),
                        format_value(row['difference_percent'], '%'),
                    ]
                    for row in modes['predicted']
                ],
            )
        )
    elif modes and modes['measured']:
        tables.append(
            (
                'Residual vibration',
                ['frequency', 'damping', 'size'],
                [
                    [
                        format_value(row['frequency'], 'Hz'),
                        format_value(row['damping_ratio'], '%', 100),
                        format_value(row['size']),
                    ]
                    for row in modes['measured']
                ],
            )
        )
    if numbers['energy']:
        tables.append(
            (
                'Energy',
                ['', ''],
                [
                    [name, format_value(numbers['energy'][key], 'J')]
                    for name, key in (
                        ('largest kinetic', 'largest_kinetic'),
                        ('largest strain', 'largest_strain'),
                        ('work of the motors', 'work'),
                        ('more is stored at the end', 'stored_gain'),
                        (DISSIPATED, 'dissipated'),
                    )
                ],
            )
        )
    timing = [
        [name, format_value(numbers['timing'].get(key), unit, factor)]
        for name, key, unit, factor in TIMING_ROWS
        if numbers['timing'].get(key) is not None
    ]
    return [*tables, ('Timing', ['', ''], timing)]


TIMING_ROWS = (
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
    ('largest error of the energy balance', 'energy_balance', 'J', 1.0),
)


def _joint_row(name, row):
    unit, force = row['unit'], 'N m' if row['unit'] == 'rad' else 'N'
    limit = row.get('effort_limit')
    limit_percent = (
        100 * row['effort_largest'] / limit if (limit and row['effort_largest']) else None
    )
    return [
        name,
        format_value(row['range'], unit),
        format_value(row['largest_velocity'], f'{unit}/s'),
        format_value(row['error_rms'], unit),
        format_value(row['error_largest'], unit),
        format_value(row['error_at_end'], unit),
        format_value(row['effort_rms'], force),
        format_value(row['effort_largest'], force),
        format_value(limit_percent, '%'),
    ]


def format_value(value: float | None, unit: str = '', factor: float = 1.0) -> str:
    """Return a number with its unit as text; a dash for None."""
    if value is None:
        return '–'
    value *= factor
    if value and abs(value) < 1e-9:
        value = 0.0
    text = f'{value:.0f}' if abs(value) < 1e9 and value == int(value) else f'{value:.3g}'
    if abs(value) >= 1000 and '.' not in text:
        text = f'{value:.0f}'
    return f'{text} {unit}'.rstrip()
