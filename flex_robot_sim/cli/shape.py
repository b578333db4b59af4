"""`flexsim shape`: which input shaper stills an arm, from its model or from a recording."""

import sys
from argparse import Namespace
from typing import Any

import numpy as np

from flex_robot_sim.cli.arguments import (
    add_json,
    add_model,
    add_output,
    expect_writable,
    numbers,
    parse_payload,
    print_result,
    xacro_arguments,
)
from flex_robot_sim.cli.terminal import patience
from flex_robot_sim.util.exceptions import UsageError

NO_RESONANCE = 1            # exit code
LOG_DEVIATIONS = 2.0        # of a fitted frequency, that a shaper has to bear
LEAST_OFF = 0.05            # share by which the frequencies of a log may be off
FINEST = 400                # points of a curve


def add_to(commands: Any, about: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        'shape', help=about,
        description='One line for each input shaper: what it leaves of the vibration, the time '
                    'that it adds, and the acceleration that it allows; and which one to take.',
        epilog='The rule: of all shapers that leave no more than --tolerance, with frequencies '
               'off by --uncertainty, in all poses and with all payloads, and half of it in '
               'trial moves of the nonlinear arm, the one that adds the least time; where '
               'frequencies differ, only those that follow the pose count. '
               f'Exit code {NO_RESONANCE}: nothing rings, so nothing is recommended.')
    parser.add_argument('robot', metavar='URDF', nargs='?',
                        help='URDF or xacro file, or a shipped robot')
    parser.add_argument('xacro', nargs='*', metavar='NAME:=VALUE', help='arguments for xacro')
    parser.add_argument('--pose', type=numbers, action='append', default=[],
                        help='for instance 0.5,0.3,-0.8, in rad, and in m where a joint slides; '
                             'may be given several times (default: some all over the range)')
    parser.add_argument('--payload', action='append', default=[], metavar='[LINK=]KG',
                        help='fixed to the tool, or to a link; may be given several times')
    parser.add_argument('--servo', action='store_true',
                        help='joints are held by the gains of the controller, not stiffly')
    parser.add_argument('--fixed', action='store_true',
                        help='only shapers whose delays do not follow the pose')
    parser.add_argument('--log', metavar='CSV',
                        help='a recording of an accelerometer, a gyro, a strain gauge or joint '
                             'torques, with a header; instead of a URDF')
    parser.add_argument('--column', action='append', default=[], metavar='NAME',
                        help='of the log, to be used (default: all)')
    parser.add_argument('--rate', type=float, metavar='HZ',
                        help='of the samples of the log (default: from its column time)')
    parser.add_argument('--uncertainty', type=float,
                        help=f'share by which frequencies may be off (default: 0.1; of a log '
                             f'{LOG_DEVIATIONS:g} deviations of the fit, at least {LEAST_OFF:g})')
    parser.add_argument('--tolerance', type=float, default=0.05,
                        help='share of the vibration that may be left (default: %(default)s)')
    parser.add_argument('--allowed', type=float, default=5e-4, metavar='M',
                        help='vibration of the tool that does not matter, for the acceleration '
                             '[m] (default: %(default)s)')
    add_output(parser, '--plot', metavar='FILE', help='draw spectrum and sensitivity')
    add_output(parser, '--output', metavar='FILE',
               help='write the recommended shaper, for design_file of the node shaper')
    add_model(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    if (arguments.robot is None) == (arguments.log is None):
        raise UsageError('give either a URDF or --log CSV.')
    if arguments.plot:
        from flex_robot_sim.util.plots import check_figure_path
        check_figure_path(arguments.plot)
    if arguments.output:
        expect_writable(arguments.output)
    summary, cases, found, best, spectrum = (_of_log if arguments.log else _of_robot)(arguments)
    if not cases:
        print_result(arguments, summary, _as_text)
        what = arguments.log or summary['of']
        hint = ('Record at rest just after a move or a push, long enough to see it ring, and '
                'faster than it rings' if arguments.log else 'It needs no shaper')
        why = '' if arguments.log or summary['is_flexible'] else (
            ', as no link and no joint of it is flexible')
        print(f'flexsim shape: {what}: no resonance stands out{why}. {hint}.', file=sys.stderr)
        return NO_RESONANCE
    from flex_robot_sim.shaping.comparison import meets_tolerance

    summary['shapers'] = [
        {'name': choice.name, 'follows_pose': choice.follows,
         'frequencies': [mode[0] for mode in choice.shaper.modes],
         'vibration': choice.vibration, 'time': choice.added,
         'moving': None if np.isnan(choice.moving) else choice.moving,
         'acceleration': choice.acceleration, 'times': choice.shaper.times.tolist(),
         'amplitudes': choice.shaper.amplitudes.tolist()} for choice in found]
    summary['recommended'] = found[best].name
    summary['keeps_tolerance'] = bool(meets_tolerance(found[best], arguments.tolerance))
    if arguments.output:
        _write(arguments, summary, found[best])
    if arguments.plot:
        _draw(arguments.plot, summary, cases, found, best, spectrum)
    print_result(arguments, summary, _as_text)
    return 0


def _of_robot(arguments):
    """Summary, cases, Choices, row of the best one, and no spectrum, of a model."""
    from flex_robot_sim.cli.arguments import read_arm
    from flex_robot_sim.control.servo import servo_line
    from flex_robot_sim.model.arguments import checked
    from flex_robot_sim.motion.limits import refuse_beyond_stops
    from flex_robot_sim.shaping.recommendation import DEFAULT_UNCERTAINTY, recommend

    xacro_arguments(arguments.xacro)
    if arguments.column or arguments.rate is not None:
        raise UsageError('--column and --rate are about a --log.')
    with patience('reading the robot'):
        arm = read_arm(arguments)
    poses = [checked('--pose', pose, arm.joint_names) for pose in arguments.pose]
    for pose in poses:
        refuse_beyond_stops(arm, np.arange(len(pose)), pose)
    with patience('looking for gains that hold the arm'):
        servo = _servo(arguments, arm)
        gains = servo and (servo.stiffness, servo.damping)
    uncertainty = DEFAULT_UNCERTAINTY if arguments.uncertainty is None else arguments.uncertainty
    payloads = [parse_payload(words, arm.tool) for words in arguments.payload]
    with patience('trying shapers, on linear models and in moves'):
        cases, found, best, moves, why = recommend(
            arm, poses, payloads, gains, uncertainty, arguments.tolerance, arguments.allowed,
            arguments.fixed)
    summary = {'of': arm.description.name, 'is_flexible': bool(arm.tips or arm.motor_names),
               'uncertainty': uncertainty, 'trial_moves': moves,
               'why': why, 'gains': servo and servo_line(arm, servo),
               'tolerance': arguments.tolerance, 'allowed': arguments.allowed,
               'cases': [{'name': case.name, 'frequencies': case.frequencies.tolist(),
                          'damping_ratios': case.ratios.tolist()} for case in cases],
               'shapers': [], 'recommended': None}
    return summary, cases, found, best, None


def _write(arguments, summary, choice):
    """Write the recommended shaper; one that follows the pose with its table, which takes long."""
    from flex_robot_sim.cli.arguments import read_arm
    from flex_robot_sim.shaping.impulses import NONE
    from flex_robot_sim.shaping.recommendation import following
    from flex_robot_sim.shaping.shaper_file import write_parts
    from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

    joints, parts = (), ShaperSpecification(choice.name, choice.shaper)
    if not arguments.log:
        arm = read_arm(arguments)
        joints = arm.joint_names
        if choice.follows:
            payloads = [parse_payload(words, arm.tool) for words in arguments.payload]
            with patience('computing the modes of all poses'):
                servo = _servo(arguments, arm)
                parts = ShaperSpecification(choice.name, NONE, *following(
                    arm, choice.design, payloads, servo and (servo.stiffness, servo.damping)))
    write_parts(arguments.output, parts, str(summary['of']), joints)


def _servo(arguments, arm):
    """Return the Servo that holds the joints, or None."""
    if not arguments.servo:
        return None
    from flex_robot_sim.control.servo import fitting_servo
    return fitting_servo(arm)


def _of_log(arguments):
    """Likewise of a recording, with its spectrum."""
    from flex_robot_sim.analysis.recorded_vibration import read_samples, resonances
    from flex_robot_sim.shaping.comparison import Case, compare_shapers

    if arguments.pose or arguments.payload or arguments.servo:
        raise UsageError('--pose, --payload and --servo are about a URDF.')
    rate, samples, names = read_samples(arguments.log, arguments.column, arguments.rate)
    with patience('looking for resonances'):
        found, spectrum = resonances(rate, samples)
    uncertainty = arguments.uncertainty
    if uncertainty is None:
        uncertainty = max([LEAST_OFF, *(LOG_DEVIATIONS * one.frequency_deviation / one.frequency
                                        for one in found)])
    summary = {'of': arguments.log, 'rate': rate, 'columns': names, 'samples': len(samples),
               'uncertainty': uncertainty, 'tolerance': arguments.tolerance,
               'allowed': arguments.allowed,
               'resonances': [one._asdict() for one in found], 'shapers': [],
               'recommended': None}
    if not found:
        return summary, [], [], 0, spectrum
    ordered = sorted(found, key=lambda one: one.frequency)
    frequencies, ratios, sizes = (np.array([getattr(one, name) for one in ordered])
                                  for name in ('frequency', 'ratio', 'size'))
    # the deflection of an oscillator whose base accelerates, each as large as it is in the log
    case = Case(frequencies, ratios, sizes / sizes.sum() / (2 * np.pi * frequencies)**2)
    found, best = compare_shapers([case], uncertainty, arguments.tolerance, arguments.allowed)
    return summary, [case], found, best, spectrum


def _as_text(summary):
    from flex_robot_sim.shaping.comparison import MAX_MOVE_SHARE

    if 'resonances' in summary:
        yield (f'{summary["of"]}: {summary["samples"]} samples of '
               f'{", ".join(summary["columns"])} at {summary["rate"]:.6g} Hz')
        for one in summary['resonances']:
            yield (f'  rings at {one["frequency"]:.4g} Hz (+-{one["frequency_deviation"]:.1g}), '
                   f'damping {one["ratio"]:.2%} (+-{one["ratio_deviation"]:.1%}), by its '
                   f'{one["way"]}')
    else:
        yield f'{summary["of"]}'
        if summary['gains']:
            yield f'  {summary["gains"]}'
        for case in summary['cases']:
            rings = ', '.join(f'{f:.4g} Hz ({ratio:.1%})' for f, ratio in
                              zip(case['frequencies'], case['damping_ratios']))
            yield f'  at {case["name"]}: {rings}'
    if not summary['shapers']:
        return
    yield (f'  shapers, with frequencies off by up to {summary["uncertainty"]:.1%}, and the '
           f'acceleration of the tool that leaves {1e3 * summary["allowed"]:g} mm:')
    moves = summary.get('trial_moves', 0)
    yield (f'  shaper         vibration{"   in moves" * bool(moves)}   time added   acceleration  '
           'frequencies [Hz]')
    for one in summary['shapers']:
        frequencies = ('those of each pose' if one['follows_pose'] else
                       ', '.join(f'{f:.3g}' for f in one['frequencies']) or '-')
        moving = '' if not moves else ' ' * 10 + '-' if one['moving'] is None else (
            f'{one["moving"]:11.1%}')
        yield (f'  {one["name"]:14s}{one["vibration"]:9.1%}{moving}{one["time"]:11.3f} s'
               f'{one["acceleration"]:11.3g} m/s2  {frequencies}')
    yield f'  recommended: {summary["recommended"]}, {_rule(summary, moves)}'
    if moves:
        yield (f'  in moves: what is left at most in {moves} moves of the nonlinear arm, or more '
               f'than that; a shaper with more than '
               f'{MAX_MOVE_SHARE * summary["tolerance"]:.1%} is not '
               'tried further')
    elif 'resonances' not in summary:
        yield '  of one pose only: small motions about it; give two or more for moves between them'
    if any(one['follows_pose'] for one in summary['shapers']):
        yield '  by pose: delays that follow the pose and the payload, see docs/control.md'


def _rule(summary, moves):
    """What the rule says of the recommended shaper."""
    from flex_robot_sim.shaping.comparison import MAX_MOVE_SHARE

    why = f': {summary["why"]}' if summary.get('why') else ''
    best = next(one for one in summary['shapers'] if one['name'] == summary['recommended'])
    if best is summary['shapers'][0]:
        return f'as each shaper leaves as much as none or more{why}'
    tolerance = summary['tolerance']
    if not summary['keeps_tolerance']:
        return f'the one that leaves least; no shaper keeps to {tolerance:.0%}{why}'
    if moves and best['moving'] > MAX_MOVE_SHARE * tolerance:
        return f'the one that leaves least in moves, no more than {tolerance:.0%}'
    whose = 'by pose ' if best['follows_pose'] else ''
    moving = f', and in moves no more than {MAX_MOVE_SHARE * tolerance:.1%}' if moves else ''
    return f'the shortest {whose}that leaves no more than {tolerance:.0%}{moving}'


def _draw(path, summary, cases, found, best, spectrum):
    from flex_robot_sim.util.plots import Chart, Curve, write_charts

    best = found[best].name
    low = min(case.frequencies.min() for case in cases)
    high = max(case.frequencies.max() for case in cases)
    f = np.linspace(0.3 * low, 1.5 * high, FINEST)
    ratio = float(np.mean([case.ratios.mean() for case in cases]))
    charts = [Chart('what shapers leave', 'frequency [Hz]', 'vibration [%]', tuple(
        Curve(choice.name, f, 100 * choice.shaper.vibration(f, ratio), k,
              0 if choice.name == best else 1)
        for k, choice in enumerate(found) if k and not choice.follows))]
    if spectrum is not None:
        kept = spectrum.frequencies <= 3 * high
        charts.insert(0, Chart('what rings', 'frequency [Hz]', 'power [1/Hz]', (
            Curve('spectrum', spectrum.frequencies[kept], spectrum.power[kept]),), True))
    else:
        rows = np.arange(1, len(cases) + 1)
        charts.insert(0, Chart('what rings', 'pose and payload', 'frequency [Hz]', tuple(
            Curve(f'mode {k + 1}', rows, np.array([case.frequencies[k] for case in cases]), k,
                  has_marks=True) for k in range(cases[0].frequencies.size)),
            has_whole_ticks=True))
    write_charts(path, f'{summary["of"]}: {summary["recommended"]} is recommended', charts)
