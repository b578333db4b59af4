"""`flexsim identify`: the numbers of an arm from logs of its motions."""

import math
import sys
from argparse import Namespace
from datetime import date
from pathlib import Path
from typing import Any

from flex_robot_sim.cli.arguments import (
    add_json,
    add_output,
    expect_writable,
    numbers,
    print_result,
    xacro_arguments,
)
from flex_robot_sim.cli.terminal import patience
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

NOT_GOOD = 1            # exit code
WAYS = ('auto', 'efforts', 'motion')


def add_to(commands: Any, about: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        'identify', help=about,
        description='Fit numbers of a robot to logs of its motions: CSV with a header or MCAP. '
                    'Signals are called position/JOINT, motor/JOINT, velocity/JOINT, '
                    'effort/JOINT, LINK/SENSOR, tip/LINK/y, gyro/LINK/x, '
                    'acceleration/LINK/x; others are named by --signal.',
        epilog=f'Exit code {NOT_GOOD}: the fitted model does not explain the motions that were '
               'held out. See docs/identification.md.')
    parser.add_argument('files', metavar='LOG... URDF', nargs='+',
                        help='one log or several, then the robot')
    parser.add_argument('--free', metavar='PATHS', default='',
                        help='what to fit, with commas: forearm.EIz, *.damping, delay, or groups: '
                             'stiffness, damping, friction, mass, sensors (default: what logs '
                             'may well tell)')
    parser.add_argument('--signal', action='append', default=[], metavar='SIGNAL=COLUMN',
                        help='name a column, times a factor maybe: position/elbow=q2*deg; may be '
                             'given several times')
    parser.add_argument('--filter', action='append', default=[], metavar='SIGNAL=HZ',
                        help='a low-pass of second order between this sensor and the log')
    parser.add_argument('--by', default='auto', choices=WAYS,
                        help='what drives the model: efforts, or the measured motion of the '
                             'drives, whose own numbers then fall out (default: efforts where '
                             'they are logged)')
    parser.add_argument('--calibration', metavar='YAML',
                        help='of flexsim rig calibrate: what counts of a bench mean, and where '
                             'its numbers begin')
    parser.add_argument('--validate', action='append', default=[], metavar='LOG',
                        help='judge on this log (default: on the last quarter of each)')
    add_output(parser, '--output', metavar='URDF', help='write the robot with the fitted numbers')
    add_output(parser, '--plot', metavar='FILE', help='draw measured against simulated')
    parser.add_argument('--time-step', type=float,
                        help='of the simulation, at most [s] (default: as fine as the log asks)')
    parser.add_argument('--coupling', default='shortening', choices=('shortening', 'zero_order'))
    parser.add_argument('--gravity', type=numbers, default=[0.0, 0.0, -9.81], metavar='X,Y,Z',
                        help='[m/s2] (default: 0,0,-9.81)')
    add_json(parser)
    parser.set_defaults(run=run, xacro=[])


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    import flex_robot_sim as frs
    from flex_robot_sim.identification.calibration_priors import (
        gauge_notes,
        known_numbers,
        with_known,
        with_stepper,
    )
    from flex_robot_sim.identification.identify import identify
    from flex_robot_sim.identification.imu import refuse_unknown_links
    from flex_robot_sim.identification.log_file import GAUGE_CUTOFF_HZ, read_log
    from flex_robot_sim.identification.prediction import Filter, Setup
    from flex_robot_sim.identification.sequences import make_data_set
    from flex_robot_sim.model.assembly import build_arm
    from flex_robot_sim.rig.calibration.file import read_calibration

    if len(arguments.files) < 2:
        raise UsageError('give one log or several, then the URDF.')
    if arguments.time_step is not None and not 1e-5 <= arguments.time_step <= 0.1:
        raise UsageError('--time-step must be from 1e-5 to 0.1 s.')
    *paths, robot = arguments.files
    if arguments.plot:
        from flex_robot_sim.util.plots import check_figure_path
        check_figure_path(arguments.plot)
    if arguments.output:
        expect_writable(arguments.output)
    arm = frs.load(robot, arguments.coupling, arguments.gravity, xacro_arguments(arguments.xacro))
    refuse_unknown_links(arm, arguments.signal)
    bench, known, model = None, [], arm
    if arguments.calibration:
        bench = read_calibration(arguments.calibration)
        known = known_numbers(arm, bench)
    with patience('reading'):
        logs = [read_log(path, arguments.signal, bench) for path in paths]
        judges = [read_log(path, arguments.signal, bench) for path in arguments.validate]
    field = f'field/{arm.joint_names[-1]}'
    if bench is not None and all(field in log.columns for log in [*logs, *judges]):
        model = build_arm(with_stepper(arm.description, bench), arguments.coupling,
                          arguments.gravity)
    data = make_data_set(logs, model, arguments.by == 'motion')
    if arguments.by == 'efforts' and not data.has_efforts:
        raise UsageError(f'{paths[0]}: has no efforts of all joints. Name them by --signal '
                         'effort/JOINT=COLUMN, or take --by motion.')
    held = make_data_set(judges, model, not data.has_efforts, data) if judges else None
    if held is not None and held.channels != data.channels:
        raise UsageError(f'{judges[0].path}: has other signals than {paths[0]}: '
                         f'{", ".join(held.channels)}. Record the same.')
    gauges = {}
    if bench is not None and model is not arm:
        gauges = {name: Filter(GAUGE_CUTOFF_HZ) for name in bench.sensors}
    free = [word.strip() for word in arguments.free.split(',') if word.strip()]
    if bench is not None and not free:      # what forces say of gauges depends on the stiffness
        free = ['stiffness', 'damping', 'sensors', *(['friction'] if data.has_efforts else [])]
    setup = Setup(with_known(model.description, known), data, arguments.coupling,
                  tuple(arguments.gravity), {**gauges, **_filters(arguments.filter, data)},
                  time_step=arguments.time_step)
    found = identify(setup, free, held.sequences if held else (), _progress, known)
    _progress('')
    if bench is not None:
        found.notes.extend(gauge_notes(found, bench))
    summary = _summary(found, paths, robot, known)
    if arguments.output:
        _write(arguments.output, found, paths, arm.description, known, arguments.calibration,
               not arguments.force)
    if arguments.plot:
        _draw(arguments.plot, found)
    print_result(arguments, summary, _as_text)
    if not found.held_out:
        print('flexsim identify: there is nothing but noise where the fit has not looked, so that '
              'the model cannot be judged. Record more motion, or give --validate.',
              file=sys.stderr)
    elif not found.is_good:
        worst = min({**found.held_out, **found.effort_explained}.items(), key=lambda one: one[1])
        print(f'flexsim identify: the model explains only {worst[1]:.0%} of {worst[0]} where the '
              'fit has not looked. Free more numbers, or describe what is missing.',
              file=sys.stderr)
    return 0 if found.is_good else NOT_GOOD


def _progress(line):
    if sys.stderr.isatty():
        print(f'\r{line:60.60s}\r', end='', file=sys.stderr, flush=True)


def _filters(words, data):
    from flex_robot_sim.identification.prediction import Filter
    out = {}
    for word in words:
        name, _, frequency = word.partition('=')
        if name not in data.channels:
            raise UsageError(f'--filter {word}: no signal "{name}". '
                             f'Known: {", ".join(data.channels)}.')
        try:
            out[name] = Filter(float(frequency))
        except ValueError as error:
            raise UsageError(f'--filter {word}: write SIGNAL=HZ.') from error
        half = 0.5 / max(row.period for row in data.sequences)
        if not 0.0 < out[name].frequency < half:
            raise UsageError(f'--filter {word}: must be above 0 and below {half:g} Hz, half the '
                             'rate of the log.')
    return out


def _plain(value):
    return float(value) if math.isfinite(value) else None


def _summary(found, paths, robot, known):
    return {
        'robot': robot, 'logs': [str(path) for path in paths],
        'by': 'motion' if found.setup.has_prescribed_motion else 'efforts',
        'finer': found.setup.finer, 'time_step': found.setup.time_step,
        'samples': int(sum(len(row.time) for row in found.setup.data.sequences)),
        'rate': 1 / found.setup.data.sequences[0].period,
        'resonances': [one._asdict() for one in found.resonances],
        'numbers': {one.path: {
            'unit': one.unit, 'before': one.before, 'value': one.value,
            'deviation': _plain(one.deviation), 'interval': [_plain(end) for end in one.interval],
            'is_identifiable': one.is_identifiable, 'trades_with': one.trades_with,
            'hint': one.hint}
            for one in found.numbers},
        'calibrated': {one.path: {'unit': one.unit, 'before': one.before, 'value': one.value,
                                  'deviation': one.deviation} for one in known},
        'explained': found.explained, 'held_out': found.held_out,
        'effort_held_out': found.effort_explained, 'not_judged': list(found.silent),
        'good': found.is_good, 'notes': found.notes}


def _as_text(summary):
    yield (f'{", ".join(summary["logs"])}: {summary["samples"]} samples at '
           f'{summary["rate"]:.4g} Hz, driven by {summary["by"]}; {summary["finer"]} shapes of '
           f'bending beyond those described, steps of {summary["time_step"]:.3g} s')
    for one in summary['resonances']:
        yield (f'  rings at {one["frequency"]:.4g} Hz (+-{one["frequency_deviation"]:.1g}), '
               f'damping {one["ratio"]:.2%} (+-{one["ratio_deviation"]:.1%})')
    width = max([len(path) for path in [*summary['numbers'], *summary['calibrated']]] + [6])
    yield f'  {"number":{width}s}      before       value         +-'
    for path, one in summary['numbers'].items():
        size = one['deviation']
        row = f'  {path:{width}s}  {one["before"]:10.4g}'
        if one['is_identifiable']:
            row += f'  {one["value"]:10.5g}  {size:9.2g}  {one["unit"]}'
        else:
            row += f'           -          -  not told by this log: {one["hint"]}'
        if one['trades_with']:
            row += f'; trades with {one["trades_with"]}'
        yield row.rstrip()
    for path, one in summary['calibrated'].items():
        if path not in summary['numbers']:
            yield (f'  {path:{width}s}  {one["before"]:10.4g}  {one["value"]:10.5g}  '
                   f'{one["deviation"]:9.2g}  {one["unit"]}, by the calibration')
    yield '  +-: standard deviation, from the residuals of blocks of time'
    for name, share in summary['held_out'].items():
        yield (f'  {name}: {summary["explained"][name]:.1%} of the variance explained, '
               f'{share:.1%} of what is no noise where the fit has not looked')
    for name, share in summary['effort_held_out'].items():
        yield f'  effort/{name}: {share:.1%} explained where the fit has not looked'
    for note in summary['notes']:
        yield f'  note: {note}'


def _write(path, found, logs, before, measured, calibration, is_new):
    """Write the URDF, numbers in place, those of a calibration included."""
    from flex_robot_sim.description.parameters import parameters_of, with_parameters
    from flex_robot_sim.description.rewriting import edits_of, rewritten

    known = parameters_of(before)
    told = [one for one in found.numbers if one.is_identifiable and one.path in known]
    names = ', '.join(Path(log).name for log in logs)
    rows = [(one, names) for one in told]
    rows += [(one, Path(calibration).name) for one in measured
             if one.path not in [own.path for own in told]]
    after = with_parameters(before, {one.path: one.value for one, _ in rows})
    edits, comments = [], {}
    for one, source in rows:
        own = edits_of(before, after, one.path)
        edits += own
        line = (f'{one.path}: {known[one.path].value:.6g} before, {one.value:.6g} +- '
                f'{one.deviation:.2g}, {date.today().isoformat()}, {source}')
        place = own[0].place
        comments[place] = '; '.join(filter(None, [comments.get(place), line]))
    try:
        with open_atomic(path, 'w', is_new=is_new, encoding='utf-8', newline='') as file:
            file.write(rewritten(before.text, edits, comments))
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error


def _draw(path, found):
    from flex_robot_sim.util.plots import Chart, Curve, write_charts
    time, measured, predicted = found.times[0], found.measured[0], found.predicted[0]
    write_charts(path, 'measured and simulated, where the fit has not looked', [
        Chart(name, 'time [s]', name, (Curve('measured', time, measured[:, k], 0),
                                       Curve('simulated', time, predicted[:, k], 1)))
        for k, name in enumerate(found.channels)])
