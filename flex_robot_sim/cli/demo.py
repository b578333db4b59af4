"""`flexsim demo`: an arm swings in ROS 2, simulated and controlled by processes of their own."""

import contextlib
import json
import math
import sys
import tempfile
from pathlib import Path

import flex_robot_sim as frs
from flex_robot_sim.cli.arguments import add_json, xacro_arguments
from flex_robot_sim.compiled import must_compile
from flex_robot_sim.demo.children import Children
from flex_robot_sim.demo.drives import BUILT, as_built
from flex_robot_sim.demo.network import keep_to_this_machine
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.demo.session import ProgramError, Session
from flex_robot_sim.demo.stop import Stop
from flex_robot_sim.demo.summary import lines_of, summary_of
from flex_robot_sim.demo.swing import can_carry_itself, fitting_swing
from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.system import CONTROLLER, DYNAMICS, simulation_system

INTERRUPTED = 130       # exit code, as shells have it


def add_to(commands, about):
    """Add the command to the parser."""
    parser = commands.add_parser(
        'demo', help=about,
        description='Simulate an arm and control it, as two processes that talk by ROS 2 on this '
                    'machine only, and let it swing between two poses. Ctrl-C ends it.')
    parser.add_argument('--robot', default='two_link', metavar='URDF',
                        help='URDF or xacro file, or a shipped robot (default: %(default)s)')
    parser.add_argument('xacro', nargs='*', metavar='NAME:=VALUE', help='arguments for xacro')
    parser.add_argument('--seconds', type=float, metavar='S',
                        help='simulated time to run (default: until Ctrl-C)')
    parser.add_argument('--inside', action='store_true',
                        help='run the controller inside the process of the dynamics, at 1 kHz')
    parser.add_argument('--plot', metavar='FILE',
                        help='picture of the run: .png, .pdf or .svg (default: demo_ROBOT.png '
                             'here; with --json: none)')
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments):
    """Carry out the command."""
    if arguments.seconds is not None and not 0.0 < arguments.seconds < math.inf:
        raise UsageError('--seconds must be above 0.')
    stop = Stop()
    try:
        return _demonstrate(arguments, stop)
    except ProgramError as error:
        print(f'flexsim demo: {error}', file=sys.stderr)
        return 1
    finally:
        stop.give_back()


def _demonstrate(arguments, stop):
    _import_observer()
    screen = Screen()
    arm = _load(arguments)
    robot = arm.description.name
    picture = arguments.plot or (None if arguments.json else f'demo_{robot}.png')
    if picture:
        # matplotlib takes half a second to import
        from flex_robot_sim.plots import check_figure_path
        check_figure_path(picture)
    with tempfile.TemporaryDirectory() as folder:
        arm, settings, source = _plan(arm, arguments, Path(folder), screen)
        domain = keep_to_this_machine()
        programs = simulation_system(
            *source, display=False, settings=settings, log_level='warn',
            controller='inside' if arguments.inside else 'process')
        return _perform(arm, programs, domain, picture, arguments, stop, screen)


def _perform(arm, programs, domain, picture, arguments, stop, screen):
    """Let the programs run, and say what they did."""
    robot, demo_observer = arm.description.name, _import_observer()
    greeting = f'{robot} moves in ROS_DOMAIN_ID={domain}. Ctrl-C ends it.'
    stop.interrupts = False     # from here on, there are programs to be stopped
    record, *figures = Session(Children(), stop, screen).run(
        programs, demo_observer(arm, not arguments.inside), arguments.seconds, greeting)
    summary = summary_of(record, *figures, robot)
    if picture and stop.asked < 2 and record.joints.time.size:
        _draw(picture, record, arm)
        summary['plot'] = picture
    print(json.dumps(summary, indent=2) if arguments.json else '\n'.join(lines_of(summary)))
    return INTERRUPTED if stop.asked and arguments.seconds is not None else 0


def _import_observer():
    try:
        from flex_robot_sim.nodes.demo_observer import demo_observer
    except ImportError as error:
        raise UsageError(
            f'there is no ROS 2 here ({error}). Source a ROS installation, or install its wheels '
            'by pip install "flex_robot_sim[ros]". `flexsim simulate two_link --to 0.5,0.5,-0.8` '
            'moves the arm without.') from error
    return demo_observer


def _load(arguments, **gravity):
    return frs.load(arguments.robot, xacro_arguments=xacro_arguments(arguments.xacro), **gravity)


def _plan(arm, arguments, folder, screen):
    """
    Return the arm as it can move, settings of the nodes, and the robot that they load.

    :param folder: for a description that is not the user's own.
    """
    if must_compile():
        screen.say('compiling, once after an installation: half a minute')
    settings, source = {}, (arguments.robot, arguments.xacro)
    if not can_carry_itself(arm):
        screen.say(f'the motors of {arm.description.name} do not carry its weight: it moves '
                   'without gravity')
        settings = {'gravity': [0.0, 0.0, 0.0]}
        arm = _load(arguments, gravity=settings['gravity'])
    try:
        swing = fitting_swing(arm)
    except UsageError as error:
        arm, swing, text = _swing_as_built(arm, settings, error)
        screen.say(f'the drives of {arm.description.name} are too light for a controller at the '
                   'other end of a network: it moves with rotors and damping as built arms have')
        source = (folder / f'{arm.description.name}.urdf', ())
        source[0].write_text(text, 'utf-8')
    control = {**settings, **swing.parameters}
    return arm, {DYNAMICS: settings, CONTROLLER: control}, source


def _swing_as_built(arm, settings, error):
    """Return the arm with as heavy drives as it needs, its Swing, and its description."""
    for share, damping in BUILT:
        text = as_built(arm, share, damping)
        heavier = frs.load(text, **settings)
        with contextlib.suppress(UsageError):
            return heavier, fitting_swing(heavier), text
    raise error


def _draw(path, record, arm):
    from flex_robot_sim.demo.picture import panels_of_run
    from flex_robot_sim.plots import write_figure
    prismatic = [name for name in arm.joint_names
                 if arm.description.joint(name).kind == 'prismatic']
    write_figure(path, f'{arm.description.name} in ROS 2', panels_of_run(record, prismatic))
