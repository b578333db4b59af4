"""Printer of the functions of `shaper_law` in another language; each language is a subclass."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable

from flex_robot_sim.export import shaper_law
from flex_robot_sim.export.shaper_tables import ShaperTables

# operator: strength of its binding
STRENGTH: dict[type, int] = {
    ast.Or: 1,
    ast.And: 2,
    ast.Not: 3,
    ast.Lt: 4,
    ast.LtE: 4,
    ast.Gt: 4,
    ast.Eq: 4,
    ast.NotEq: 4,
    ast.Add: 5,
    ast.Sub: 5,
    ast.Mult: 6,
    ast.Div: 6,
    ast.FloorDiv: 6,
    ast.Mod: 6,
    ast.USub: 7,
}
ATOM = 9


class LawPrinter:
    """Prints functions of the law, statement by statement; a subclass has the words."""

    operators: dict[type, str] = {}
    comment = '{}'

    def __init__(self, tables: ShaperTables) -> None:
        """Print for ShaperTables: conditions on sizes are decided here."""
        self.tables = tables
        self.variables = [
            *shaper_law.VARIABLES,
            *(shaper_law.STAGE_VARIABLES if tables.has_stages else ()),
            *(shaper_law.LIMITER_VARIABLES if tables.has_limits else ()),
        ]
        self.sizes = {name.upper(): size for name, size in tables.sizes.items()}
        self.used: dict[str, str] = {}  # local variables of the function, and their kinds
        self._comments: list[tuple[int, str]] = []

    def needed_functions(self) -> list[Callable]:
        """Return the functions of the law that this shaper needs, callees first."""
        law = shaper_law
        needed: list[Callable] = [law.start, law.restart, law.begin_replacement]
        needed += [law.check_set_point, law.delay_by_time]
        if self.tables.has_stages:
            needed += [law.look_up_frequencies, law.delay_by_phase]
        if self.tables.has_limits:
            needed += [law.sample_track, law.limit_velocity]
        return [*needed, law.mix, law.advance]

    def function(self, function: Callable) -> tuple[str, list[str]]:
        """Return the docstring of a function of the law, and its lines."""
        source = textwrap.dedent(inspect.getsource(function))
        (definition,) = ast.parse(source).body
        assert isinstance(definition, ast.FunctionDef)
        outer, self._comments = self._comments, _comments(source)
        lines = list(self._block(definition.body[1:]))
        self._comments = outer
        return ast.get_docstring(definition) or '', lines

    def _block(self, statements: Iterable[ast.stmt]) -> Iterable[str]:
        for statement in statements:
            while self._comments and self._comments[0][0] < statement.lineno:
                yield self.comment.format(self._comments.pop(0)[1])
            yield from self._statement(statement)

    def _statement(self, node):
        if isinstance(node, ast.Assign):
            yield from self._assignment(node)
        elif isinstance(node, ast.For):
            assert isinstance(node.iter, ast.Call)
            name = self._local(ast.unparse(node.target))
            yield from self.loop(name, self.text(node.iter.args[0]), node.body)
        elif isinstance(node, ast.While):
            yield from self.while_loop(self.text(node.test), node.body)
        elif isinstance(node, ast.If):
            if self._is_about_sizes(node.test):
                # all of these conditions are `size > 0`
                is_met = self.sizes[ast.unparse(node.test)[2:].split()[0]] > 0
                yield from self._block(node.body if is_met else node.orelse)
            else:
                yield from self.condition(node)
        else:
            assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            yield from self.call(getattr(shaper_law, ast.unparse(node.value.func)))

    def _assignment(self, node):
        (target,) = node.targets
        value = node.value
        name = self.text(target)
        function = ast.unparse(value.func) if isinstance(value, ast.Call) else ''
        if function in ('floor', 'ceil'):
            yield from self.rounded(name, function, self.text(value.args[0]))
        else:
            yield self.assignment(name, self.text(value))

    def _is_about_sizes(self, test):
        return (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Attribute)
            and test.left.attr in self.sizes
        )

    def _local(self, name):
        self.used[name] = shaper_law.LOCALS[name]
        return name

    def text(self, node: ast.expr, strength: int = 0) -> str:
        """Return an expression, in parentheses if it binds less than `strength`."""
        text, own = self._expression(node)
        return f'({text})' if own < strength else text

    def _expression(self, node):
        if isinstance(node, ast.Constant):
            return repr(node.value), ATOM
        if isinstance(node, ast.Name):
            return self._local(node.id), ATOM
        if isinstance(node, ast.Attribute):
            return self.variable(node.attr), ATOM
        if isinstance(node, ast.Subscript):
            rows = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            name = ast.unparse(node.value)[2:]
            return self.element(name, [self.text(row) for row in rows]), ATOM
        if isinstance(node, ast.Call):
            words = [self.text(word) for word in node.args]
            return self.builtin(ast.unparse(node.func), words), ATOM
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            own = STRENGTH[type(node.op)]
            words = [self.text(value, own + 1) for value in node.values]
            return f' {self.operators[type(node.op)]} '.join(words), own
        if isinstance(node, ast.Compare):
            left, operator, right = node.left, type(node.ops[0]), node.comparators[0]
        else:
            left, operator, right = node.left, type(node.op), node.right
        own = STRENGTH[operator]
        return (
            f'{self.text(left, own)} {self.operators[operator]} {self.text(right, own + 1)}',
            own,
        )

    def _unary(self, node):
        own = STRENGTH[type(node.op)]
        inner = self.text(node.operand, ATOM if isinstance(node.op, ast.Not) else own)
        return f'{self.operators[type(node.op)]}{inner}', own

    # the words of a language

    def variable(self, name: str) -> str:
        """Return a variable or a constant of the law."""
        raise NotImplementedError

    def element(self, name: str, rows: list[str]) -> str:
        """Return an element of an array."""
        raise NotImplementedError

    def builtin(self, name: str, words: list[str]) -> str:
        """Return a call of min, max, abs, sqrt or float."""
        raise NotImplementedError

    def assignment(self, name: str, value: str) -> str:
        """Return an assignment."""
        raise NotImplementedError

    def rounded(self, name: str, function: str, value: str) -> Iterable[str]:
        """Yield an assignment of floor or ceil of a variable."""
        raise NotImplementedError

    def loop(self, name: str, count: str, body: list[ast.stmt]) -> Iterable[str]:
        """Yield a loop from 0 to below `count`."""
        raise NotImplementedError

    def while_loop(self, test: str, body: list[ast.stmt]) -> Iterable[str]:
        """Yield a loop with a condition."""
        raise NotImplementedError

    def condition(self, node: ast.If) -> Iterable[str]:
        """Yield an if statement."""
        raise NotImplementedError

    def call(self, function: Callable) -> Iterable[str]:
        """Yield a call of another function of the law."""
        raise NotImplementedError


def _comments(source):
    """Return (line, text) of the comments of a source that have a line of their own."""
    return [
        (number, line.strip()[2:])
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip().startswith('# ')
    ]
