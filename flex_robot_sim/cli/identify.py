"""`flexsim identify`: parameters of an arm, fitted to logs of its motions."""

import contextlib
import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import date
from pathlib import Path

from flex_robot_sim.cli import common
from flex_robot_sim.cli.identify_report import as_text, draw_fit, print_verdict, summary_of
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.util.xacro_arguments import xacro_arguments

EXIT_POOR_FIT = 1  # exit code
DRIVE_INPUTS = ('auto', 'efforts', 'motion')


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Identify parameters of a robot from logs of its motions: CSV with a header or '
        'MCAP. Signals have the names position/JOINT, motor/JOINT, velocity/JOINT, '
        'effort/JOINT, LINK/SENSOR, tip/LINK/y, gyro/LINK/x, acceleration/LINK/x; --signal '
        'maps other column names.'
    )
    parser.epilog = (
        f'Exit code {EXIT_POOR_FIT}: the fitted model does not explain the motions that '
        'were held out. See docs/identification.md.'
    )
    parser.add_argument(
        'files', metavar='LOG... URDF', nargs='+', help='one or more logs, then the robot'
    )
    parser.add_argument(
        '--free',
        metavar='PATHS',
        default='',
        help='parameters to fit, separated by commas: forearm.EIz, *.damping, delay, or groups: '
        'stiffness, damping, friction, hysteresis, backlash, kinematic_error, cogging, '
        'torque_ripple, creep, mass, sensors; of the bench: '
        'gains, crosstalk, rate_sign, gravity, cable, torque_constants (default: those that '
        'logs usually determine)',
    )
    parser.add_argument(
        '--signal',
        action='append',
        default=[],
        metavar='SIGNAL=COLUMN',
        help='column of a signal, with an optional factor: position/elbow=q2*deg; may be given '
        'several times',
    )
    parser.add_argument(
        '--filter',
        action='append',
        default=[],
        metavar='SIGNAL=HZ',
        help='a low-pass of second order between this sensor and the log: HZ (Butterworth), '
        'HZ,ZETA, or the coefficients b0,b1,b2,a1,a2 at the rate of the log',
    )
    parser.add_argument(
        '--by',
        default='auto',
        choices=DRIVE_INPUTS,
        help='input of the model: efforts, or the measured motion of the drives, which makes '
        'parameters of the drives unnecessary (default: efforts, if the log has them)',
    )
    parser.add_argument(
        '--calibration',
        metavar='YAML',
        help='calibration of the bench by flexsim rig calibrate: units of its counts and initial '
        'values of its parameters (default: the one in the log)',
    )
    parser.add_argument(
        '--validate',
        action='append',
        default=[],
        metavar='LOG',
        help='validate on this log (default: on the last quarter of each)',
    )
    common.add_output(
        parser, '--output', metavar='URDF', help='write the robot with the identified parameters'
    )
    common.add_output(parser, '--plot', metavar='FILE', help='draw measured and simulated signals')
    parser.add_argument(
        '--time-step',
        type=float,
        help='longest integration step [s] (default: as short as the log requires)',
    )
    parser.add_argument('--coupling', default='shortening', choices=('shortening', 'zero_order'))
    parser.add_argument(
        '--gravity',
        type=common.numbers,
        metavar='X,Y,Z',
        help='gravity [m/s2] (default: that of the robot, 0,0,-9.81 without <gravity>)',
    )
    common.add_json(parser)
    parser.set_defaults(xacro=[])


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    import flex_robot_sim as frs
    from flex_robot_sim.identification.bench_log import GAUGE_CUTOFF_HZ
    from flex_robot_sim.identification.calibration_priors import (
        gauge_notes,
        known_numbers,
        with_known,
        with_stepper,
    )
    from flex_robot_sim.identification.imu import refuse_unknown_links
    from flex_robot_sim.identification.log_file import calibration_of_logs, read_log
    from flex_robot_sim.identification.low_pass import Filter, parse_filters
    from flex_robot_sim.identification.prediction import Setup
    from flex_robot_sim.identification.sequences import make_data_set
    from flex_robot_sim.model.arguments import refuse_moved_base
    from flex_robot_sim.model.assembly import build_arm
    from flex_robot_sim.rig.calibration.file import read_calibration

    _check_arguments(arguments)
    *paths, robot = arguments.files
    arm = frs.load(
        robot,
        coupling=arguments.coupling,
        gravity=arguments.gravity,
        xacro_arguments=xacro_arguments(arguments.xacro),
    )
    refuse_moved_base(arm)
    refuse_unknown_links(arm, arguments.signal)
    calibrated, model = [], arm
    with show_progress('reading'):
        bench = (
            read_calibration(arguments.calibration)
            if arguments.calibration
            else calibration_of_logs([*paths, *arguments.validate])
        )
        if bench is not None:
            calibrated = known_numbers(arm, bench)
        logs = [read_log(path, arguments.signal, calibration=bench) for path in paths]
        validation_logs = [
            read_log(path, arguments.signal, calibration=bench) for path in arguments.validate
        ]
    field = f'field/{arm.joint_names[-1]}'
    if bench is not None and all(field in log.columns for log in [*logs, *validation_logs]):
        model = build_arm(
            with_stepper(arm.description, bench), arguments.coupling, arguments.gravity
        )
    data = make_data_set(logs, model, arguments.by == 'motion')
    if arguments.by == 'efforts' and not data.has_efforts:
        raise UsageError(
            f'{paths[0]}: has no efforts of all joints. Name them by --signal '
            'effort/JOINT=COLUMN, or take --by motion.'
        )
    validation_sequences = _validation_sequences(validation_logs, model, data, paths[0])
    gauges = {}
    if bench is not None and model is not arm:
        gauges = {name: Filter(GAUGE_CUTOFF_HZ) for name in bench.sensors}
    free = [word.strip() for word in arguments.free.split(',') if word.strip()]
    is_at_rest = model is not arm
    # the fit estimates the initial vibration; a delay has the same effect as an earlier start
    omits_delay = is_at_rest and 'delay' in free
    if bench is not None and (omits_delay or not free or is_at_rest and 'sensors' in free):
        free = _free_of_bench(arm, free, gauges, data.has_efforts, bool(arguments.calibration))
    period = max(row.period for row in data.sequences)
    setup = Setup(
        with_known(model.description, calibrated),
        data,
        arguments.coupling,
        arguments.gravity and tuple(arguments.gravity),
        {**gauges, **parse_filters(arguments.filter, data.channels, period)},
        time_step=arguments.time_step,
    )
    fit = _fit_with_progress(setup, free, validation_sequences, calibrated)
    if bench is not None:
        fit.notes.extend(gauge_notes(fit, bench))
        if not arguments.calibration:
            fit.notes.append(
                f'{paths[0]}: its own constants are taken, which are those of the data sheets '
                'unless the bench ran with a calibration; --calibration names others'
            )
    if omits_delay:
        fit.notes.append(
            'the delay is not fitted: vibration at rest does not determine it, as '
            'its start is unknown'
        )
    if arguments.output:
        fit.notes.extend(_bench_notes(fit, arm.description))
    summary = summary_of(fit, paths, robot, calibrated)
    if arguments.output:
        _write(
            arguments.output,
            fit,
            paths,
            arm.description,
            calibrated,
            arguments.calibration or paths[0],
            not arguments.force,
        )
    if arguments.plot:
        draw_fit(arguments.plot, fit)
    common.print_result(arguments, summary, as_text)
    print_verdict(fit)
    return 0 if fit.is_good else EXIT_POOR_FIT


def _fit_with_progress(setup, free, validation, calibrated):
    """Return the Identification; show its steps, without a terminal as lines."""
    from flex_robot_sim.identification.identify import identify

    screen, steps, started_at = Screen(), ['fitting'], time.monotonic()

    def watch(line):
        steps.append(line)
        screen.show(line)

    def text():
        return f'{steps[-1]}, {time.monotonic() - started_at:.0f} s'

    with contextlib.ExitStack() as stack:
        if not sys.stderr.isatty():
            stack.enter_context(show_progress('flexsim identify', progress_text=text))
        fit = identify(setup, free, validation, watch, calibrated)
    screen.show('')
    return fit


def _check_arguments(arguments):
    """Raise UsageError for arguments that contradict each other or are out of range."""
    if len(arguments.files) < 2:
        raise UsageError('give one log or several, then the URDF.')
    if arguments.time_step is not None and not 1e-5 <= arguments.time_step <= 0.1:
        raise UsageError('--time-step must be from 1e-5 to 0.1 s.')
    robot = arguments.files[-1]
    if Path(robot).suffix.lower() in ('.csv', '.mcap'):
        raise UsageError(f'{robot}: this is a log. Name the logs first, and the robot last.')
    common.expect_drawable(arguments.plot)
    if arguments.output:
        common.expect_writable(arguments.output)


def _validation_sequences(logs, model, data, path):
    """Return the sequences of the validation logs, with the signals of the other logs."""
    from flex_robot_sim.identification.sequences import make_data_set

    if not logs:
        return ()
    validation = make_data_set(logs, model, not data.has_efforts, data)
    if validation.channels != data.channels:
        raise UsageError(
            f'{logs[0].path}: has other signals than {path}: '
            f'{", ".join(validation.channels)}. Record the same.'
        )
    return validation.sequences


def _free_of_bench(arm, free, gauges, has_efforts, is_calibrated):
    """
    Return the quantities to fit to the log of a bench, for words of --free.

    :param gauges: those that vibrate at rest in the log; none: the whole log counts.
    """
    from flex_robot_sim.description.robot_parameters import parameters_of

    gains = [f'{name}.gain' for name in gauges]
    if not free and not gauges:  # the gauge gains from known forces depend on the stiffness
        return ['stiffness', 'damping', 'sensors', *(['friction'] if has_efforts else [])]
    if not free:  # the field of the stepper and the gains correlate with the stiffness
        known = parameters_of(arm.description)
        paths = [
            f'{link}.{word}'
            for link in arm.tips
            for word in ('stiffness', 'damping_ratio', 'damping_time')
        ]
        return [path for path in paths if path in known] + (gains if is_calibrated else [])
    return [
        path
        for word in free
        if word != 'delay'
        for path in (gains if word == 'sensors' else [word])
    ]


def _bench_notes(fit, description):
    """Return a note that names the fitted parameters that are none of the robot."""
    from flex_robot_sim.description.robot_parameters import parameters_of

    known = parameters_of(description)
    paths = [row.path for row in fit.estimates if row.is_identifiable and row.path not in known]
    if not paths:
        return []
    return [f'not written, as a URDF does not describe the bench: {", ".join(paths)}']


def _write(path, fit, log_paths, before, measured, calibration, is_new):
    """Write the URDF with the identified and the calibrated numbers."""
    from flex_robot_sim.description.rewriting import edits_of, rewritten
    from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters

    parameters = parameters_of(before)
    identified = [
        number for number in fit.estimates if number.is_identifiable and number.path in parameters
    ]
    names = ', '.join(Path(log).name for log in log_paths)
    rows = [(number, names) for number in identified]
    rows += [
        (number, Path(calibration).name)
        for number in measured
        if number.path not in [row.path for row in identified]
    ]
    after = with_parameters(before, {number.path: number.value for number, _ in rows})
    edits = []
    comments: dict[tuple, str] = {}
    for number, source in rows:
        new_edits = edits_of(before, after, number.path)
        edits += new_edits
        line = (
            f'{number.path}: {parameters[number.path].value:.6g} before, {number.value:.6g} +- '
            f'{number.standard_deviation:.2g}, {date.today().isoformat()}, {source}'
        )
        place = new_edits[0].place
        comments[place] = '; '.join(filter(None, [comments.get(place), line]))
    try:
        with open_atomic(path, 'w', is_new=is_new, encoding='utf-8', newline='') as file:
            file.write(rewritten(before.text, edits, comments))
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error
