"""
Copies and pickles of objects through a plain state of each.

`__getstate__` returns the state of an object, and `__setstate__` makes the object from it; `copy`,
`pickle` and everything built on them, such as process pools, use these two. A pickle starts with
its format and the version of the package. Another version refuses it in one line before it looks
for any class. Functions that a pickle names first must stay in this module. Loading a pickle runs
code: only load your own pickles.
"""

from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from flex_robot_sim.util.exceptions import SettingError

FORMAT = 11  # version of the states; raise it when fields of a state or their meaning change

Object = TypeVar('Object')


class FormatStamp:
    """The format and version that a pickle is written in; loading it compares both."""

    def __reduce__(self):
        return expect_same_format, format_and_version()


STAMP = FormatStamp()


def format_and_version() -> tuple[int, str]:
    """Return the header of a pickle: the stamp of its format."""
    from flex_robot_sim.version import __version__  # a file, which a simulation does not need

    return FORMAT, __version__


def expect_same_format(format_number: int, version: str) -> FormatStamp:
    """Refuse a pickle of another format or version."""
    if (format_number, version) != format_and_version():
        this_format, this_version = format_and_version()
        raise SettingError(
            f'this pickle was written by flex_robot_sim {version} (format {format_number}), and '
            f'this is flex_robot_sim {this_version} (format {this_format}): write it again with '
            'this version'
        )
    return STAMP


def make_blank(_stamp: FormatStamp, kind: type[Object]) -> Object:
    """Return an instance of a class without state; the stamp was checked before."""
    return kind.__new__(kind)


def make_tuple(_stamp: FormatStamp, kind: Any, *values: Any) -> Any:
    """Return a NamedTuple with these values; the stamp was checked before."""
    return kind(*values)


def make_table(_stamp: FormatStamp, kind: Any, *arrays: np.ndarray) -> Any:
    """Return a table of these arrays; the stamp was checked before."""
    return kind(*map(writable, arrays))


def writable(array: np.ndarray) -> np.ndarray:
    """Return an aligned, contiguous, writable array, as compiled code needs it."""
    return np.require(array, requirements=['C', 'A', 'W'])


class Serializable:
    """Base of objects that copy and pickle through their state; by default, their attributes."""

    def __getstate__(self) -> Any:
        return dict(vars(self))

    def __setstate__(self, state: Any) -> None:
        vars(self).update(
            {
                name: writable(value) if isinstance(value, np.ndarray) else value
                for name, value in state.items()
            }
        )

    def __reduce__(self) -> Any:
        return make_blank, (STAMP, type(self)), self.__getstate__()

    def __copy__(self: Object) -> Object:
        return deepcopy(self)


class CopiedByState(Serializable):
    """Base of objects whose state shares only immutable objects, so that a copy may share it."""

    def __copy__(self: Object) -> Object:
        other: Any = make_blank(STAMP, type(self))
        other.__setstate__(self.__getstate__())
        return other
