"""Status line and final figures of the demo."""

from collections.abc import Iterator, Mapping, Sequence

from flex_robot_sim.demo.demo_vibration import DemoVibration
from flex_robot_sim.demo.record import RunRecord

MILLI = 1e3


def summary_of(
    record: RunRecord, figures: Mapping[str, str], first_figures: Mapping[str, str], robot: str
) -> dict:
    """
    Return the figures of a run, as --json prints them.

    :param record: RunRecord.
    :param figures: {key: text} of the newest diagnostics of the dynamics node; first_figures:
        those at the start.
    """

    def increase(key, kind=float):
        if not first_figures:
            return None
        return kind(figures[key]) - kind(first_figures[key])

    simulated, wall = increase('simulated time [s]'), increase('wall time [s]')
    delay = 'state to command since the start, '
    return {
        'robot': robot,
        'sim_time': simulated,
        'wall_time': wall,
        'realtime_factor': simulated / wall if wall else None,
        'steps': increase('steps', int),
        'deadline_misses': increase('deadlines missed by 5 ms', int),
        'lateness_ms_max': MILLI * record.worst_lateness,
        'time_dropped': increase('time dropped [s]'),
        'latency_ms_median': number(figures, f'{delay}median [ms]'),
        'latency_ms_p99': number(figures, f'{delay}99 % [ms]'),
        'max_tip_deflection': record.largest_tip if record.links else None,
        'commands': increase('commands accepted', int),
        'refused': increase('commands refused', int),
    }


def comparison_of(shaper: str, vibrations: Sequence[DemoVibration]) -> dict:
    """
    Return the residual vibration as --json prints it: `residual_vibration` and more, [m].

    :param vibrations: of the run with the shaper, or of the runs without and with it.
    """
    link = vibrations[0].largest
    sizes = [vibration.amplitude.get(link) for vibration in vibrations]
    summary = {'shaper': shaper, 'residual_vibration_link': link, 'residual_vibration': sizes[-1]}
    if len(sizes) > 1:
        without, residual = sizes
        summary['residual_vibration_without'] = without
        summary['residual_vibration_ratio'] = (
            residual / without if without and residual is not None else None
        )
    return summary


def number(figures: Mapping[str, str], key: str) -> float | None:
    """Return the number of a figure; None if it is missing or nan, which JSON does not have."""
    value = float(figures.get(key, 'nan'))
    return value if value == value else None


def lines_of(summary: dict) -> Iterator[str]:
    """Yield the summary as lines of text."""
    if not summary['wall_time']:
        yield f'{summary["robot"]}: stopped before there were figures'
        return
    yield (
        f'{summary["robot"]}: {summary["sim_time"]:.2f} s in {summary["wall_time"]:.2f} s, '
        f'{_factor(summary["realtime_factor"])}, {summary["steps"]} steps, '
        f'{summary["deadline_misses"]} of them more than 5 ms late'
        + f', the worst by {summary["lateness_ms_max"]:.3g} ms'
        * bool(summary['deadline_misses'])
    )
    if summary['time_dropped']:
        yield f'  too slow for real time: {summary["time_dropped"]:.3g} s were dropped'
    if summary['latency_ms_median'] is not None:
        yield (
            f'  state to command: median {summary["latency_ms_median"]:.2f} ms, '
            f'99 % {summary["latency_ms_p99"]:.2f} ms; {summary["commands"]} commands, '
            f'{summary["refused"]} refused'
        )
    if summary['max_tip_deflection'] is not None:
        yield f'  tips moved by up to {MILLI * summary["max_tip_deflection"]:.3g} mm'
    if summary.get('residual_vibration') is not None:
        yield _vibration_line(summary)
    if 'recording' in summary:
        yield f'  recording: {summary["recording"]}'
    if 'plot' in summary:
        yield f'  picture: {summary["plot"]}'


def _vibration_line(summary):
    prefix = f'{summary["residual_vibration_link"]} vibrates after a motion: '
    shaped = f'{MILLI * summary["residual_vibration"]:.3g} mm with {summary["shaper"]}'
    ratio = summary.get('residual_vibration_ratio')
    if ratio is None:
        return f'  {prefix}{shaped}'
    unshaped = f'{MILLI * summary["residual_vibration_without"]:.3g} mm without a shaper'
    return f'  {prefix}{unshaped}, {shaped}: {ratio:.1%} is left'


def status_line(record: RunRecord, figures: Mapping[str, str]) -> str:
    """Return the status line."""
    parts = [f'{record.joints.newest:6.1f} s', _factor(number(figures, 'real-time factor'))]
    parts.append('joints ' + ' '.join(f'{q:+.2f}' for q in record.position))
    if record.links:
        link = max(record.tip, key=lambda link: record.tip[link])
        parts.append(f'{link} tip {MILLI * record.tip[link]:5.1f} mm')
    delay = number(figures, 'state to command, median [ms]')
    if delay is not None:
        parts.append(f'latency {delay:.2f} ms')
    return '  '.join(parts)


def _factor(factor):
    return 'real time x -----' if factor is None else f'real time x {factor:.3f}'
