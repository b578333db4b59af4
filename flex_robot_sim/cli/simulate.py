"""`flexsim simulate`: drive an arm, write its states, and print a summary."""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.analysis.loop_poses import full_pose
from flex_robot_sim.analysis.mode_table import loaded
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.cli.common import (
    add_json,
    add_model,
    add_output,
    add_robot,
    beyond_limits,
    expect_within,
    expect_writable,
    numbers,
    parse_payload,
    print_result,
    read_arm,
)
from flex_robot_sim.cli.compiling import show_compilation
from flex_robot_sim.cli.sensor_readings import SensorReadings
from flex_robot_sim.cli.simulate_move import add_shaping, closed_loop_moves, residual
from flex_robot_sim.cli.simulation_summary import as_text, goal_summary, summary_of
from flex_robot_sim.cli.simulation_table import simulate_rows, write_csv
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.control.gains import Servo, carrying_efforts
from flex_robot_sim.control.loop_gravity import closed_pose
from flex_robot_sim.control.servo import design_servo, servo_line
from flex_robot_sim.identification.chirp_and_step import effort_of_table, effort_of_words
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.model.start_pose import start_note, start_position
from flex_robot_sim.simulation.rollout import ControlLoop
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, UsageError
from flex_robot_sim.util.settings import FORMULATIONS, SCHEMES, SimulationSettings

EXIT_NOT_ARRIVED = 1  # exit code
MAX_STEPS = 1e9  # some hours of computing


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Simulate an arm with given efforts or a move to a pose. Write its states as CSV, '
        'or as a recording with ROS 2 messages.'
    )
    parser.epilog = (
        f'Exit code {EXIT_NOT_ARRIVED}: the arm does not reach the pose of --to, or '
        'does not stay there; a line names the joint.'
    )
    add_robot(parser)
    parser.add_argument(
        '--seconds', type=float, default=5.0, help='simulated time [s] (default: %(default)s)'
    )
    parser.add_argument(
        '--effort',
        action='append',
        default=[],
        metavar='JOINT=FORM',
        help='1.5, step:2@0.5, bang:2@0.5,1.5,2.5 or sine:2@1.5: amplitude [N m, N] at times [s] '
        'or a frequency [Hz]; once per joint',
    )
    parser.add_argument(
        '--effort-table', metavar='CSV', help='efforts as a table with the columns time and joints'
    )
    parser.add_argument(
        '--to',
        type=numbers,
        metavar='POSE',
        help='move to this pose by a PD servo with gravity compensation, for instance '
        '0.5,0.3,-0.8 [rad, m]; write --to=-1,0 if it begins with -',
    )
    parser.add_argument(
        '--within',
        type=float,
        default=0.0,
        metavar='S',
        help='duration of a minimum-jerk motion to the pose of --to [s] (default: a step)',
    )
    add_shaping(parser)
    parser.add_argument(
        '--payload', metavar='[LINK=]KG', help='mass fixed to the tool, or to LINK [kg]'
    )
    parser.add_argument(
        '--stiffness',
        type=numbers,
        help='of the PD servo, one value or one per joint (default: designed for all poses)',
    )
    parser.add_argument(
        '--damping', type=numbers, help='of the PD servo, one value or one per joint'
    )
    parser.add_argument(
        '--start',
        type=numbers,
        metavar='POSE',
        help='initial pose, in which the arm is at rest (default: zero, or the nearest pose '
        'within limits)',
    )
    parser.add_argument(
        '--time-step', type=float, default=1e-3, help='integration step [s] (default: %(default)s)'
    )
    parser.add_argument('--scheme', default='implicit_midpoint', choices=SCHEMES)
    parser.add_argument(
        '--formulation',
        default='recursion',
        choices=FORMULATIONS,
        help='formulation of the dynamics; all except recursion are slow (default: %(default)s)',
    )
    add_model(parser)
    parser.add_argument(
        '--rate', type=float, default=100.0, help='states per second (default: %(default)s)'
    )
    parser.add_argument(
        '--seed',
        type=int,
        default=0,
        help='of the noise of IMUs and encoders in the output (default: %(default)s)',
    )
    add_output(
        parser,
        '--output',
        metavar='FILE',
        help='output file: a recording if it ends in .mcap, otherwise CSV (default: none)',
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    with show_progress('reading the robot'):
        arm = read_arm(arguments)
    if arguments.payload is not None:
        arm = loaded(arm, parse_payload(arguments.payload, arm.tool))
    settings = SimulationSettings(
        time_step=arguments.time_step, scheme=arguments.scheme, formulation=arguments.formulation
    )
    _check_arguments(arguments, arm)
    start, start_line = _start_state(arm, arguments)

    def new_simulation():
        simulation = Simulation(arm, settings)
        simulation.set_state(**start)
        simulation.reports += [start_line] if start_line else []
        return simulation

    simulation = new_simulation()
    with show_progress('looking for gains that hold the arm'):
        holding_effort, servo = _set_servo(simulation, arguments)
    effort = (
        effort_of_table(arguments.effort_table, arm.joint_names)
        if arguments.effort_table
        else effort_of_words(arguments.effort, arm.joint_names)
    )
    is_constant = not arguments.effort_table and all(':' not in word for word in arguments.effort)
    with show_compilation():  # by another simulation, so that wall time excludes it
        Simulation(arm, settings).step()
    moves = []
    if _needs_closed_loop_move(arguments) or servo.integral is not None:
        simulation = new_simulation()  # without the servo, which the move commands
        moves = closed_loop_moves(arguments, simulation, new_simulation, servo)
        take_steps, target = moves[0].advance, lambda: moves[0].target
    else:
        goal = (
            None if arguments.to is None else np.array([arguments.to, np.zeros(len(arguments.to))])
        )
        take_steps, target = (
            _effort_loop(simulation, lambda t: holding_effort + effort(t), is_constant),
            lambda: goal,
        )
    recording = _open_recording(arguments.output, arm)
    sensors = _sensors(simulation, arguments, recording)
    try:
        if recording:
            _record_parameters(recording, arguments, arm, (servo.stiffness, servo.damping))
        rows, wall_time = simulate_rows(
            simulation, arguments, take_steps, target, recording, sensors
        )
    except BaseException:
        _close(recording)  # keeps the states before the error or Ctrl-C
        raise
    try:
        summary = summary_of(simulation, rows, wall_time)
        if arguments.to is not None:
            summary['gains'] = '' if _has_own_gains(arguments) else servo_line(arm, servo)
        if arguments.shaper or arguments.feedback:
            summary.update(residual(arguments, moves))
        if arguments.to is not None:
            summary.update(goal_summary(arguments.to, simulation, rows, servo))
        missed = summary.get('missed', '')
        print_result(arguments, summary, as_text)
    finally:  # after the summary, which a full disk must not prevent
        _close(recording)
    if arguments.output and not recording:
        write_csv(arguments.output, arm, rows, sensors)
    if missed:
        print(f'flexsim simulate: {missed}', file=sys.stderr)
    return EXIT_NOT_ARRIVED if missed else 0


def _check_arguments(arguments, arm):
    """Raise UsageError for arguments that contradict each other or are out of range."""
    for name in ('seconds', 'rate'):
        expect_within(f'--{name}', getattr(arguments, name))
    if arguments.seconds > MAX_STEPS * arguments.time_step:
        raise UsageError(
            f'--seconds hold more than {MAX_STEPS:g} steps of --time-step. Take '
            'fewer or longer ones.'
        )
    if arguments.seed < 0:
        raise UsageError('--seed must be 0 or more.')
    if arguments.seconds < arguments.time_step:
        raise UsageError('--seconds must be at least one --time-step.')
    if arguments.effort and arguments.effort_table:
        raise UsageError('--effort and --effort-table exclude each other.')
    _refuse_goal_beyond_limits(arm, arguments)
    if arguments.output is not None:
        expect_writable(arguments.output)


def _start_state(arm, arguments):
    """
    Return the state at the start, arguments of set_state, and a line about it or ''.

    If motors hold the arm, at --start and before a move to --to, it starts in equilibrium. A base
    that falls leaves no weight on the joints.
    """
    if arguments.start is None and arguments.to is None:
        return {}, start_note(arm)
    if arguments.start is None:
        pose, line = start_position(arm), start_note(arm)
    else:
        pose, line = full_pose(arm, '--start', arguments.start), ''
    if beyond_limits(arm, '', pose.tolist()):
        return {'q': pose}, line  # a stop pushes: there is no equilibrium
    try:
        rest = equilibrium(without_free_fall(arm), pose).q
    except SettingError as error:
        return {'q': pose}, f'the arm starts with straight springs: {error}'
    return {'q': rest}, line


def _refuse_goal_beyond_limits(arm, arguments):
    """Refuse a goal beyond the joint stops."""
    if arguments.to is not None:
        # passive joints arrive where the loops close
        arguments.to = closed_pose(arm, full_pose(arm, '--to', arguments.to))[arm.joint_q].tolist()
    beyond = beyond_limits(arm, '--to', arguments.to)
    if beyond:
        raise UsageError(f'{beyond}.')


def _open_recording(path, arm):
    """Return the SimulationRecording for --output, or None if it is no .mcap file."""
    if not path or not path.endswith('.mcap'):
        return None
    from flex_robot_sim.recording.simulated import SimulationRecording  # imported late: needs mcap

    return SimulationRecording(path, arm, is_settled=True)


def _sensors(simulation, arguments, recording):
    """Return the SensorReadings for an output, or None if the arm has no sensors."""
    if not arguments.output:
        return None
    sensors = SensorReadings(simulation, arguments.seed, recording)
    return sensors if sensors.has_sensors else None


def _record_parameters(recording, arguments, arm, servo):
    """Write the parameters of the run into a recording, under the names of the nodes."""
    load = {}
    if arguments.payload is not None:
        link, mass = parse_payload(arguments.payload, arm.tool)
        load = {'payload_link': link, 'payload_mass': mass}
    recording.note(
        'dynamics',
        {
            'time_step': arguments.time_step,
            'scheme': arguments.scheme,
            'coupling': arm.coupling,
            **load,
        },
    )
    if arguments.to is not None:
        recording.note(
            'controller',
            {
                'position_gain': servo[0],
                'velocity_gain': servo[1],
                'shaper': arguments.shaper or 'none',
                'vibration_feedback': arguments.feedback or 'none',
            },
        )


def _close(recording):
    """End the recording."""
    if recording:
        recording.close()


def _needs_closed_loop_move(arguments):
    return (
        arguments.shaper
        or arguments.feedback
        or arguments.within
        or arguments.integral is not None
    )


def _effort_loop(simulation, effort, is_constant):
    """Return a function that takes steps under an effort, a function of time."""
    # sampled at half a step, where a held effort approximates it best
    half = 0.5 * simulation.settings.time_step
    simulation.effort = effort(half)
    return ControlLoop(
        simulation, None if is_constant else lambda time, _: effort(time + half)
    ).advance


def _has_own_gains(arguments):
    return arguments.stiffness is not None or arguments.damping is not None


def _set_servo(simulation, arguments):
    """Hold the goal by the servo; return the gravity efforts there, and the Servo."""
    n = len(simulation.arm.joint_names)
    if arguments.to is None:
        if _has_own_gains(arguments):
            raise UsageError('--stiffness and --damping need a pose to hold: --to.')
        if _needs_closed_loop_move(arguments):
            raise UsageError(
                '--shaper, --feedback, --integral and --within need a pose to go to: --to.'
            )
        return np.zeros(n), Servo(np.zeros(n), np.zeros(n), 0.0)
    if not 0.0 <= arguments.within < 1e9:
        raise UsageError('--within must be 0 or more.')
    has_efforts = arguments.effort or arguments.effort_table
    if _needs_closed_loop_move(arguments) and has_efforts:
        raise UsageError('--shaper, --feedback, --integral and --within go without --effort.')
    servo = design_servo(simulation.arm)
    for name in ('stiffness', 'damping'):
        values = getattr(arguments, name)
        if values is not None:
            if len(values) not in (1, n):
                raise UsageError(f'--{name} takes 1 or {n} numbers, not {len(values)}.')
            gains: dict[str, Any] = {name: np.broadcast_to(values, n)}
            if len(values) == 1:
                gains[name] = gains[name] * simulation.arm.actuated
            servo = replace(servo, **gains)
    if _has_own_gains(arguments) or has_efforts or arguments.feedback:
        servo = replace(servo, integral=None)  # it belongs to the default gains
    simulation.hold(arguments.to, servo.stiffness, servo.damping)
    return carrying_efforts(simulation.arm, arguments.to), servo
