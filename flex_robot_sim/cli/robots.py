"""`flexsim robots`: the robots that come with the package."""

import json
from argparse import ArgumentParser, Namespace

from flex_robot_sim.cli.common import add_json
from flex_robot_sim.description import read_description
from flex_robot_sim.util.share import shipped_robots


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'List the robots that come with the package. Each name stands for its file wherever a '
        'command takes a URDF.'
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    rows = [_row(read_description(name), path) for name, path in shipped_robots().items()]
    if arguments.json:
        print(json.dumps({'robots': rows}, indent=2))
        return 0
    print(f'{"name":<20}{"moving joints":>14}{"flexible joints":>17}{"flexible links":>16}')
    for row in rows:
        print(
            f'{row["name"]:<20}{row["moving_joints"]:>14}{row["flexible_joints"]:>17}'
            f'{row["flexible_links"]:>16}'
        )
    return 0


def _row(robot, path):
    return {
        'name': path.stem,
        'file': str(path),
        'moving_joints': len(robot.joint_names),
        'flexible_joints': sum(joint.stiffness < float('inf') for joint in robot.joints),
        'flexible_links': sum(link.beam is not None for link in robot.links),
    }
