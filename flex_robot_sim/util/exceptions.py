"""The errors that a user can mend; a bug is an assert or a built-in exception."""

from pathlib import Path


class FlexRobotSimError(Exception):
    """Base of every error that a user can mend: one line of bearable length."""

    def __init__(self, message: object = '') -> None:
        super().__init__(bearable(message))


class DescriptionError(FlexRobotSimError):
    """The robot description is unusable; `line` is None where it could not even be opened."""

    def __init__(self, path: str | Path, line: int | None, problem: str, remedy: str) -> None:
        self.path, self.line = str(path), line
        super().__init__(one_line(path, line, problem, remedy))


def one_line(path: str | Path, line: int | None, problem: str, remedy: str) -> str:
    """Return `path:line: problem. remedy.` on one line of bearable length."""
    place = bearable(path, 400)
    # names come from the document and may hold line breaks or thousands of letters
    text = ' '.join(plain(f'{problem.rstrip(" .")}. {remedy.rstrip(" .")}.').split())
    if len(text) > 600:
        text = f'{text[:590]} ...'
    return f'{place}:{line}: {text}' if line else f'{place}: {text}'


def bearable(text: object, length: int = 1200) -> str:
    """Return `text` in one line and without its middle if it is long: names come from anybody."""
    text = str(text)
    half = length // 2
    return plain(text if len(text) <= length else f'{text[:half]} ... {text[-half:]}')


def plain(text: object) -> str:
    r"""
    Return `text` on one line, with the characters that steer a terminal or turn text as escapes.

    Names come from messages and files: escape sequences, control characters, direction overrides
    and characters without a glyph become \x1b, \u202e and so on.
    """
    text = str(text)
    return text if text.isprintable() else ''.join(
        letter if letter.isprintable() else ' ' if letter.isspace() else
        letter.encode('unicode_escape').decode('ascii') for letter in text)


class SettingError(FlexRobotSimError):
    """A setting or an argument is unusable."""


class SimulationError(FlexRobotSimError):
    """The simulated state is lost."""


class UsageError(FlexRobotSimError):
    """A command or a call got an argument that it cannot use."""


class CommandError(FlexRobotSimError):
    """A command from outside is unusable; it is refused, and the arm goes on without it."""


class CalibrationError(FlexRobotSimError):
    """The measurements do not support a calibration."""


class SweepError(FlexRobotSimError):
    """Whoever makes the runs of a sweep is gone."""
