"""Reading of attributes and children of an element as defined in words.py."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.joint_types import JOINT_TYPES
from flex_robot_sim.description.schema import REQUIRED, Attribute, Element
from flex_robot_sim.util.exceptions import DescriptionError

MAX_VALUE = 1e30  # products of a few larger values are not finite
MIN_VALUE = 1e-30  # smaller values are zero up to rounding
MATRIX_SYMMETRY = 1e-9  # difference of entries of a symmetric matrix, over the largest entry
MAX_POINTS = 100  # of the axis of a beam

_UPPER = np.triu_indices(6)
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?', re.ASCII)


def closest(word: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the most similar word of `known`, or None."""
    import difflib  # for mistakes only

    by_lower_case = {candidate.lower(): candidate for candidate in known}
    match = difflib.get_close_matches(word.lower(), by_lower_case, 1, similarity)
    return by_lower_case[match[0]] if match else None


def read_attributes(
    document: Document,
    element: XmlElement,
    row: Element,
    unknown: str = 'error',
    passed_over: Collection[str] = (),
) -> dict[str, Any]:
    """
    Return the attributes of `element` by name, with defaults.

    :param row: `schema.Element` that lists the attributes.
    :param unknown: reaction to an unknown attribute that resembles no known one: 'error',
        'warning' or 'nothing'.
    :param passed_over: further attributes, which are ignored.
    """
    for name in element.attrib:
        if name not in row.attributes and name not in passed_over:
            _report_unknown(
                document,
                element,
                f'attribute "{name}" of <{element.tag}>',
                name,
                row.attributes,
                unknown,
            )
    return {
        name: _read_attribute(document, element, name, attribute)
        for name, attribute in row.attributes.items()
    }


def read_children(
    document: Document,
    element: XmlElement,
    known: Iterable[str],
    passed_over: Collection[str] | None = None,
) -> dict[str, list[XmlElement]]:
    """
    Return the child elements by tag, each a list in the order of the document.

    :param known: tags to return.
    :param passed_over: further tags, which are ignored; None: other elements and text are errors.
    """
    children: dict[str, list[XmlElement]] = {tag: [] for tag in known}
    if passed_over is None:
        _refuse_text(document, element)
    for child in element.iterchildren('*'):
        if child.tag in children:
            children[child.tag].append(child)
        elif passed_over is None:
            _report_unknown(document, child, f'element <{child.tag}>', child.tag, known, 'error')
        elif child.tag not in passed_over:
            _report_unknown(document, child, f'element <{child.tag}>', child.tag, known, 'nothing')
    return children


def only(
    document: Document, children: Mapping[str, Sequence[XmlElement]], tag: str
) -> XmlElement | None:
    """Return the only element `tag` of `children`, or None; two of them are an error."""
    if len(children[tag]) > 1:
        first, second = children[tag][:2]
        line = document.line(first)
        same = line == document.line(second)
        place = 'in the same line' if same else f'after the one in line {line}'
        raise document.error(second, f'a second <{tag}>, {place}', 'Keep one of them')
    return children[tag][0] if children[tag] else None


def lone_child(
    document: Document, parent: XmlElement | None, known: Collection[str], tag: str
) -> XmlElement | None:
    """Return the child with a tag, which has no children; None without it, or without parent."""
    if parent is None:
        return None
    element = only(document, read_children(document, parent, known), tag)
    if element is not None:
        read_children(document, element, ())
    return element


def unknown_name(
    document: Document, line: int | None, problem: str, name: str, known: Iterable[str]
) -> DescriptionError:
    """Return the DescriptionError about a `name` that is not in `known`."""
    suggestion = closest(name, known)
    return document.error_at(
        line,
        problem,
        f'Did you mean "{suggestion}"?'
        if suggestion
        else 'Correct the name, or add what is missing',
    )


def violated_bound(value: float | np.integer, attribute: Attribute) -> str | None:
    """Return the bound that a number violates, as text; None if it is within all."""
    if attribute.above is not None and not value > attribute.above:
        return f'> {attribute.above:g}'
    if attribute.at_least is not None and not value >= attribute.at_least:
        return f'>= {attribute.at_least:g}'
    if attribute.below is not None and not value < attribute.below:
        return f'< {attribute.below:g}'
    if attribute.at_most is not None and not value <= attribute.at_most:
        return f'<= {attribute.at_most:g}'
    return None


def _report_unknown(document, element, what, word, known, unknown):
    known_text = f'Known here: {", ".join(known) or "nothing"}'
    suggestion = closest(word, known, 0.6 if unknown == 'error' else 0.8)
    is_foreign = {'}', ':'} & set(word)  # prefixed ones belong to other tools
    if unknown == 'error' or (suggestion and not is_foreign and suggestion not in word.split('_')):
        raise document.error(
            element,
            f'unknown {what}',
            f'Did you mean "{suggestion}"?' if suggestion else known_text,
        )
    if unknown == 'warning' and not is_foreign:
        document.warn(
            document.line(element),
            f'unknown {what}, which is passed over',
            f'Remove or correct it. {known_text}',
        )


def _refuse_text(document, element):
    for text in (element.text, *(child.tail for child in element)):
        if text and text.strip():
            raise document.error(
                element,
                f'stray text "{text.strip()[:20]}" in <{element.tag}>',
                'Remove it, or make it a comment',
            )


def _read_attribute(document, element, name, attribute):
    text = (element.get(name) or '').strip()
    if not text:
        if attribute.default is REQUIRED or (name in element.attrib and attribute.kind != 'name'):
            unit = f' [{_unit(element, attribute)}]' if attribute.unit else ''
            raise document.error(
                element,
                f'<{element.tag}> has no {name}',
                f'Give {name}{unit}: {attribute.meaning}',
            )
        return attribute.default
    return _READERS[attribute.kind](document, element, name, attribute, text)


def _read_number(document, element, name, attribute, text):
    value = _read_finite(document, element, name, attribute, text)
    bound = violated_bound(value, attribute)
    if bound:
        unit = f' [{_unit(element, attribute)}]' if attribute.unit else ''
        raise document.error(
            element, f'{name} = {text} must be {bound}', f'Give {name}{unit}: {attribute.meaning}'
        )
    return value


def _read_vector(document, element, name, attribute, text):
    return _read_row(document, element, name, attribute, text, ('three', 'x y z'))


def _read_row(document, element, name, attribute, text, shape):
    """Read as many numbers as a row has; `shape`: their count as a word, and their letters."""
    parts, (count, letters) = text.split(), shape
    if len(parts) != len(letters.split()):
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is not {count} numbers',
            _remedy(text, f'Write {name}="{letters}"'),
        )
    return tuple(_read_finite(document, element, name, attribute, part) for part in parts)


def _read_pairs(document, element, name, attribute, text):
    parts = text.split()
    numbers = [_read_finite(document, element, name, attribute, part) for part in parts]
    if len(parts) % 2 or len(parts) > 2 * attribute.at_most or min(numbers) <= attribute.above:
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is not one to {attribute.at_most} pairs of numbers above '
            f'{attribute.above:g}',
            f'Give {name} [{attribute.unit}]: {attribute.meaning}',
        )
    return tuple(zip(numbers[::2], numbers[1::2]))


def _read_numbers(document, element, name, attribute, text):
    """Read one number or several as a tuple."""
    parts = text.split()
    if len(parts) > attribute.at_most:
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is more than {attribute.at_most} numbers',
            f'Give {name} [{_unit(element, attribute)}]: {attribute.meaning}',
        )
    bounds = attribute._replace(at_most=None)
    return tuple(_read_number(document, element, name, bounds, part) for part in parts)


def _read_harmonics(document, element, name, attribute, text):
    """Read amplitudes, cycles and phases as a tuple of triplets."""
    parts = text.split()
    numbers = [_read_finite(document, element, name, attribute, part) for part in parts]
    if (
        len(parts) % 3
        or len(parts) > 3 * attribute.at_most
        or min(numbers[::3] + numbers[1::3]) <= attribute.above
    ):
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is not one to {attribute.at_most} times amplitude, cycles '
            'and phase, the first two above 0',
            f'Give {name} [{attribute.unit}]: {attribute.meaning}',
        )
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3]))


def _read_points(document, element, name, attribute, text):
    parts = text.split()
    numbers = [_read_finite(document, element, name, attribute, part) for part in parts]
    if len(parts) % 3 or not 2 <= len(parts) // 3 <= MAX_POINTS:
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is not 2 to {MAX_POINTS} points of three numbers',
            f'Give {name} [{attribute.unit}]: {attribute.meaning}',
        )
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3]))


def _read_matrix(document, element, name, attribute, text):
    """Read a symmetric matrix (6, 6), or its upper triangle, by rows, as nested tuples."""
    parts = text.split()
    numbers = [_read_finite(document, element, name, attribute, part) for part in parts]
    if len(parts) not in (len(_UPPER[0]), 36):
        raise document.error(
            element,
            f'{name} of <{element.tag}> has {len(parts)} numbers',
            f'Give the 21 of its upper triangle, by rows, or all 36: {attribute.meaning}',
        )
    matrix = np.zeros((6, 6))
    if len(parts) == 36:
        matrix[:] = np.reshape(numbers, (6, 6))
        difference = np.abs(matrix - matrix.T)
        row, column = np.unravel_index(difference.argmax(), (6, 6))
        if difference.max() > MATRIX_SYMMETRY * np.abs(matrix).max():
            raise document.error(
                element,
                f'{name} of <{element.tag}> is not symmetric: row {row + 1}, column {column + 1} '
                f'is {matrix[row, column]:g}, and row {column + 1}, column {row + 1} is '
                f'{matrix[column, row]:g}',
                'Correct one of them, or give the 21 numbers of the upper triangle',
            )
        numbers = ((matrix + matrix.T) / 2)[_UPPER]
    matrix[_UPPER] = matrix.T[_UPPER] = numbers
    return tuple(map(tuple, matrix.tolist()))


def _read_axis(document, element, name, attribute, text):
    vector = np.array(_read_vector(document, element, name, attribute, text))
    length = math.sqrt(vector @ vector)
    if length < MIN_VALUE:
        raise document.error(
            element, f'{name} = "{text}" has no direction', f'Give {name} a length other than zero'
        )
    return tuple(vector / length)


def _read_quaternion(document, element, name, attribute, text):
    row = _read_row(document, element, name, attribute, text, ('four', 'x y z w'))
    values = np.array(row)
    largest = np.abs(values).max()
    if largest < MIN_VALUE:
        raise document.error(
            element, f'{name} = "{text}" has the norm 0', f'Write {name}="0 0 0 1" for no rotation'
        )
    values /= largest
    return tuple((values / math.sqrt(values @ values)).tolist())


def _read_count(document, element, name, attribute, text):
    if not re.fullmatch(r'\d{1,9}', text, re.ASCII) or violated_bound(int(text), attribute):
        words = ''.join(f' or "{word}"' for word in attribute.choices)
        raise document.error(
            element,
            f'{name} = {text[:40]} is no whole number from {attribute.at_least} to '
            f'{attribute.at_most}{words}',
            _remedy(text, f'Give {name}: {attribute.meaning}'),
        )
    return int(text)


def _read_modes(document, element, name, attribute, text):
    if text in attribute.choices:
        return text
    return _read_count(document, element, name, attribute, text)


def _read_choice(document, element, name, attribute, text):
    if text not in attribute.choices:
        suggestion = closest(text, attribute.choices)
        choice = ', '.join(attribute.choices)
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is not one of: {choice}',
            f'Did you mean "{suggestion}"?' if suggestion else f'Choose one of: {choice}',
        )
    return text


def _unit(element, attribute):
    """Unit of an attribute; of two units, the one for revolute or for prismatic joints."""
    units = attribute.unit.split(' or ')
    joints = (
        [
            joint
            for joint in (element, element.getparent())
            if joint is not None and joint.tag == 'joint'
        ]
        if len(units) == 2
        else []
    )
    kinds = {joint.get('type') for joint in joints} - {None} or {
        joint.get('type')
        for joint in element.getroottree().getroot().findall('joint')
        if joints and joint.get('name') == joints[0].get('name')
    }
    is_linear = any(JOINT_TYPES[kind].translates for kind in kinds & {*JOINT_TYPES})
    return units[is_linear] if kinds else attribute.unit


def _read_finite(document, element, name, attribute, text):
    if not _NUMBER.fullmatch(text):
        unit = f' in {_unit(element, attribute)}' if attribute.unit else ''
        raise document.error(
            element,
            f'{name} = "{text[:40]}" is not a number',
            _remedy(text, f'Write a finite decimal number{unit}'),
        )
    value = float(text)
    if abs(value) < MIN_VALUE:
        return 0.0
    if abs(value) > MAX_VALUE:
        raise document.error(
            element, f'{name} = {text[:40]} is out of all proportion', f'Give {name} in SI units'
        )
    return value


def _remedy(text, usual):
    if '${' in text or '$(' in text:
        return 'Only xacro files are expanded: name the file .xacro, or write the value'
    return usual


_READERS = {
    'name': lambda *arguments: arguments[-1],  # the text
    'number': _read_number,
    'numbers': _read_numbers,
    'harmonics': _read_harmonics,
    'vector': _read_vector,
    'axis': _read_axis,
    'quaternion': _read_quaternion,
    'pairs': _read_pairs,
    'points': _read_points,
    'matrix': _read_matrix,
    'count': _read_count,
    'modes': _read_modes,
    'choice': _read_choice,
}
