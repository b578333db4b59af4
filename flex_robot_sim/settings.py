"""
Settings: each field has its name, default, help, unit and bounds written once.

The same line serves Python, the command line, YAML and ROS parameters.
"""

import math
import numbers
from dataclasses import dataclass, field, fields

from flex_robot_sim.exceptions import SettingError

SCHEMES = ('implicit_midpoint', 'rk4', 'semi_implicit_euler', 'forward_euler')


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


def settings_from(kind, values, where):
    """
    Return settings of class `kind` from a mapping; what is not said keeps its default.

    :param where: file and heading, for the message about a wrong one.
    """
    known = {item.name: item for item in fields(kind)}
    if not isinstance(values, dict):
        raise SettingError(f'{where}: must be names with values. Known: {", ".join(known)}')
    for name in values:
        if name not in known:
            raise SettingError(f'{where}: no setting "{name}". Known: {", ".join(known)}')
    try:
        # YAML takes 1e-3 for a word, and 2 for a whole number
        return kind(**{name: _number(value) if type(known[name].default) is float else value
                       for name, value in values.items()})
    except SettingError as error:
        raise SettingError(f'{where}: {error}') from error


def read_yaml(path):
    """Return the mapping in a YAML file; SettingError if there is none."""
    import yaml  # takes a while, and few need it

    try:
        with open(path, encoding='utf-8') as file:
            tree = yaml.safe_load(file)
    except OSError as error:
        raise SettingError(f'{path}: cannot be read: {error.strerror}') from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, 'problem_mark', None)
        place = f'{path}:{mark.line + 1}' if mark else path
        raise SettingError(f'{place}: is no YAML: {getattr(error, "problem", None) or "text"}'
                           ) from error
    if not isinstance(tree, dict):
        raise SettingError(f'{path}: must hold names with values')
    return tree


def write_yaml(path, tree, about):
    """Write a mapping to a YAML file, under a comment of the lines `about`."""
    import yaml

    try:
        with open(path, 'w', encoding='utf-8') as file:
            file.writelines(f'# {line}\n' for line in about)
            yaml.safe_dump(tree, file, sort_keys=False)
    except OSError as error:
        raise SettingError(f'{path}: cannot be written: {error.strerror}') from error


def _number(value):
    try:
        return float(value) if isinstance(value, (int, str)) and not isinstance(value, bool) \
            else value
    except ValueError:
        return value


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
