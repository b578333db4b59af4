"""`flexsim replay`: publish the messages of a recording again."""

import contextlib
import math
import sys
from argparse import ArgumentParser, Namespace

from flex_robot_sim.cli.common import no_ros
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.demo.viewed import viewed
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.playing import extent_of
from flex_robot_sim.ros.network import prepare_network, use_network
from flex_robot_sim.util.exceptions import UsageError, plain
from flex_robot_sim.viewer.missing import refuse_without_view


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Publish the messages of a recording on their topics at their times, for viewers '
        'and other programs. Topics that command an arm are left out. The replay ends if '
        'another node publishes on one of its topics, because an arm may be live.'
    )
    parser.epilog = 'Without ROS, flexsim report writes a page with an animation of a recording.'
    parser.add_argument('recording', metavar='FILE', help='MCAP file, or a folder with one')
    parser.add_argument(
        '--speed',
        type=float,
        default=1.0,
        metavar='S',
        help='playback speed (default: %(default)s)',
    )
    parser.add_argument('--loop', action='store_true', help='repeat until Ctrl-C')
    for option, default, action in (('--start', 0.0, 'begin'), ('--until', math.inf, 'end')):
        text = f'where to {action}, from the first message on [s]'
        parser.add_argument(option, type=float, default=default, metavar='S', help=text)
    for option, text in (
        (
            '--commands',
            'also publish topics that command an arm, unless a node subscribes to them',
        ),
        ('--force', 'publish commands although nodes subscribe to them: an arm may move'),
        ('--view', 'show the arm in a browser and repeat until Ctrl-C'),
        ('--network', 'allow other machines to subscribe'),
    ):
        parser.add_argument(option, action='store_true', help=text)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    if arguments.force and not arguments.commands:
        raise UsageError('--force is about commands: give --commands, too.')
    if not 0.0 < arguments.speed < math.inf:
        raise UsageError('--speed must be above 0.')
    reader = RecordingReader(arguments.recording)
    with show_progress('reading'):
        extent = extent_of(reader)
    if extent is None:
        raise UsageError(
            '; '.join([f'{reader.path}: there are no messages in it', *reader.notes]) + '.'
        )
    for note in reader.notes:
        print(f'flexsim replay: note: {plain(note)}', file=sys.stderr)
    if not 0.0 <= arguments.start <= extent.seconds or not arguments.until > arguments.start:
        raise UsageError(
            f'--start and --until must lie in order within the {extent.seconds:.1f} '
            's of the recording.'
        )
    (use_network if arguments.network else prepare_network)()
    try:
        from flex_robot_sim.nodes.player import PlaybackOptions, play
    except ImportError as error:
        raise no_ros(error, ' `flexsim report` shows a recording without.') from error
    screen = Screen()
    if arguments.view:
        refuse_without_view()
    try:
        with viewed(reader, screen) if arguments.view else contextlib.nullcontext('') as viewer:
            return play(
                reader,
                extent,
                PlaybackOptions(
                    arguments.speed,
                    arguments.start,
                    arguments.until,
                    arguments.loop or arguments.view,
                    arguments.commands,
                    arguments.force,
                    viewer,
                ),
                'flexsim replay',
                screen.say,
                screen.show,
            )
    except KeyboardInterrupt:  # before anything was played
        return 0
