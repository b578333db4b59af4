"""Errors that a user can fix; a bug is an assert or a built-in exception."""

import html
from pathlib import Path


class FlexRobotSimError(Exception):
    """Base of all errors that a user can fix: one line of limited length."""

    def __init__(self, message: object = '') -> None:
        super().__init__(shortened(message))


class DescriptionError(FlexRobotSimError):
    """The robot description is unusable; `line` is None if it cannot be opened."""

    def __init__(self, path: str | Path, line: int | None, problem: str, remedy: str) -> None:
        self.path, self.line = str(path), line
        super().__init__(one_line(path, line, problem, remedy))


def one_line(path: str | Path, line: int | None, problem: str, remedy: str) -> str:
    """Return `path:line: problem. remedy.` on one line of limited length; "?" may end a remedy."""
    place = shortened(path, 400)
    # names from the document may contain line breaks or thousands of characters
    remedy = remedy.rstrip(' .')
    end = '' if remedy.endswith('?') else '.'
    text = ' '.join(plain(f'{problem.rstrip(" .")}. {remedy}{end}').split())
    if len(text) > 600:
        text = f'{text[:590]} ...'
    return f'{place}:{line}: {text}' if line else f'{place}: {text}'


def shortened(text: object, length: int = 1200) -> str:
    """Return an untrusted `text` on one line, without its middle if it is long."""
    text = str(text)
    half = length // 2
    return plain(text if len(text) <= length else f'{text[:half]} ... {text[-half:]}')


def plain(text: object) -> str:
    r"""
    Return `text` on one line, with control and direction characters as escape sequences.

    Names come from untrusted messages and files: escape sequences, control characters, direction
    overrides and characters without a glyph become \x1b, \u202e and so on.
    """
    text = str(text)
    if text.isprintable():
        return text
    return ''.join(
        letter
        if letter.isprintable()
        else ' '
        if letter.isspace()
        else letter.encode('unicode_escape').decode('ascii')
        for letter in text
    )


def as_html(text: object) -> str:
    """Return an untrusted `text` as HTML shows it: plain, and escaped."""
    return html.escape(plain(text))


class SettingError(FlexRobotSimError):
    """A setting or an argument is unusable."""


class SimulationError(FlexRobotSimError):
    """The simulated state is lost."""


class UsageError(FlexRobotSimError):
    """An argument of a command or a call is unusable."""


class CommandError(FlexRobotSimError):
    """A command to the arm is unusable; it is refused and has no effect."""


class CalibrationError(FlexRobotSimError):
    """The measurements do not support a calibration."""


class SweepError(FlexRobotSimError):
    """The workers of a sweep are gone."""
