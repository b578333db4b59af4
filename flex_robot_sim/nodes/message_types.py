"""Types of messages by their names, and the text of their definitions that a recording carries."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flex_robot_sim.recording.definitions import SEPARATOR

_WORDS = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}
_NAME = re.compile(r'([a-z][a-z0-9_]*)/(?:msg/)?([A-Za-z][A-Za-z0-9]*)', re.ASCII)
_FIELD = re.compile(r'(sequence<)?([\w/]+)(<\d+>)?(?:, (\d+))?>?(?:\[(\d+)\])?')


def type_of(name: str) -> Any:
    """
    Return the class of messages that is called package/msg/Type; None if it is not here.

    The name may come from a recording: only a package that has messages is imported.
    """
    match = _NAME.fullmatch(name)
    if match is None or not _has_messages(match[1]):
        return None
    try:
        kind = getattr(import_module(f'{match[1]}.msg'), match[2])
    except (ImportError, AttributeError):
        return None
    return kind if hasattr(kind, 'get_fields_and_field_types') else None


def _has_messages(package):
    """Whether an installed package has a folder of message types; the package is not imported."""
    spec = find_spec(package)
    return spec is not None and any(
        (Path(folder) / 'msg' / '__init__.py').is_file()
        for folder in spec.submodule_search_locations or ())


def definition_of(kind: Any) -> str:
    """
    Return the definition of a class of messages and of all that it is made of, as ros2msg text.

    It comes from the class and not from a file: that is what the bytes follow, and there is always
    one. Constants and defaults, of which nothing is sent, are not in it.
    """
    parts: dict[str, str] = {}
    waiting = [_name(kind)]
    while waiting:
        name = waiting.pop(0)
        if name in parts:
            continue
        lines = []
        for field, text in type_of(name).get_fields_and_field_types().items():
            is_many, base, bound, most, size = _FIELD.fullmatch(text).groups()  # type: ignore
            word = _WORDS.get(base, base) + (f'<={bound[1:-1]}' if bound else '')
            many = f'[<={most}]' if most else '[]' if is_many else f'[{size}]' if size else ''
            lines.append(f'{word}{many} {field}\n')
            if '/' in base:
                waiting.append(base)
        parts[name] = ''.join(lines)
    (_, text), *others = parts.items()
    return f'\n{SEPARATOR}\n'.join([text, *(f'MSG: {name}\n{part}' for name, part in others)])


def _name(kind):
    return f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
