"""
Settings: name, default, help, unit and bounds of each field are defined once.

Python, the command line, YAML and ROS parameters use the same definition.
"""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.files import open_atomic, read_bytes

SCHEMES = ('implicit_midpoint', 'rk4', 'semi_implicit_euler', 'forward_euler', 'reference')
FORMULATIONS = ('recursion', 'dual_screw', 'element_sum', 'wrench_dae', 'stiffened')

AnySettings = TypeVar('AnySettings', bound='Settings')

INT, FLOAT = 'tag:yaml.org,2002:int', 'tag:yaml.org,2002:float'
MAX_NUMBER_LENGTH = 1000  # characters of a number in YAML
MAX_FILE_BYTES = 16 * 2**20  # size of YAML; calibrations with all their readings are below 1 MB


def setting(
    default: object,
    about: str,
    unit: str = '',
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    choices: Sequence[str] = (),
    of: type | None = None,
    live: bool = False,
) -> Any:
    """
    Return a field of a settings class.

    :param default: bool, int, float, str or tuple; its kind is the kind of the setting.
    :param above: exclusive lower bound; at_least and at_most are inclusive ones.
    :param of: type of the items of a tuple, float or str; the length of a default that is not
        empty is fixed.
    :param live: whether it may be changed while the program runs.
    """
    return field(
        default=default,
        metadata={
            'help': about,
            'unit': unit,
            'above': above,
            'at_least': at_least,
            'at_most': at_most,
            'choices': choices,
            'of': of or (float if isinstance(default, tuple) else None),
            'live': live,
        },
    )


@dataclass(frozen=True)
class Settings:
    """Base of all settings: refuses values of the wrong type or out of bounds."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(item.default, tuple):
                value = _checked_tuple(item.name, value, len(item.default), **item.metadata)
                object.__setattr__(self, item.name, value)
            else:
                _check(item.name, value, type(item.default), **item.metadata)


@dataclass(frozen=True)
class SimulationSettings(Settings):
    """
    Settings of the simulation of an arm.

    Example::

        settings = frs.SimulationSettings(time_step=5e-4, drive_limits=True)
        sim = frs.Simulation(frs.load('two_link'), settings)
    """

    time_step: float = setting(1e-3, 'integration step', 's', above=0.0)
    scheme: str = setting('implicit_midpoint', 'integration scheme', choices=SCHEMES)
    iterations: int = setting(
        2, 'minimum number of iterations of the implicit scheme per step', at_least=1, at_most=1000
    )
    formulation: str = setting(
        'recursion',
        'formulation of the dynamics; all except recursion are slow',
        choices=FORMULATIONS,
    )
    drive_limits: bool = setting(False, 'apply the effort and velocity of <limit> to the motors')
    deflection_limit: float = setting(
        0.1,
        'tip deflection of a segment, relative to its length, above which a warning is reported',
        above=0.0,
    )
    turn_rate_limit: float = setting(
        0.3,
        'turn rate, relative to the first natural frequency of a link, above which a '
        'model without shortening reports a warning',
        above=0.0,
    )


def settings_from(kind: type[AnySettings], values: object, where: str | Path) -> AnySettings:
    """Return settings from a mapping, with defaults; errors name `where` it comes from."""
    known = {item.name: item for item in fields(kind)}
    if not isinstance(values, dict):
        raise SettingError(f'{where}: must be names with values. Known: {", ".join(known)}')
    for name in values:
        if name not in known:
            raise SettingError(f'{where}: no setting "{name}". Known: {", ".join(known)}')
    try:
        # YAML reads 1e-3 as text and 2 as an integer
        return kind(
            **{
                name: _number(value) if type(known[name].default) is float else value
                for name, value in values.items()
            }
        )
    except SettingError as error:
        raise SettingError(f'{where}: {error}') from error


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; SettingError if there is none."""
    import yaml  # loads slowly, and is rarely needed

    try:
        tree = _load_without_aliases(read_bytes(path, MAX_FILE_BYTES).decode())
    except OSError as error:
        raise SettingError(f'{path}: cannot be read: {error.strerror}') from error
    # other errors: no UTF-8, a date in a 13th month, a number of 5000 digits, nested brackets
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        mark = getattr(error, 'problem_mark', None)
        place = f'{path}:{mark.line + 1}' if mark else path
        raise SettingError(
            f'{place}: is no YAML: {getattr(error, "problem", None) or "text"}'
        ) from error
    if not isinstance(tree, dict):
        raise SettingError(f'{path}: must hold names with values')
    return tree


def _load_without_aliases(text):
    """
    Return the contents of YAML without aliases.

    Aliases are cheap to read, but ten aliases of ten aliases, nested ten times, expand to 10^10
    values in a message. ROS does not read aliases in parameter files, either.
    """
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """Reads plain values; aliases and numbers of any length are errors."""

        def compose_node(self, parent, index):
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()
                raise yaml.composer.ComposerError(
                    None,
                    None,
                    f'the alias *{event.anchor} is not read. Write the value out',
                    event.start_mark,
                )
            return super().compose_node(parent, index)

        def construct_scalar(self, node):
            # 1:59:59 is a number of base 60; its parsing time grows with the square of its length
            if node.tag in (INT, FLOAT) and len(node.value) > MAX_NUMBER_LENGTH:
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f'a number has more than {MAX_NUMBER_LENGTH} letters',
                    node.start_mark,
                )
            return super().construct_scalar(node)

    return yaml.load(text, PlainLoader)


def write_yaml(path: str | Path, tree: Mapping[str, Any], about: Iterable[str]) -> None:
    """Write a mapping to a YAML file, under a comment of the lines `about`."""
    import yaml

    class PlainDumper(yaml.SafeDumper):
        """Writes repeated values in full, because aliases are not read."""

        def ignore_aliases(self, _data):
            return True

    try:
        with open_atomic(path, 'w', encoding='utf-8') as file:
            file.writelines(f'# {line}\n' for line in about)
            yaml.dump(tree, file, PlainDumper, sort_keys=False)
    except OSError as error:
        raise SettingError(f'{path}: cannot be written: {error.strerror}') from error


def _number(value):
    try:
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            return float(value)
        return value
    except (ValueError, OverflowError):  # text, or an integer of 400 digits
        return value


def _checked_tuple(name, value, length, *, of, help, unit, **bounds):
    about = f'{help} [{unit}]' if unit else help
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError(f'{name} = {value!r} must be a list: {about}')
    values = tuple(value)
    if length and len(values) != length:
        raise SettingError(f'{name} = {values!r} must have {length} items: {about}')
    for i, item in enumerate(values):
        _check(f'{name}[{i}]', item, of, help=help, unit=unit, **bounds)
    return values


def _check(name, value, kind, *, help, unit, above, at_least, at_most, choices, **_):
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
    if number and not abs(value) < math.inf:
        raise SettingError(f'{name} = {value!r} must be finite: {about}')
    if above is not None and not value > above:
        raise SettingError(f'{name} = {value!r} must be > {above!r}: {about}')
    if at_least is not None and not value >= at_least:
        raise SettingError(f'{name} = {value!r} must be >= {at_least!r}: {about}')
    if at_most is not None and not value <= at_most:
        raise SettingError(f'{name} = {value!r} must be <= {at_most!r}: {about}')
    if choices and not (isinstance(value, kind) and value in choices):
        raise SettingError(f'{name} = {value!r} must be one of {", ".join(choices)}: {about}')
