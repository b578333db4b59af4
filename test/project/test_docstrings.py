"""Every public name explains itself, and the examples in its docstring run."""

import inspect
import pydoc
import textwrap

import numpy as np
import pytest

import flex_robot_sim as frs

MAX_EXAMPLE_LINES = 5
MAX_HELP_LINES = 40  # of a function: one screen
MAX_SIGNATURE = 400  # characters; more are expanded types


def public_objects():
    """Yield name and object of everything that the library exports, without its packages."""
    for name in frs.__all__:
        if not inspect.ismodule(getattr(frs, name)):
            yield name, getattr(frs, name)


def documented(names):
    """Yield name and object of the classes of `names`, and of their public methods."""
    for name, one in names:
        if inspect.isclass(one) and not issubclass(one, Exception):
            yield name, one
            for method in dir(one):
                if not method.startswith('_') and inspect.isfunction(getattr(one, method)):
                    yield f'{name}.{method}', getattr(one, method)


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
CLASSES = [(name, obj) for name, obj in documented(public_objects()) if inspect.isclass(obj)]
METHODS = [(name, obj) for name, obj in documented(public_objects()) if inspect.isfunction(obj)]
WITH_EXAMPLE = [*FUNCTIONS, *CLASSES, *((name, obj) for name, obj in METHODS if example_of(obj))]


def each(names):
    return pytest.mark.parametrize('name, obj', names, ids=[name for name, _ in names])


@each(WITH_EXAMPLE)
def test_the_example_of_a_public_name_runs(name, obj, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    example = example_of(obj)
    assert example, f'{name} has no Example:: in its docstring'
    assert len(example.splitlines()) <= MAX_EXAMPLE_LINES, f'{name}: the example is long'
    exec(compile(example, f'example of {name}', 'exec'), {'frs': frs, 'np': np})
    assert not [*tmp_path.iterdir()]


@each([*FUNCTIONS, *METHODS])
def test_help_of_a_public_function_fits_a_screen(name, obj):
    assert len(pydoc.plain(pydoc.render_doc(obj)).splitlines()) <= MAX_HELP_LINES
    # `add_joint` has 26 parameters
    assert len(str(inspect.signature(obj))) <= (
        900 if name.startswith('ArmBuilder.') else MAX_SIGNATURE
    )


@each(FUNCTIONS)
def test_a_public_function_takes_an_arm_first_and_explains_every_parameter(name, obj):
    parameters = [*inspect.signature(obj).parameters.values()]
    text = inspect.getdoc(obj) or ''
    unexplained = [p.name for p in parameters if p.name not in text and p.name not in ('arm', 'v')]
    assert not unexplained, f'{name}: {unexplained}'
    if parameters and parameters[0].name == 'arm':
        positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        allowed = [
            'arm',
            'target',
            'q',
            'v',
            'a',
            'effort',
            'link',
            'mass',
            'centre',
            'inertia',
            'changes',
            'values',
        ]
        assert [p for p in allowed if p in positional] == positional, f'{name}: {positional}'
