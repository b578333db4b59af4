"""The table of `flexsim shape`, as rows for JSON, as text and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flex_robot_sim.cli import shape_apply, shape_code

TYPE_CHECKING = False  # True for static tools, as `typing` has it
if TYPE_CHECKING:
    from flex_robot_sim.analysis.recorded_vibration import Spectrum
    from flex_robot_sim.shaping.shaper_comparison import ModeCase, ShaperCandidate

CURVE_POINTS = 400  # of a sensitivity curve


def shaper_rows(candidates: Sequence[ShaperCandidate]) -> list[dict]:
    """One dict for each ShaperCandidate."""
    from flex_robot_sim.shaping.shaper_comparison import pareto_front

    front = pareto_front(candidates)
    return [_row(candidate, k in front) for k, candidate in enumerate(candidates)]


def _row(candidate, is_on_front):
    figures = candidate.figures
    row = {
        'name': candidate.name,
        'is_shaper': not candidate.profile,
        'follows_pose': candidate.follows,
        'frequencies': [mode[0] for mode in candidate.shaper.modes],
        'meets_constraint': candidate.meets_constraint,
        'on_pareto_front': is_on_front,
        'note': candidate.note,
        'times': candidate.shaper.times.tolist(),
        'amplitudes': candidate.shaper.amplitudes.tolist(),
    }
    for name, value in ({} if figures is None else figures._asdict()).items():
        row[name] = float(value) if np.isfinite(value) else None
    return row


def as_text(summary: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a summary."""
    yield from _mode_lines(summary)
    if not summary['shapers']:
        return
    has_trajectory = 'trajectory_path_error' in summary['shapers'][0]
    yield from _heading(summary, has_trajectory)
    for row in summary['shapers']:
        yield _line(row, has_trajectory)
    yield '  + meets the constraint   * on the Pareto front of time to rest and vibration'
    yield f'  recommended: {summary["recommended"]}, {_rule_text(summary)}'
    interval = summary.get('left_interval')
    if interval:
        yield (
            f'  after the recorded move it leaves {interval["nominal"]:.1%} of the vibration, and '
            f'at most {interval["high"]:.1%} in 95 % of all cases'
        )
    if any(row['follows_pose'] for row in summary['shapers']):
        yield '  by pose: delays that follow the pose and the payload, see docs/control.md'
    if 'applied' in summary:
        yield from shape_apply.as_text(summary['applied'])
    if 'written' in summary:
        yield from shape_code.as_text(summary['written'])


def _mode_lines(summary):
    if 'resonances' in summary:
        yield (
            f'{summary["source"]}: {summary["samples"]} samples of '
            f'{", ".join(summary["columns"])} at {summary["rate"]:.6g} Hz'
        )
        yield from (f'  note: {note}' for note in summary['notes'])
        for row in summary['resonances']:
            yield (
                f'  vibrates at {row["frequency"]:.4g} Hz (+-{row["frequency_deviation"]:.1g}), '
                f'damping {row["ratio"]:.2%} (+-{row["ratio_deviation"]:.1%}), by its {row["way"]}'
            )
        return
    yield f'{summary["source"]}'
    if summary['gains']:
        yield f'  {summary["gains"]}'
    for case in summary['cases']:
        mode_list = ', '.join(
            f'{f:.4g} Hz ({ratio:.1%})'
            for f, ratio in zip(case['frequencies'], case['damping_ratios'])
        )
        yield f'  at {case["name"]}: {mode_list}'


def _heading(summary, has_trajectory):
    moves = summary.get('trial_moves', 0)
    source = f'{moves} simulated moves' if moves else 'small moves'
    if summary['acceleration']:
        source += f' with {summary["acceleration"]:g} m/s2'
    yield (
        f'  {source}, frequencies off by up to {summary["uncertainty"]:.1%}, at rest within '
        f'{_allowed_text(summary)}:'
    )
    yield (
        '     shaper               adds [s]   vibration [mm]     at rest   path error   '
        'velocity   acceleration' + ('   path error of' if has_trajectory else '')
    )
    yield (
        '                                    nominal    worst   after [s]         [mm]'
        + (38 * ' ' + '--apply [mm]' if has_trajectory else '')
    )


def _line(row, has_trajectory):
    marks = ('+' if row['meets_constraint'] else ' ') + ('*' if row['on_pareto_front'] else ' ')
    start = f'  {marks} {row["name"]:20s}'
    if row['note']:
        return f'{start}  {row["note"]}'
    trajectory = ''
    if has_trajectory:
        trajectory = f'{_number(row["trajectory_path_error"], 1e3, 2):>16s}'
    return (
        start
        + ''.join(
            (
                f'{_number(row["added_time"], 1.0, 3):>9s}',
                f'{_millimetres(row["left_nominal"]):>11s}',
                f'{_millimetres(row["left"]):>9s}',
                f'{_number(row["rest_time"], 1.0, 3):>12s}',
                f'{_number(row["path_error"], 1e3, 2):>12s}',
                f'{_number(row["velocity"], 1.0, 3):>11s}',
                f'{_number(row["acceleration"], 1.0, 2):>15s}',
            )
        )
        + trajectory
    )


def _number(value, factor, digits):
    return '-' if value is None else f'{factor * value:.{digits}f}'


def _millimetres(value):
    """Vibration [m] with two digits, or one significant one: that of printers is small."""
    small = value is not None and 1e-9 < value < 5e-6
    return f'{1e3 * value:.1g}' if small else _number(value, 1e3, 2)


def _allowed_text(summary):
    share = summary['allowed_share']
    of_unshaped = '' if share is None else f' ({100 * share:.3g}% of the unshaped vibration)'
    return f'{1e3 * summary["allowed_vibration"]:.4g} mm{of_unshaped}'


def _rule_text(summary):
    """Return why the rule recommends this shaper."""
    reason = f': {summary["reason"]}' if summary.get('reason') else ''
    allowed = _allowed_text(summary)
    if not summary['meets_constraint']:
        return f'first at rest, but with more vibration than {allowed}, as all shapers{reason}'
    text = f'first at rest of the shapers that leave at most {allowed}'
    if summary['recommended'] == 'none':
        text += '. For a shaper, give a smaller --allowed, such as 5%'
    return text


def draw(
    path: str,
    summary: Mapping[str, Any],
    cases: Sequence[ModeCase],
    candidates: Sequence[ShaperCandidate],
    best: int,
    spectrum: Spectrum | None,
) -> None:
    """Write the frequencies and the sensitivity curves of shapers with constant delays."""
    from flex_robot_sim.util.plots import COLOURS, Chart, Curve, write_charts

    best = candidates[best].name
    low = min(case.frequencies.min() for case in cases)
    high = max(case.frequencies.max() for case in cases)
    f = np.linspace(0.3 * low, 1.5 * high, CURVE_POINTS)
    ratio = float(np.mean([case.ratios.mean() for case in cases]))
    if spectrum is not None:
        is_shown = spectrum.frequencies <= 3 * high
        curves = (Curve('spectrum', spectrum.frequencies[is_shown], spectrum.power[is_shown]),)
        frequencies = Chart('vibration', 'frequency [Hz]', 'power [1/Hz]', curves, True)
    else:
        rows = np.arange(1, len(cases) + 1)
        curves = tuple(
            Curve(f'mode {k + 1}', rows, np.array(values), k, has_marks=True)
            for k, values in enumerate(zip(*(case.frequencies for case in cases)))
        )
        labels = 'pose and payload', 'frequency [Hz]'
        frequencies = Chart('vibration', *labels, curves, has_whole_ticks=True)
    curves = tuple(
        Curve(
            candidate.name,
            f,
            100 * candidate.shaper.vibration(f, ratio),
            k,
            0 if candidate.name == best else 1 + k // len(COLOURS),  # no pair looks alike
        )
        for k, candidate in enumerate(candidates)
        if k and not candidate.follows and not candidate.profile
    )
    leaves = Chart('sensitivity of shapers', 'frequency [Hz]', 'vibration [%]', curves)
    title = f'{summary["source"]}: {summary["recommended"]} is recommended'
    write_charts(path, title, [frequencies, leaves])
