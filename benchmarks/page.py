"""
Tables of measured figures in a page, written by the benchmarks.

A page has blocks from `<!-- measured: PART -->` to `<!-- end -->`. A block contains the table of
that part, with the machine, the versions and the day.
"""

import datetime
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from flex_robot_sim import __version__
from flex_robot_sim.util.exceptions import UsageError

ENGINES = ('numpy', 'numba', 'pin', 'mujoco', 'exudyn')
BLOCK = re.compile(r'(<!-- measured: (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


def machine():
    """Return the conditions of the figures, by name."""
    return {
        'version': __version__,
        'python': platform.python_version(),
        'machine': platform.machine(),
        'processor': _processor(),
        'processors': os.cpu_count(),
        'date': datetime.date.today().isoformat(),
        'engines': {name: found for name in ENGINES if (found := _version(name))},
    }


def check_page(path, parts):
    """Raise UsageError if a page has no block for any of the parts."""
    blocks = {part for _, part, _ in BLOCK.findall(_text(path))}
    if not blocks & set(parts):
        raise UsageError(
            f'{path} has no line "<!-- measured: {next(iter(parts))} -->" with an '
            '"<!-- end -->" after it, between which the table would go.'
        )


def write(path, found, tables, header=('', '')):
    """
    Write the tables of parts into their blocks; blocks of other parts stay as they are.

    :param found: what `machine` returned; tables: part -> rows, of as many cells as `header`.
    """

    def block(match):
        begin, part, end = match.groups()
        if part not in tables:
            return match.group(0)
        head = _line(header) + '|---' * len(header) + '|\n'
        rows = head + ''.join(map(_line, tables[part]))
        return f'{begin}\n{machine_line(found)}\n\n{rows}\n{end}'

    text = BLOCK.sub(block, _text(path))
    try:
        Path(path).write_text(text, 'utf-8')
    except OSError as error:
        raise UsageError(f'{path} cannot be written: {error.strerror}.') from error


def machine_line(found):
    """Return the line about the machine."""
    engines = ', '.join(f'{name} {number}' for name, number in found['engines'].items())
    return (
        f'Measured on {found["date"]}: {found["processor"]}, {found["processors"]} '
        f'processors,\nPython {found["python"]}, {engines}.'
    )


def _line(cells):
    texts = [str(cell).strip().replace('|', '\\|') for cell in cells]
    return ''.join(f'| {text} ' if text else '| ' for text in texts) + '|\n'


def _text(path):
    try:
        return Path(path).read_text('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f'{path} cannot be read: {getattr(error, "strerror", error)}.') from error


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return ''


def _processor():
    """Name of the processor, from /proc/cpuinfo."""
    try:
        text = Path('/proc/cpuinfo').read_text('utf-8', 'replace')
    except OSError:
        text = ''
    found = re.search(r'^model name\s*:\s*(.+)$', text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()
