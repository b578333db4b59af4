"""What makes a sweep another one: two with the same words here have the same numbers."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flex_robot_sim.description.robot import RobotDescription

ADDRESS = re.compile(r' at 0x[0-9a-fA-F]+')     # another one in every process


def words_of_robot(description: RobotDescription) -> str:
    """Return the name of a robot, and a hash of all that it is: a program may have changed it."""
    told = replace(description, source='', warnings=())
    return f'{description.name} {_hash(_words(told, ()))}'


def words_of_function(run: Any) -> str:
    """
    Return the name of a function of runs, and a hash of its text and of what it brings along.

    What it calls is not looked at: a module may change without another function.
    """
    inner = run
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, '__qualname__', type(inner).__qualname__)
    return f'{inner.__module__}.{name} {_hash(_words(run, ()))}'


def _words(value, above):
    """All that a value says, as text that is the same in every process."""
    if id(value) in above:
        return 'itself'
    inside = functools.partial(_words, above=(*above, id(value)))
    if isinstance(value, functools.partial):
        return inside([value.func, value.args, value.keywords])
    if isinstance(value, types.MethodType):
        return inside([value.__func__, value.__self__])
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return inside([_text(value), cells, value.__defaults__, value.__kwdefaults__])
    if isinstance(value, type):
        return _text(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f'{value.dtype} {value.shape} {_hash(value.tobytes().hex())}'
    if isinstance(value, Mapping):
        return str([(inside(name), inside(one)) for name, one in value.items()])
    if isinstance(value, (set, frozenset)):
        return str(sorted(map(inside, value)))
    if isinstance(value, (list, tuple)):
        return str([type(value).__qualname__, *map(inside, value)])
    if type(value).__module__ == 'builtins' or not hasattr(value, '__dict__'):
        return ADDRESS.sub('', repr(value))
    kind = type(value)
    return inside([_text(kind) if callable(value) else kind.__qualname__, vars(value)])


def _text(one):
    """Source of a function or a class; where there is none, what it was compiled to, or a name."""
    try:
        return inspect.getsource(one)
    except (OSError, TypeError):
        code = getattr(one, '__code__', None)
        told = code and ADDRESS.sub('', f'{code.co_code.hex()} {code.co_consts}')
        return told or f'{one.__module__}.{one.__qualname__}'


def _hash(text):
    return hashlib.sha256(text.encode('utf-8', 'backslashreplace')).hexdigest()[:16]
