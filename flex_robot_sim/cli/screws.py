"""`flexsim screws`: screws of the joints, home poses and system Jacobians of an arm."""

from argparse import ArgumentParser, Namespace

import numpy as np

from flex_robot_sim.cli import common
from flex_robot_sim.formulations.screw_kinematics import (
    FORMS,
    bodies,
    poses_by_base_frame,
    system_jacobian,
)
from flex_robot_sim.model.arguments import checked

PRINTED_FORMS = 'body', 'spatial'


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Print the screws of the joints and the poses of the bodies where all joints are at zero, '
        'in the frames of the bodies (X, B) and in the base frame (Y, A), and the Jacobian of all '
        'bodies at a pose. Angular parts come first; flexible links count as straight.'
    )
    common.add_robot(parser)
    parser.add_argument(
        '--pose',
        type=common.numbers,
        help='joint positions of the Jacobians [rad, m] (default: zero)',
    )
    parser.add_argument(
        '--form',
        choices=FORMS,
        action='append',
        help='form of the twists, once or more (default: body and spatial)',
    )
    common.add_model(parser)
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    arm = common.read_arm(arguments)
    names = arm.joint_names
    q = np.zeros(len(names)) if arguments.pose is None else arguments.pose
    q = checked('--pose', q, names)
    rows = bodies(arm, ignores_bending=True)
    poses = poses_by_base_frame(rows, q)
    summary = {
        'robot': arm.description.name,
        'pose': dict(zip(names, q.tolist())),
        'note': _note(arm),
        'bodies': [
            {
                'link': row.name,
                'parent': 'base' if row.parent < 0 else rows[row.parent].name,
                'joint': names[row.joint] if row.joint >= 0 else None,
                'X': row.X.tolist(),
                'B': row.B.tolist(),
                'Y': row.Y.tolist(),
                'A': row.A.tolist(),
                'pose': pose.tolist(),
            }
            for row, pose in zip(rows, poses)
        ],
        'jacobians': {
            form: system_jacobian(rows, q, form).J.tolist()
            for form in arguments.form or PRINTED_FORMS
        },
    }
    common.print_result(arguments, summary, _as_text)
    return 0


def _note(arm):
    """Return a line about a free base, whose columns the Jacobians do not have, or ''."""
    joint = arm.description.free_joint
    if joint is None:
        return ''
    return (
        f'the {joint.kind} joint "{joint.name}" counts as fixed in its initial pose: the '
        'Jacobians have the columns of the other joints only. frs.jacobian has those of a free '
        'base, too'
    )


def _as_text(summary):
    yield f'{summary["robot"]}: screws (angular, linear) and home poses'
    if summary['note']:
        yield f'  note: {summary["note"]}'
    for form, screw, pose in (
        ('in the body, pose in its parent', 'X', 'B'),
        ('in the base frame, pose there', 'Y', 'A'),
    ):
        yield form
        for body in summary['bodies']:
            yield f'  {body["link"]:20}  joint {body["joint"] or "-"}'
            yield f'    {screw}  {_numbers(body[screw])}'
            for k, row in enumerate(body[pose][:3]):
                yield f'    {pose if k == 0 else " "}  {_numbers(row)}'
    positions = ', '.join(f'{value:.6g}' for value in summary['pose'].values())
    for form, J in summary['jacobians'].items():
        yield f'Jacobian of all bodies at {positions}, {form} twists'
        for k, row in enumerate(J):
            link = summary['bodies'][k // 6]['link'] if k % 6 == 0 else ''
            yield f'  {link:20}  {_numbers(row)}'


def _numbers(values):
    return '  '.join(f'{value + 0.0:10.6g}' for value in values)
