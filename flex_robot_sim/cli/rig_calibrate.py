"""`flexsim rig calibrate`: measure the constants of a bench, step by step."""

from argparse import Namespace
from contextlib import closing
from pathlib import Path
from typing import Any

from flex_robot_sim.cli.arguments import add_output, refuse_existing_file
from flex_robot_sim.util.exceptions import SettingError, UsageError
from flex_robot_sim.util.files import why_unwritable


def add_to(commands: Any, about: str) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        'calibrate', help=about,
        description='Ask for the zero pose, for places measured by hand and for known forces at '
                    'the end of the arm, let both motors run a little, and write what follows as '
                    'YAML. Needs a ruler, a protractor, a voltmeter, a clamp, a pulley and some '
                    'weights. What is measured is kept in YAML.part until all is done: whatever '
                    'ends the command, the same command goes on from there. What the motors move '
                    'meanwhile is a log that flexsim identify LOG URDF --calibration YAML takes.')
    parser.add_argument('port', metavar='PORT', help='device, symlink or socket://host:port')
    add_output(parser, '--output', metavar='YAML', required=True, help='file to write')
    add_output(parser, '--log', metavar='FILE', help='log of what the motors move, .mcap or CSV '
               '(default: beside YAML, with its name and .mcap)')
    parser.add_argument('--robot', metavar='URDF', default='rig', help='(default: the bench arm)')
    parser.add_argument('--board-parameter', metavar='NAME=VALUE', action='append', default=[],
                        help='give the board this parameter first, SLIDE_REVERSED=1 for instance; '
                             'may be given several times')
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from flex_robot_sim.cli.terminal import key_watch
    from flex_robot_sim.model.assembly import load  # it loads the dynamics: not for --help
    from flex_robot_sim.rig.bridge.bridge import parameter_values
    from flex_robot_sim.rig.bridge.calibration_log import CalibrationLog
    from flex_robot_sim.rig.calibration.file import write_calibration
    from flex_robot_sim.rig.calibration.session import CalibrationSession, Quit
    from flex_robot_sim.rig.host.link import RigLink

    path = Path(arguments.output)
    log_path = Path(arguments.log or path.with_suffix('.mcap'))
    if log_path == path:
        raise UsageError(f'{path} cannot be both --output and --log. Give another --log.')
    _refuse_unusable(path, arguments.force, '--output')
    _refuse_unusable(log_path, arguments.force, '--log')
    parameters = parameter_values(arguments.board_parameter)
    part = Path(f'{path}.part')
    arm = load(arguments.robot)
    motions = CalibrationLog(log_path, arm)
    with closing(motions), RigLink(arguments.port, on_reading=motions.take) as link:
        for parameter, value in parameters.items():
            link.write_parameter(parameter, value)
        board = link.board.uid.hex()
        readings = _begun(part, board)
        session = CalibrationSession(
            link, arm, input, _say, readings=readings, watch=key_watch,
            keep=lambda readings: _keep(part, board, readings), record=motions.record)
        try:
            calibration = session.run()
        except (Quit, KeyboardInterrupt) as end:
            _say(f'\nThe motors are off. {_kept(part)}')
            return 130 if isinstance(end, KeyboardInterrupt) else 1
        except EOFError as error:
            _say('')                # the last question has no end of line
            raise UsageError(f'the answers ended before the calibration was done. {_kept(part)}'
                             ) from error
    write_calibration(path, calibration, session.readings)
    part.unlink()
    _say(f'{path} is written.')
    if motions.finish(calibration) > 1:
        _say(f'{log_path} has what the motors have moved: flexsim identify {log_path} '
             f'{arguments.robot} --calibration {path}')
    return 0


def _refuse_unusable(path, is_forced, option):
    """Raise UsageError if the file could not be written at the end."""
    if path.is_dir() or not is_forced:      # the log as well whose name comes from --output
        refuse_existing_file(option, path)
    problem = why_unwritable(path)
    if problem:
        raise UsageError(f'{path}: cannot be written: {problem}. Give another {option}.')


def _begun(part, board):
    """Return the readings of a session that was left."""
    from flex_robot_sim.rig.calibration.readings import read_readings

    if not part.exists():
        return {}
    readings = read_readings(part, board)
    _say(f'Going on with {part}; delete it to begin anew.')
    return readings


def _keep(part, board, readings):
    from flex_robot_sim.rig.calibration.readings import write_readings

    try:
        write_readings(part, board, readings)
    except SettingError as error:       # what is in memory is worth more than its copy
        _say(f'  NOT KEPT: {error}')


def _kept(part):
    return (f'What was measured is in {part}; the same command goes on from there.'
            if part.exists() else 'Nothing was measured yet.')


def _say(line):
    print(line, flush=True)


