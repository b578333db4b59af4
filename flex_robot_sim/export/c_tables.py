"""Tables of a shaper as declarations of C99 and C++17."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import numpy as np

from flex_robot_sim.export.shaper_law import CODES
from flex_robot_sim.export.shaper_tables import (
    FIELDS,
    MAX_SET_POINT,
    REST_VELOCITY,
    SIZES,
    Field,
    ShaperTables,
)

TYPES = {'int': 'int32_t', 'real': 'double'}
INDENT = '    '
WIDTH = 95  # of the lines of numbers


def shared_declarations() -> str:
    """Return the codes and the struct of tables, which all headers and the C++ core share."""
    codes = [
        f'    FLEX_SHAPER_{name} = {number}{","[: number < len(CODES) - 1]} /* {meaning} */'
        for name, number, meaning in CODES
    ]
    pointers = [
        f'    {f"const {TYPES[field.kind]} *" if field.size else f"{TYPES[field.kind]} "}'
        f'{field.name}; /* {meaning_of(field)} */'
        for field in FIELDS
    ]
    return '\n'.join(
        [
            '#ifndef FLEX_SHAPER_TABLES',
            '#define FLEX_SHAPER_TABLES',
            '',
            'enum flex_shaper_code {',
            *codes,
            '};',
            '',
            '/* Constants of a shaper. In tables of two dimensions the last one runs fastest. */',
            'struct flex_shaper_tables {',
            '    const char *shaper; /* name of the design */',
            '    const char *robot;',
            '    const char *const *joint_names;',
            *(f'    int32_t {name}; /* {meaning} */' for name, meaning in SIZES.items()),
            *pointers,
            '};',
            '',
            '#endif',
        ]
    )


def constants(tables: ShaperTables) -> Iterator[str]:
    """Yield the sizes, the tables and the struct of pointers to them."""
    name, upper = tables.name, tables.name.upper()
    yield 'enum {'
    for size, meaning in SIZES.items():
        yield f'    {upper}_{size.upper()} = {tables.sizes[size]}, /* {meaning} */'
    yield f'    {upper}_CORNERS = {2 ** tables.sizes["axes"]} /* of a cell of these poses */'
    yield '};'
    yield f'#define {upper}_MAX_SET_POINT {MAX_SET_POINT!r} /* larger ones are refused */'
    yield f'#define {upper}_REST_VELOCITY {REST_VELOCITY!r} /* a reset above it is refused */'
    yield ''
    yield f'static const char *const {name}_joint_names[] = {{'
    yield from (f'    {literal(joint)},' for joint in tables.joints)
    yield '};'
    words = [literal(tables.shaper), literal(tables.robot), f'{name}_joint_names']
    words += [f'{upper}_{size.upper()}' for size in SIZES]
    for field in FIELDS:
        value = tables.values[field.name]
        if not field.size:
            words.append(repr(value))
            yield f'static const double {name}_{field.name} = {value!r}; /* {meaning_of(field)} */'
        elif all(tables.sizes[size] for size in field.size):
            words.append(f'{name}_{field.name}' + '[0]' * (len(field.size) > 1))
            yield from _array(f'{name}_{field.name}', field, value)
        else:
            words.append('0')
    yield ''
    yield f'static const struct flex_shaper_tables {name}_tables = {{'
    yield from _wrapped(', '.join(words))
    yield '};'


def declaration(field: Field, tables: ShaperTables) -> str:
    """Return the declaration of a variable."""
    sizes = ''.join(f'[{tables.name.upper()}_{size.upper()}]' for size in field.size)
    return f'{TYPES[field.kind]} {field.name}{sizes}; /* {meaning_of(field)} */'


def meaning_of(field: Field) -> str:
    """Return the meaning of a field with its unit."""
    return field.meaning + (f' [{field.unit}]' if field.unit else '')


def literal(text: str) -> str:
    """Return a string of C, in UTF-8."""
    return (
        '"'
        + ''.join(
            chr(byte) if 32 <= byte < 127 and chr(byte) not in '\\"?' else f'\\{byte:03o}'
            for byte in text.encode()
        )
        + '"'
    )


def _array(name, field, values):
    sizes = ''.join(f'[{size}]' for size in np.shape(values))
    yield f'/* {meaning_of(field)} */'
    yield f'static const {TYPES[field.kind]} {name}{sizes} = {{'
    for row in values if values.ndim > 1 else [values]:
        text = ', '.join(map(repr, row.tolist()))
        yield from _wrapped(f'{{{text}}},' if values.ndim > 1 else text)
    yield '};'


def _wrapped(text):
    return [INDENT + line for line in wrap(text, WIDTH, break_long_words=False)]
