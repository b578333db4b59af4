"""Attributes of a URDF from Python values, checked as words.py defines."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flex_robot_sim.description.schema import REQUIRED, Attribute, Element
from flex_robot_sim.description.values import MATRIX_SYMMETRY, MAX_VALUE, closest, violated_bound
from flex_robot_sim.util.exceptions import SettingError, shortened

VECTOR_LETTERS = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 1.0, 0.0), 'z': (0.0, 0.0, 1.0)}


def attribute_texts(
    owner: str,
    element: Element,
    values: Mapping[str, Any],
    arguments: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """
    Return the texts {attribute: text} of the values; None leaves an optional attribute out.

    :param owner: of the values, as messages name it, for instance `joint "elbow"`.
    :param element: schema.Element that lists the attributes.
    :param values: {attribute: value}.
    :param arguments: {attribute: argument} where the name of the argument differs.
    """
    names = {attribute: attribute for attribute in values} | dict(arguments or {})
    return {
        attribute: attribute_text(owner, names[attribute], value, element.attributes[attribute])
        for attribute, value in values.items()
        if value is not None or element.attributes[attribute].default is REQUIRED
    }


def attribute_text(owner: str, argument: str, value: Any, attribute: Attribute) -> str:
    """Return the text of one attribute; SettingError that names the argument."""
    return _WRITERS[attribute.kind](owner, argument, value, attribute)


def vector(owner: str, argument: str, value: Any, unit: str) -> np.ndarray:
    """Return three finite numbers (3,)."""
    array = array_or_nan(value)
    if array.shape != (3,) or not np.abs(array).max() <= MAX_VALUE:
        raise unusable(owner, argument, value, f'three finite numbers{unit and f" [{unit}]"}')
    return array


def number(
    owner: str,
    argument: str,
    value: Any,
    unit: str,
    above: float | None = None,
    at_least: float | None = None,
) -> float:
    """Return a finite number within bounds."""
    return float(
        attribute_text(
            owner,
            argument,
            value,
            Attribute('number', unit, None, '', above=above, at_least=at_least),
        )
    )


def vector_text(values: np.ndarray) -> str:
    """Return numbers as text that keeps all their bits."""
    return ' '.join(repr(float(value) + 0.0) for value in values)


def name_text(argument: str, name: object) -> str:
    """Return a checked name of a robot, a link, a joint or a sensor."""
    if (
        not isinstance(name, str)
        or not name.strip()
        or name != name.strip()
        or (not name.isprintable())
    ):
        raise SettingError(
            f'{argument} = {shortened(repr(name), 60)} must be a printable text '
            'without spaces at its ends'
        )
    return name


def expect_one_of(
    owner: str, argument: str, value: object, known: Mapping[str, Any] | tuple
) -> None:
    """Raise SettingError if a value is none of the known names."""
    if isinstance(value, str) and value in known:
        return
    suggestion = closest(value, known) if isinstance(value, str) else None
    remedy = f'Did you mean "{suggestion}"?' if suggestion else f'Known: {", ".join(known)}'
    raise SettingError(
        f'{argument} = {shortened(repr(value), 60)}{owner and f" of {owner}"} is unknown. {remedy}'
    )


def unusable(owner: str, argument: str, value: object, wanted: str) -> SettingError:
    """Return the SettingError about an argument of a wrong kind or out of bounds."""
    text = shortened(' '.join(repr(value).split()), 60)
    return SettingError(f'{argument} = {text} of {owner} must be {wanted}')


def _number(owner, argument, value, attribute):
    array = array_or_nan(value)
    if (
        array.shape != ()
        or not np.abs(array) <= MAX_VALUE
        or (violated_bound(float(array), attribute))
    ):
        bound = _bounds(attribute)
        unit = f' [{attribute.unit}]' if attribute.unit else ''
        raise unusable(owner, argument, value, f'a finite number{bound}{unit}')
    return repr(float(array) + 0.0)


def _vector(owner, argument, value, attribute):
    return vector_text(vector(owner, argument, value, attribute.unit))


def _pairs(owner, argument, value, attribute):
    array = array_or_nan(value)
    if (
        array.ndim != 2
        or not 1 <= len(array) <= attribute.at_most
        or array.shape[1] != 2
        or not ((array > attribute.above) & (array <= MAX_VALUE)).all()
    ):
        raise unusable(
            owner, argument, value, f'one to {attribute.at_most} pairs of numbers above 0'
        )
    return vector_text(array.ravel())


def _matrix(owner, argument, value, attribute):
    array = array_or_nan(value)
    if array.shape not in ((6, 6), (21,)) or not (np.abs(array) <= MAX_VALUE).all():
        raise unusable(
            owner,
            argument,
            value,
            'a matrix (6, 6) of finite numbers, or the 21 of its upper triangle, by rows '
            f'[{attribute.unit}]',
        )
    if array.ndim == 2 and np.abs(array - array.T).max() > MATRIX_SYMMETRY * np.abs(array).max():
        raise unusable(owner, argument, value, 'symmetric')
    return vector_text(array.ravel())


def _numbers(owner, argument, value, attribute):
    array = array_or_nan(value)
    if array.shape == ():
        return _number(owner, argument, value, attribute._replace(at_most=None))
    if (
        not (array.ndim == 1 and 1 <= array.size <= attribute.at_most)
        or not ((array > attribute.above) & (array <= MAX_VALUE)).all()
    ):
        raise unusable(
            owner, argument, value, f'one to {attribute.at_most} numbers above {attribute.above:g}'
        )
    return vector_text(array)


def _harmonics(owner, argument, value, attribute):
    array = array_or_nan(value)
    if (
        array.ndim != 2
        or not 1 <= len(array) <= attribute.at_most
        or array.shape[1] != 3
        or not (array[:, :2] > attribute.above).all()
        or not (np.abs(array) <= MAX_VALUE).all()
    ):
        raise unusable(
            owner,
            argument,
            value,
            f'one to {attribute.at_most} rows of amplitude and cycles, above 0, and phase',
        )
    return vector_text(array.ravel())


def _axis(owner, argument, value, _attribute):
    if isinstance(value, str):
        sign = -1.0 if value.startswith('-') else 1.0
        if value.removeprefix('-') not in VECTOR_LETTERS:
            raise unusable(owner, argument, value, "'x', 'y', 'z', '-x', ... or three numbers")
        return vector_text(sign * np.array(VECTOR_LETTERS[value.removeprefix('-')]))
    direction = vector(owner, argument, value, '')
    if not direction.any():
        raise unusable(owner, argument, value, 'a direction other than zero')
    return vector_text(direction)


def _count(owner, argument, value, attribute):
    if isinstance(value, str) and value in attribute.choices:
        return value
    if (
        not isinstance(value, (int, np.integer))
        or isinstance(value, bool)
        or (violated_bound(value, attribute))
    ):
        words = ''.join(f" or '{word}'" for word in attribute.choices)
        raise unusable(
            owner,
            argument,
            value,
            f'a whole number from {attribute.at_least} to {attribute.at_most}{words}',
        )
    return str(int(value))


def _choice(owner, argument, value, attribute):
    expect_one_of(owner, argument, value, attribute.choices)
    return value


def _name(_owner, argument, value, _attribute):
    return name_text(argument, value)


def _bounds(attribute):
    words = [
        f'{sign} {bound:g}'
        for sign, bound in (
            ('>', attribute.above),
            ('>=', attribute.at_least),
            ('<', attribute.below),
            ('<=', attribute.at_most),
        )
        if bound is not None
    ]
    return f' {" and ".join(words)}' if words else ''


def array_or_nan(value: Any) -> np.ndarray:
    """Return an array of numbers; nan for anything else."""
    if isinstance(value, (str, bytes, bool)):
        return np.array(np.nan)
    try:
        return np.array(value, float)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


_WRITERS: dict[str, Callable[[str, str, Any, Attribute], str]] = {
    'name': _name,
    'number': _number,
    'vector': _vector,
    'numbers': _numbers,
    'harmonics': _harmonics,
    'axis': _axis,
    'pairs': _pairs,
    'matrix': _matrix,
    'count': _count,
    'modes': _count,
    'choice': _choice,
}
