"""`flexsim reach`: joint positions at which a link has a pose."""

from argparse import ArgumentParser, Namespace

import numpy as np

from flex_robot_sim.analysis.deflection import deflection
from flex_robot_sim.analysis.inverse_kinematics import inverse_kinematics
from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.joint_space_inertia import rigid_coordinates
from flex_robot_sim.cli import common
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.description.orientation import turned_by
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.util.settings import SimulationSettings

MAX_DEFLECTION = SimulationSettings().deflection_limit  # of the length of a link


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Find joint positions within limits at which the tool is at a place, with the sag of the '
        'arm under gravity and a payload.'
    )
    common.add_robot(parser)
    parser.add_argument(
        '--at',
        type=common.numbers,
        required=True,
        metavar='X,Y,Z',
        help='place of the origin of the link, in the base frame [m]',
    )
    parser.add_argument(
        '--rpy',
        type=common.numbers,
        metavar='R,P,Y',
        help='turn of the link, as rpy in a URDF [rad] (default: free)',
    )
    parser.add_argument('--link', help='link to place (default: the tool)')
    parser.add_argument(
        '--through',
        type=common.numbers,
        metavar='X,Y,Z',
        help='point in the base frame that stays on the z axis of the link: a remote centre of '
        'motion [m]',
    )
    parser.add_argument(
        '--start',
        type=common.numbers,
        help='joint positions from which the search starts [rad, m] (default: zero, or the '
        'nearest pose within limits)',
    )
    parser.add_argument(
        '--nearest',
        action='store_true',
        help='print the nearest pose if the place is out of reach',
    )
    parser.add_argument('--payload', metavar='[LINK=]KG', help='mass at the tool, or at LINK [kg]')
    common.add_model(parser)
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    with show_progress('reading the robot; the first call compiles'):
        arm = common.read_arm(arguments)
        if arguments.payload:
            arm = with_payload(arm, *common.parse_payload(arguments.payload, arm.tool))
    target = checked('--at', arguments.at, 'xyz')
    if arguments.rpy is not None:
        place, target = target, np.eye(4)
        target[:3, :3] = turned_by(checked('--rpy', arguments.rpy, ('r', 'p', 'y')))
        target[:3, 3] = place
    with show_progress('searching'):
        found = inverse_kinematics(
            arm,
            target,
            arguments.start,
            link=arguments.link,
            through=arguments.through,
            nearest=arguments.nearest,
        )
        straight = rigid_coordinates(arm, found.joints)
    link = arguments.link or arm.tool
    sag = pose(arm, found.q, link=link)[:3, 3] - pose(arm, straight, link=link)[:3, 3]
    summary = {
        'robot': arm.description.name,
        'link': link,
        'joints': dict(zip(arm.joint_names, found.joints.tolist())),
        'unit': dict(zip(arm.joint_names, arm.units)),
        'is_reached': found.is_reached,
        'distance': found.distance,
        'angle': found.angle,
        'offset': found.offset,
        'manipulability': found.manipulability,
        'is_singular': found.is_singular,
        'sag': float(np.linalg.norm(sag)),
        'bent_too_far': _bent_too_far(arm, found.q),
        'searches': found.searches,
    }
    common.print_result(arguments, summary, _as_text)
    return 0


def _bent_too_far(arm, q):
    """Names of links of one segment whose tip moves by more than the theory allows."""
    return [
        link
        for link, tip in deflection(arm, q).items()
        if len(arm.segments[link]) == 1
        and np.linalg.norm(tip[:3]) > MAX_DEFLECTION * arm.beams[arm.segments[link][0]].length
    ]


def _as_text(summary):
    values = [f'{value:.6g}' for value in summary['joints'].values()]
    where = (
        'reaches the target'
        if summary['is_reached']
        else f'comes as near as {summary["distance"]:.3g} m'
    )
    yield f'{summary["robot"]}: "{summary["link"]}" {where} at the joint positions'
    yield f'  {",".join(values)}'
    for (name, value), unit in zip(summary['joints'].items(), summary['unit'].values()):
        yield f'  {name:20}  {value:10.6g} {unit}'
    yield f'  distance {summary["distance"]:.1e} m, turn {summary["angle"]:.1e} rad'
    if summary['offset']:
        yield f'  the axis passes the point at {summary["offset"]:.1e} m'
    if summary['sag']:
        yield f'  sag of the arm {summary["sag"]:.3g} m, which these positions compensate'
    for name in summary['bent_too_far']:
        yield (
            f'  link "{name}" bends by more than {100 * MAX_DEFLECTION:g} % of its length: give '
            'it more segments, or load it less'
        )
    yield f'  manipulability {summary["manipulability"]:.3g}'
    if summary['is_singular']:
        yield '  near a singular pose: the link cannot move in some direction'
