"""`flexsim check`: read robots and print a summary of each."""

import json
import sys
from argparse import ArgumentParser, Namespace

from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot_summary import as_text, summarise
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError, plain
from flex_robot_sim.util.xacro_arguments import SIGN, xacro_arguments


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Read robots, check them and describe them. Exit code 2: one of them cannot be used.'
    )
    parser.add_argument(
        'robots',
        nargs='+',
        metavar='URDF',
        help='URDF or xacro file, or the name of a shipped robot; '
        'name:=value is an argument for xacro',
    )
    parser.add_argument(
        '--json',
        action='store_true',
        help='print one JSON object: the robot, or {"robots": [...]} of several',
    )


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    words = [word for word in arguments.robots if SIGN in word]
    sources = [word for word in arguments.robots if SIGN not in word]
    if not sources:
        raise UsageError(
            'no robot given. Name a URDF file in addition to the arguments for xacro.'
        )
    values, summaries = xacro_arguments(words), []
    for source in sources:
        try:
            robot = read_description(source, xacro_arguments=values)
            summary = summarise(robot)
            summary['warnings'] += _loop_warnings(robot)
            summaries.append(summary)
        except FlexRobotSimError as error:
            summaries.append({'source': source, 'error': str(error)})
    if arguments.json:
        print(json.dumps(summaries[0] if len(sources) == 1 else {'robots': summaries}, indent=2))
    for summary in summaries:
        if 'error' in summary:
            print(summary['error'], file=sys.stderr)
        elif not arguments.json:
            print('\n'.join(map(plain, as_text(summary))))
    return 2 if any('error' in summary for summary in summaries) else 0


def _loop_warnings(robot):
    """Return the lines about closed loops; DescriptionError if they do not close at the start."""
    if not robot.constraints:
        return []
    # slow to import
    from flex_robot_sim.analysis.mobility import mobility_note
    from flex_robot_sim.dynamics.constraints.closing import closed_start
    from flex_robot_sim.model.assembly import build_arm
    from flex_robot_sim.model.start_pose import start_coordinates

    arm = build_arm(robot)
    note = mobility_note(arm, closed_start(arm, start_coordinates(arm)))
    return [note] if note else []
