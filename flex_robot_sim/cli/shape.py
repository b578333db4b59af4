"""`flexsim shape`: comparison of input shapers, from a model or from a recording."""

import sys
from argparse import ArgumentParser, Namespace

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.xacro_arguments import xacro_arguments

EXIT_NO_RESONANCE = 1  # exit code
LOG_DEVIATION_FACTOR = 2.0  # standard deviations of a fitted frequency
MIN_LOG_UNCERTAINTY = 0.05  # relative, of frequencies from a ring-down or a sweep
MIN_SPECTRUM_UNCERTAINTY = 0.1  # relative, of frequencies from a spectrum
CURVE_POINTS = 400  # of a sensitivity curve


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'One line for each input shaper: what it leaves of the vibration, the time that it adds, '
        'and the acceleration that it allows; and which one to take.'
    )
    parser.epilog = (
        'The rule: of all shapers that leave no more than --tolerance, with frequencies '
        'off by --uncertainty, in all poses and with all payloads, and half of it in '
        'trial moves of the nonlinear arm, the one that adds the least time; where '
        'frequencies differ, only those that follow the pose count. '
        f'Exit code {EXIT_NO_RESONANCE}: nothing vibrates, so no shaper is recommended.'
    )
    parser.add_argument(
        'robot', metavar='URDF', nargs='?', help='URDF or xacro file, or name of a shipped robot'
    )
    parser.add_argument('xacro', nargs='*', metavar='NAME:=VALUE', help='arguments for xacro')
    parser.add_argument(
        '--pose',
        type=common.numbers,
        action='append',
        default=[],
        help='for instance 0.5,0.3,-0.8, in rad, and in m where a joint slides; '
        'may be given several times (default: some all over the range)',
    )
    parser.add_argument(
        '--payload',
        action='append',
        default=[],
        metavar='[LINK=]KG',
        help='fixed to the tool, or to a link; may be given several times',
    )
    parser.add_argument(
        '--servo',
        action='store_true',
        help='joints are held by the gains of the controller, not stiffly',
    )
    parser.add_argument(
        '--fixed', action='store_true', help='only shapers whose delays do not follow the pose'
    )
    parser.add_argument(
        '--log',
        metavar='CSV',
        help='a recording of an accelerometer, a gyro, a strain gauge or joint '
        'torques, with a header; instead of a URDF',
    )
    parser.add_argument(
        '--column',
        action='append',
        default=[],
        metavar='NAME',
        help='of the log, to be used (default: all)',
    )
    parser.add_argument(
        '--rate',
        type=float,
        metavar='HZ',
        help='of the samples of the log (default: from its column time)',
    )
    parser.add_argument(
        '--uncertainty',
        type=float,
        help='share by which frequencies may be off (default: 0.1; of a log '
        f'{LOG_DEVIATION_FACTOR:g} standard deviations, at least {MIN_LOG_UNCERTAINTY:g}, or '
        f'{MIN_SPECTRUM_UNCERTAINTY:g} without ring-down and sweep)',
    )
    parser.add_argument(
        '--tolerance',
        type=float,
        default=0.05,
        help='share of the vibration that may be left (default: %(default)s)',
    )
    parser.add_argument(
        '--allowed',
        type=float,
        default=5e-4,
        metavar='M',
        help='vibration of the tool that does not matter, for the acceleration '
        '[m] (default: %(default)s)',
    )
    common.add_output(parser, '--plot', metavar='FILE', help='draw spectrum and sensitivity')
    common.add_output(
        parser,
        '--output',
        metavar='FILE',
        help='write the recommended shaper, for design_file of the node shaper',
    )
    common.add_model(parser)
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    if (arguments.robot is None) == (arguments.log is None):
        raise UsageError('give either a URDF or --log CSV.')
    common.expect_drawable(arguments.plot)
    if arguments.output:
        common.expect_writable(arguments.output)
    summary, cases, candidates, best, spectrum = (_from_log if arguments.log else _from_robot)(
        arguments
    )
    if not cases:
        common.print_result(arguments, summary, _as_text)
        source = arguments.log or summary['source']
        hint = 'It needs no shaper'
        if arguments.log:
            hint = (
                'Record several periods of the vibration at rest after a move or a push, with '
                'several samples per period'
            )
        reason = ', as no link and no joint of it is flexible'
        if arguments.log or summary['is_flexible']:
            reason = ''
        print(
            f'flexsim shape: {source}: no resonance stands out{reason}. {hint}.', file=sys.stderr
        )
        return EXIT_NO_RESONANCE
    from flex_robot_sim.shaping.shaper_comparison import meets_tolerance

    summary['shapers'] = [
        {
            'name': candidate.name,
            'follows_pose': candidate.follows,
            'frequencies': [mode[0] for mode in candidate.shaper.modes],
            'vibration': candidate.vibration,
            'added_time': candidate.added_time,
            'move_vibration': None
            if np.isnan(candidate.move_vibration)
            else candidate.move_vibration,
            'acceleration': candidate.acceleration,
            'times': candidate.shaper.times.tolist(),
            'amplitudes': candidate.shaper.amplitudes.tolist(),
        }
        for candidate in candidates
    ]
    summary['recommended'] = candidates[best].name
    summary['meets_tolerance'] = bool(meets_tolerance(candidates[best], arguments.tolerance))
    if arguments.output:
        _write(arguments, summary, candidates[best])
    if arguments.plot:
        _draw(arguments.plot, summary, cases, candidates, best, spectrum)
    common.print_result(arguments, summary, _as_text)
    return 0


def _from_robot(arguments):
    """Return summary, cases, candidates, row of the best one, and no spectrum, of a model."""
    from flex_robot_sim.cli.common import read_arm
    from flex_robot_sim.control.servo import servo_line
    from flex_robot_sim.model.arguments import checked
    from flex_robot_sim.motion.limits import refuse_beyond_stops
    from flex_robot_sim.shaping.recommendation import DEFAULT_UNCERTAINTY, recommend

    xacro_arguments(arguments.xacro)
    if arguments.column or arguments.rate is not None:
        raise UsageError('--column and --rate are about a --log.')
    with show_progress('reading the robot'):
        arm = read_arm(arguments)
    poses = [checked('--pose', pose, arm.joint_names) for pose in arguments.pose]
    for pose in poses:
        refuse_beyond_stops(arm, np.arange(len(pose)), pose)
    with show_progress('looking for gains that hold the arm'):
        servo = _servo(arguments, arm)
        gains = servo and (servo.stiffness, servo.damping)
    uncertainty = DEFAULT_UNCERTAINTY if arguments.uncertainty is None else arguments.uncertainty
    payloads = [common.parse_payload(words, arm.tool) for words in arguments.payload]
    with show_progress('trying shapers, on linear models and in moves'):
        cases, candidates, best, moves, reason = recommend(
            arm,
            poses,
            payloads=payloads,
            gains=gains,
            uncertainty=uncertainty,
            tolerance=arguments.tolerance,
            allowed_vibration=arguments.allowed,
            fixed=arguments.fixed,
        )
    summary = {
        'source': arm.description.name,
        'is_flexible': bool(arm.tips or arm.motor_names),
        'uncertainty': uncertainty,
        'trial_moves': moves,
        'reason': reason,
        'gains': servo and servo_line(arm, servo),
        'tolerance': arguments.tolerance,
        'allowed_vibration': arguments.allowed,
        'cases': [
            {
                'name': case.name,
                'frequencies': case.frequencies.tolist(),
                'damping_ratios': case.ratios.tolist(),
            }
            for case in cases
        ],
        'shapers': [],
        'recommended': None,
    }
    return summary, cases, candidates, best, None


def _write(arguments, summary, candidate):
    """Write the recommended shaper; a pose-dependent one with its table, which takes long."""
    from flex_robot_sim.cli.common import read_arm
    from flex_robot_sim.shaping.impulses import NONE
    from flex_robot_sim.shaping.recommendation import following
    from flex_robot_sim.shaping.shaper_design import ShaperSpecification
    from flex_robot_sim.shaping.shaper_file import write_shaper

    joints, parts = (), ShaperSpecification(candidate.name, candidate.shaper)
    if not arguments.log:
        arm = read_arm(arguments)
        joints = arm.joint_names
        if candidate.follows:
            payloads = [common.parse_payload(words, arm.tool) for words in arguments.payload]
            with show_progress('computing the modes of all poses'):
                servo = _servo(arguments, arm)
                table, stages = following(
                    arm, candidate.design, payloads, servo and (servo.stiffness, servo.damping)
                )
                parts = ShaperSpecification(candidate.name, NONE, table, tuple(stages))
    write_shaper(arguments.output, parts, str(summary['source']), joints)


def _servo(arguments, arm):
    """Return the Servo that holds the joints, or None without --servo."""
    if not arguments.servo:
        return None
    from flex_robot_sim.control.servo import design_servo

    return design_servo(arm)


def _from_log(arguments):
    """Return summary, cases, candidates, row of the best one, and the spectrum, of a recording."""
    from flex_robot_sim.analysis.recorded_vibration import recorded_modes
    from flex_robot_sim.shaping.log_checks import check_modes
    from flex_robot_sim.shaping.shaper_comparison import ModeCase, compare_shapers
    from flex_robot_sim.shaping.vibration_log import read_samples

    if arguments.pose or arguments.payload or arguments.servo:
        raise UsageError('--pose, --payload and --servo are about a URDF.')
    with show_progress('reading'):
        log = read_samples(arguments.log, arguments.column, arguments.rate)
    rate, samples, names, notes = log
    with show_progress('looking for resonances'):
        modes = recorded_modes(rate, samples)
    notes = [*notes, *check_modes(arguments.log, log, modes)]
    found, spectrum = modes.resonances, modes.spectrum
    uncertainty = arguments.uncertainty
    if uncertainty is None:
        uncertainty = max(
            [
                MIN_SPECTRUM_UNCERTAINTY
                if any(resonance.way == 'spectrum' for resonance in found)
                else MIN_LOG_UNCERTAINTY,
                *(
                    LOG_DEVIATION_FACTOR * resonance.frequency_deviation / resonance.frequency
                    for resonance in found
                ),
            ]
        )
    summary = {
        'source': arguments.log,
        'rate': rate,
        'columns': names,
        'samples': len(samples),
        'notes': notes,
        'uncertainty': uncertainty,
        'tolerance': arguments.tolerance,
        'allowed_vibration': arguments.allowed,
        'free_vibration': [modes.begin, modes.end],
        'resonances': [resonance._asdict() for resonance in found],
        'shapers': [],
        'recommended': None,
    }
    if not found:
        return summary, [], [], 0, spectrum
    ordered = sorted(found, key=lambda resonance: resonance.frequency)
    frequencies, ratios, sizes = (
        np.array([getattr(resonance, name) for resonance in ordered])
        for name in ('frequency', 'ratio', 'size')
    )
    # static deflection per base acceleration, weighted by the amplitudes in the log
    case = ModeCase(frequencies, ratios, sizes / sizes.sum() / (2 * np.pi * frequencies) ** 2)
    found, best = compare_shapers([case], uncertainty, arguments.tolerance, arguments.allowed)
    return summary, [case], found, best, spectrum


def _as_text(summary):
    from flex_robot_sim.shaping.shaper_comparison import MAX_MOVE_SHARE

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
    else:
        yield f'{summary["source"]}'
        if summary['gains']:
            yield f'  {summary["gains"]}'
        for case in summary['cases']:
            mode_list = ', '.join(
                f'{f:.4g} Hz ({ratio:.1%})'
                for f, ratio in zip(case['frequencies'], case['damping_ratios'])
            )
            yield f'  at {case["name"]}: {mode_list}'
    if not summary['shapers']:
        return
    yield (
        f'  shapers, with frequencies off by up to {summary["uncertainty"]:.1%}, and the '
        f'acceleration of the tool that leaves {1e3 * summary["allowed_vibration"]:g} mm:'
    )
    moves = summary.get('trial_moves', 0)
    yield (
        f'  shaper         vibration{"   in moves" * bool(moves)}   time added   acceleration  '
        'frequencies [Hz]'
    )
    for row in summary['shapers']:
        frequencies = 'those of each pose'
        if not row['follows_pose']:
            frequencies = ', '.join(f'{f:.3g}' for f in row['frequencies']) or '-'
        move_column = (
            ''
            if not moves
            else ' ' * 10 + '-'
            if row['move_vibration'] is None
            else (f'{row["move_vibration"]:11.1%}')
        )
        yield (
            f'  {row["name"]:14s}{row["vibration"]:9.1%}{move_column}{row["added_time"]:11.3f} s'
            f'{row["acceleration"]:11.3g} m/s2  {frequencies}'
        )
    yield f'  recommended: {summary["recommended"]}, {_rule_text(summary, moves)}'
    if moves:
        yield (
            f'  in moves: what is left at most in {moves} moves of the nonlinear arm, or more '
            f'than that; a shaper with more than {MAX_MOVE_SHARE * summary["tolerance"]:.1%} is '
            'not tried further'
        )
    elif 'resonances' not in summary:
        yield '  of one pose only: small motions about it; give two or more for moves between them'
    if any(row['follows_pose'] for row in summary['shapers']):
        yield '  by pose: delays that follow the pose and the payload, see docs/control.md'


def _rule_text(summary, moves):
    """Return why the rule recommends this shaper."""
    from flex_robot_sim.shaping.shaper_comparison import MAX_MOVE_SHARE

    reason = f': {summary["reason"]}' if summary.get('reason') else ''
    best = next(row for row in summary['shapers'] if row['name'] == summary['recommended'])
    if best is summary['shapers'][0]:
        return f'as each shaper leaves as much as none or more{reason}'
    tolerance = summary['tolerance']
    if not summary['meets_tolerance']:
        return f'the one that leaves least; no shaper keeps to {tolerance:.0%}{reason}'
    if moves and best['move_vibration'] > MAX_MOVE_SHARE * tolerance:
        return f'the one that leaves least in moves, no more than {tolerance:.0%}'
    qualifier = 'by pose ' if best['follows_pose'] else ''
    move_text = f', and in moves no more than {MAX_MOVE_SHARE * tolerance:.1%}' if moves else ''
    return f'the shortest {qualifier}that leaves no more than {tolerance:.0%}{move_text}'


def _draw(path, summary, cases, candidates, best, spectrum):
    from flex_robot_sim.util.plots import Chart, Curve, write_charts

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
            0 if candidate.name == best else 1,
        )
        for k, candidate in enumerate(candidates)
        if k and not candidate.follows
    )
    leaves = Chart('what shapers leave', 'frequency [Hz]', 'vibration [%]', curves)
    title = f'{summary["source"]}: {summary["recommended"]} is recommended'
    write_charts(path, title, [frequencies, leaves])
