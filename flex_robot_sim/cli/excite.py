"""`flexsim excite`: optimal excitation of an arm, written to files and played on a bench."""

import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.util.exceptions import UsageError

EMULATOR = 'emulator'
LOG_PERIOD_S = 1e-3  # sampling period of the log of a simulated arm
SIMULATION_STEP_S = 1e-4  # as short as in a fit, because longer steps bias the parameters
LOST_TIME_WARNING_S = 0.1  # an emulated bench that lost more time prints a note
KINDS = ('best', 'fourier', 'decay', 'sweep', 'chirp', 'multisine')


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Design a motion whose log determines parameters of an arm. It keeps within the '
        'limits of position, its rates, effort and deflection on the nonlinear model. '
        'flexsim identify reads its log. See docs/identification.md.'
    )
    common.add_robot(parser)
    parser.add_argument(
        '--kind',
        default='best',
        choices=KINDS,
        help='best: the kind below with the most information for the worst of several guesses of '
        'stiffness and friction; fourier: a Fourier series optimised for information; '
        'decay: moves with rests in which the vibration decays; sweep, chirp: a sine of '
        'increasing frequency, over the band of the arm or from 0.3 to 10 Hz (default: '
        '%(default)s)',
    )
    parser.add_argument(
        '--free',
        metavar='PATHS',
        default='',
        help='parameters to determine, as for flexsim identify',
    )
    parser.add_argument(
        '--signal',
        action='append',
        default=[],
        metavar='SIGNAL',
        help='a measured signal besides joints, flex sensors and IMUs in links with the name '
        'imu: gyro/LINK/x, acceleration/LINK/x, tip/LINK/y, as for flexsim identify; may be '
        'given several times',
    )
    parser.add_argument(
        '--seconds',
        type=float,
        default=20.0,
        help='duration of the motion [s] (default: %(default)s)',
    )
    parser.add_argument(
        '--pose',
        type=common.numbers,
        help='centre of the motion (default: the best of several poses)',
    )
    parser.add_argument(
        '--size',
        type=float,
        default=1.0,
        help='amplitude over that which the limits allow (default: %(default)s)',
    )
    parser.add_argument(
        '--for-energy',
        action='store_true',
        help='optimise the Fourier series for information per energy, if drives become warm, '
        'instead of within the limits',
    )
    parser.add_argument(
        '--tries',
        type=int,
        default=8,
        help='sets of phases of the Fourier series to try (default: %(default)s)',
    )
    parser.add_argument(
        '--seed',
        type=int,
        default=0,
        help='seed of the phases, and of the noise of a simulated arm',
    )
    parser.add_argument(
        '--output',
        metavar='NAME',
        help='write NAME.trajectory.yaml for the controller, and '
        'NAME.profile.yaml for bridge and board',
    )
    parser.add_argument(
        '--play', metavar='PORT', help=f'play it on a bench; {EMULATOR}: on an emulated one'
    )
    parser.add_argument(
        '--calibration', metavar='YAML', default='', help='calibration of the bench'
    )
    common.add_output(
        parser,
        '--log',
        metavar='FILE',
        help='log of the bench, or of the simulated arm without --play',
    )
    common.add_output(parser, '--plot', metavar='FILE', help='draw the motion')
    common.add_model(parser)
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    _check_arguments(arguments)
    from flex_robot_sim.analysis.loop_poses import full_pose
    from flex_robot_sim.identification.experiment_design import (
        design_experiment,
        scaled_design,
        with_noise,
    )
    from flex_robot_sim.identification.experiment_files import open_loop, write_experiment
    from flex_robot_sim.identification.robust_design import best_experiment
    from flex_robot_sim.identification.simulated_experiment import (
        available_channels,
        simulate_experiment,
    )

    arm = common.read_arm(arguments)
    if arguments.pose is not None:
        arguments.pose = full_pose(arm, '--pose', arguments.pose)
    free = [word.strip() for word in arguments.free.split(',') if word.strip()]
    available_channels(arm, arguments.signal)  # refuses signals that no sensor has
    period = max(4e-3, arguments.seconds / 1e4)
    with show_progress('designing the motion'):
        words: dict[str, Any] = {
            'duration': arguments.seconds,
            'period': period,
            'free': free,
            'pose': arguments.pose,
            'phase_sets': arguments.tries,
            'seed': arguments.seed,
            'signals': arguments.signal,
        }
        if arguments.kind == 'best':
            design = best_experiment(arm, **words)
        else:
            design = design_experiment(
                arm, kind=arguments.kind, for_energy=arguments.for_energy, **words
            )
        if arguments.size < 1.0:
            design = scaled_design(arm, design, arguments.size, free)
        open_loop_limit = open_loop(arm, design.experiment)
    summary = _summary(arguments, arm, design, open_loop_limit)
    if arguments.output:
        summary['files'] = _write(arguments, arm, design, open_loop_limit)
    if arguments.plot:
        _draw(arguments.plot, arm, design)
    if arguments.play:
        summary['run'] = _play(arguments, arm, design)
    elif arguments.log:
        from flex_robot_sim.identification.experiment_files import log_text

        experiment = simulate_experiment(
            arm,
            design.experiment.trajectory.sampled(LOG_PERIOD_S),
            SIMULATION_STEP_S,
            arguments.signal,
        )
        write_experiment(
            arguments.log,
            log_text(with_noise(experiment.log, arguments.seed)),
            not arguments.force,
        )
    common.print_result(arguments, summary, _as_text)
    return 0


def _check_arguments(arguments):
    if not 2.0 <= arguments.seconds <= 600.0:
        raise UsageError('--seconds must be from 2 to 600.')
    if not 1 <= arguments.tries <= 10000:
        raise UsageError('--tries must be from 1 to 10000.')
    if not 0.0 < arguments.size <= 1.0:
        raise UsageError('--size must be above 0 and at most 1.')
    if arguments.for_energy and arguments.kind != 'fourier':
        raise UsageError('--for-energy goes with --kind fourier.')
    if arguments.seed < 0:
        raise UsageError('--seed must be 0 or more.')
    if arguments.play and not arguments.log:
        raise UsageError('--play needs --log FILE for what is measured.')
    if arguments.calibration and not arguments.play:
        raise UsageError('--calibration goes with --play.')
    names = [
        f'{arguments.output}.{kind}.yaml' for kind in ('trajectory', 'profile') if arguments.output
    ]
    for path in names:
        if not arguments.force:
            common.refuse_existing_file('--output', path)
        common.expect_writable(path)
    if arguments.log:
        common.expect_writable(arguments.log)
    common.expect_drawable(arguments.plot)


def _summary(arguments, arm, design, open_loop_limit):
    course = design.experiment.trajectory
    return {
        'robot': arguments.robot,
        'kind': course.kind,
        'seconds': float(course.time[-1]),
        'pose': dict(zip(arm.joint_names, course.pose.tolist())),
        'candidates': design.candidate_count,
        'standard_deviations': {
            row.path: float(deviation) if math.isfinite(deviation) else None
            for row, deviation in zip(design.information.unknowns, design.information.deviations)
        },
        'measured': [*design.experiment.channels],
        'scales': {row.path: row.scale for row in design.information.unknowns},
        'units': {row.path: row.unit for row in design.information.unknowns},
        'information': design.information.size,
        'limits': design.experiment.peaks,
        'open_loop': {
            'limit': open_loop_limit[0],
            'share': open_loop_limit[1] if math.isfinite(open_loop_limit[1]) else None,
        },
    }


def _write(arguments, arm, design, open_loop_limit):
    from flex_robot_sim.identification.experiment_files import (
        profile_segments,
        profile_text,
        trajectory_text,
        write_experiment,
    )

    name, is_new = arguments.output, not arguments.force
    files = {'trajectory': f'{name}.trajectory.yaml'}
    write_experiment(
        files['trajectory'], trajectory_text(arm, design.experiment.trajectory), is_new
    )
    if open_loop_limit[1] <= 1.0:
        files['profile'] = f'{name}.profile.yaml'
        write_experiment(
            files['profile'], profile_text(arm, *profile_segments(design.experiment)), is_new
        )
    return files


def _play(arguments, arm, design):
    from flex_robot_sim.identification.bench_run import play
    from flex_robot_sim.rig.board.emulator_process import EmulatorProcess

    screen = Screen()
    with ExitStack() as stack:
        port = arguments.play
        if port == EMULATOR:
            with show_progress('starting the emulated bench'):
                emulator = EmulatorProcess(robot=arguments.robot)
            stack.callback(_note_lost_time, emulator)  # runs after it has closed
            stack.callback(emulator.close)
            port = emulator.port
        try:
            result = play(
                arm,
                design.experiment.trajectory,
                port,
                arguments.log,
                arguments.calibration,
                lambda share: screen.show(f'the bench moves: {share:.0%}. Ctrl-C stops it'),
            )
        except KeyboardInterrupt:
            screen.show('')
            print(
                f'\nflexsim excite: stopped; the motors are off. {arguments.log} has what was '
                'measured.',
                file=sys.stderr,
            )
            raise
        finally:
            screen.show('')
    return {
        'log': arguments.log,
        'seconds': result.seconds,
        'states': result.states,
        'largest_error': dict(zip(arm.joint_names, result.largest_error.tolist())),
        'events': result.events,
    }


def _note_lost_time(emulator):
    """Print a note if the emulator lost time because the computer was busy."""
    if emulator.lost_time > LOST_TIME_WARNING_S:
        print(
            f'flexsim excite: note: this computer was busy: the emulated rig stood still for '
            f'{emulator.lost_time:.2f} s. Call it again when less else runs',
            file=sys.stderr,
        )


def _as_text(summary: Mapping[str, Any]) -> Iterable[str]:
    yield (
        f'{summary["robot"]}: {summary["kind"]}, {summary["seconds"]:.4g} s, the best of '
        f'{summary["candidates"]}, about '
        + ', '.join(f'{name} {value:.3g}' for name, value in summary['pose'].items())
    )
    width = max(len(path) for path in summary['standard_deviations'])
    imus = [name for name in summary['measured'] if name.startswith(('gyro/', 'acceleration/'))]
    if imus:
        yield f'  counts on {", ".join(imus)}' + (
            ', which the log of a bench has not' if 'run' in summary else ''
        )
    yield '  standard deviations to expect, with noise of the sensors only:'
    for path, deviation in summary['standard_deviations'].items():
        scale = summary['scales'][path]
        text = (
            '-'
            if deviation is None
            else (
                f'+-{deviation:.2%}'
                if scale == 0.0
                else f'+-{deviation * scale:.2g} {summary["units"][path]}'
            )
        )
        yield f'  {path:{width}s}  {text}'
    worst = max(summary['limits'].items(), key=lambda item: item[1])
    yield (
        f'  limits, on the nonlinear model: at most {worst[1]:.0%}, of {worst[0]}; all: '
        + ', '.join(f'{name} {share:.0%}' for name, share in summary['limits'].items())
    )
    share = summary['open_loop']['share']
    if share is None or share > 1.0:
        yield (
            '  as efforts without a servo it would leave its limits '
            f'({summary["open_loop"]["limit"]}): there is no profile of it'
        )
    for kind, path in summary.get('files', {}).items():
        yield f'  {kind}: {path}'
    if 'run' in summary:
        played = summary['run']
        yield (
            f'  {played["log"]}: {played["states"]} states in {played["seconds"]:.1f} s; '
            'from its targets by up to '
            + ', '.join(f'{name} {value:.2g}' for name, value in played['largest_error'].items())
        )


def _draw(path, arm, design):
    from flex_robot_sim.util.plots import Chart, Curve, write_charts

    trajectory, trial = design.experiment.trajectory, design.experiment
    unit = f' [{arm.units[0]}]' if len({*arm.units}) == 1 else ''
    charts = [
        Chart(
            'joints',
            'time [s]',
            f'way from the pose{unit}',
            tuple(
                Curve(name, trajectory.time, trajectory.position[:, j] - trajectory.pose[j], j)
                for j, name in enumerate(arm.joint_names)
            ),
        )
    ]
    charts.append(
        Chart(
            'efforts',
            'time [s]',
            'share of the limit',
            tuple(
                Curve(
                    name, trajectory.time, trial.sequence.efforts[:, j] / trial.effort_limits[j], j
                )
                for j, name in enumerate(arm.joint_names)
            ),
        )
    )
    gauges = [name for name in trial.log.columns if name.split('/')[0] in arm.tips]
    if gauges:
        charts.append(
            Chart(
                'gauges',
                'time [s]',
                'curvature [1/m]',
                tuple(
                    Curve(name, trajectory.time, trial.log.columns[name].values, k)
                    for k, name in enumerate(gauges)
                ),
            )
        )
    write_charts(path, f'{arm.description.name}: {trajectory.kind}', charts)
