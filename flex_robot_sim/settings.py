"""
Settings: each field has its name, default, help, unit and bounds written once.

The same line serves Python, the command line, YAML and ROS parameters.
"""

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from flex_robot_sim.exceptions import SettingError

SCHEMES = ('implicit_midpoint', 'rk4', 'semi_implicit_euler', 'forward_euler', 'reference')


def setting(default, about, unit='', above=None, at_least=None, choices=(), of=None,
            live=False):
    """
    Return a field of a settings class.

    :param default: bool, int, float, str or tuple; its kind is the kind of the setting.
    :param above: exclusive lower bound; at_least is an inclusive one.
    :param of: what a tuple consists of, float or str; if its default is not empty, it keeps its
        length.
    :param live: whether a program may change it while it runs.
    """
    return field(default=default, metadata={
        'help': about, 'unit': unit, 'above': above, 'at_least': at_least, 'choices': choices,
        'of': of or (float if isinstance(default, tuple) else None), 'live': live})


@dataclass(frozen=True)
class Settings:
    """Base of all settings: refuses a value of the wrong kind or out of bounds."""

    def __post_init__(self):
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(item.default, tuple):
                value = _checked_tuple(item.name, value, len(item.default), **item.metadata)
                object.__setattr__(self, item.name, value)
            else:
                _check(item.name, value, type(item.default), **item.metadata)


@dataclass(frozen=True)
class SimulationSettings(Settings):
    """How an arm is simulated."""

    time_step: float = setting(1e-3, 'integration step', 's', above=0.0)
    scheme: str = setting('implicit_midpoint', 'integration scheme', choices=SCHEMES)
    iterations: int = setting(3, 'of the implicit scheme in a step', at_least=1)
    deflection_limit: float = setting(
        0.1, 'tip deflection of a segment over its length, beyond which it is reported', above=0.0)
    turn_rate_limit: float = setting(
        0.3, 'turn rate over the first natural rate of a link, beyond which it is reported where '
        'shortening is left out', above=0.0)


def _checked_tuple(name, value, length, *, of, help, unit, **bounds):
    about = f'{help} [{unit}]' if unit else help
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError(f'{name} = {value!r} must be a list: {about}')
    values = tuple(value)
    if length and len(values) != length:
        raise SettingError(f'{name} = {values!r} must have {length} items: {about}')
    for i, item in enumerate(values):
        _check(f'{name}[{i}]', item, of, help=help, unit=unit, of=None, **bounds)
    return values


def _check(name, value, kind, *, help, unit, above, at_least, choices, of, live):
    number = kind in (int, float)
    about = f'{help} [{unit}]' if unit else help
    if kind is bool and not isinstance(value, bool):
        raise SettingError(f'{name} = {value!r} must be true or false: {about}')
    if kind is str and not choices and not isinstance(value, str):
        raise SettingError(f'{name} = {value!r} must be text: {about}')
    if number and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise SettingError(f'{name} = {value!r} must be a number: {about}')
    if kind is int and not isinstance(value, numbers.Integral):
        raise SettingError(f'{name} = {value!r} must be a whole number: {about}')
    if number and not math.isfinite(value):
        raise SettingError(f'{name} = {value!r} must be finite: {about}')
    if above is not None and not value > above:
        raise SettingError(f'{name} = {value!r} must be > {above!r}: {about}')
    if at_least is not None and not value >= at_least:
        raise SettingError(f'{name} = {value!r} must be >= {at_least!r}: {about}')
    if choices and value not in choices:
        raise SettingError(f'{name} = {value!r} must be one of {", ".join(choices)}: {about}')
