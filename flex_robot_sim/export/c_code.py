"""A shaper as one header of C99 and C++17: tables, state, and the functions of `shaper_law`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flex_robot_sim.export import shaper_law
from flex_robot_sim.export.c_tables import (
    INDENT,
    TYPES,
    constants,
    declaration,
    shared_declarations,
)
from flex_robot_sim.export.law_printer import LawPrinter
from flex_robot_sim.export.shaper_tables import FIELDS, ShaperTables, comment_text

CODES = {name for name, _, _ in shaper_law.CODES}
TABLE_NAMES = {field.name for field in FIELDS}
FUNCTIONS = {'abs': 'fabs', 'sqrt': 'sqrt', 'float': '(double)'}
HEAD = """\
/* Input shaper "{shaper}" of {robot}.
 * {origin}
 *
 * At set-up: {name}_check(...). While the joints rest: {name}_reset(&state, position, velocity).
 * Every {period:.9g} s: {name}_step(&state, set_point, shaped). All return a flex_shaper_code.
 * C99 and C++17 without allocation. Compile without -ffast-math: NaN must stay NaN.
 */
#ifndef {upper}_H
#define {upper}_H

#include <math.h>
#include <stdint.h>
#include <string.h>

"""
HELPERS = """\
static inline double {name}_min(double a, double b) {{ return b < a ? b : a; }}
static inline double {name}_max(double a, double b) {{ return b > a ? b : a; }}
"""
INTERFACE = """\
/* Whether these tables fit the loop; robot may be 0. Call it once, at set-up. */
static inline int32_t {name}_check(
    double period, const char *robot, const char *const *joint_names, int32_t joints)
{{
    int32_t j;
    if (!(fabs(period - {name}_tables.period) <= 1e-6 * {name}_tables.period))
        return FLEX_SHAPER_WRONG_PERIOD;
    if (robot != 0 && strcmp(robot, {name}_tables.robot) != 0)
        return FLEX_SHAPER_WRONG_ROBOT;
    if (joints != {upper}_JOINTS)
        return FLEX_SHAPER_WRONG_JOINTS;
    for (j = 0; j < joints; j++) {{
        if (strcmp(joint_names[j], {name}_joint_names[j]) != 0)
            return FLEX_SHAPER_WRONG_JOINTS;
    }}
    return FLEX_SHAPER_OK;
}}

/* Reset to a constant history at the position of the joints, which must rest. velocity may be 0;
 * if it is not, a reset in motion is refused and the last good set point is held. */
static inline int32_t {name}_reset(
    {name}_state *v, const double *position, const double *velocity)
{{
    memcpy(v->set_point, position, sizeof v->set_point);
    memset(v->velocity, 0, sizeof v->velocity);
    if (velocity != 0)
        memcpy(v->velocity, velocity, sizeof v->velocity);
    {name}_restart(v);
    if (v->code == FLEX_SHAPER_OK)
        {name}_advance(v);
    return v->code;
}}

/* Begin to replace another design in motion: whether it is reset, its last good set point, its
 * shaped position, and its duration. Then call {name}_step_replacing until age is 1. */
static inline int32_t {name}_replace(
    {name}_state *v, int32_t is_reset, const double *accepted, const double *position,
    double duration)
{{
    memcpy(v->set_point, accepted, sizeof v->set_point);
    memcpy(v->replaced, position, sizeof v->replaced);
    v->replaced_is_reset = is_reset;
    v->replaced_duration = duration;
    {name}_begin_replacement(v);
    if (v->code == FLEX_SHAPER_OK)
        {name}_advance(v);
    return v->code;
}}

/* Shape a set point. If it is refused, the last good one is held; before a reset, `shaped` is
 * unchanged. */
static inline int32_t {name}_step({name}_state *v, const double *set_point, double *shaped)
{{
    memcpy(v->set_point, set_point, sizeof v->set_point);
    {name}_check_set_point(v);
    if (v->is_reset != 0) {{
        {name}_advance(v);
        memcpy(shaped, v->{result}, sizeof v->{result});
    }}
    return v->code;
}}

/* Shape a set point while the design replaces another one, whose own step with the same set point
 * returned `replaced`. */
static inline int32_t {name}_step_replacing(
    {name}_state *v, const double *set_point, const double *replaced, double *shaped)
{{
    memcpy(v->replaced, replaced, sizeof v->replaced);
    return {name}_step(v, set_point, shaped);
}}

#endif
"""


def c_code(tables: ShaperTables, origin: str) -> str:
    """Return the header; origin: a line about the program that wrote it."""
    printer = _CPrinter(tables)
    words = {
        'name': tables.name,
        'upper': tables.name.upper(),
        'shaper': comment_text(tables.shaper),
        'robot': comment_text(tables.robot) or 'a machine without a name',
        'origin': comment_text(origin),
        'period': tables.values['period'],
        'result': 'limited' if tables.has_limits else 'mixed',
    }
    return '\n'.join(
        [
            HEAD.format(**words) + shared_declarations(),
            '',
            *constants(tables),
            '',
            '/* Set it to zero, for instance by static storage, before the first call. */',
            'typedef struct {',
            *(INDENT + declaration(field, tables) for field in printer.variables),
            f'}} {tables.name}_state;',
            '',
            HELPERS.format(**words),
            *printer.functions(),
            INTERFACE.format(**words),
        ]
    )


class _CPrinter(LawPrinter):
    operators = {
        ast.Or: '||',
        ast.And: '&&',
        ast.Not: '!',
        ast.Lt: '<',
        ast.LtE: '<=',
        ast.Gt: '>',
        ast.Eq: '==',
        ast.NotEq: '!=',
        ast.Add: '+',
        ast.Sub: '-',
        ast.Mult: '*',
        ast.Div: '/',
        ast.FloorDiv: '/',
        ast.Mod: '%',
        ast.USub: '-',
    }
    comment = '/* {} */'

    def functions(self) -> Iterator[str]:
        """Yield the functions of the law that this shaper needs, callees first."""
        for function in self.needed_functions():
            self.used = {}
            meaning, lines = self.function(function)
            name = self.tables.name
            yield f'/* {meaning} */'
            yield f'static inline void {name}_{function.__name__}({name}_state *v)'
            yield '{'
            for kind, c_type in TYPES.items():
                names = [local for local, used in self.used.items() if used == kind]
                if names:
                    yield f'{INDENT}{c_type} {", ".join(names)};'
            yield from (INDENT + line for line in lines)
            yield '}'
            yield ''

    def variable(self, name):
        if name in CODES:
            return f'FLEX_SHAPER_{name}'
        if name.isupper():
            return f'{self.tables.name.upper()}_{name}'
        return f'{self.tables.name}_{name}' if name in TABLE_NAMES else f'v->{name}'

    def element(self, name, rows):
        return self.variable(name) + ''.join(f'[{row}]' for row in rows)

    def builtin(self, name, words):
        return f'{FUNCTIONS.get(name, f"{self.tables.name}_{name}")}({", ".join(words)})'

    def assignment(self, name, value):
        return f'{name} = {value};'

    def rounded(self, name, function, value):
        yield f'{name} = (int32_t){function}({value});'

    def loop(self, name, count, body):
        yield f'for ({name} = 0; {name} < {count}; {name}++) {{'
        yield from self._indented(body)
        yield '}'

    def while_loop(self, test, body):
        yield f'while ({test}) {{'
        yield from self._indented(body)
        yield '}'

    def condition(self, node):
        yield f'if ({self.text(node.test)}) {{'
        yield from self._indented(node.body)
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            yield f'}} else if ({self.text(node.test)}) {{'
            yield from self._indented(node.body)
        if node.orelse:
            yield '} else {'
            yield from self._indented(node.orelse)
        yield '}'

    def call(self, function):
        yield f'{self.tables.name}_{function.__name__}(v);'

    def _indented(self, body):
        return [INDENT + line for line in self._block(body)]
