"""`flexsim demo`: an arm swings in ROS 2; simulation and controller are separate processes."""

import contextlib
import json
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

import flex_robot_sim as frs
from flex_robot_sim.cli import common
from flex_robot_sim.control.servo import DEFAULT_FREQUENCY, servo_line
from flex_robot_sim.demo.children import Children
from flex_robot_sim.demo.demo_session import (
    COMPILATION_TIMEOUT_S,
    PROGRAM_TIMEOUT_S,
    DemoSession,
    ProgramError,
)
from flex_robot_sim.demo.demo_summary import comparison_of, lines_of, summary_of
from flex_robot_sim.demo.demo_vibration import residual_vibration
from flex_robot_sim.demo.realistic_drives import DRIVE_LEVELS, with_realistic_drives
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.demo.stop import StopRequests
from flex_robot_sim.demo.swing import can_carry_itself, fitting_swing, vibration_span
from flex_robot_sim.dynamics.parallel_warmup import start_parallel_warmup
from flex_robot_sim.jit.compiled import must_compile, why_compiling
from flex_robot_sim.model.start_pose import start_note
from flex_robot_sim.recording.mcap_file import refuse_recording
from flex_robot_sim.ros.network import choose_domain, prepare_network, use_network
from flex_robot_sim.shaping.impulses import CONTROLLER_SHAPERS, ShapingSettings
from flex_robot_sim.shaping.shaper_design import refuse_shaper
from flex_robot_sim.system.processes import CONTROLLER, DYNAMICS, VIEW, simulation_system
from flex_robot_sim.util.exceptions import SettingError, UsageError
from flex_robot_sim.util.xacro_arguments import xacro_arguments
from flex_robot_sim.viewer.missing import refuse_without_view

EXIT_INTERRUPTED = 130  # exit code, as of a shell after Ctrl-C
COMPARISON_MOVES = 3  # motions in each run of a comparison


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Simulate and control an arm that moves between two poses. Simulation and '
        'controller are two ROS 2 processes on this machine. Ctrl-C ends the demo.'
    )
    parser.epilog = 'To see an arm that stops without vibration: flexsim demo --compare'
    parser.add_argument(
        '--robot',
        default='two_link',
        metavar='URDF',
        help='URDF or xacro file, or name of a shipped robot (default: %(default)s)',
    )
    parser.add_argument('xacro', nargs='*', metavar='NAME:=VALUE', help='arguments for xacro')
    common.add_tool(parser)
    parser.add_argument(
        '--seconds', type=float, metavar='S', help='simulated time [s] (default: until Ctrl-C)'
    )
    parser.add_argument(
        '--shaper',
        choices=CONTROLLER_SHAPERS[1:],
        metavar='KIND',
        help='shape the motion so that the links do not vibrate afterwards: '
        f'{", ".join(CONTROLLER_SHAPERS[1:])}; see docs/control.md',
    )
    for option, text in (
        (
            '--compare',
            'run without and with a shaper (default: zvd), and draw both; --seconds is the time '
            'of each run (default: three motions)',
        ),
        ('--inside', 'run the controller in the process of the dynamics, at 1 kHz'),
        ('--no-view', 'do not show the arm in a browser (--json does not either)'),
        ('--network', 'allow other machines to subscribe and command'),
    ):
        parser.add_argument(option, action='store_true', help=text)
    common.add_output(
        parser,
        '--plot',
        metavar='FILE',
        help='picture of the run: .png, .pdf or .svg (default: demo_ROBOT.png '
        'here; with --json: none)',
    )
    common.add_output(
        parser, '--record', metavar='FILE', help='record all messages in this new MCAP file'
    )
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    common.expect_within('--seconds', arguments.seconds)
    stop = StopRequests()
    try:
        return _demonstrate(arguments, stop)
    except ProgramError as error:
        print(f'flexsim demo: {error}', file=sys.stderr)
        return 1
    finally:
        stop.restore_handlers()


def _demonstrate(arguments, stop):
    _import_observer()
    screen, timeout = Screen(), PROGRAM_TIMEOUT_S
    arm = _load(arguments)
    picture = arguments.plot or (None if arguments.json else f'demo_{arm.description.name}.png')
    common.expect_drawable(picture)
    if arguments.record:
        common.remove_forced(arguments, arguments.record)
        refuse_recording(arguments.record)
    if must_compile():
        timeout = COMPILATION_TIMEOUT_S
        start_parallel_warmup()  # until the processes that step the arm run
        screen.say(why_compiling())
    with tempfile.TemporaryDirectory() as folder:
        arm, settings, source, swing = _plan(arm, arguments, Path(folder), screen)
        shapers, seconds = _shapers_and_duration(arm, arguments, swing)
        (use_network if arguments.network else prepare_network)()
        domain = choose_domain()
        robot, xacro_arguments = source
        programs = simulation_system(
            robot,
            xacro_arguments,
            display=False,
            settings=settings,
            log_level='warn',
            controller='inside' if arguments.inside else 'process',
            view=_can_show(arguments, screen),
            record=arguments.record,
            tool=arguments.tool,
        )
        programs = [
            program._replace(log_level='info') if program.executable == VIEW else program
            for program in programs
        ]  # the viewer logs its address
        greeting = [
            *filter(None, [start_note(arm)]),
            servo_line(arm, swing.servo)
            + f' (stiff, to show vibration; default: {DEFAULT_FREQUENCY:g} Hz)' * swing.is_stiff,
            f'{arm.description.name} moves in ROS_DOMAIN_ID={domain}. Ctrl-C ends it.',
        ]
        stop.interrupts = False  # from here on, processes must be stopped
        # the processes end while the figure is drawn
        with Children() as children:
            runs = DemoSession(children, stop, screen, timeout).run(
                programs, _import_observer()(arm, not arguments.inside), seconds, greeting, shapers
            )
            return _report_results(arm, swing, runs, shapers[-1], picture, arguments, stop)


def _can_show(arguments, screen):
    """Whether to show the arm in a browser; if viser is missing, print how to install it."""
    if arguments.no_view or arguments.json:
        return False
    try:
        refuse_without_view()
    except UsageError as error:
        screen.say(str(error))
        return False
    return True


def _shapers_and_duration(arm, arguments, swing):
    """Return the shapers of the runs, '' for the default, and the duration of each run [s]."""
    if not (arguments.shaper or arguments.compare):
        return ('',), arguments.seconds
    shaper = arguments.shaper or 'zvd'
    for pose in swing.poses:
        gains = swing.servo.stiffness, swing.servo.damping
        refuse_shaper(arm, ShapingSettings(shaper=shaper), gains, pose)
    if not arguments.compare:
        return (shaper,), arguments.seconds
    return ('none', shaper), arguments.seconds or swing.seconds(COMPARISON_MOVES)


def _report_results(arm, swing, runs, shaper, picture, arguments, stop):
    """Print the results of the runs and draw them."""
    record, figures, first_figures = runs[-1]
    summary = summary_of(record, figures, first_figures, arm.description.name)
    failure = None
    if arguments.record:
        summary['recording'] = arguments.record
    if shaper:
        span = vibration_span(arm, swing)
        vibrations = [residual_vibration(run[0], span) for run in runs]
        summary.update(comparison_of(shaper, vibrations))
    if picture and stop.request_count < 2 and record.joints.time.size:
        try:
            if len(runs) > 1:
                _draw_comparison(picture, arm, runs[0][0], record, summary, vibrations[0].begin)
            else:
                _draw(picture, record, arm)
            summary['plot'] = picture
        except SettingError as error:  # the disk is full: still print the results
            failure = error
    print(json.dumps(summary, indent=2) if arguments.json else '\n'.join(lines_of(summary)))
    if failure is not None:
        raise failure
    return EXIT_INTERRUPTED if stop.request_count and arguments.seconds is not None else 0


def _import_observer():
    try:
        from flex_robot_sim.nodes.demo_observer import demo_observer
    except ImportError as error:
        raise common.no_ros(
            error, ' `flexsim simulate two_link --to 0.5,0.5,-0.8` moves the arm without.'
        ) from error
    return demo_observer


def _load(arguments, **gravity):
    return frs.load(
        arguments.robot,
        xacro_arguments=xacro_arguments(arguments.xacro),
        tool=arguments.tool,
        **gravity,
    )


def _plan(arm, arguments, folder, screen):
    """
    Return the arm, settings of the nodes, the robot that they load, and the Swing.

    :param folder: for a URDF that differs from the one of the user.
    """
    settings, source = {}, (arguments.robot, arguments.xacro)
    if not can_carry_itself(arm):
        screen.say(
            f'the motors of {arm.description.name} do not carry its weight: it moves '
            'without gravity'
        )
        settings = {'gravity': [0.0, 0.0, 0.0]}
        arm = _load(arguments, gravity=settings['gravity'])
    is_stiff = arm.size > len(arm.joint_names)  # it has flexible links or joints
    try:
        swing = fitting_swing(arm, is_stiff)
    except UsageError as error:
        arm, swing, text = _swing_with_realistic_drives(arm, settings, is_stiff, error)
        screen.say(
            f'the drives of {arm.description.name} are too light for a controller at the '
            'other end of a network: it moves with rotors and damping as built arms have'
        )
        source = (folder / f'{arm.description.name}.urdf', ())
        source[0].write_text(text, 'utf-8')
    control = {**settings, **swing.parameters}
    return arm, {DYNAMICS: settings, CONTROLLER: control, VIEW: settings}, source, swing


def _swing_with_realistic_drives(arm, settings, is_stiff, error):
    """Return the arm with rotors as heavy as needed, its Swing, and its description."""
    for rotor_share, damping in DRIVE_LEVELS:
        text = with_realistic_drives(arm, rotor_share, damping)
        realistic_arm = frs.load(text, tool=arm.description.requested_tool, **settings)
        with contextlib.suppress(UsageError):
            return realistic_arm, fitting_swing(realistic_arm, is_stiff), text
    raise error


def _draw_comparison(path, arm, unshaped, shaped, summary, begin):
    from flex_robot_sim.demo.demo_figure import panels_of_comparison
    from flex_robot_sim.util.plots import write_figure

    remaining = ''
    if summary['residual_vibration_ratio'] is not None:
        remaining = (
            f': {summary["residual_vibration_ratio"]:.1%} of the residual vibration is left'
        )
    robot, shaper = summary['robot'], summary['shaper']
    write_figure(
        path,
        f'{robot} without and with the shaper {shaper}{remaining}',
        panels_of_comparison(unshaped, shaped, shaper, max(begin - 0.5, 0.0), _prismatic(arm)),
    )


def _draw(path, record, arm):
    from flex_robot_sim.demo.demo_figure import panels_of_run
    from flex_robot_sim.util.plots import write_figure

    write_figure(path, f'{arm.description.name} in ROS 2', panels_of_run(record, _prismatic(arm)))


def _prismatic(arm):
    return [name for name, unit in zip(arm.joint_names, arm.units) if unit == 'm']
