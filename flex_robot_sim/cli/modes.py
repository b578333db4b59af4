"""`flexsim modes`: natural frequencies of the whole arm at a pose."""

import sys
from argparse import ArgumentParser, Namespace

import numpy as np

from flex_robot_sim.analysis.loop_poses import full_pose
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.model.start_pose import start_note, start_position
from flex_robot_sim.util.exceptions import UsageError

MAX_SHAPE_PARTS = 3
UNSTABLE_DAMPING_RATIO = -1.0 + 1e-9  # damping ratio of a motion that grows without oscillating


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Compute natural frequencies, damping ratios and mode shapes of the arm about its '
        'equilibrium under gravity.'
    )
    common.add_robot(parser)
    parser.add_argument(
        '--pose',
        type=common.numbers,
        help='joint positions, for instance 0.5,0.3,-0.8 [rad, m] (default: zero, or the nearest '
        'pose within limits)',
    )
    parser.add_argument(
        '--joints',
        default='locked',
        choices=('locked', 'free'),
        help='locked: the motors are held; free: they turn freely (default: %(default)s)',
    )
    parser.add_argument('--payload', metavar='[LINK=]KG', help='mass at the tool, or at LINK [kg]')
    parser.add_argument(
        '--count', type=int, default=12, help='number of modes (default: %(default)s)'
    )
    common.add_model(parser)
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    if arguments.count < 1:
        raise UsageError('--count must be above 0.')
    with show_progress('reading the robot; the first call compiles, and fine meshes take long'):
        arm = common.read_arm(arguments)
        payload = None
        if arguments.payload:
            payload = common.parse_payload(arguments.payload, arm.tool)
            arm = with_payload(arm, *payload)
    if not arm.size:
        raise UsageError('nothing of this robot moves: it has no modes.')
    if arguments.pose is not None:
        arguments.pose = full_pose(arm, '--pose', arguments.pose).tolist()
    # printed before errors that follow from it
    common.note_beyond('modes', arm, '--pose', arguments.pose)
    if arguments.pose is None and start_note(arm):
        print(f'flexsim modes: note: {start_note(arm)}', file=sys.stderr)
    with show_progress('looking for the modes'):
        result = modes(arm, arguments.pose, joints=arguments.joints)
    rows = np.flatnonzero(result.damping_ratios > UNSTABLE_DAMPING_RATIO)
    listed = rows[: arguments.count].tolist()
    summary = {
        'robot': arm.description.name,
        'pose': _pose(arm, arguments.pose),
        'unit': dict(zip(arm.joint_names, arm.units)),
        'joints': arguments.joints,
        'payload': dict([payload]) if payload else {},
        'frequencies': result.frequencies[listed].tolist(),
        'damping_ratios': result.damping_ratios[listed].tolist(),
        'shapes': [
            {name: [value.real, value.imag] for name, value in result.shape(i).items()}
            for i in listed
        ],
        'notes': [*_notes(arm, result.frequencies.size - rows.size, result.note)],
    }
    common.print_result(arguments, summary, _as_text)
    return 0


def _pose(arm, pose):
    """Return joint positions, as given or of the start; passive joints follow."""
    if not arm.actuated.all():
        return equilibrium(arm, pose).q[arm.joint_q].tolist()
    return pose or start_position(arm).tolist()


def _notes(arm, unstable, stop):
    """Yield notes about joint stops, a rigid arm and unstable motions."""
    if stop:
        yield f'{stop}. Give a --pose within the limits for the modes without it'
    if not (arm.tips or arm.motor_names) and arm.actuated.all():
        yield (
            'nothing vibrates: no link and no joint of this robot is flexible. Describe what '
            'bends by <flexibility> (docs/description.md)'
        )
    if unstable:
        yield f'the arm falls from this pose: unstable motions that are not listed: {unstable}'


def _as_text(summary):
    pose = common.pose_text(summary['pose'], [*summary['unit'].values()])
    payload = ''.join(f', {mass:g} kg at {link}' for link, mass in summary['payload'].items())
    yield f'{summary["robot"]} at {pose}, motors {summary["joints"]}{payload}'
    if summary['frequencies']:
        yield '  frequency [Hz]  damping  mostly'
    for frequency, ratio, shape in zip(
        summary['frequencies'], summary['damping_ratios'], summary['shapes']
    ):
        sizes = {name: abs(complex(*value)) for name, value in shape.items()}
        parts = sorted(sizes, key=sizes.__getitem__, reverse=True)[:MAX_SHAPE_PARTS]
        parts = [part for part in parts if sizes[part] > 0.1 * sizes[parts[0]]]
        ratio = round(ratio, 4) + 0.0  # no sign before 0.00 %
        yield f'  {frequency:14.4g}  {ratio:7.2%}  {", ".join(parts)}'
    yield from (f'  {note}' for note in summary['notes'])
