"""
Words that a shell completes when somebody presses Tab, by argcomplete, as the command of ROS 2.

    eval "$(register-python-argcomplete flexsim)"
"""

import argparse
import os
from collections.abc import Callable, Sequence

from flex_robot_sim.util.share import shipped_robots

DESCRIPTIONS = 'urdf', 'xacro'


def is_asked() -> bool:
    """Whether it is a shell that calls, to complete a line."""
    return '_ARGCOMPLETE' in os.environ


def answer(parser_for: Callable[[str | None], argparse.ArgumentParser]) -> None:
    """Tell the shell what fits, and end the process; return if argcomplete is not installed."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser_for(next(iter(typed_words()), None)))


def typed_words() -> Sequence[str]:
    """Words of the line that is to be completed, without the program."""
    line = os.environ.get('COMP_LINE', '')
    return line[:int(os.environ.get('COMP_POINT') or len(line))].split()[1:]


def complete_robots(action: argparse.Action) -> None:
    """Let an argument be completed by shipped robots and files of robots."""
    action.completer = _robots      # type: ignore[attr-defined]


def _robots(prefix, **_):
    from argcomplete.completers import FilesCompleter

    return [*shipped_robots(), *FilesCompleter(DESCRIPTIONS)(prefix)]
