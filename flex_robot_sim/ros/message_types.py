"""Message types by name, and their definitions as text for recordings."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flex_robot_sim.ros.definitions import SEPARATOR

_ROS_TYPE_NAMES = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}
_NAME = re.compile(r'([a-z][a-z0-9_]*)/(?:msg/)?([A-Za-z][A-Za-z0-9]*)', re.ASCII)
_FIELD = re.compile(r'(sequence<)?([\w/]+)(<\d+>)?(?:, (\d+))?>?(?:\[(\d+)\])?')


def type_of(name: str) -> Any:
    """
    Return the message class for a name package/msg/Type; None if it is not installed.

    The name may come from a recording, so only packages with message types are imported.
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
        for folder in spec.submodule_search_locations or ()
    )


def definition_of(kind: Any) -> str:
    """
    Return the definition of a message class and of its nested types, as ros2msg text.

    It is derived from the class, which defines the serialized form, not from a file. Constants and
    defaults are not part of the serialized form and are left out.
    """
    definitions: dict[str, str] = {}
    pending = [_name(kind)]
    while pending:
        name = pending.pop(0)
        if name in definitions:
            continue
        lines = []
        for field, text in type_of(name).get_fields_and_field_types().items():
            match = _FIELD.fullmatch(text)
            assert match is not None, text
            is_list, base, bound, max_items, size = match.groups()
            type_name = _ROS_TYPE_NAMES.get(base, base) + (f'<={bound[1:-1]}' if bound else '')
            suffix = (
                f'[<={max_items}]'
                if max_items
                else '[]'
                if is_list
                else f'[{size}]'
                if size
                else ''
            )
            lines.append(f'{type_name}{suffix} {field}\n')
            if '/' in base:
                pending.append(base)
        definitions[name] = ''.join(lines)
    (_, text), *nested = definitions.items()
    return f'\n{SEPARATOR}\n'.join([text, *(f'MSG: {name}\n{part}' for name, part in nested)])


def _name(kind):
    return f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
