"""
ROS parameters from settings, with their names, defaults, help, units and bounds.

An integer is accepted for a float, because `ros2 param set ... 2` and YAML files write 2 for 2.0.
Other type mismatches are refused with the reason. A refused request changes no parameter.

ROS does not know the type of an empty list: rclpy assumes bytes, and a file yields no value. So
the type is set after the declaration, and a missing value counts as an empty list.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import Field, fields, replace
from difflib import get_close_matches
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.util.settings import Settings

MAX_INTEGER = 2**31 - 1
LIST_TYPES = {float: Parameter.Type.DOUBLE_ARRAY, str: Parameter.Type.STRING_ARRAY}
MIN_SPELLING_SIMILARITY = 0.8  # ratio of difflib above which a name counts as misspelled


class Parameters:
    """The parameters of a node, as settings objects."""

    def __init__(self, node: Node, *kinds: type[Settings], known: Iterable[str] = ()) -> None:
        """Declare all fields, or raise SettingError; `known`: parameters of other nodes."""
        self._node = node
        self._listeners: list[Callable[[type[Settings], Any], object]] = []
        self._kinds = {item.name: kind for kind in kinds for item in fields(kind)}
        self._items = {item.name: item for kind in kinds for item in fields(kind)}
        self._settings = {
            kind: kind(**{item.name: self._declare(item) for item in fields(kind)})
            for kind in kinds
        }
        node.add_on_set_parameters_callback(self._on_set)
        for line in misspelled_parameters(
            getattr(node, '_parameter_overrides', ()), {*self._kinds, *known}
        ):
            node.get_logger().warning(line)

    def __getitem__(self, kind):
        """Return the present settings of a class."""
        return self._settings[kind]

    def on_change(self, listener: Callable[[type[Settings], Any], object]) -> None:
        """
        Call listener(kind, settings) with every change.

        A listener refuses the request by a FlexRobotSimError, and must then change nothing.
        Listeners called before it are called again with the previous settings.
        """
        self._listeners.append(listener)

    def _declare(self, item):
        final_descriptor = descriptor(item)
        default = list(item.default) if isinstance(item.default, tuple) else item.default
        if not isinstance(default, list):
            return _settings_value(
                self._node.declare_parameter(item.name, default, final_descriptor).value, item
            )
        # the type of a read-only parameter could not be set later
        writable = descriptor(item)
        writable.read_only = False
        value = self._node.declare_parameter(item.name, default, writable).value
        if not value:
            empty = Parameter(item.name, LIST_TYPES[item.metadata['of']], [])
            self._node.set_parameters([empty])
        self._node.set_descriptor(item.name, final_descriptor)
        return _settings_value(value, item)

    def _on_set(self, parameters):
        changed: dict[type, dict[str, Any]] = {}
        for parameter in parameters:
            kind = self._kinds.get(parameter.name)  # None: use_sim_time and the like
            if kind is not None:
                item = self._items[parameter.name]
                changed.setdefault(kind, {})[parameter.name] = _settings_value(
                    parameter.value, item
                )
        try:
            changed_settings = {
                kind: replace(self._settings[kind], **values) for kind, values in changed.items()
            }
            self._notify(changed_settings)
        except FlexRobotSimError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._settings.update(changed_settings)
        return SetParametersResult(successful=True)

    def _notify(self, changed_settings):
        """Notify all listeners of {kind: settings}, or restore the previous settings of all."""
        informed = []
        try:
            # in order of declaration: settings that start a motion come last
            for kind in [kind for kind in self._settings if kind in changed_settings]:
                for listener in self._listeners:
                    listener(kind, changed_settings[kind])
                    informed.append((listener, kind))
        except FlexRobotSimError:
            for listener, kind in reversed(informed):
                with suppress(FlexRobotSimError):  # report the first reason only
                    listener(kind, self._settings[kind])
            raise


def misspelled_parameters(names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Yield lines about parameters of a file or command line with misspelled names."""
    for name in names:
        matches = get_close_matches(name, known, 1, MIN_SPELLING_SIMILARITY)
        if matches and name not in known:
            yield f'unknown parameter "{name}" is passed over. Did you mean "{matches[0]}"?'


def descriptor(item: Field) -> ParameterDescriptor:
    """Describe the parameter of a settings field."""
    metadata = dict(item.metadata)
    unit = f' [{metadata["unit"]}]' if metadata['unit'] else ''
    bounds = [f'must be > {metadata["above"]!r}'] * (metadata['above'] is not None)
    bounds += [f'must be >= {metadata["at_least"]!r}'] * (metadata['at_least'] is not None)
    bounds += [f'must be <= {metadata["at_most"]!r}'] * (metadata['at_most'] is not None)
    if metadata['choices']:
        bounds.append(f'one of {", ".join(metadata["choices"])}')
    result = ParameterDescriptor(
        name=item.name,
        description=f'{metadata["help"]}{unit}',
        dynamic_typing=True,
        read_only=not metadata['live'],
        additional_constraints=', '.join(bounds),
    )
    lowest = metadata['above'] if metadata['above'] is not None else metadata['at_least']
    highest = math.inf if metadata['at_most'] is None else float(metadata['at_most'])
    if lowest is not None and isinstance(item.default, int):
        lowest += metadata['above'] is not None
        result.integer_range = [IntegerRange(from_value=lowest, to_value=MAX_INTEGER)]
    elif lowest is not None and isinstance(item.default, float):
        result.floating_point_range = [
            FloatingPointRange(from_value=float(lowest), to_value=highest)
        ]
    return result


def _settings_value(value, item):
    """Value of a parameter as settings hold it: sequences are tuples."""
    if value is None and isinstance(item.default, tuple):
        return ()
    return value if isinstance(value, (bool, int, float, str, type(None))) else tuple(value)
