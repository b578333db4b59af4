"""
Interpreter for the part of structured text (IEC 61131-3) that generated blocks use.

It shares nothing with the exporter: it parses the text of a function block into statements of
Python, and runs these. All names must be declared once, in any case of letters.
"""

from __future__ import annotations

import math
import re
from typing import Any

TOKEN = re.compile(
    r'\(\*.*?\*\)|\s+|(?P<number>\d+\.\d+(?:E[+-]?\d+)?|\d+(?!\.\d))|(?P<word>[A-Za-z_]\w*)'
    r'|(?P<sign>:=|<=|>=|<>|\.\.|[-+*/()\[\],;:<>=])',
    re.DOTALL,
)
BINARY = (
    {'OR': 'or'},
    {'AND': 'and'},
    {'=': '==', '<>': '!='},
    {'<': '<', '>': '>', '<=': '<=', '>=': '>='},
    {'+': '+', '-': '-'},
    {'*': '*', '/': '/', 'MOD': '%'},
)
FUNCTIONS = {
    'ABS': abs,
    'MIN': min,
    'MAX': max,
    'SQRT': math.sqrt,
    'DINT_TO_LREAL': float,
    'LREAL_TO_DINT': round,  # to the nearest, as the standard says
}
KEYWORDS = """
FUNCTION_BLOCK END_FUNCTION_BLOCK VAR VAR_INPUT VAR_OUTPUT VAR_TEMP CONSTANT END_VAR ARRAY OF LREAL
DINT BOOL IF THEN ELSIF ELSE END_IF FOR TO DO END_FOR WHILE END_WHILE BY REPEAT UNTIL CASE EXIT
RETURN AND OR NOT XOR MOD TRUE FALSE AT STEP ACTION TYPE STRUCT REFERENCE POINTER PROGRAM METHOD
REAL INT TIME DATE STRING R S LIMIT SEL MUX ABS MIN MAX SQRT DINT_TO_LREAL LREAL_TO_DINT
"""


class FunctionBlock:
    """An instance of a function block."""

    def __init__(self, text: str) -> None:
        """Parse the text."""
        self._tokens = [*_tokens(text)]
        self._place = 0
        self.values: dict[str, object] = {}
        self._expect('FUNCTION_BLOCK')
        self.name = self._next()
        while self._peek().startswith('VAR'):
            self._declarations()
        lines = self._statements(1, ('END_FUNCTION_BLOCK',))
        self._expect('END_FUNCTION_BLOCK')
        assert self._place == len(self._tokens)
        scalars = [name for name, value in self.values.items() if not isinstance(value, list)]
        source = ['def call(V):']
        source += [f' {name} = V[{name!r}]' for name in self.values]
        source += lines
        source += [f' V[{name!r}] = {name}' for name in scalars]
        names: dict[str, Any] = {f'f_{name}': function for name, function in FUNCTIONS.items()}
        exec('\n'.join(source), names)
        self._call = names['call']

    def __call__(self, **inputs: object) -> None:
        """Run a cycle."""
        self.values.update(inputs)
        self._call(self.values)

    def _peek(self):
        return self._tokens[self._place].upper()

    def _next(self):
        self._place += 1
        return self._tokens[self._place - 1]

    def _expect(self, *words):
        word = self._next().upper()
        assert word in words, f'{word} instead of {words}'
        return word

    def _declarations(self):
        self._next()
        if self._peek() == 'CONSTANT':
            self._next()
        while self._peek() != 'END_VAR':
            names = [self._new_name()]
            while self._expect(',', ':') == ',':
                names.append(self._new_name())
            kind, size = self._type()
            values = None
            if self._peek() == ':=':
                self._next()
                values = self._initial()
            self._expect(';')
            zero = {'LREAL': 0.0, 'DINT': 0, 'BOOL': False}[kind]
            for name in names:
                if size is None:
                    self.values[name] = zero if values is None else values[0]
                else:
                    count = math.prod(size)
                    assert values is None or len(values) == count
                    self.values[name] = _nested(values or [zero] * count, size)
        self._next()

    def _new_name(self):
        name = self._next().lower()
        assert name.upper() not in KEYWORDS.split(), f'{name} is a keyword'
        assert name not in self.values, f'{name} is declared twice'
        return name

    def _type(self):
        if self._expect('ARRAY', 'LREAL', 'DINT', 'BOOL') != 'ARRAY':
            return self._tokens[self._place - 1].upper(), None
        self._expect('[')
        size = []
        while True:
            assert self._next() == '0'
            self._expect('..')
            size.append(int(self._next()) + 1)
            if self._expect(',', ']') == ']':
                break
        self._expect('OF')
        return self._next().upper(), size

    def _initial(self):
        """Numbers of an initial value."""
        if self._peek() != '[':
            return [self._literal()]
        values = []
        while self._expect('[', ',', ']') != ']':
            values.append(self._literal())
        return values

    def _literal(self):
        sign = 1
        if self._peek() == '-':
            self._next()
            sign = -1
        text = self._next()
        return sign * (float(text) if '.' in text else int(text))

    def _statements(self, depth, ends):
        lines = []
        while self._peek() not in ends:
            lines += self._statement(' ' * depth, depth)
        return lines or [' ' * depth + 'pass']

    def _statement(self, indent, depth):
        word = self._next().upper()
        if word == 'IF':
            lines, start = [], 'if'
            while True:
                lines.append(f'{indent}{start} {self._expression()}:')
                self._expect('THEN')
                lines += self._statements(depth + 1, ('ELSIF', 'ELSE', 'END_IF'))
                word, start = self._expect('ELSIF', 'ELSE', 'END_IF'), 'elif'
                if word != 'ELSIF':
                    break
            if word == 'ELSE':
                lines += [f'{indent}else:', *self._statements(depth + 1, ('END_IF',))]
                self._expect('END_IF')
        elif word == 'FOR':
            name = self._declared(self._next())
            self._expect(':=')
            first = self._expression()
            self._expect('TO')
            lines = [f'{indent}for {name} in range({first}, {self._expression()} + 1):']
            self._expect('DO')
            lines += self._statements(depth + 1, ('END_FOR',))
            self._expect('END_FOR')
        elif word == 'WHILE':
            lines = [f'{indent}while {self._expression()}:']
            self._expect('DO')
            lines += self._statements(depth + 1, ('END_WHILE',))
            self._expect('END_WHILE')
        else:
            target = self._variable(word)
            self._expect(':=')
            lines = [f'{indent}{target} = {self._expression()}']
        self._expect(';')
        return lines

    def _declared(self, word):
        name = word.lower()
        assert name in self.values, f'{name} is not declared'
        return name

    def _variable(self, word):
        name = self._declared(word)
        if self._peek() != '[':
            return name
        self._next()
        rows = [self._expression()]
        while self._expect(',', ']') == ',':
            rows.append(self._expression())
        return name + ''.join(f'[{row}]' for row in rows)

    def _expression(self, level=0):
        if level == len(BINARY):
            return self._factor()
        text = self._expression(level + 1)
        while self._peek() in BINARY[level]:
            sign = BINARY[level][self._next().upper()]
            other = self._expression(level + 1)
            is_whole = sign == '/' and not re.search(r'[.a-z]', other)
            text = f'({text} {"//" if is_whole else sign} {other})'
        return text

    def _factor(self):
        word = self._next()
        upper = word.upper()
        if upper == 'NOT':
            return f'(not {self._factor()})'
        if upper == '-':
            return f'(-{self._factor()})'
        if upper == '(':
            text = self._expression()
            self._expect(')')
            return f'({text})'
        if upper in ('TRUE', 'FALSE'):
            return upper.title()
        if word[0].isdigit():
            return word
        if upper in FUNCTIONS:
            self._expect('(')
            words = [self._expression()]
            while self._expect(',', ')') == ',':
                words.append(self._expression())
            return f'f_{upper}({", ".join(words)})'
        return self._variable(word)


def _tokens(text):
    place = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match, f'unknown text: {text[place : place + 30]!r}'
        place = match.end()
        if match.lastgroup:
            yield match[0]


def _nested(values, size):
    """List of lists of a size, in the order of the last index."""
    if len(size) == 1:
        return list(values)
    step = len(values) // size[0]
    return [_nested(values[k * step : (k + 1) * step], size[1:]) for k in range(size[0])]
