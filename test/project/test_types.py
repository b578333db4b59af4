"""
Public functions state their types, mypy agrees with them, and importers of the package get them.

Compiled functions are exempt: Numba infers their types, and an annotation could only say
`np.ndarray`. Their docstrings state shapes and units. The checks of a board are exempt, too: all
take a host, no code calls them by name, and much that they send is wrong on purpose.
"""

import ast
import re
import subprocess
import sys

import pytest
from project_files import ROOT

from flex_robot_sim.jit.cache import cache_root

pytestmark = pytest.mark.slow

FOLDER = ROOT / 'flex_robot_sim'
EXEMPT = ('compiled', 'check')  # decorators
CHECKED = [  # as in pyproject.toml
    *('flex_robot_sim', 'benchmarks', 'docs', 'examples', 'release', 'setup.py', 'test'),
    *ROOT.glob('launch/*.py'),
    *ROOT.glob('programs/*'),
]

USER = """\
import flex_robot_sim as frs

arm = frs.load('two_link', gravity=[0.0, 0.0, -1.62])
reveal_type(arm)
reveal_type(arm.joint_names)
sim = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-4))
sim.effort = [0.1, 0.0]
sim.push('link2', force=(0.0, 0.0, 1.0))
sim.advance_to(0.1)
reveal_type(sim.position)
reveal_type(sim.energy().kinetic)
reveal_type(sim.hard_steps)
reveal_type(frs.modes(arm, joints='free').frequencies)
reveal_type(frs.linearise(arm).outputs)
reveal_type(frs.equilibrium(arm).effort)
reveal_type(frs.mass_matrix(arm, sim.q))
reveal_type(frs.read_description('rig').link('beam').beam)

frs.lode('two_link')
frs.load(3)
frs.Simulation('two_link')
sim.step('two')
arm.joints
frs.SimulationSettings(time_step='short')
frs.modes(arm, joint='free')
"""
ARRAY = 'numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]'
REVEALED = [
    'flex_robot_sim.model.arm_model.ArmModel',
    'tuple[str, ...]',
    ARRAY,
    'float',
    'tuple[int, int]',
    ARRAY,
    'tuple[str, ...]',
    ARRAY,
    ARRAY,
    'flex_robot_sim.description.links.ElasticBeam | None',
]
REPORTED = {
    "frs.lode('two_link')": 'attr-defined',
    'frs.load(3)': 'arg-type',
    "frs.Simulation('two_link')": 'arg-type',
    "sim.step('two')": 'arg-type',
    'arm.joints': 'attr-defined',
    "frs.SimulationSettings(time_step='short')": 'arg-type',
    "frs.modes(arm, joint='free')": 'call-arg',
}


def functions(body, prefix=''):
    """Yield (name, function) of what is public in a module or in a public class of it."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith('_'):
            yield from functions(node.body, f'{prefix}{node.name}.')
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
            node.name == '__init__' or not node.name.startswith('_')
        ):
            yield prefix + node.name, node


def is_exempt(function):
    return any(
        re.match(rf'({"|".join(EXEMPT)})\b', ast.unparse(decorator))
        for decorator in function.decorator_list
    )


def is_typed(function):
    one = function.args
    arguments = [*one.posonlyargs, *one.args, *one.kwonlyargs, one.vararg, one.kwarg]
    return function.returns is not None and all(
        argument.annotation is not None
        for argument in arguments
        if argument is not None and argument.arg not in ('self', 'cls')
    )


def untyped(source):
    return [
        name
        for name, function in functions(ast.parse(source).body)
        if not is_exempt(function) and not is_typed(function)
    ]


def untyped_in(paths):
    return [
        f'{path.relative_to(FOLDER)}: {name}'
        for path in sorted(paths)
        for name in untyped(path.read_text('utf-8'))
    ]


def test_public_functions_say_their_types():
    assert untyped_in(FOLDER.rglob('*.py')) == []


@pytest.mark.parametrize(
    'source, names',
    [
        ('def f(x): pass', ['f']),
        ('def f(x: int): pass', ['f']),
        ('def f(x: int, *rest) -> int: pass', ['f']),
        ('def f(x: int, *, y) -> int: pass', ['f']),
        ('class A:\n    def __init__(self): pass\n    def f(self): pass', ['A.__init__', 'A.f']),
        ('class A:\n    @property\n    def f(self): pass', ['A.f']),
        ('@compiled_by_hand\ndef f(x): pass', ['f']),
        ('def f(x: int = 1, *y: int, z: int, **more: int) -> None: pass', []),
        ('class A:\n    @classmethod\n    def f(cls) -> None: pass', []),
        ('@compiled(allocates=True)\ndef f(x): pass', []),
        ('@check(moves=True)\ndef f(host): pass', []),
        ('def _f(x): pass\nclass _A:\n    def f(self): pass', []),
        ('class A:\n    def __enter__(self): pass\n    def _f(self): pass', []),
    ],
)
def test_functions_without_types_are_found(source, names):
    assert untyped(source) == names


@pytest.fixture(scope='module')
def said(tmp_path_factory):
    """
    Return what mypy says of the tree, and of a user's script: [(file, line, text)].

    What it found before is kept for all clones of a user; it goes by hashes of sources.
    """
    pytest.importorskip('mypy')  # on the newest Python only
    script = tmp_path_factory.mktemp('user') / 'script.py'
    script.write_text(USER)
    answer = subprocess.run(
        [
            sys.executable,
            '-m',
            'mypy',
            '--no-pretty',
            '--no-error-summary',
            '--cache-dir',
            cache_root().with_name('flex_robot_sim_mypy'),
            *CHECKED,
            script,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert answer.returncode in (0, 1), answer.stdout + answer.stderr
    rows = [line.split(':', 2) for line in answer.stdout.splitlines()]
    return [(name, int(number), text) for name, number, text in rows]


def test_mypy_finds_no_fault_in_the_tree(said):
    faults = [
        f'{name}:{line}:{text}' for name, line, text in said if not name.endswith('script.py')
    ]
    if faults:
        pytest.fail('\n'.join(faults), pytrace=False)


def test_a_static_tool_sees_the_types_of_what_a_user_calls(said):
    revealed = [re.fullmatch(r' note: Revealed type is "(.*)"', text) for _, _, text in said]
    assert [found[1].replace('builtins.', '') for found in revealed if found] == REVEALED


def test_a_static_tool_reports_what_a_user_gets_wrong(said):
    lines = USER.splitlines()
    found = [
        (lines[line - 1], re.search(r' error: .*\[([\w-]+)\]', text))
        for name, line, text in said
        if name.endswith('script.py')
    ]
    assert {line: error[1] for line, error in found if error} == REPORTED


def test_the_package_says_that_it_has_types():
    assert (FOLDER / 'py.typed').is_file()
