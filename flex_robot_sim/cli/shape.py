"""`flexsim shape`: comparison of input shapers, from a model or from a recording."""

import sys
from argparse import ArgumentParser, Namespace

import numpy as np

from flex_robot_sim.cli import common, shape_apply, shape_code
from flex_robot_sim.cli.shape_table import as_text, draw, shaper_rows
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.xacro_arguments import xacro_arguments

EXIT_NO_RESONANCE = 1  # exit code


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Compare input shapers for a robot or a recording, and recommend the one with which moves '
        'come to rest first. For each shaper, the table lists the time that it adds, the residual '
        'vibration of the tool, the time to rest, and the path error. S-curve, quintic, low-pass '
        'and ruckig profiles of the same duration follow for comparison. With --apply, it also '
        'shapes a trajectory.'
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
        '1 for a single pose or a recording)',
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
        'a URDF; with --apply, also in addition to it',
    )
    parser.add_argument(
        '--design',
        metavar='JSON',
        help='file of --output, for --apply or --code without a comparison',
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
        help='relative error of the frequencies (default: 0.1; for a recording 2 standard '
        'deviations, at least 0.05, or 0.1 without ring-down and sweep)',
    )
    parser.add_argument(
        '--allowed',
        type=_number_or_text,
        metavar='M|%',
        help='distance of the tool from its goal that counts as rest [m], or a percentage such as '
        '5%% of the mean vibration after unshaped moves (default: 0.0005; for a recording 5%%)',
    )
    common.add_output(
        parser, '--plot', metavar='FILE', help='plot the frequencies and the sensitivity curves'
    )
    common.add_output(
        parser,
        '--output',
        metavar='FILE',
        help='write the recommended shaper to a file, for design_file of the node shaper; with '
        '--apply: write the shaped trajectory; with --code: write code',
    )
    shape_apply.add_arguments(parser)
    shape_code.add_arguments(parser)
    common.add_model(parser)
    common.add_json(parser)


def _default_allowed(arguments):
    from flex_robot_sim.shaping import log_recommendation, shaper_comparison

    if arguments.log:
        return log_recommendation.DEFAULT_LOG_ALLOWED
    return shaper_comparison.DEFAULT_ALLOWED_M


def _number_or_text(text):
    """Return a number, or a text such as 5%."""
    try:
        return float(text)
    except ValueError:
        return text


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    _check_sources(arguments)
    shape_code.check(arguments)
    common.expect_drawable(arguments.plot)
    if arguments.apply:
        arguments.output = shape_apply.output_path(arguments)
    elif arguments.output:
        common.expect_writable(arguments.output)
    arm = _read_robot(arguments) if arguments.robot else None
    trajectory = shape_apply.read(arguments, arm) if arguments.apply else None
    if arguments.design:
        return _apply_design(arguments, arm, trajectory)
    if arguments.allowed is None:
        arguments.allowed = _default_allowed(arguments)
    if arguments.log:
        summary, cases, candidates, best, spectrum = _from_log(arguments)
    else:
        summary, cases, candidates, best, spectrum = _from_robot(arguments, arm)
    if not cases:
        common.print_result(arguments, summary, as_text)
        print(f'flexsim shape: {_no_resonance(arguments, summary)}.', file=sys.stderr)
        return EXIT_NO_RESONANCE
    summary['shapers'] = shaper_rows(candidates)
    summary['recommended'] = candidates[best].name
    summary['meets_constraint'] = candidates[best].meets_constraint
    if arguments.output:
        specify = _Specifications(arguments, arm, cases, summary['uncertainty'])
        if arguments.code:
            joints = () if arm is None else arm.joint_names
            source = str(summary['source'])
            summary['written'] = shape_code.write(
                arguments, specify(candidates[best]), joints, source
            )
        elif trajectory is None:
            _write(arguments, summary, arm, specify(candidates[best]))
        else:
            if arm is not None:
                _add_path_errors(summary, trajectory, arm, candidates, specify)
            summary['applied'] = _apply(arguments, arm, trajectory, specify(candidates[best]))
    if arguments.plot:
        draw(arguments.plot, summary, cases, candidates, best, spectrum)
    common.print_result(arguments, summary, as_text)
    return 0


def _check_sources(arguments):
    """Raise UsageError unless there is one source, and all options are about it."""
    if arguments.design:
        if not arguments.apply and not arguments.code:
            raise UsageError('--design needs a trajectory, or code: give --apply FILE or --code.')
        if arguments.log:
            raise UsageError('give either --design JSON or --log CSV.')
        for name in ('pose', 'move', 'payload', 'servo', 'fixed', 'plot', 'acceleration'):
            if getattr(arguments, name):
                raise UsageError(f'--{name} is about a comparison, which --design replaces.')
    elif arguments.apply and arguments.log:
        pass  # a URDF then gives the path of the tool and the limits
    elif (arguments.robot is None) == (arguments.log is None):
        raise UsageError('give either a URDF or --log CSV.')
    if arguments.log is None and (arguments.column or arguments.rate is not None):
        raise UsageError('--column and --rate are about a --log.')


def _read_robot(arguments):
    from flex_robot_sim.cli.common import read_arm

    xacro_arguments(arguments.xacro)
    with show_progress('reading the robot'):
        return read_arm(arguments)


def _no_resonance(arguments, summary):
    """Return why there is no recommendation."""
    source = arguments.log or summary['source']
    hint = 'It needs no shaper'
    if not arguments.log and not summary['is_flexible']:
        hint = 'Describe its <flexibility>, or give a recording of its vibration by --log'
    if arguments.log:
        hint = (
            'Record several periods of the vibration at rest after a move or a push, with '
            'several samples per period'
        )
    reason = ', as no link and no joint of it is flexible'
    if arguments.log or summary['is_flexible']:
        reason = ''
    return f'{source}: no resonance stands out{reason}. {hint}'


def _from_robot(arguments, arm):
    """Return summary, cases, candidates, row of the best one, and no spectrum, of a model."""
    from flex_robot_sim.analysis.loop_poses import full_pose
    from flex_robot_sim.control.servo import servo_line
    from flex_robot_sim.motion.limits import refuse_beyond_stops
    from flex_robot_sim.shaping.recommendation import DEFAULT_UNCERTAINTY, recommend

    poses = [full_pose(arm, '--pose', pose) for pose in arguments.pose]
    move = [full_pose(arm, '--move', pose) for pose in arguments.move or ()]
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
        **_allowed(arguments, candidates),
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


def _allowed(arguments, candidates):
    """Return the allowed vibration [m], and its share of the unshaped one if that was given."""
    from flex_robot_sim.shaping.allowed_vibration import allowed_distance, allowed_share

    unshaped = candidates[0].figures.mean_left if candidates else 0.0
    return {
        'allowed_vibration': allowed_distance(arguments.allowed, unshaped),
        'allowed_share': allowed_share(arguments.allowed),
    }


def _write(arguments, summary, arm, specification):
    from flex_robot_sim.shaping.shaper_file import write_shaper

    joints = () if arm is None else arm.joint_names
    write_shaper(arguments.output, specification, str(summary['source']), joints)


class _Specifications:
    """Makes the ShaperSpecification of a candidate; the table of all poses is computed once."""

    def __init__(self, arguments, arm, cases, uncertainty):
        self._arguments, self._arm, self._cases = arguments, arm, cases
        self._uncertainty = uncertainty
        self._tables: list = []
        servo = None if arguments.log else _servo(arguments, arm)
        self._gains = servo and (servo.stiffness, servo.damping)

    def __call__(self, candidate):
        from flex_robot_sim.motion.limits import rate_limits
        from flex_robot_sim.shaping.recommendation import mode_tables
        from flex_robot_sim.shaping.shaper_design import covered_bands, specification_of
        from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

        arguments, arm = self._arguments, self._arm
        if arguments.log:
            return ShaperSpecification(
                candidate.name,
                candidate.shaper,
                velocity_limits=None if arm is None else rate_limits(arm),
                bands=covered_bands(self._cases, self._uncertainty),
            )
        payloads = [common.parse_payload(words, arm.tool) for words in arguments.payload]
        if candidate.follows and not self._tables:
            with show_progress('computing the modes of all poses'):
                self._tables = mode_tables(arm, payloads, self._gains)
        return specification_of(
            arm,
            candidate,
            self._cases,
            payloads,
            self._gains,
            self._uncertainty,
            tables=self._tables,
        )


def _add_path_errors(summary, trajectory, arm, candidates, specify):
    """Add the path error of each shaper on the trajectory to its row."""
    from flex_robot_sim.shaping.path_accuracy import path_error

    with show_progress('computing path errors'):
        for row, candidate in zip(summary['shapers'], candidates):
            row['trajectory_path_error'] = None
            if not candidate.profile and candidate.figures is not None:
                row['trajectory_path_error'] = path_error(
                    arm, specify(candidate), times=trajectory.times, positions=trajectory.positions
                ).error


def _apply(arguments, arm, trajectory, specification):
    with show_progress('shaping the trajectory'):
        return shape_apply.apply(
            trajectory, specification, arm, arguments.path_error, arguments.output
        )


def _apply_design(arguments, arm, trajectory):
    """Shape a trajectory by a shaper file, or write it as code."""
    from flex_robot_sim.motion.limits import rate_limits
    from flex_robot_sim.shaping.shaper_file import read_shaper, read_shaper_source

    names = None if arm is None else arm.joint_names
    specification = read_shaper(
        arguments.design, names if trajectory is None else trajectory.names
    )
    if trajectory is None:
        robot, joints = read_shaper_source(arguments.design)
        written = shape_code.write(arguments, specification, joints, robot)
        common.print_result(arguments, written, shape_code.as_text)
        return 0
    if arm is not None:
        specification = specification._replace(velocity_limits=rate_limits(arm))
    applied = _apply(arguments, arm, trajectory, specification)
    common.print_result(arguments, applied, shape_apply.as_text)
    return 0


def _servo(arguments, arm):
    """Return the Servo that holds the joints, or None without --servo."""
    if not arguments.servo:
        return None
    from flex_robot_sim.control.servo import design_servo

    return design_servo(arm)


def _from_log(arguments):
    """Return summary, cases, candidates, row of the best one, and the spectrum, of a recording."""
    from flex_robot_sim.shaping.log_recommendation import recommend_from_log
    from flex_robot_sim.shaping.recommendation import DEFAULT_ACCELERATION

    if arguments.pose or arguments.move or arguments.payload or arguments.servo:
        raise UsageError('--pose, --move, --payload and --servo are about a URDF.')
    with show_progress('looking for resonances'):
        found = recommend_from_log(
            arguments.log,
            arguments.column,
            arguments.rate,
            uncertainty=arguments.uncertainty,
            allowed_vibration=arguments.allowed,
            acceleration=arguments.acceleration,
        )
    summary = {
        'source': arguments.log,
        'rate': found.log.rate,
        'columns': found.log.names,
        'samples': len(found.log.samples),
        'notes': found.notes,
        'uncertainty': found.uncertainty,
        'acceleration': arguments.acceleration or DEFAULT_ACCELERATION,
        **_allowed(arguments, found.candidates),
        'free_vibration': [found.modes.begin, found.modes.end],
        'resonances': [resonance._asdict() for resonance in found.modes.resonances],
        'shapers': [],
        'recommended': None,
        'left_interval': found.left_interval and found.left_interval._asdict(),
    }
    return summary, found.cases, found.candidates, found.best, found.modes.spectrum
