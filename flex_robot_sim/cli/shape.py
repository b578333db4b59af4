"""`flexsim shape`: comparison of input shapers, from a model or from a recording."""

import sys
from argparse import ArgumentParser, Namespace

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.cli.shape_table import as_text, draw, shaper_rows
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.xacro_arguments import xacro_arguments

EXIT_NO_RESONANCE = 1  # exit code
LOG_DEVIATION_FACTOR = 2.0  # standard deviations of a fitted frequency
MIN_LOG_UNCERTAINTY = 0.05  # relative, of frequencies from a ring-down or a sweep
MIN_SPECTRUM_UNCERTAINTY = 0.1  # relative, of frequencies from a spectrum
DEFAULT_ACCELERATION = 1.0  # of the tool, for a single pose or a recording     [m/s2]


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Compare input shapers for a robot or a recording, and recommend the one with which moves '
        'come to rest first. For each shaper, the table lists the time that it adds, the residual '
        'vibration of the tool, the time to rest, and the path error. S-curve, quintic, low-pass '
        'and ruckig profiles of the same duration follow for comparison.'
    )
    parser.epilog = (
        'Rule: a shaper meets the constraint if the tool vibrates by at most --allowed after the '
        'set points, in all simulated moves, with all payloads, and with frequencies off by up to '
        '--uncertainty. Of these shapers, the one with the shortest time to rest is recommended. '
        f'Exit code {EXIT_NO_RESONANCE}: no resonance was found.'
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
        help='joint positions, such as 0.5,0.3,-0.8 [rad, m]. Repeat it for moves between several '
        'poses; one pose: small motions about it (default: moves over the joint range)',
    )
    common.accept_negative_numbers(parser)
    parser.add_argument(
        '--move',
        type=common.numbers,
        nargs=2,
        metavar=('FROM', 'TO'),
        help='joint positions of the start and the end of a single move [rad, m]',
    )
    parser.add_argument(
        '--acceleration',
        type=float,
        metavar='M/S2',
        help='largest acceleration of the tool in moves [m/s2] (default: by the joint limits; '
        f'{DEFAULT_ACCELERATION:g} for a single pose or a recording)',
    )
    parser.add_argument(
        '--payload',
        action='append',
        default=[],
        metavar='[LINK=]KG',
        help='payload mass on the tool or on a link. Repeat it for a payload that varies',
    )
    parser.add_argument(
        '--servo',
        action='store_true',
        help='model the position loop with the default gains of the controller, instead of stiff '
        'joints',
    )
    parser.add_argument('--fixed', action='store_true', help='only shapers with constant delays')
    parser.add_argument(
        '--log',
        metavar='CSV',
        help='recording of an accelerometer, a gyro, a strain gauge or joint torques, instead of '
        'a URDF',
    )
    parser.add_argument(
        '--column',
        action='append',
        default=[],
        metavar='NAME',
        help='column of the recording to use; may be repeated (default: all)',
    )
    parser.add_argument(
        '--rate',
        type=float,
        metavar='HZ',
        help='sample rate of the recording (default: from its column time)',
    )
    parser.add_argument(
        '--uncertainty',
        type=float,
        help='relative error of the frequencies (default: 0.1; for a recording '
        f'{LOG_DEVIATION_FACTOR:g} standard deviations, at least {MIN_LOG_UNCERTAINTY:g}, or '
        f'{MIN_SPECTRUM_UNCERTAINTY:g} without ring-down and sweep)',
    )
    parser.add_argument(
        '--allowed',
        type=float,
        default=5e-4,
        metavar='M',
        help='distance of the tool from its goal that counts as rest [m] (default: %(default)s)',
    )
    common.add_output(
        parser, '--plot', metavar='FILE', help='plot the frequencies and the sensitivity curves'
    )
    common.add_output(
        parser,
        '--output',
        metavar='FILE',
        help='write the recommended shaper to a file, for design_file of the node shaper',
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
        common.print_result(arguments, summary, as_text)
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
    summary['shapers'] = shaper_rows(candidates)
    summary['recommended'] = candidates[best].name
    summary['meets_constraint'] = candidates[best].meets_constraint
    if arguments.output:
        _write(arguments, summary, candidates[best])
    if arguments.plot:
        draw(arguments.plot, summary, cases, candidates, best, spectrum)
    common.print_result(arguments, summary, as_text)
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
    move = [checked('--move', pose, arm.joint_names) for pose in arguments.move or ()]
    if poses and move:
        raise UsageError('give either --pose or --move.')
    for pose in [*poses, *move]:
        refuse_beyond_stops(arm, np.arange(len(pose)), pose)
    with show_progress('looking for gains that hold the arm'):
        servo = _servo(arguments, arm)
        gains = servo and (servo.stiffness, servo.damping)
    uncertainty = DEFAULT_UNCERTAINTY if arguments.uncertainty is None else arguments.uncertainty
    payloads = [common.parse_payload(words, arm.tool) for words in arguments.payload]
    with show_progress('comparing shapers in simulated moves'):
        cases, candidates, best, moves, reason = recommend(
            arm,
            poses or None,
            move=(move[0], move[1]) if move else None,
            payloads=payloads,
            gains=gains,
            uncertainty=uncertainty,
            allowed_vibration=arguments.allowed,
            acceleration=arguments.acceleration,
            fixed=arguments.fixed,
        )
    summary = {
        'source': arm.description.name,
        'is_flexible': bool(arm.tips or arm.motor_names),
        'uncertainty': uncertainty,
        'trial_moves': moves,
        'reason': reason,
        'gains': servo and servo_line(arm, servo),
        'acceleration': arguments.acceleration,
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
    from flex_robot_sim.shaping.linear_moves import LinearMoves, ModeCase
    from flex_robot_sim.shaping.log_checks import check_modes
    from flex_robot_sim.shaping.recommendation import check_rule
    from flex_robot_sim.shaping.shaper_comparison import compare_shapers
    from flex_robot_sim.shaping.vibration_log import read_samples

    if arguments.pose or arguments.move or arguments.payload or arguments.servo:
        raise UsageError('--pose, --move, --payload and --servo are about a URDF.')
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
        'acceleration': arguments.acceleration or DEFAULT_ACCELERATION,
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
    check_rule(uncertainty, arguments.allowed, arguments.acceleration)
    moves = LinearMoves([case], uncertainty, summary['acceleration'])
    found, best = compare_shapers([case], moves, uncertainty, arguments.allowed)
    return summary, [case], found, best, spectrum
