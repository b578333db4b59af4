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
    place = f'{path}:{line}' if line else f'{path}'
    # names come from the document and may hold line breaks or thousands of letters
    text = ' '.join(f'{place}: {problem}. {remedy}.'.split())
    return text if len(text) <= 600 else f'{text[:590]} ...'


class UsageError(FlexRobotSimError):
    """A command or a call got an argument that it cannot use."""
