"""`flexsim tune`: a shaper for an arm without a model, from vibration in several poses."""

import signal
import sys
import threading
from argparse import ArgumentParser, Namespace
from dataclasses import fields
from pathlib import Path

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.ros.network import prepare_network
from flex_robot_sim.ros.topics import JOINT_STATES
from flex_robot_sim.util.exceptions import UsageError, plain

DRIVERS = 'simulation', 'ros', 'bench', 'files'
URDF_FILE = 'fitted.urdf'  # in the folder


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    from flex_robot_sim.shaping.tuning.tune_plan import TuneSettings

    parser.description = (
        'Tune a shaper for an arm without a model. The command moves the arm in five to nine '
        'poses, measures the vibration after each move, designs a shaper whose delays follow the '
        'pose, and measures again with it. Or it reads logs that exist (--log). An interrupted '
        'session continues with the same command. See docs/tune.md.'
    )
    parser.epilog = (
        'The folder gets the logs, modes.json with the measured modes, and shaper.json for '
        'design_file of the node shaper. Keep your distance: the arm moves between all poses '
        'along straight lines in joint space; --dry-run prints all moves.'
    )
    parser.add_argument('folder', metavar='FOLDER', help='folder of the session')
    parser.add_argument(
        '--driver',
        choices=DRIVERS,
        help='what moves the arm: simulation of --robot for a rehearsal; ros: a trajectory '
        'controller; bench: the rig at --port; files: you, by hand',
    )
    parser.add_argument(
        '--log',
        action='append',
        default=[],
        metavar='FILE',
        help='log of a move and the vibration after it, instead of a driver; once for each pose',
    )
    parser.add_argument(
        '--pose',
        type=common.numbers,
        action='append',
        default=[],
        help='joint positions of a --log, such as 0.5,0.3,-0.8 [rad, m], in the same order '
        '(default: by the columns of the joints in the log)',
    )
    parser.add_argument(
        '--joints', default='', metavar='NAMES', help='names of the joints, separated by commas'
    )
    parser.add_argument(
        '--robot',
        default='',
        metavar='URDF',
        help='URDF or shipped robot: names and limits of the joints; its joint stiffnesses are '
        'fitted to the measured frequencies',
    )
    common.accept_negative_numbers(parser)
    for option, corner in (('--from', 'one corner'), ('--to', 'the opposite corner')):
        parser.add_argument(
            option,
            dest=f'{option[2:]}_pose',
            type=common.numbers,
            metavar='POSE',
            help=f'{corner} of the range of poses: a position of each joint [rad, m]',
        )
    parser.add_argument(
        '--moving',
        default='',
        metavar='NAMES',
        help='joints that make the short moves, separated by commas (default: all)',
    )
    for item in fields(TuneSettings):
        parser.add_argument(
            f'--{item.name}',
            type=type(item.default),
            default=item.default,
            help=f'{item.metadata["help"]}'
            f'{" [" + item.metadata["unit"] + "]" if item.metadata["unit"] else ""} '
            '(default: %(default)s)',
        )
    parser.add_argument(
        '--column',
        action='append',
        default=[],
        metavar='NAME',
        help='column of the sensor in the logs; may be repeated (default: all but joints)',
    )
    parser.add_argument(
        '--rate', type=float, metavar='HZ', help='sample rate of logs without time'
    )
    parser.add_argument('--dry-run', action='store_true', help='print all moves, and move nothing')
    parser.add_argument('--port', default='', help='port of the board, for --driver bench')
    for option, what in (
        ('--topic', 'topic of JointTrajectory, for --driver ros'),
        ('--action', 'action FollowJointTrajectory, for --driver ros, instead of --topic'),
        ('--imu', 'topic of sensor_msgs/Imu, for --driver ros (default: efforts of the joints)'),
    ):
        parser.add_argument(option, default='', metavar='NAME', help=what)
    parser.add_argument(
        '--states',
        default=JOINT_STATES.name,
        metavar='NAME',
        help='topic of the joint states, for --driver ros (default: %(default)s)',
    )
    common.add_tool(parser)
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    if bool(arguments.log) == bool(arguments.driver) and not arguments.dry_run:
        raise UsageError(f'give either --driver ({", ".join(DRIVERS)}) or --log, once per pose.')
    arm = _arm(arguments)
    joints = _joints(arguments, arm)
    summary = (_from_logs if arguments.log else _from_moves)(arguments, joints, arm)
    common.print_result(arguments, summary, _as_text)
    return 0


def _arm(arguments):
    """Return the ArmModel of --robot, or None."""
    if not arguments.robot:
        if arguments.driver == 'simulation':
            raise UsageError('--driver simulation needs --robot URDF.')
        return None
    import flex_robot_sim as frs

    with show_progress('reading the robot'):
        return frs.load(arguments.robot, tool=arguments.tool)


def _joints(arguments, arm):
    """Return the names of the joints."""
    names = tuple(filter(None, arguments.joints.split(',')))
    if arm is not None and names and names != tuple(arm.joint_names):
        raise UsageError(
            f'--joints must be those of {arguments.robot}: {",".join(arm.joint_names)}.'
        )
    if arm is None and not names:
        raise UsageError('give the names of the joints by --joints NAME,NAME, or --robot URDF.')
    return names or tuple(arm.joint_names)


def _from_logs(arguments, joints, arm):
    """Write table and shaper from logs; return the summary."""
    from flex_robot_sim.shaping.shaper_file import write_shaper
    from flex_robot_sim.shaping.tuning.measured_table import measured_table
    from flex_robot_sim.shaping.tuning.pose_log import read_pose_log
    from flex_robot_sim.shaping.tuning.table_file import write_table
    from flex_robot_sim.shaping.tuning.tune_session import SHAPER_FILE, TABLE_FILE

    if arguments.pose and len(arguments.pose) != len(arguments.log):
        raise UsageError(
            f'--pose is given {len(arguments.pose)} times for {len(arguments.log)} logs: give one '
            'for each log, or none.'
        )
    poses = [_checked('--pose', pose, joints) for pose in arguments.pose] or [None] * len(
        arguments.log
    )
    with show_progress('looking for modes'):
        logs = [
            read_pose_log(path, joints, pose, arguments.column, arguments.rate)
            for path, pose in zip(arguments.log, poses)
        ]
        table = measured_table(joints, logs)
        shaper, band = table.shaper()
    folder = _made_folder(arguments.folder)
    write_table(folder / TABLE_FILE, table)
    write_shaper(folder / SHAPER_FILE, shaper, Path(arguments.robot).name, joints)
    summary = {
        'folder': arguments.folder,
        'joints': list(joints),
        'band': band,
        'added': shaper.online(len(joints), 1e-3).duration,
        'notes': list(table.notes),
        'poses': [_pose_row(log) for log in logs],
        'advice': f'Use {folder / SHAPER_FILE} as design_file of the node shaper.',
    }
    _fit_stiffness(arguments, arm, logs, summary)
    return summary


def _from_moves(arguments, joints, arm):
    """Run a session, or only plan it; return the summary."""
    from flex_robot_sim.shaping.tuning.advice import advice
    from flex_robot_sim.shaping.tuning.tune_plan import TuneSettings, make_plan
    from flex_robot_sim.shaping.tuning.tune_session import TuneSession

    corners = arguments.from_pose, arguments.to_pose
    if None in corners:
        raise UsageError('give the range of poses by --from POSE and --to POSE.')
    for option, pose in zip(('--from', '--to'), corners):
        _checked(option, pose, joints)
    settings = TuneSettings(
        **{item.name: getattr(arguments, item.name) for item in fields(TuneSettings)}
    )
    moving = tuple(filter(None, arguments.moving.split(',')))
    plan = make_plan(joints, *corners, settings, moving)
    if arm is not None:
        _check_limits(arm, plan)
    if arguments.dry_run:
        return {'folder': arguments.folder, 'joints': list(joints), 'moves': [*_planned(plan)]}
    if arguments.pose:
        raise UsageError('--pose is about a --log.')
    _stop_by_signals()
    driver = _driver(arguments, plan, arm)
    try:
        session = TuneSession(
            arguments.folder, plan, driver, _say, arguments.column, arguments.rate
        )
        result = session.run()
    finally:
        driver.close()
    summary = {
        'folder': arguments.folder,
        'joints': list(joints),
        'band': result.band,
        'added': result.added,
        'notes': list(result.table.notes),
        'poses': [
            {
                **_pose_row(one.log),
                'before': one.before.amplitude,
                'after': one.after.amplitude,
                'noise': one.after.noise,
                'left': one.left,
            }
            for one in result.poses
        ],
        'advice': advice(result),
    }
    _fit_stiffness(arguments, arm, result.table.logs, summary)
    return summary


def _stop_by_signals():
    """Let `kill` and the end of a terminal stop the arm as Ctrl-C does."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)


def _checked(option, pose, joints):
    if len(pose) != len(joints) or not np.isfinite(pose).all():
        raise UsageError(
            f'{option} needs {len(joints)} finite numbers, one for each of: '
            f'{", ".join(map(plain, joints))}.'
        )
    return pose


def _check_limits(arm, plan):
    """Refuse a plan beyond the limits of an arm."""
    from flex_robot_sim.motion.limits import rate_limits, refuse_beyond_stops

    rows = np.arange(len(arm.joint_names))
    for pose in [*plan.poses, *plan.starts]:
        refuse_beyond_stops(arm, rows, pose)
    slowest = int(np.argmin(rate_limits(arm)))
    if plan.settings.speed > rate_limits(arm)[slowest]:
        raise UsageError(
            f'--speed {plan.settings.speed:g} is above the {rate_limits(arm)[slowest]:g} '
            f'{arm.units[slowest]}/s of "{arm.joint_names[slowest]}".'
        )


def _driver(arguments, plan, arm):
    """Return the Driver that the arguments name."""
    if arguments.driver == 'simulation':
        from flex_robot_sim.shaping.tuning.simulated_driver import SimulatedDriver

        with show_progress('starting the simulation'):
            return SimulatedDriver(arm, plan.starts[0])
    if arguments.driver == 'bench':
        return _bench_driver(arguments, arm)
    if arguments.driver == 'ros':
        return _ros_driver(arguments, plan)
    from flex_robot_sim.shaping.tuning.file_driver import FileDriver

    return FileDriver(plan.joints, plan.starts[0], _say)


def _bench_driver(arguments, arm):
    from flex_robot_sim.rig.bridge.bench_driver import BenchDriver

    if not arguments.port or arm is None:
        raise UsageError('--driver bench needs --port PORT and --robot URDF of the bench.')
    return BenchDriver(arm, arguments.port)


def _ros_driver(arguments, plan):
    if bool(arguments.topic) == bool(arguments.action):
        raise UsageError('--driver ros needs either --topic or --action of the controller.')
    prepare_network()
    try:
        from flex_robot_sim.nodes.tune_driver import RosDriver
    except ImportError as error:
        raise common.no_ros(error) from error
    return RosDriver(
        plan.joints, arguments.topic, arguments.action, arguments.imu, arguments.states
    )


def _planned(plan):
    """Yield a dict for each move of a session."""
    position = None
    for row in range(len(plan.poses)):
        if position is not None:
            yield _planned_move('transfer', row, plan.transfer(position, row))
        yield _planned_move('short', row, plan.short_move(row))
        position = plan.poses[row]


def _planned_move(kind, row, move):
    rates = np.diff(move.positions, axis=0) / np.diff(move.times)[:, None]
    return {
        'pose': row + 1,
        'kind': kind,
        'from': move.positions[0].round(6).tolist(),
        'to': move.positions[-1].round(6).tolist(),
        'seconds': round(float(move.times[-1]), 3),
        'speed': round(float(np.abs(rates).max()), 4),
    }


def _pose_row(log):
    return {
        'source': log.source,
        'pose': log.pose.tolist(),
        'modes': [mode._asdict() for mode in log.modes],
    }


def _made_folder(name):
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f'{name}: cannot be made: {error.strerror}.') from error
    return Path(name)


def _say(line):
    print(f'flexsim tune: {plain(line)}', file=sys.stderr, flush=True)


def _as_text(summary):
    """Lines of a summary."""
    yield f'{summary["folder"]}: {", ".join(summary["joints"])}'
    for move in summary.get('moves', ()):
        ends = (' '.join(f'{x:g}' for x in move[end]) for end in ('from', 'to'))
        yield (
            f'  pose {move["pose"]} {move["kind"]:9s}{" -> ".join(ends)} in '
            f'{move["seconds"]:g} s, up to {move["speed"]:g} rad/s or m/s'
        )
    if 'moves' in summary:
        yield '  the short moves are repeated with the shaper; nothing was moved'
        return
    yield from (f'  note: {note}' for note in summary['notes'])
    for number, row in enumerate(summary['poses'], 1):
        modes = ', '.join(
            f'{mode["frequency"]:.3f} Hz (+-{mode["frequency_deviation"]:.1g}, '
            f'{mode["ratio"]:.1%})'
            for mode in row['modes']
        )
        left = f', {row["left"]:.1%} left' if 'left' in row else ''
        pose = ' '.join(f'{x:.3g}' for x in row['pose'])
        yield f'  pose {number} at {pose}: {modes}{left}'
    yield (
        f'  shaper: adds up to {summary["added"]:.2f} s, for frequencies off by up to '
        f'{summary["band"]:.1%}'
    )
    yield from _stiffness_lines(summary.get('stiffness'))
    yield f'  {summary["advice"]}'


def _stiffness_lines(found):
    """Lines about fitted stiffnesses, if there are any."""
    if found is None:
        return
    joints = ', '.join(
        f'{one["joint"]} {one["stiffness"]:.3g} (+-{one["deviation"]:.0%})'
        for one in found['joints']
        if one['is_determined']
    )
    yield f'  joint stiffnesses: {joints}; frequencies within {found["error"]:.1%}'
    others = [one['joint'] for one in found['joints'] if not one['is_determined']]
    if others:
        yield f'  not determined by these frequencies: {", ".join(others)}'
    yield f'  {found["file"]}: the URDF with <flexibility>'


def _fit_stiffness(arguments, arm, logs, summary):
    """Fit joint stiffnesses of a rigid URDF to the modes; add the result to the summary."""
    from flex_robot_sim.shaping.tuning.flexible_urdf import write_flexible_urdf
    from flex_robot_sim.shaping.tuning.stiffness_fit import fit_stiffness

    if arm is None or arm.size != len(arm.joint_names):
        return
    with show_progress('fitting joint stiffnesses'):
        fit = fit_stiffness(arm, logs)
    path = Path(arguments.folder) / URDF_FILE
    write_flexible_urdf(path, arm, fit)
    summary['stiffness'] = {
        'file': str(path),
        'joints': [
            {**joint._asdict(), 'is_determined': joint.is_determined} for joint in fit.joints
        ],
        'error': fit.error,
    }
