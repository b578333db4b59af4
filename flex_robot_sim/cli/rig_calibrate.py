"""`flexsim rig calibrate`: measure the constants of a bench, step by step."""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from pathlib import Path

from flex_robot_sim.cli.common import add_output, refuse_existing_file
from flex_robot_sim.util.exceptions import SettingError, UsageError
from flex_robot_sim.util.files import why_unwritable


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Calibrate a bench step by step, and write the result as YAML. You set the zero '
        'pose, measure positions by hand and apply known forces to the end of the arm; both '
        'motors run briefly. You need a ruler, a protractor, a voltmeter, a clamp, a pulley '
        'and some weights. YAML.part keeps the measurements until the end, and the same '
        'command continues after an interruption. The motion is also a log for flexsim '
        'identify LOG URDF --calibration YAML.'
    )
    parser.add_argument('port', metavar='PORT', help='device, symlink or socket://host:port')
    add_output(parser, '--output', metavar='YAML', required=True, help='file to write')
    add_output(
        parser,
        '--log',
        metavar='FILE',
        help='log of the motion, .mcap or CSV (default: named after YAML)',
    )
    parser.add_argument('--robot', metavar='URDF', default='rig', help='(default: the bench arm)')
    parser.add_argument(
        '--board-parameter',
        metavar='NAME=VALUE',
        action='append',
        default=[],
        help='parameter to set on the board first, for instance SLIDE_REVERSED=1; may be given '
        'several times',
    )


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from flex_robot_sim.cli.terminal import key_watch
    from flex_robot_sim.model.assembly import load  # imported late: loads the dynamics
    from flex_robot_sim.rig.bridge.bridge import parameter_values
    from flex_robot_sim.rig.bridge.calibration_log import CalibrationLog
    from flex_robot_sim.rig.calibration.calibration_session import CalibrationSession, Quit
    from flex_robot_sim.rig.calibration.file import write_calibration
    from flex_robot_sim.rig.host.link import RigLink

    path = Path(arguments.output)
    log_path = Path(arguments.log or path.with_suffix('.mcap'))
    if log_path == path:
        raise UsageError(f'{path} cannot be both --output and --log. Give another --log.')
    _check_writable(path, arguments.force, '--output')
    _check_writable(log_path, arguments.force, '--log')
    parameters = parameter_values(arguments.board_parameter)
    partial_path = Path(f'{path}.part')
    arm = load(arguments.robot)
    motions = CalibrationLog(log_path, arm)
    with closing(motions), RigLink(arguments.port, on_reading=motions.take) as link:
        for parameter, value in parameters.items():
            link.write_parameter(parameter, value)
        board = link.board.uid.hex()
        readings = _resume_readings(partial_path, board)
        session = CalibrationSession(
            link,
            arm,
            input,
            _print_line,
            readings=readings,
            watch=key_watch,
            keep=lambda readings: _save_readings(partial_path, board, readings),
            record=motions.record,
        )
        try:
            calibration = session.run()
        except (Quit, KeyboardInterrupt) as end:
            _print_line(f'\nThe motors are off. {_saved_note(partial_path)}')
            return 130 if isinstance(end, KeyboardInterrupt) else 1
        except EOFError as error:
            _print_line('')  # end the line of the last question
            raise UsageError(
                f'the answers ended before the calibration was done. {_saved_note(partial_path)}'
            ) from error
    write_calibration(path, calibration, session.readings)
    partial_path.unlink()
    _print_line(f'{path} is written.')
    if motions.finish(calibration) > 1:
        _print_line(
            f'{log_path} has what the motors have moved: flexsim identify {log_path} '
            f'{arguments.robot} --calibration {path}'
        )
    return 0


def _check_writable(path, is_forced, option):
    """Raise UsageError if the file cannot be written."""
    if path.is_dir() or not is_forced:  # also the log whose name follows from --output
        refuse_existing_file(option, path)
    problem = why_unwritable(path)
    if problem:
        raise UsageError(f'{path}: cannot be written: {problem}. Give another {option}.')


def _resume_readings(partial_path, board):
    """Return the readings of an interrupted session."""
    from flex_robot_sim.rig.calibration.readings import read_readings

    if not partial_path.exists():
        return {}
    readings = read_readings(partial_path, board)
    _print_line(f'Going on with {partial_path}; delete it to begin anew.')
    return readings


def _save_readings(partial_path, board, readings):
    from flex_robot_sim.rig.calibration.readings import write_readings

    try:
        write_readings(partial_path, board, readings)
    except SettingError as error:  # continue: the readings are still in memory
        _print_line(f'  NOT KEPT: {error}')


def _saved_note(partial_path):
    if partial_path.exists():
        return f'What was measured is in {partial_path}; the same command goes on from there.'
    return 'Nothing was measured yet.'


def _print_line(line):
    print(line, flush=True)
