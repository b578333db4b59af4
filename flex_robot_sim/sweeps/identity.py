"""Identity of a sweep: sweeps with equal identity have the same results."""

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

ADDRESS = re.compile(r' at 0x[0-9a-fA-F]+')  # differs between processes


def robot_identity(description: RobotDescription) -> str:
    """Return the name of a robot, and a hash of its description, which may be modified."""
    content = replace(description, source='', warnings=())
    return f'{description.name} {_hash(_text_of_value(content, ()))}'


def function_identity(run: Any) -> str:
    """
    Return the name of a function of runs, and a hash of its source, closure and defaults.

    Called functions are not included: a change in a module does not change the identity.
    """
    inner = run
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, '__qualname__', type(inner).__qualname__)
    return f'{inner.__module__}.{name} {_hash(_text_of_value(run, ()))}'


def _text_of_value(value, above):
    """Content of a value as text, independent of the process."""
    if id(value) in above:
        return 'itself'
    inside = functools.partial(_text_of_value, above=(*above, id(value)))
    if isinstance(value, functools.partial):
        return inside([value.func, value.args, value.keywords])
    if isinstance(value, types.MethodType):
        return inside([value.__func__, value.__self__])
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return inside([_source_of(value), cells, value.__defaults__, value.__kwdefaults__])
    if isinstance(value, type):
        return _source_of(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f'{value.dtype} {value.shape} {_hash(value.tobytes().hex())}'
    if isinstance(value, Mapping):
        return str([(inside(name), inside(item)) for name, item in value.items()])
    if isinstance(value, (set, frozenset)):
        return str(sorted(map(inside, value)))
    if isinstance(value, (list, tuple)):
        return str([type(value).__qualname__, *map(inside, value)])
    if type(value).__module__ == 'builtins' or not hasattr(value, '__dict__'):
        return ADDRESS.sub('', repr(value))
    kind = type(value)
    return inside([_source_of(kind) if callable(value) else kind.__qualname__, vars(value)])


def _source_of(definition):
    """Source of a function or a class; without source, its byte code or its name."""
    try:
        return inspect.getsource(definition)
    except (OSError, TypeError):
        code = getattr(definition, '__code__', None)
        content = code and ADDRESS.sub('', f'{code.co_code.hex()} {code.co_consts}')
        return content or f'{definition.__module__}.{definition.__qualname__}'


def _hash(text):
    return hashlib.sha256(text.encode('utf-8', 'backslashreplace')).hexdigest()[:16]
