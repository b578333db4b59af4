"""Public packages: names that tools see are imported on first use, and pages use no others."""

import ast
import importlib
import inspect
import re
import subprocess
import sys

import pytest
from project_files import ROOT

PACKAGE = 'flex_robot_sim'
FOLDER = ROOT / PACKAGE
OF_LIBRARY = ('control', 'feedback', 'identification', 'planning', 'shaping', 'sweeps')
LAZY = ('', *OF_LIBRARY, 'rig')
# packages that examples and pages may import; `environments` needs Gymnasium
PUBLIC = (*OF_LIBRARY, 'environments', 'formulations', 'rig')
PAGES = [*sorted((ROOT / 'docs').rglob('*.md')), ROOT / 'README.md']
EXAMPLES = sorted((ROOT / 'examples').glob('*.py'))


def full_name(package):
    return f'{PACKAGE}.{package}'.rstrip('.')


def names_for_tools(package):
    """Return {name: its module} below `if TYPE_CHECKING:` of a package."""
    tree = ast.parse((FOLDER / package / '__init__.py').read_text('utf-8'))
    guard = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING'
    )
    return {
        alias.name: node.module
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def names_of(package):
    """Return `__all__` of a package, without importing it."""
    tree = ast.parse((FOLDER / package / '__init__.py').read_text('utf-8'))
    return [
        name
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AugAssign))
        and '__all__' in ast.unparse(node).split('=')[0]
        for name in ast.literal_eval(node.value)
    ]


@pytest.mark.parametrize('package', LAZY)
def test_names_that_a_tool_sees_are_those_that_are_imported_late(package):
    module, for_tools = importlib.import_module(full_name(package)), names_for_tools(package)
    assert {*for_tools} == {*module.__all__} <= {*dir(module)}
    assert len({*module.__all__}) == len(module.__all__)
    for name, origin in for_tools.items():
        found = getattr(module, name)
        assert found is getattr(importlib.import_module(origin), name)
    with pytest.raises(AttributeError, match=f"^module '{full_name(package)}' has no attribute"):
        getattr(module, 'anything' + '_else')


@pytest.mark.parametrize('package', LAZY)
def test_no_name_is_that_of_a_module_which_would_replace_it(package):
    modules = {path.stem for path in (FOLDER / package).glob('*.py')}
    assert {*names_of(package)} & modules == set()


def test_packages_have_a_dozen_names_and_no_name_twice():
    counts = {package: len(names_of(package)) for package in OF_LIBRARY}
    assert min(counts.values()) >= 4 and max(counts.values()) <= 18
    names = [name for package in ('', *OF_LIBRARY) for name in names_of(package)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_import_of_all_packages_imports_no_library():
    code = (
        f'import sys; import {PACKAGE} as frs; '
        + '; '.join(f'frs.{package}' for package in OF_LIBRARY)
        + '; print(*{name.partition(".")[0] for name in sys.modules} & '
        '{"numpy", "scipy", "numba", "lxml"})'
    )
    said = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == []


def is_record(one):
    """Whether it is a class of fields, which the comments next to them explain."""
    return hasattr(one, '_fields') or hasattr(one, '__dataclass_fields__')


@pytest.mark.parametrize('package', OF_LIBRARY)
def test_every_public_name_has_an_example_and_says_its_parameters(package):
    """The docstring of a function or class has a summary line, and an example."""
    module = importlib.import_module(full_name(package))
    for name in module.__all__:
        one = getattr(module, name)
        words = inspect.getdoc(one) or ''
        assert len(words.splitlines()[0]) < 110 and 'Example::' in words, name
        assert len(words.partition('Example::\n\n')[2].splitlines()) <= 5, name
        if inspect.isclass(one) and not is_record(one):
            words += inspect.getdoc(one.__init__) or ''
        if not is_record(one):
            assert [
                parameter
                for parameter in inspect.signature(one).parameters
                if parameter != 'arm' and parameter not in words
            ] == [], name


@pytest.mark.parametrize('package', OF_LIBRARY)
def test_what_comes_after_the_main_arguments_has_a_keyword(package):
    """Up to three arguments are known by their place: the arm, and what happens to it."""
    module = importlib.import_module(full_name(package))
    for name in module.__all__:
        one = getattr(module, name)
        if is_record(one):
            continue
        by_place = [
            item
            for item in inspect.signature(one).parameters.values()
            if item.kind is item.POSITIONAL_OR_KEYWORD
        ]
        assert len(by_place) <= 3, (name, by_place)


def code_of(path):
    """Return the Python code of an example, or of each block of a page."""
    text = path.read_text('utf-8')
    return (
        [text]
        if path.suffix == '.py'
        else re.findall(r'^```python\n(.*?)^```', text, re.DOTALL | re.MULTILINE)
    )


def foreign_names(code):
    """Return what code uses of this package beyond the names of its public packages."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [
                alias.name
                for alias in node.names
                if alias.name.partition('.')[0] == PACKAGE
                and alias.name not in (PACKAGE, *map(full_name, PUBLIC))
            ]
        elif isinstance(node, ast.ImportFrom) and (node.module or '').split('.')[0] == PACKAGE:
            package = node.module.partition('.')[2]
            known = names_of(package) if package in ('', *PUBLIC) else ()
            found += [
                f'{node.module}.{alias.name}' for alias in node.names if alias.name not in known
            ]
        elif isinstance(node, ast.Attribute):
            words = ast.unparse(node).split('.')
            if words[0] == 'frs' and len(words) == 2 and words[1] not in names_of(''):
                found.append('.'.join(words))
            if (
                words[0] == 'frs'
                and len(words) == 3
                and words[1] in OF_LIBRARY
                and (words[2] not in names_of(words[1]))
            ):
                found.append('.'.join(words))
    return found


@pytest.mark.parametrize('path', [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_examples_and_pages_import_public_packages_only(path):
    assert [name for code in code_of(path) for name in foreign_names(code)] == []


@pytest.mark.parametrize(
    'code, names',
    [
        (
            'from flex_robot_sim.shaping.impulses import of_kind',
            ['flex_robot_sim.shaping.impulses.of_kind'],
        ),
        ('from flex_robot_sim.shaping import of_kind', ['flex_robot_sim.shaping.of_kind']),
        ('import flex_robot_sim.model.arm_model', ['flex_robot_sim.model.arm_model']),
        ('import flex_robot_sim as frs\nfrs.shaping.of_kind()', ['frs.shaping.of_kind']),
        ('import flex_robot_sim as frs\nfrs.lode()', ['frs.lode']),
        (
            'import flex_robot_sim as frs, '
            'flex_robot_sim.environments\nfrs.shaping.zvd(2.7).times',
            [],
        ),
        ('from flex_robot_sim.shaping import zvd', []),
    ],
)
def test_internal_names_are_found(code, names):
    assert foreign_names(code) == names


def test_the_page_of_the_library_names_everything_public():
    page = (ROOT / 'docs' / 'python.md').read_text('utf-8')
    words = {*re.findall(r'\w+', page)}
    assert [
        name for package in ('', *OF_LIBRARY) for name in names_of(package) if name not in words
    ] == []


def test_every_name_of_the_library_is_on_its_page():
    page = (ROOT / 'docs' / 'api.rst').read_text('utf-8')
    shown, module = set(), PACKAGE
    for line in page.splitlines():
        if line.startswith('.. currentmodule:: '):
            module = line.split()[-1]
        elif found := re.match(r'\.\. auto(?:function|class|exception):: (\S+)', line):
            shown.add(f'{module}.{found[1]}')
    assert shown == {
        f'{full_name(package)}.{name}'
        for package in ('', *OF_LIBRARY)
        for name in names_of(package)
        if name not in OF_LIBRARY
    }


def test_the_page_of_names_lists_inherited_methods():
    page = (ROOT / 'docs' / 'api.rst').read_text('utf-8')
    module, left_out = PACKAGE, {}
    for kind, name, options in re.findall(
        r'\.\. (currentmodule|autoclass):: (\S+)((?:\n   :.*)*)', page
    ):
        if kind == 'currentmodule':
            module = name
        elif ':members:' in options and ':inherited-members:' not in options:
            cls = getattr(importlib.import_module(module), name)
            bases = [base for base in cls.__mro__[1:] if base.__module__.startswith(PACKAGE)]
            public = {word for base in bases for word in vars(base) if not word.startswith('_')}
            left_out[name] = sorted(public - {*vars(cls)})
    assert {name: words for name, words in left_out.items() if words} == {}
