"""`flexsim rig calibrate`: measure the constants of a bench, step by step."""

from pathlib import Path

from flex_robot_sim.exceptions import UsageError


def add_to(commands, about):
    """Add the command to the parser."""
    parser = commands.add_parser(
        'calibrate', help=about,
        description='Ask for the zero pose, for places measured by hand and for known forces at '
                    'the end of the arm; write what follows from them as YAML. Needs a ruler, a '
                    'protractor, a pulley and some weights.')
    parser.add_argument('port', metavar='PORT', help='device, symlink or socket://host:port')
    parser.add_argument('--output', metavar='YAML', required=True, help='file to write')
    parser.add_argument('--robot', metavar='URDF', default='rig', help='(default: the bench arm)')
    parser.add_argument('--force', action='store_true', help='write over a file that is there')
    parser.set_defaults(run=run)


def run(arguments):
    """Carry out the command."""
    from flex_robot_sim.assembly import load  # it loads the dynamics: not for --help
    from flex_robot_sim.rig.calibration_file import write_calibration
    from flex_robot_sim.rig.calibration_session import CalibrationSession
    from flex_robot_sim.rig.link import RigLink

    path = Path(arguments.output)
    if path.exists() and not arguments.force:
        raise UsageError(f'{path} is there. Give another --output, or --force.')
    if not path.parent.is_dir():
        raise UsageError(f'{path.parent} is no folder. Make it, or give another --output.')
    arm = load(arguments.robot)
    with RigLink(arguments.port) as link:
        session = CalibrationSession(link, arm, _ask, lambda line: print(line, flush=True))
        calibration = session.run()
    write_calibration(path, calibration, session.readings)
    print(f'{path} is written.')
    return 0


def _ask(question):
    try:
        return input(question)
    except EOFError as error:
        raise UsageError('the answers ended before the calibration was done. Nothing is written.'
                         ) from error
