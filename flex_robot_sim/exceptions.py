"""The errors that a user can mend; a bug is an assert or a built-in exception."""


class FlexRobotSimError(Exception):
    """Base of every error that a user can mend."""


class DescriptionError(FlexRobotSimError):
    """The robot description is unusable; `line` is None where it could not even be opened."""

    def __init__(self, path, line, problem, remedy):
        self.path, self.line = str(path), line
        super().__init__(one_line(path, line, problem, remedy))


def one_line(path, line, problem, remedy):
    """Return `path:line: problem. remedy.` on one line of bearable length."""
    place = plain(path)
    if len(place) > 400:
        place = f'{place[:200]} ... {place[-200:]}'
    # names come from the document and may hold line breaks or thousands of letters
    text = ' '.join(plain(f'{problem.rstrip(" .")}. {remedy.rstrip(" .")}.').split())
    if len(text) > 600:
        text = f'{text[:590]} ...'
    return f'{place}:{line}: {text}' if line else f'{place}: {text}'


def plain(text):
    """Return `text` without line breaks and without characters that steer a terminal."""
    text = str(text)
    return text if text.isprintable() else ''.join(
        ' ' if letter.isspace() else letter for letter in text
        if letter.isspace() or letter.isprintable())


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
