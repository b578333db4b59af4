"""Compiled functions: never stale, fast to start, safe in company."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from flex_robot_sim import compiled as compiled_module
from flex_robot_sim.compiled import compiled

CALL = 'from small.caller import caller; print(caller(2.0))'
CALL_AND_COUNT = f"""
{CALL}
print(sum(caller.stats.cache_hits.values()), sum(caller.stats.cache_misses.values()))
"""


@compiled
def _quotient(a, b):
    return a / b


@compiled
def _sum_without_the_right_to_allocate(a):
    return (a + a)[0]


@compiled(allocates=True)
def _sum(a):
    return (a + a)[0]


@pytest.fixture
def package(tmp_path):
    """Write a package of two files, of which one calls the other, and a cache of its own."""
    folder = tmp_path / 'small'
    folder.mkdir()
    shutil.copy(compiled_module.__file__, folder)
    (folder / '__init__.py').write_text('')
    write_callee(folder, 'x + 1.0')
    (folder / 'caller.py').write_text(
        'from small.callee import callee\nfrom small.compiled import compiled\n\n\n'
        '@compiled\ndef caller(x):\n    return 10.0 * callee(x)\n')
    return folder


def write_callee(folder, expression):
    (folder / 'callee.py').write_text(
        'from small.compiled import compiled\n\n\n'
        f'@compiled\ndef callee(x):\n    return {expression}\n')


def start(package, program=CALL_AND_COUNT, **environment):
    """Start a process that calls the package; it prints the result, cache hits and misses."""
    # two edits within a second have the same age for Python's own cache, so that is left out
    environment = {'PATH': os.environ['PATH'], 'PYTHONDONTWRITEBYTECODE': '1',
                   'XDG_CACHE_HOME': str(package.parent / 'cache'), 'HOME': '/nowhere',
                   **environment}
    return subprocess.Popen([sys.executable, '-c', program], cwd=package.parent, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def call(package, **environment):
    out, err = start(package, **environment).communicate(timeout=120)
    assert not err, err
    value, hits, misses = out.split()
    return float(value), int(hits), int(misses)


def cache_folders(package):
    return sorted((package.parent / 'cache' / 'small').iterdir())


needs_numba = pytest.mark.skipif(numba.config.DISABLE_JIT, reason='about machine code')


@needs_numba
def test_an_edit_in_another_file_reaches_the_caller(package):
    assert call(package) == (30.0, 0, 1)
    write_callee(package, 'x + 2.0')
    assert call(package) == (40.0, 0, 1)


@needs_numba
def test_a_second_start_compiles_nothing(package):
    call(package)
    assert call(package) == (30.0, 1, 0)


@needs_numba
def test_a_changed_setting_of_numba_does_not_meet_old_machine_code(package):
    call(package)
    assert call(package, NUMBA_BOUNDSCHECK='1') == (30.0, 0, 1)


@needs_numba
def test_a_cache_that_cannot_be_written_is_done_without(package):
    (package.parent / 'cache').write_text('a file where the folder should be')
    assert call(package) == (30.0, 0, 1)
    assert call(package) == (30.0, 0, 1)


@needs_numba
@pytest.mark.parametrize('suffix', ['.nbc', '.nbi'])
def test_a_damaged_cache_is_filled_again(package, suffix):
    call(package)
    damaged = [path for path in cache_folders(package)[0].rglob('*') if path.suffix == suffix]
    assert damaged
    for path in damaged:
        path.write_bytes(b'\0')
    assert call(package)[0] == 30.0
    assert call(package) == (30.0, 1, 0)


@needs_numba
def test_processes_that_start_together_fill_one_cache(package):
    processes = [start(package) for _ in range(3)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert not err and out.startswith('30.0')
    assert len(cache_folders(package)) == 1
    assert call(package) == (30.0, 1, 0)


def test_the_cache_keeps_the_folders_used_last(tmp_path):
    now = time.time()
    for age in range(12):
        folder = tmp_path / f'{age:02}'
        (folder / 'inside').mkdir(parents=True)
        os.utime(folder, (now - age, now - age))
    compiled_module._prune(tmp_path)
    kept = [f'{age:02}' for age in range(compiled_module.FOLDERS_KEPT)]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_the_fingerprint_sees_names_and_contents(tmp_path):
    def fingerprint(**files):
        shutil.rmtree(tmp_path / 'sources', ignore_errors=True)
        (tmp_path / 'sources').mkdir()
        for name, text in files.items():
            (tmp_path / 'sources' / f'{name}.py').write_text(text)
        return compiled_module._fingerprint(tmp_path / 'sources')

    seen = {fingerprint(a='x', b='y'), fingerprint(a='y', b='x'), fingerprint(a='xy', b=''),
            fingerprint(a='x', c='y'), fingerprint(a='x')}
    assert len(seen) == 5
    assert fingerprint(a='x', b='y') in seen


def test_the_fingerprint_leaves_out_folders_which_no_compiled_module_imports(tmp_path):
    before = compiled_module._fingerprint(tmp_path)
    (tmp_path / 'nodes').mkdir()
    (tmp_path / 'nodes' / 'new.py').write_text('x = 1')
    assert compiled_module._fingerprint(tmp_path) == before
    folders = [path.name for path in compiled_module.PACKAGE.iterdir() if path.is_dir()]
    for path in compiled_module.PACKAGE.glob('*.py'):
        source = path.read_text(encoding='utf-8')
        if 'flex_robot_sim.compiled import' in source:
            assert not [name for name in folders if f'flex_robot_sim.{name}' in source], path


@needs_numba
def test_a_function_in_a_folder_of_the_package_is_not_kept_on_disk(package):
    (package / 'inner').mkdir()
    (package / 'caller.py').rename(package / 'inner' / 'caller.py')
    program = CALL_AND_COUNT.replace('small.caller', 'small.inner.caller')
    for _ in range(2):
        out, err = start(package, program).communicate(timeout=120)
        assert (out, err) == ('30.0\n0 1\n', '')


def test_it_works_without_compiling(package):
    out, err = start(package, CALL, NUMBA_DISABLE_JIT='1').communicate(timeout=120)
    assert (out, err) == ('30.0\n', '')
    assert not (package.parent / 'cache').exists()


@pytest.mark.filterwarnings('ignore:.*divide:RuntimeWarning')
def test_a_division_by_zero_is_infinite_as_in_numpy():
    assert _quotient(np.float64(1.0), np.float64(0.0)) == np.inf


@needs_numba
def test_a_function_without_the_right_cannot_allocate():
    with pytest.raises(numba.core.errors.NumbaError):
        _sum_without_the_right_to_allocate(np.ones(2))
    assert _sum(np.ones(2)) == 2.0


def test_functions_of_others_are_not_kept_on_disk():
    assert Path(__file__).parent != compiled_module.PACKAGE
    assert getattr(getattr(_quotient, '_cache', None), 'cache_path', None) is None


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason='nothing is compiled')
def test_little_parts_of_machine_code_do_not_hide_that_the_long_one_is_missing(tmp_path,
                                                                              monkeypatch):
    from flex_robot_sim.exponential import set_rotation
    from flex_robot_sim.integrators import advance
    little, longest = ((function._cache._impl.filename_base + '.nbi')    # as Numba names them
                       for function in (set_rotation, advance))
    monkeypatch.setattr(compiled_module, 'CACHE_FOLDER', tmp_path)
    tmp_path.joinpath(little).touch()
    assert compiled_module.must_compile()
    tmp_path.joinpath('flex_robot_sim').mkdir()
    tmp_path.joinpath('flex_robot_sim', longest).touch()
    assert not compiled_module.must_compile()
