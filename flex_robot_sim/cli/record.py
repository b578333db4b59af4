"""`flexsim record`: record the messages of a running system."""

import json
from argparse import ArgumentParser, Namespace

from flex_robot_sim.cli import common
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.recording.mcap_file import refuse_recording, refuse_without_mcap
from flex_robot_sim.recording.tally import as_text
from flex_robot_sim.ros.network import prepare_network


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Record a running ROS 2 system in a new MCAP file until Ctrl-C: all topics of the '
        'namespace, /clock, /diagnostics and /tf, also topics that appear later, and the '
        'parameters of the nodes.'
    )
    parser.epilog = (
        'ROS_DOMAIN_ID selects the system. flexsim demo prints its own, and records itself '
        'with --record FILE.'
    )
    common.add_output(
        parser,
        '--output',
        metavar='FILE',
        help='new file (default: record_DATE_TIME.mcap in this folder)',
    )
    parser.add_argument(
        '--topics',
        nargs='+',
        default=[],
        metavar='TOPIC',
        help='topics to record, relative to the namespace; patterns with * and ? in quotes '
        '(default: all)',
    )
    parser.add_argument(
        '--namespace', default='', metavar='NAME', help='namespace of the system (default: none)'
    )
    parser.add_argument(
        '--seconds', type=float, metavar='S', help='duration [s] (default: until Ctrl-C)'
    )
    common.add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    common.expect_within('--seconds', arguments.seconds)
    if arguments.output:
        common.remove_forced(arguments, arguments.output)
        refuse_recording(arguments.output)
    refuse_without_mcap()
    prepare_network()
    try:
        from flex_robot_sim.nodes.recorder import RecorderNode
        from flex_robot_sim.ros.node_runner import run as run_node
    except ImportError as error:
        raise common.no_ros(error) from error
    screen = Screen()
    if not arguments.json:
        screen.say(
            f'records for {arguments.seconds:g} s, or until Ctrl-C'
            if arguments.seconds
            else 'records until Ctrl-C'
        )
    return run_node(
        'flexsim record',
        lambda: RecorderNode(
            lambda facts: common.print_result(arguments, facts, as_text), screen.show
        ),
        _ros_arguments(arguments),
    )


def _ros_arguments(arguments):
    """Return the ROS arguments of the node; JSON values are valid YAML."""
    values = {'output': arguments.output, 'topics': arguments.topics, 'seconds': arguments.seconds}
    words = ['--ros-args', '--log-level', 'warn']
    for name, value in values.items():
        if value:
            words += ['-p', f'{name}:={json.dumps(value)}']
    if arguments.namespace.strip('/'):
        words += ['-r', f'__ns:=/{arguments.namespace.strip("/")}']
    return words
