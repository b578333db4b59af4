"""
Schema of XML elements: their attributes, with kind, unit, default and bounds of each.

`words.py` and `urdf_words.py` list the elements of a description in these terms.
"""

from typing import Any, NamedTuple

REQUIRED = object()
"""Default of a required attribute."""


class Attribute(NamedTuple):
    """One attribute: allowed values and meaning."""

    # 'name', 'number', 'numbers', 'vector', 'points', 'matrix', 'axis', 'quaternion', 'pairs',
    # 'harmonics', 'count', 'modes' or 'choice'
    kind: str
    unit: str  # of the value; '' if it has none
    default: object  # REQUIRED, None (absence has a meaning) or a value
    meaning: str
    above: float | None = None  # exclusive lower bound
    at_least: float | None = None  # inclusive lower bound
    below: float | None = None  # exclusive upper bound
    at_most: float | None = None  # inclusive upper bound
    choices: tuple[str, ...] = ()


class Element(NamedTuple):
    """One element: its attributes and its child elements."""

    meaning: str
    attributes: dict[str, Attribute]
    children: tuple[str, ...] = ()


def number(unit: str, default: Any, meaning: str, **bounds: Any) -> Attribute:
    """Return the Attribute of a number with bounds."""
    return Attribute('number', unit, default, meaning, **bounds)


def positive(unit: str, default: Any, meaning: str) -> Attribute:
    """Return the Attribute of a number above zero."""
    return Attribute('number', unit, default, meaning, above=0.0)


def name(meaning: str) -> Attribute:
    """Return the Attribute of a required name."""
    return Attribute('name', '', REQUIRED, meaning)
