"""Types of messages by their names, and the text of their definitions that a recording carries."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from flex_robot_sim.recording.definitions import SEPARATOR

_WORDS = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}
_FIELD = re.compile(r'(sequence<)?([\w/]+)(<\d+>)?(?:, (\d+))?>?(?:\[(\d+)\])?')


def type_of(name: str) -> Any:
    """Return the class of messages that is called package/msg/Type; None if it is not here."""
    package, _, word = name.replace('/msg/', '/').partition('/')
    try:
        kind = getattr(import_module(f'{package}.msg'), word)
    except (ImportError, AttributeError, ValueError):
        return None
    return kind if hasattr(kind, 'get_fields_and_field_types') else None


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
