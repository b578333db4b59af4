"""`flexsim export`: a recording as tables in CSV, NumPy or Parquet files."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flex_robot_sim.cli.common import add_json, add_output, print_result
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.recording.export import FORMATS, check_output, default_output, write_tables
from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.util.exceptions import UsageError, plain


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Write the messages of a recording as one table per topic, with one row per message '
        'and one column per number. Recordings of other programs are read if they are MCAP '
        'files with ROS 2 messages.'
    )
    parser.add_argument('recording', metavar='FILE', help='MCAP file, or a folder with one')
    parser.add_argument(
        '--format', default=FORMATS[0], choices=FORMATS, help='file format (default: %(default)s)'
    )
    add_output(
        parser,
        '--output',
        metavar='PLACE',
        help='new folder, or new .npz file (default: named after FILE, in this folder)',
    )
    parser.add_argument(
        '--topics', nargs='+', default=[], metavar='TOPIC', help='topics to export (default: all)'
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    reader, file_format = RecordingReader(arguments.recording), arguments.format
    path = Path(arguments.output) if arguments.output else default_output(reader.path, file_format)
    is_new = bool(arguments.output) and not arguments.force
    check_output(path, file_format)
    with show_progress('reading'):
        tables, notes = read_tables(reader, arguments.topics)
    if not tables:
        problem = f'{reader.path}: there are no messages in it that make a table'
        raise UsageError('; '.join([problem, *reader.notes, *notes]) + '.')
    for note in [*reader.notes, *notes]:
        print(f'flexsim export: note: {plain(note)}', file=sys.stderr)
    with show_progress('writing'):
        files = write_tables(tables, path, file_format, is_new)
    print_result(
        arguments,
        {
            'recording': str(reader.path),
            'about': reader.about,
            'format': file_format,
            'files': [str(file) for file in files],
            'notes': [*reader.notes, *notes],
            'topics': {
                table.topic.name: {
                    'type': table.topic.kind,
                    'rows': len(table.time),
                    'columns': list(table.columns),
                    'begin': float(table.time[0]),
                    'end': float(table.time[-1]),
                }
                for table in tables
            },
        },
        as_text,
    )
    return 0


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Return the summary as lines of text."""
    width = max(len(topic) for topic in facts['topics'])
    for topic, table in facts['topics'].items():
        yield (
            f'{topic:{width}} {table["rows"]:>9} rows {len(table["columns"]):>4} columns  '
            f'{table["begin"]:.3f} to {table["end"]:.3f} s'
        )
    files = facts['files']
    yield files[0] if len(files) == 1 else f'{len(files)} files in {Path(files[0]).parent}'
