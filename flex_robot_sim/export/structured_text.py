"""A shaper as a function block of structured text (IEC 61131-3): tables, state and the law."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from textwrap import wrap

import numpy as np

from flex_robot_sim.export import shaper_law
from flex_robot_sim.export.c_tables import meaning_of
from flex_robot_sim.export.law_printer import LawPrinter
from flex_robot_sim.export.shaper_tables import (
    FIELDS,
    MAX_SET_POINT,
    REST_VELOCITY,
    SIZES,
    ShaperTables,
    comment_text,
)

TYPES = {'int': 'DINT', 'real': 'LREAL'}
CODES = {name: number for name, number, _ in shaper_law.CODES}
# codes of checks by joint names and of changes, which the block does not have
UNUSED_CODES = {'WRONG_ROBOT', 'WRONG_JOINTS', 'CHANGING'}
FUNCTIONS = {'min': 'MIN', 'max': 'MAX', 'abs': 'ABS', 'sqrt': 'SQRT', 'float': 'DINT_TO_LREAL'}
INDENT = '    '
WIDTH = 95  # of the lines of numbers
HEAD = """\
(* Input shaper "{shaper}" of {robot}.
   {origin}

   Joints, in the order of set_point: {joints}.
   Call an instance in every cycle of a task of {period:.9g} s. While reset is TRUE, the block
   starts at set_point: set it to the position of the axes, which must rest. Then give the set
   points, and use shaped. If code is not 0, the last good set point is held. While standby is
   TRUE, shaped is that of the block to replace; afterwards the block replaces it gradually. *)
FUNCTION_BLOCK FB_{name}
VAR_INPUT
    cycle_time : LREAL; (* of the task [s] *)
    reset : BOOL; (* start at set_point *)
    standby : BOOL; (* follow the block that this block will replace *)
{inputs}
END_VAR
VAR_OUTPUT
    shaped : ARRAY[0..{last}] OF LREAL; (* valid after a reset [rad, m] *)
    duration : LREAL := {duration}; (* that shaping adds, at most [s] *)
    code : DINT; (* {codes} *)
{outputs}
END_VAR
"""
# variables of the law that callers write, and those that they read
INPUTS = 'set_point', 'velocity', 'replaced', 'replaced_is_reset', 'replaced_duration'
OUTPUTS = 'is_reset', 'accepted', 'age'


def structured_text(tables: ShaperTables, origin: str) -> str:
    """Return the function block; origin: a line about the program that wrote it."""
    printer = _TextPrinter(tables)
    body = printer.body()
    words = {name for line in body for name in re.findall(r'\w+', line)}
    head = HEAD.format(
        shaper=comment_text(tables.shaper),
        robot=comment_text(tables.robot) or 'a machine without a name',
        origin=comment_text(origin),
        joints=comment_text(', '.join(tables.joints)),
        period=tables.values['period'],
        name=tables.name,
        last=tables.sizes['joints'] - 1,
        duration=_number(tables.values['duration']),
        inputs='\n'.join(printer.declarations(INPUTS)),
        outputs='\n'.join(printer.declarations(OUTPUTS)),
        codes='; '.join(
            f'{number}: {meaning.split(":")[0]}'
            for name, number, meaning in shaper_law.CODES
            if name not in UNUSED_CODES
        ),
    )
    return '\n'.join(
        [
            head + 'VAR CONSTANT',
            *(INDENT + line for line in _constants(tables, words)),
            'END_VAR',
            'VAR (* tables; no statement changes them *)',
            *(INDENT + line for line in _tables(tables, words)),
            'END_VAR',
            'VAR (* state *)',
            *printer.declarations(
                field.name
                for field in printer.variables
                if field.name not in (*INPUTS, *OUTPUTS, 'code')
            ),
            'END_VAR',
            'VAR_TEMP',
            *(
                f'{INDENT}{", ".join(names)} : {TYPES[kind]};'
                for kind in TYPES
                if (names := [name for name, used in printer.used.items() if used == kind])
            ),
            'END_VAR',
            '',
            *body,
            'END_FUNCTION_BLOCK',
            '',
        ]
    )


class _TextPrinter(LawPrinter):
    operators = {
        ast.Or: 'OR',
        ast.And: 'AND',
        ast.Not: 'NOT ',
        ast.Lt: '<',
        ast.LtE: '<=',
        ast.Gt: '>',
        ast.Eq: '=',
        ast.NotEq: '<>',
        ast.Add: '+',
        ast.Sub: '-',
        ast.Mult: '*',
        ast.Div: '/',
        ast.FloorDiv: '/',
        ast.Mod: 'MOD',
        ast.USub: '-',
    }
    comment = '(* {} *)'

    def body(self) -> list[str]:
        """Return the statements of the block."""
        result = 'limited' if self.tables.has_limits else 'mixed'
        return [
            'IF NOT (ABS(cycle_time - period) <= 1.0E-6 * period) THEN',
            f'{INDENT}code := {CODES["WRONG_PERIOD"]};',
            'ELSIF standby THEN',
            *(INDENT + line for line in self.call(shaper_law.begin_replacement)),
            'ELSIF reset THEN',
            *(INDENT + line for line in self.call(shaper_law.restart)),
            'ELSE',
            *(INDENT + line for line in self.call(shaper_law.check_set_point)),
            'END_IF;',
            f'IF is_reset = 1 AND code <> {CODES["WRONG_PERIOD"]} THEN',
            *(INDENT + line for line in self.call(shaper_law.advance)),
            f'{INDENT}FOR j := 0 TO JOINTS - 1 DO',
            f'{2 * INDENT}shaped[j] := {result}[j];',
            f'{INDENT}END_FOR;',
            'END_IF;',
        ]

    def declarations(self, names: Iterable[str]) -> list[str]:
        """Return the declarations of variables of the law."""
        fields = {field.name: field for field in self.variables}
        return [
            f'{INDENT}{name} : {_type(field, self.tables)}; (* {meaning_of(field)} *)'
            for name, field in ((name, fields[name]) for name in names)
        ]

    def variable(self, name):
        return str(CODES[name]) if name in CODES else name

    def element(self, name, rows):
        return f'{name}[{", ".join(rows)}]'

    def builtin(self, name, words):
        return f'{FUNCTIONS[name]}({", ".join(words)})'

    def assignment(self, name, value):
        return f'{name} := {value};'

    def rounded(self, name, function, value):
        # conversions round to the nearest number
        sign, change = ('>', '-') if function == 'floor' else ('<', '+')
        yield f'{name} := LREAL_TO_DINT({value});'
        yield f'IF DINT_TO_LREAL({name}) {sign} {value} THEN'
        yield f'{INDENT}{name} := {name} {change} 1;'
        yield 'END_IF;'

    def loop(self, name, count, body):
        yield f'FOR {name} := 0 TO {count} - 1 DO'
        yield from self._indented(body)
        yield 'END_FOR;'

    def while_loop(self, test, body):
        yield f'WHILE {test} DO'
        yield from self._indented(body)
        yield 'END_WHILE;'

    def condition(self, node):
        yield f'IF {self.text(node.test)} THEN'
        yield from self._indented(node.body)
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            yield f'ELSIF {self.text(node.test)} THEN'
            yield from self._indented(node.body)
        if node.orelse:
            yield 'ELSE'
            yield from self._indented(node.orelse)
        yield 'END_IF;'

    def call(self, function):
        meaning, lines = self.function(function)
        yield f'(* {meaning} *)'
        yield from lines

    def _indented(self, body):
        return [INDENT + line for line in self._block(body)]


def _type(field, tables):
    if not field.size:
        return TYPES[field.kind]
    ranges = ', '.join(f'0..{tables.sizes[size] - 1}' for size in field.size)
    return f'ARRAY[{ranges}] OF {TYPES[field.kind]}'


def _constants(tables, words) -> Iterator[str]:
    for size, meaning in SIZES.items():
        if size.upper() in words:
            yield f'{size.upper()} : DINT := {tables.sizes[size]}; (* {meaning} *)'
    if 'CORNERS' in words:
        yield f'CORNERS : DINT := {2 ** tables.sizes["axes"]}; (* of a cell of these poses *)'
    yield f'MAX_SET_POINT : LREAL := {_number(MAX_SET_POINT)}; (* larger ones are refused *)'
    yield f'REST_VELOCITY : LREAL := {_number(REST_VELOCITY)}; (* a reset above it is refused *)'
    for field in FIELDS:
        if not field.size and field.name in words and field.name != 'duration':
            value = _number(tables.values[field.name])
            yield f'{field.name} : LREAL := {value}; (* {meaning_of(field)} *)'


def _tables(tables, words) -> Iterator[str]:
    for field in FIELDS:
        if field.size and field.name in words:
            values = np.asarray(tables.values[field.name])
            yield f'(* {meaning_of(field)} *)'
            yield f'{field.name} : {_type(field, tables)} := ['
            text = ', '.join(map(_number, values.ravel().tolist()))
            yield from (INDENT + line for line in wrap(text, WIDTH, break_long_words=False))
            yield '];'


def _number(value):
    """Return a literal: reals need a point, also before an exponent."""
    mantissa, exponent, power = repr(value).partition('e')
    if isinstance(value, float) and '.' not in mantissa:
        mantissa += '.0'
    return mantissa + exponent.upper() + power
