"""
Settings: each field has its name, default, help, unit and bounds written once.

The same line serves Python, the command line, YAML and ROS parameters.
"""

import math
import numbers
from dataclasses import dataclass, field, fields

from flex_robot_sim.exceptions import SettingError

SCHEMES = ('implicit_midpoint', 'rk4', 'semi_implicit_euler', 'forward_euler', 'reference')


def setting(default, about, unit='', above=None, at_least=None, choices=()):
    """
    Return a field of a settings class.

    :param above: exclusive lower bound; at_least is an inclusive one.
    """
    return field(default=default, metadata={
        'help': about, 'unit': unit, 'above': above, 'at_least': at_least, 'choices': choices})


@dataclass(frozen=True)
class Settings:
    """Base of all settings: refuses a value of the wrong kind or out of bounds."""

    def __post_init__(self):
        for item in fields(self):
            _check(item.name, getattr(self, item.name), type(item.default), **item.metadata)


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


def _check(name, value, kind, *, help, unit, above, at_least, choices):
    number = kind in (int, float)
    about = f'{help} [{unit}]' if unit else help
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
