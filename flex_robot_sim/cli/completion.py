"""
Tab completion in the shell by argcomplete, as for the command `ros2`.

    eval "$(register-python-argcomplete flexsim)"
"""

import argparse
import os
from collections.abc import Callable, Sequence

from flex_robot_sim.util.share import shipped_robots

ROBOT_FILE_ENDINGS = 'urdf', 'xacro'


def is_requested() -> bool:
    """Whether a shell has called the program to complete a line."""
    return '_ARGCOMPLETE' in os.environ


def complete(parser_for: Callable[[str | None], argparse.ArgumentParser]) -> None:
    """Print the completions and end the process; return if argcomplete is not installed."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser_for(next(iter(typed_words()), None)))


def typed_words() -> Sequence[str]:
    """Return the words of the line to complete, without the program."""
    line = os.environ.get('COMP_LINE', '')
    return line[: int(os.environ.get('COMP_POINT') or len(line))].split()[1:]


def complete_robots(action: argparse.Action) -> None:
    """Complete an argument with shipped robots and robot files."""
    action.completer = _robots  # type: ignore[attr-defined]


def _robots(prefix, **_):
    from argcomplete.completers import FilesCompleter

    return [*shipped_robots(), *FilesCompleter(ROBOT_FILE_ENDINGS)(prefix)]
