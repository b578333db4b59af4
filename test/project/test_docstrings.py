"""Every public name explains itself, and the examples in its docstring run."""

import inspect
import textwrap

import numpy as np
import pytest

import flex_robot_sim as frs

MAX_EXAMPLE_LINES = 5


def public_objects():
    """Yield name and object of everything that the library exports."""
    for name in frs.__all__:
        yield name, getattr(frs, name)


def example_of(obj):
    """Return the code after `Example::` in a docstring, or ''."""
    _, found, rest = (inspect.getdoc(obj) or '').partition('Example::\n\n')
    lines = []
    for line in rest.splitlines():
        if line and not line.startswith('    '):
            break
        lines.append(line)
    return textwrap.dedent('\n'.join(lines)).strip() if found else ''


FUNCTIONS = [(name, obj) for name, obj in public_objects() if inspect.isfunction(obj)]


@pytest.mark.parametrize('name, function', FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_the_example_of_a_public_function_runs(name, function, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    example = example_of(function)
    assert example, f'{name} has no Example:: in its docstring'
    assert len(example.splitlines()) <= MAX_EXAMPLE_LINES, f'{name}: the example is long'
    exec(compile(example, f'example of {name}', 'exec'), {'frs': frs, 'np': np})
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize('name, function', FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_a_public_function_takes_an_arm_first_and_explains_every_parameter(name, function):
    parameters = [*inspect.signature(function).parameters.values()]
    text = inspect.getdoc(function)
    unexplained = [p.name for p in parameters
                   if p.name not in text and p.name not in ('arm', 'v')]
    assert not unexplained, f'{name}: {unexplained}'
    if parameters and parameters[0].name == 'arm':
        positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        allowed = ['arm', 'q', 'v', 'a', 'effort', 'link', 'mass', 'centre', 'inertia',
                   'changes', 'values']
        assert [p for p in allowed if p in positional] == positional, f'{name}: {positional}'
