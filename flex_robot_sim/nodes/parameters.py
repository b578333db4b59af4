"""
ROS parameters made from settings: names, defaults, help, units and bounds are written there.

A whole number is taken where a real one is asked for, because `ros2 param set ... 2` and YAML
files say 2 and mean 2.0; everything else that does not fit is refused with the reason.
"""

import math
from dataclasses import fields, replace

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)

from flex_robot_sim.exceptions import SettingError

LARGEST_INTEGER = 2**31 - 1


class Parameters:
    """The parameters of a node, as settings objects."""

    def __init__(self, node, *kinds):
        """Declare a parameter for each field of the settings classes; SettingError if unusable."""
        self._node, self._listeners = node, []
        self._kinds = {item.name: kind for kind in kinds for item in fields(kind)}
        self._settings = {kind: kind(**{item.name: self._declare(item) for item in fields(kind)})
                          for kind in kinds}
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, kind):
        """Settings of a class, as they are now."""
        return self._settings[kind]

    def on_change(self, listener):
        """Call listener(kind, settings) with every change; a SettingError from it refuses it."""
        self._listeners.append(listener)

    def _declare(self, item):
        value = self._node.declare_parameter(item.name, _ros_value(item.default),
                                             descriptor(item)).value
        return _settings_value(value)

    def _on_set(self, parameters):
        changed = {}
        for parameter in parameters:
            kind = self._kinds.get(parameter.name)      # None: use_sim_time and the like
            if kind is not None:
                changed.setdefault(kind, {})[parameter.name] = _settings_value(parameter.value)
        try:
            new = {kind: replace(self._settings[kind], **values)
                   for kind, values in changed.items()}
            for kind, settings in new.items():
                for listener in self._listeners:
                    listener(kind, settings)
        except SettingError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._settings.update(new)
        return SetParametersResult(successful=True)


def descriptor(item):
    """Describe the parameter of a settings field."""
    about = dict(item.metadata)
    unit = f' [{about["unit"]}]' if about['unit'] else ''
    bounds = [f'must be > {about["above"]!r}'] * (about['above'] is not None)
    bounds += [f'must be >= {about["at_least"]!r}'] * (about['at_least'] is not None)
    if about['choices']:
        bounds.append(f'one of {", ".join(about["choices"])}')
    result = ParameterDescriptor(
        name=item.name, description=f'{about["help"]}{unit}', dynamic_typing=True,
        read_only=not about['live'], additional_constraints=', '.join(bounds))
    lowest = about['above'] if about['above'] is not None else about['at_least']
    if lowest is not None and isinstance(item.default, int):
        lowest += about['above'] is not None
        result.integer_range = [IntegerRange(from_value=lowest, to_value=LARGEST_INTEGER)]
    elif lowest is not None and isinstance(item.default, float):
        result.floating_point_range = [
            FloatingPointRange(from_value=float(lowest), to_value=math.inf)]
    return result


def _ros_value(value):
    return list(value) if isinstance(value, tuple) else value


def _settings_value(value):
    """Value of a parameter as settings hold it: sequences are tuples."""
    return value if isinstance(value, (bool, int, float, str, type(None))) else tuple(value)
