"""Compiled functions: never stale, fast to start, safe with several processes."""

import contextlib
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import numba
import numpy as np
import pytest
from small_package import CALL, CALL_AND_COUNT, cache_folders, start, write_callee
from tuned_numba import needs_tuned_numba

from flex_robot_sim.jit import cache
from flex_robot_sim.jit import compiled as compiled_module
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.start import run_text

pytestmark = pytest.mark.slow


@compiled
def _quotient(a, b):
    return a / b


@compiled
def _sum_without_the_right_to_allocate(a):
    return (a + a)[0]


@compiled(allocates=True)
def _sum(a):
    return (a + a)[0]


@compiled
def _at_places_written_as_numbers(a, b):
    a[0] = b[1, 2]
    b[0, 1] += a[2]
    b[1][0] = 7.0 * a[1]
    a[1:] = 0.5
    return a[0] - b[0, 1] + b[1, 0]


needs_numba = pytest.mark.skipif(numba.config.DISABLE_JIT, reason='about machine code')


@needs_numba
def test_literal_indices_are_those_of_python():
    results = []
    for function in (_at_places_written_as_numbers, _at_places_written_as_numbers.py_func):
        a, b = np.arange(3.0), np.arange(10.0, 16.0).reshape(2, 3)
        results.append((function(a, b), a.tolist(), b.tolist()))
    assert results[0] == results[1] and results[0][0] == 15.0 - 13.0 + 7.0


@pytest.mark.long
@needs_numba
def test_an_edit_in_another_file_reaches_the_caller(called, call):
    write_callee(called, 'x + 2.0')
    assert call(called) == (40.0, 0, 1)


@needs_tuned_numba
def test_a_first_step_imports_only_what_it_needs():
    step = "import sys, flex_robot_sim as frs; frs.Simulation(frs.load('two_link')).step()"
    subprocess.run(run_text(step), check=True)  # where it compiles, Numba wants more of SciPy
    modules = subprocess.run(
        run_text(f'{step}; print(*sys.modules)'), check=True, text=True, stdout=subprocess.PIPE
    ).stdout.split()
    assert 'flex_robot_sim.dynamics.integrators' in modules
    late = {'linalg', 'optimize', 'signal', 'sparse', 'spatial', 'special'}
    assert not {f'scipy.{name}' for name in late}.intersection(modules)
    assert not {'matplotlib', 'mcap', 'rclpy', 'xacro'}.intersection(modules)


def test_a_second_start_compiles_nothing(first_call, called, call):
    assert first_call[1] == (30.0, 0, 1)
    assert call(called) == (30.0, 1, 0)


@pytest.mark.long(after=1)
@needs_tuned_numba
@pytest.mark.parametrize('first', ['caller', 'callee'])
def test_a_function_compiled_for_compiled_callers_can_be_called_from_python(called, first, run):
    program = f"""
from small.dynamics.caller import callee, caller
print({first}(2.0), caller(2.0), callee(2.0), sum(callee.stats.cache_misses.values()))
"""
    value = {'caller': '30.0', 'callee': '3.0'}[first]
    for misses in (1, 0):  # it gets a door for Python, which is kept
        out, err = run(called, program)
        assert (out.split(), err) == ([value, '30.0', '3.0', str(misses)], '')


@pytest.mark.long
@needs_tuned_numba
def test_installations_with_the_same_sources_compile_once(called, tmp_path, call):
    copy = tmp_path / 'elsewhere' / 'small'
    shutil.copytree(called, copy)
    for path in copy.rglob('*.py'):
        os.utime(path, (1e9, 1e9))  # and written at another time
    cache = str(called.parent / 'cache')
    assert call(copy, XDG_CACHE_HOME=cache) == (30.0, 1, 0)
    write_callee(copy, 'x - 1.0')
    assert call(copy, XDG_CACHE_HOME=cache) == (10.0, 0, 1)
    assert call(called) == (30.0, 1, 0)


@needs_numba
def test_a_changed_setting_of_numba_does_not_meet_old_machine_code(called, call):
    assert call(called, NUMBA_BOUNDSCHECK='1') == (30.0, 0, 1)


def test_workers_that_have_one_thread_load_what_others_compiled(called, call):
    assert call(called, NUMBA_NUM_THREADS='1') == (30.0, 1, 0)


@pytest.mark.long
@needs_numba
def test_without_a_writable_cache_functions_still_compile(package, call):
    (package.parent / 'cache').write_text('a file where the folder should be')
    assert call(package) == (30.0, 0, 1)
    assert call(package) == (30.0, 0, 1)


@pytest.mark.long(after=1)
@needs_numba
@pytest.mark.parametrize(
    'owner, mode',
    [(0, 0o777), (12345, 0o755)],
    ids=['the folder above is open to all', 'it is of another user'],
)
def test_a_cache_that_others_could_replace_is_not_used(called, owner, mode, call):
    root = called.parent / 'cache' / 'small_machine_code'
    if owner:
        if os.getuid() != 0:
            pytest.skip('only root can give files away')
        os.chown(root, owner, owner)
    root.parent.chmod(mode)
    for _ in range(2):
        assert call(called) == (30.0, 0, 1)


@needs_tuned_numba
def test_of_simultaneous_processes_one_compiles_and_the_others_load(package):
    processes = [start(package) for _ in range(3)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert sorted(outputs) == [('30.0\n0 1\n', ''), *2 * [('30.0\n1 0\n', '')]]
    assert len(cache_folders(package)) == 1


@pytest.mark.long
@needs_tuned_numba
def test_waiting_for_a_compiling_process_has_a_timeout(package, call, run):
    """A stopped process, for instance, holds the lock of what it compiles."""
    call(package, NUMBA_BOUNDSCHECK='1')  # names of locks
    folder = next(package.parent.glob('cache/small_machine_code/*/small'))
    for path in folder.glob('*.nbi'):  # not compiled yet
        path.unlink()
    with contextlib.ExitStack() as stack:
        for path in folder.glob('*.lock'):
            fcntl.flock(stack.enter_context(open(path)), fcntl.LOCK_EX)
        hasty = CALL_AND_COUNT.replace(
            'from small.dynamics.caller',
            """
from small.jit import function_cache
function_cache.COMPILE_WAIT_TIMEOUT_S = 0.2
from small.dynamics.caller""",
            1,
        )
        out, err = run(package, hasty, NUMBA_BOUNDSCHECK='1')
        assert (out, err) == ('30.0\n0 1\n', '')


@needs_tuned_numba
def test_code_on_disk_is_loaded_without_waiting_for_a_compiling_process(package, call, run):
    call(package, NUMBA_BOUNDSCHECK='1')
    folder = next(package.parent.glob('cache/small_machine_code/*/small'))
    with contextlib.ExitStack() as stack:
        for path in folder.glob('*.lock'):
            fcntl.flock(stack.enter_context(open(path)), fcntl.LOCK_EX)
        out, err = run(package, CALL_AND_COUNT, NUMBA_BOUNDSCHECK='1')
        assert (out, err) == ('30.0\n1 0\n', '')


def test_the_fingerprint_sees_names_and_contents(tmp_path, monkeypatch):
    def fingerprint(**files):
        shutil.rmtree(tmp_path / 'dynamics', ignore_errors=True)
        (tmp_path / 'dynamics').mkdir()
        for name, text in files.items():
            (tmp_path / 'dynamics' / f'{name}.py').write_text(text)
        return cache.fingerprint(tmp_path / 'dynamics')

    monkeypatch.setattr(cache, 'PACKAGE', tmp_path)
    monkeypatch.setattr(cache, 'CORE_ROOMS', (tmp_path / 'dynamics',))
    seen = {
        fingerprint(a='x', b='y'),
        fingerprint(a='y', b='x'),
        fingerprint(a='xy', b=''),
        fingerprint(a='x', c='y'),
        fingerprint(a='x'),
    }
    assert len(seen) == 5
    assert fingerprint(a='x', b='y') in seen


def test_machine_code_comes_from_sources_that_are_watched():
    """A compiled function may call those of its own folder, of CORE_ROOMS and of analysis."""
    door = 'flex_robot_sim.jit.compiled import'
    sources = {path: path.read_text(encoding='utf-8') for path in cache.PACKAGE.rglob('*.py')}
    compiling = {path for path, source in sources.items() if door in source}
    assert len(compiling) > 10
    for path in compiling:
        watched = set(cache.sources_of(path.parent))
        for other in compiling - watched:
            name = '.'.join(other.relative_to(cache.PACKAGE).with_suffix('').parts)
            assert f'flex_robot_sim.{name} ' not in sources[path], path


@pytest.mark.long
@needs_numba
def test_a_function_of_another_folder_stays_cached_until_a_possible_callee_changes(package, run):
    (package / 'room').mkdir()
    (package / 'dynamics' / 'caller.py').rename(package / 'room' / 'caller.py')
    program = CALL_AND_COUNT.replace('small.dynamics.caller', 'small.room.caller')

    def call_from_room():
        out, err = run(package, program)
        assert not err
        return out

    assert call_from_room() == '30.0\n0 1\n'
    (package / 'nodes').mkdir()
    (package / 'nodes' / 'new.py').write_text('x = 1')  # no compiled module imports it
    assert call_from_room() == '30.0\n1 0\n'
    write_callee(package, 'x + 2.0')
    assert call_from_room() == '40.0\n0 1\n'


def test_it_works_without_compiling(package, run):
    out, err = run(package, CALL, NUMBA_DISABLE_JIT='1')
    assert (out, err) == ('30.0\n', '')
    assert not (package.parent / 'cache').exists()


@pytest.mark.filterwarnings('ignore:.*divide:RuntimeWarning')
def test_a_division_by_zero_is_infinite_as_in_numpy():
    assert _quotient(np.float64(1.0), np.float64(0.0)) == np.inf


@needs_tuned_numba
def test_a_function_without_permission_cannot_allocate():
    with pytest.raises(numba.core.errors.NumbaError):
        _sum_without_the_right_to_allocate(np.ones(2))
    assert _sum(np.ones(2)) == 2.0


def test_functions_of_other_packages_are_not_cached_on_disk():
    assert cache.PACKAGE not in Path(__file__).parents
    assert getattr(getattr(_quotient, '_cache', None), 'cache_path', None) is None


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason='nothing is compiled')
def test_cached_callees_do_not_hide_that_the_step_is_missing(tmp_path, monkeypatch):
    from flex_robot_sim.dynamics.integrators import advance_checked
    from flex_robot_sim.spatial.exponential import set_rotation

    little, longest = (
        (function._cache._impl.filename_base + '.nbi')  # as Numba names them
        for function in (set_rotation, advance_checked)
    )
    monkeypatch.setattr(compiled_module, '_cache_folder', lambda room: tmp_path)
    tmp_path.joinpath(little).touch()
    assert compiled_module.must_compile()
    tmp_path.joinpath('flex_robot_sim').mkdir()
    tmp_path.joinpath('flex_robot_sim', longest).touch()
    assert not compiled_module.must_compile()
