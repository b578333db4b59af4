"""`flexsim simulate`: drive an arm for a while, write what it did, and sum it up."""

import csv
import sys
import time

import numpy as np

from flex_robot_sim.cli.arguments import add_json, add_robot, numbers, print_result, read_arm
from flex_robot_sim.control.excitation import effort_of_table, effort_of_words
from flex_robot_sim.control.gains import carrying_efforts, fitting_gains
from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.settings import SCHEMES, SimulationSettings
from flex_robot_sim.simulation import Simulation


def add_to(commands, about):
    """Add the command to the parser."""
    parser = commands.add_parser(
        'simulate', help=about,
        description='Drive an arm by efforts or to a pose, and write a row of CSV every so often.')
    add_robot(parser)
    parser.add_argument('--seconds', type=float, default=5.0, help='(default: %(default)s)')
    parser.add_argument('--effort', action='append', default=[], metavar='JOINT=FORM',
                        help='1.5, step:2@0.5, bang:2@0.5,1.5,2.5 or sine:2@1.5 (size [N m, N] at '
                             'times [s] or a frequency [Hz]); once per joint')
    parser.add_argument('--effort-table', metavar='CSV', help='columns time and joints')
    parser.add_argument('--to', type=numbers, metavar='POSE',
                        help='go to this pose by PD and efforts that carry the weight there, for '
                             'instance 0.5,0.3,-0.8 [rad, m]; write --to=-1,0 if it begins with -')
    parser.add_argument('--stiffness', type=numbers, help='of PD, one or by joint (default: 1 Hz)')
    parser.add_argument('--damping', type=numbers, help='of PD, one or by joint')
    parser.add_argument('--start', type=numbers, metavar='POSE', help='pose at the start')
    parser.add_argument('--time-step', type=float, default=1e-3, help='[s] (default: %(default)s)')
    parser.add_argument('--scheme', default='implicit_midpoint', choices=SCHEMES)
    parser.add_argument('--coupling', default='shortening', choices=('shortening', 'zero_order'))
    parser.add_argument('--gravity', type=numbers, default=[0.0, 0.0, -9.81], metavar='X,Y,Z',
                        help='[m/s2] (default: 0,0,-9.81)')
    parser.add_argument('--rate', type=float, default=100.0,
                        help='rows per second (default: %(default)s)')
    parser.add_argument('--output', metavar='CSV', help='file to write (default: none)')
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments):
    """Carry out the command."""
    arm = read_arm(arguments)
    settings = SimulationSettings(time_step=arguments.time_step, scheme=arguments.scheme)
    for name in ('seconds', 'rate'):
        if not 0 < getattr(arguments, name) < 1e9:
            raise UsageError(f'--{name} must be above 0.')
    if arguments.seconds < arguments.time_step:
        raise UsageError('--seconds must be at least one --time-step.')
    if arguments.effort and arguments.effort_table:
        raise UsageError('--effort and --effort-table exclude each other.')
    simulation = Simulation(arm, settings)
    if arguments.start is not None:
        simulation.set_state(arguments.start)
    carried = _set_servo(simulation, arguments)
    effort = (effort_of_table(arguments.effort_table, arm.joint_names) if arguments.effort_table
              else effort_of_words(arguments.effort, arm.joint_names))
    constant = not arguments.effort_table and all(':' not in word for word in arguments.effort)
    _compile(arm, settings)
    rows, wall, largest = _simulate(simulation, arguments, lambda t: carried + effort(t), constant)
    if arguments.output:
        _write(arguments.output, arm, rows)
    summary = _summary(simulation, wall, largest)
    print_result(arguments, summary, _as_text)
    return 0


def _compile(arm, settings):
    """Take a step aside, so that the time to compile is not taken for that to simulate."""
    if sys.stderr.isatty():
        print('loading the dynamics; the first time this takes half a minute', end='',
              file=sys.stderr, flush=True)
    Simulation(arm, settings).step()
    if sys.stderr.isatty():
        print('\r' + ' ' * 70 + '\r', end='', file=sys.stderr)


def _set_servo(simulation, arguments):
    """Let the motors hold the pose that is asked for; efforts that carry the weight there."""
    if arguments.to is None:
        if arguments.stiffness is not None or arguments.damping is not None:
            raise UsageError('--stiffness and --damping need a pose to hold: --to.')
        return np.zeros(len(simulation.arm.joint_names))
    stiffness, damping = fitting_gains(simulation.arm)
    n = len(simulation.arm.joint_names)
    chosen = []
    for name, given, fitting in (('--stiffness', arguments.stiffness, stiffness),
                                 ('--damping', arguments.damping, damping)):
        if given is not None and len(given) not in (1, n):
            raise UsageError(f'{name} takes 1 or {n} numbers, not {len(given)}.')
        chosen.append(fitting if given is None else np.broadcast_to(given, n))
    simulation.hold(arguments.to, *chosen)
    return carrying_efforts(simulation.arm, arguments.to)


def _simulate(simulation, arguments, effort, constant):
    """Rows of the table, wall time [s], and largest tip deflections {link: [m]}."""
    h, end = arguments.time_step, arguments.seconds
    block = max(round(1 / (arguments.rate * h)), 1)
    total, done = max(round(end / h), 1), 0
    simulation.effort = effort(0.5 * h)
    rows, wall, shown = [_row(simulation)], 0.0, time.monotonic()
    largest = dict.fromkeys(simulation.arm.tips, 0.0)
    while done < total:
        steps = min(block, total - done)
        started = time.perf_counter()
        if constant:
            simulation.step(steps)
        else:
            for _ in range(steps):
                # half way, as a motor that holds an effort for a step comes closest to it
                simulation.effort = effort(simulation.time + 0.5 * h)
                simulation.step()
        wall += time.perf_counter() - started
        done += steps
        rows.append(_row(simulation))
        for link, tip in simulation.deflection.items():
            largest[link] = max(largest[link], float(np.linalg.norm(tip[:3])))
        if sys.stderr.isatty() and time.monotonic() - shown > 0.2:
            shown = time.monotonic()
            print(f'\r{done / total:4.0%}  {simulation.time:.2f} s', end='', file=sys.stderr)
    if sys.stderr.isatty():
        print('\r' + ' ' * 30 + '\r', end='', file=sys.stderr)
    return rows, wall, largest


def _row(simulation):
    tips = simulation.deflection.values()
    return np.concatenate([[simulation.time], simulation.position, simulation.velocity,
                           simulation.motor_position, simulation.applied_effort, *tips])


def _write(path, arm, rows):
    joints = arm.joint_names
    header = ['time', *(f'{kind}/{name}' for kind in ('position', 'velocity', 'motor', 'effort')
                        for name in joints)]
    header += [f'tip/{link}/{part}' for link in arm.tips
               for part in ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')]
    try:
        with open(path, 'w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([f'{value:.9g}' for value in row] for row in rows)
    except OSError as error:
        raise UsageError(f'{path} cannot be written: {error.strerror}.') from error


def _summary(simulation, wall, largest):
    energy = simulation.energy()
    names = simulation.arm.joint_names
    return {
        'robot': simulation.arm.description.name,
        'time': simulation.time,
        'position': dict(zip(names, simulation.position.tolist())),
        'velocity': dict(zip(names, simulation.velocity.tolist())),
        'energy': {key: float(value) for key, value in energy._asdict().items()},
        'largest_deflection': largest,
        'wall_time': wall,
        'times_real_time': simulation.time / wall,
        'reports': list(simulation.reports),
    }


def _as_text(summary):
    yield (f'{summary["robot"]}: {summary["time"]:.6g} s in {summary["wall_time"]:.3g} s, '
           f'{summary["times_real_time"]:.0f} times real time')
    for name, position in summary['position'].items():
        yield f'  {name}: {position:.6g} rad or m, {summary["velocity"][name]:.6g} per second'
    yield '  energy [J]: ' + ', '.join(f'{key} {value:.6g}'
                                       for key, value in summary['energy'].items())
    for link, size in summary['largest_deflection'].items():
        yield f'  {link}: tip moved by up to {size * 1e3:.4g} mm'
    yield from (f'  note: {line}' for line in summary['reports'])
