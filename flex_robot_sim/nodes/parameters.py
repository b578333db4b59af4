"""
ROS parameters made from settings: names, defaults, help, units and bounds are written there.

A whole number is taken where a real one is asked for, because `ros2 param set ... 2` and YAML
files say 2 and mean 2.0; everything else that does not fit is refused with the reason. What is
refused changes nothing, not even the other parameters of the same request.

ROS cannot tell of what kind an empty list is: rclpy takes it for bytes, and a file for nothing at
all. So the kind is said after the declaration, and nothing at all is taken for an empty list.
"""

import math
from collections.abc import Callable, Iterable, Iterator
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

from flex_robot_sim.nodes.settings import KNOWN_PARAMETERS
from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.util.settings import Settings

LARGEST_INTEGER = 2**31 - 1
LISTS = {float: Parameter.Type.DOUBLE_ARRAY, str: Parameter.Type.STRING_ARRAY}
SIMILAR = 0.8       # share of letters in common that makes a slip


class Parameters:
    """The parameters of a node, as settings objects."""

    def __init__(self, node: Node, *kinds: type[Settings]) -> None:
        """Declare a parameter for each field of the settings classes; SettingError if unusable."""
        self._node = node
        self._listeners: list[Callable[[type[Settings], Any], object]] = []
        self._kinds = {item.name: kind for kind in kinds for item in fields(kind)}
        self._items = {item.name: item for kind in kinds for item in fields(kind)}
        self._settings = {kind: kind(**{item.name: self._declare(item) for item in fields(kind)})
                          for kind in kinds}
        node.add_on_set_parameters_callback(self._on_set)
        for line in slips(getattr(node, '_parameter_overrides', ()), self._kinds):
            node.get_logger().warning(line)

    def __getitem__(self, kind):
        """Settings of a class, as they are now."""
        return self._settings[kind]

    def on_change(self, listener: Callable[[type[Settings], Any], object]) -> None:
        """
        Call listener(kind, settings) with every change.

        A FlexRobotSimError from it refuses the request: it must have left all as it was then. Who
        has been called before it is called again, with the settings of before.
        """
        self._listeners.append(listener)

    def _declare(self, item):
        about = descriptor(item)
        default = _ros_value(item.default)
        if not isinstance(default, list):
            return _settings_value(
                self._node.declare_parameter(item.name, default, about).value, item)
        # what is read-only could not be given its kind any more
        first = descriptor(item)
        first.read_only = False
        value = self._node.declare_parameter(item.name, default, first).value
        if not value:
            empty = Parameter(item.name, LISTS[item.metadata['of']], [])
            self._node.set_parameters([empty])
        self._node.set_descriptor(item.name, about)
        return _settings_value(value, item)

    def _on_set(self, parameters):
        changed = {}
        for parameter in parameters:
            kind = self._kinds.get(parameter.name)      # None: use_sim_time and the like
            if kind is not None:
                item = self._items[parameter.name]
                changed.setdefault(kind, {})[parameter.name] = _settings_value(
                    parameter.value, item)
        try:
            new = {kind: replace(self._settings[kind], **values)
                   for kind, values in changed.items()}
            self._tell(new)
        except FlexRobotSimError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._settings.update(new)
        return SetParametersResult(successful=True)

    def _tell(self, new):
        """Let all listeners know {kind: settings}, or none of them."""
        informed = []
        try:
            # in the order of their declaration: what starts a motion comes last
            for kind in [kind for kind in self._settings if kind in new]:
                for listener in self._listeners:
                    listener(kind, new[kind])
                    informed.append((listener, kind))
        except FlexRobotSimError:
            for listener, kind in reversed(informed):
                with suppress(FlexRobotSimError):       # the first reason is the one to tell
                    listener(kind, self._settings[kind])
            raise


def slips(given: Iterable[str], own: Iterable[str]) -> Iterator[str]:
    """Lines about parameters of a file or a command line that are nearly spelt like ours."""
    known = {*KNOWN_PARAMETERS, *own}       # nodes may share a file
    for name in given:
        meant = get_close_matches(name, known, 1, SIMILAR)
        if meant and name not in known:
            yield f'unknown parameter "{name}" is passed over. Did you mean "{meant[0]}"'


def descriptor(item: Field) -> ParameterDescriptor:
    """Describe the parameter of a settings field."""
    about = dict(item.metadata)
    unit = f' [{about["unit"]}]' if about['unit'] else ''
    bounds = [f'must be > {about["above"]!r}'] * (about['above'] is not None)
    bounds += [f'must be >= {about["at_least"]!r}'] * (about['at_least'] is not None)
    bounds += [f'must be <= {about["at_most"]!r}'] * (about['at_most'] is not None)
    if about['choices']:
        bounds.append(f'one of {", ".join(about["choices"])}')
    result = ParameterDescriptor(
        name=item.name, description=f'{about["help"]}{unit}', dynamic_typing=True,
        read_only=not about['live'], additional_constraints=', '.join(bounds))
    lowest = about['above'] if about['above'] is not None else about['at_least']
    highest = math.inf if about['at_most'] is None else float(about['at_most'])
    if lowest is not None and isinstance(item.default, int):
        lowest += about['above'] is not None
        result.integer_range = [IntegerRange(from_value=lowest, to_value=LARGEST_INTEGER)]
    elif lowest is not None and isinstance(item.default, float):
        result.floating_point_range = [
            FloatingPointRange(from_value=float(lowest), to_value=highest)]
    return result


def _ros_value(value):
    return list(value) if isinstance(value, tuple) else value


def _settings_value(value, item):
    """Value of a parameter as settings hold it: sequences are tuples."""
    if value is None and isinstance(item.default, tuple):
        return ()
    return value if isinstance(value, (bool, int, float, str, type(None))) else tuple(value)
