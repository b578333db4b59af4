"""The same URDF in another layout: spaces, quotes, comments, order of attributes, numbers."""

import html
import re
from xml.etree import ElementTree

NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
COMMENTS = (
    '<!-- a > b, "c" -->',
    '<!--<link name="base"/>-->',
    '<?tool <joint name="x"> ?>',
    '<!-- \u00e4 -->',
)


def relaid(text, rng):
    """Return a URDF in a random layout; what it says stays."""
    return '<?xml version="1.0"?>\n' + _element(ElementTree.fromstring(text), rng)


def _element(element, rng):
    names = [*element.attrib]
    rng.shuffle(names)
    attributes = ''.join(
        f'{_space(rng) or " "}{name}{_space(rng)}={_space(rng)}{_quoted(element, name, rng)}'
        for name in names
    )
    inside = ''.join(_filling(rng) + _element(child, rng) for child in element)
    if not len(element) and rng.random() < 0.5:
        return f'<{element.tag}{attributes}{_space(rng)}/>'
    return (
        f'<{element.tag}{attributes}{_space(rng)}>{inside}{_filling(rng)}'
        f'</{element.tag}{_space(rng)}>'
    )


def _quoted(element, name, rng):
    """Return an attribute in quotes; numbers in another form of the same value."""
    text = element.get(name)
    if name not in ('name', 'link', 'joint', 'type'):
        text = ' '.join(_number(word, rng) if NUMBER.fullmatch(word) else word
                        for word in text.split())  # fmt: skip
        text = f'{_space(rng)}{text}{_space(rng)}'
    escaped = html.escape(text)
    return f'"{escaped}"' if rng.random() < 0.5 else f"'{escaped}'"


def _number(word, rng):
    if word.isdigit():  # a count stays a whole number
        return word
    forms = word, word.upper(), f'{float(word):.17e}', repr(float(word))
    return str(rng.choice(forms if word.startswith('-') else (*forms, f'+{word}', f'0{word}')))


def _space(rng):
    return str(rng.choice(['', '', ' ', '\n  ', '\t', '  \r\n']))


def _filling(rng):
    comment = str(rng.choice(COMMENTS)) if rng.random() < 0.2 else ''
    return f'{_space(rng)}{comment}{_space(rng)}'
