"""
`@compiled`: the only door to Numba.

Machine code is kept on disk between runs. Numba alone would keep running old machine code after an
edit in another file, because callees are inlined and only the caller's file is watched. So it
lies in a folder named after a hash of all sources that it may come from: those of the module's
own folder, of cache.CORE and of analysis/, which alone may hold what it calls. An edit in any
of them starts an empty folder, and code that has not been used for long is removed. Work on nodes
or pages waits for no compiler.
"""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import numba
except ImportError as error:
    from flex_robot_sim.util.exceptions import SettingError
    raise SettingError('numba, which compiles the equations of motion, is not installed. Install '
                       f'it by {sys.executable} -m pip install numba') from error
import numpy as np
from numba.core import config as numba_config
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature

import flex_robot_sim.jit.typing_rules  # noqa: F401      (tells Numba)
from flex_robot_sim.jit.cache import DYNAMICS, PACKAGE, CacheError, cache_variable, folder_of
from flex_robot_sim.jit.call_marker import marked_call
from flex_robot_sim.jit.checked_files import CheckedFiles
from flex_robot_sim.jit.deferred_signals import deferred_signals, is_of_a_handler, pass_on_signals
from flex_robot_sim.jit.linking import LinkedResults, is_for_python, stand_alone
from flex_robot_sim.jit.pipeline import ShortPipeline
from flex_robot_sim.util.garbage import collected_seldom

if sys.platform != 'win32':
    import fcntl

config: Any = numba_config      # its attributes come from the environment, so no tool sees them

PATIENCE = 300.0        # with another process that compiles the same function             [s]
LONGEST = 'integrators.advance'     # what takes longest to compile, with all that it calls
# of Numba's settings: workers of a sweep, which have one thread each, load what others compiled
CHANGE_NO_CODE = ('NUMBA_CACHE_DIR', 'NUMBA_NUM_THREADS')
OPTIONS: dict[str, Any] = {
    'no_cfunc_wrapper': True,   # nobody calls these from C, and it takes a twentieth of the time
    'nogil': True,              # ROS callbacks and the viewer run beside a step
    'error_model': 'numpy',     # 1 / 0 is inf, as in numpy; no hidden branch and no exception
    'fastmath': False,          # tests for nan hold, and exact zeros stay zero; it gained 3 %
}


def compiled(function: Callable | None = None, *, allocates: bool = False,
             inline: bool = False) -> Any:
    """
    Compile a function to machine code at its first call; release the GIL while it runs.

    With NUMBA_DISABLE_JIT=1 it stays plain Python, for debugging and coverage. Functions of other
    packages are compiled too, but not kept on disk: what they depend on is not watched.

    :param allocates: whether it may make arrays. Without that right, numba refuses to compile
        `np.empty`, `a + b` of arrays and the like, and views cost a fifth less time, because
        nobody counts references.
    :param inline: whether it becomes part of each caller, which knows more about its arguments.
    """
    if function is None:
        return functools.partial(compiled, allocates=allocates, inline=inline)
    options: Any = {**OPTIONS, '_nrt': allocates, 'forceinline': inline}
    if not allocates:
        options['pipeline_class'] = ShortPipeline
    result: Any = numba.njit(**options)(function)
    room = _room_of(function.__code__.co_filename)
    folder = _cache_folder(room) if PACKAGE in room.parents and result is not function else None
    if folder is not None:
        with _cache_directory(folder):
            result._cache = _PackageCache(function, folder, allocates)
    if result is not function:
        result.compile = functools.partial(_compile_once, result, result.compile)
        result.add_overload = functools.partial(_add, result, result.add_overload)
        result.typeof_pyval = functools.partial(_type_of, result.typeof_pyval)
        result._compile_for_args = functools.partial(
            _compile_for_call, result, result._compile_for_args)
    return result


def bound(function: Any, *arguments: Any) -> Callable:
    """
    Return what calls a compiled function with arguments of the very types of these.

    It takes a tenth of the time of an ordinary call, because nobody looks at types again.
    """
    if config.DISABLE_JIT:
        return function
    return _marked_once(
        function, function.overloads[compile_for(function, *arguments)].entry_point)


def compile_for(function: Any, *arguments: Any) -> tuple[Any, ...]:
    """Compile a function for arguments of the types of these; return the types."""
    types = tuple(map(function.typeof_pyval, arguments))
    function.compile(types)
    return types


def must_compile() -> bool:
    """Whether the machine code that takes long is not kept yet; little parts may be."""
    folder = _cache_folder(DYNAMICS)
    return not config.DISABLE_JIT and not (
        folder and any(folder.rglob(f'{LONGEST}-*.nbi')))


def why_compiling() -> str:
    """Return what somebody is told who has to wait for machine code."""
    try:
        _folder_of(DYNAMICS)
    except CacheError as error:
        return f'compiling, at every start: {error}. Name another place by {cache_variable()}'
    return 'compiling, once after an installation: ten seconds to a minute'


def parts_of(function: Any) -> list[Any]:
    """Return a compiled function and all compiled ones that it calls."""
    found, ahead = [], [function]
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.append(one)
            known = one.py_func.__globals__
            ahead += [known[name] for name in one.py_func.__code__.co_names
                      if hasattr(known.get(name), 'py_func')]
    return found


def is_cached(function: Any) -> bool:
    """Whether machine code of a compiled function is on disk, whoever made it."""
    return isinstance(function._cache, _PackageCache) and function._cache.is_there()


@contextlib.contextmanager
def lock_of_second_process() -> Iterator[IO[str] | None]:
    """
    Give a file that is locked as long as this process, or one that is given it, has it open.

    None: another one has it, or there is no cache by which two processes could share the work.
    """
    folder = _cache_folder(DYNAMICS)
    if folder is None or sys.platform == 'win32':
        yield None
        return
    with open(folder / 'second_process.lock', 'a') as file:
        yield file if _is_locked(file) else None


def compile_part(function: Any, *arguments: Any) -> None:
    """Compile a function for callers that are compiled, with arguments of the types of these."""
    with _inside_another():
        compile_for(function, *arguments)


_depth = 0      # functions in hand at this moment, each for the sake of the one before it


@contextlib.contextmanager
def _inside_another() -> Iterator[None]:
    global _depth
    with global_compiler_lock:
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1


def _compile_once(dispatcher, compile_, signature):
    """
    Compile, or load what another process compiles at this moment: wait for it.

    What only compiled code calls gets no door for Python, which takes a tenth of the time, and is
    compiled again, with one, if Python ever calls it.

    Locks of callees are taken inside those of their callers, and nothing calls itself, so two
    processes never wait for each other; and they share the work if they begin with different
    functions. A process that takes too long is not waited for.
    """
    types = tuple(normalize_signature(signature)[0])
    made = dispatcher.overloads.get(types)
    if made is not None and not _depth:
        # a handler that raises inside llvmlite, or right after Numba's lock is taken, leaves a
        # lock taken, and other threads wait for it for ever
        with deferred_signals():
            if is_for_python(made):
                return made.entry_point
    with global_compiler_lock, contextlib.ExitStack() as stack:     # threads before processes
        made = dispatcher.overloads.get(types)
        if made is not None:
            if _depth or is_for_python(made):
                return made.entry_point
            del dispatcher.overloads[types]
        if isinstance(dispatcher._cache, _PackageCache):
            try:
                stack.enter_context(dispatcher._cache.alone())
            except OSError as error:        # which TimeoutError is, too
                if is_of_a_handler(error):
                    raise
        dispatcher.targetoptions['no_cpython_wrapper'] = _depth > 0
        with deferred_signals():
            with _inside_another(), collected_seldom(), _plain_loops():
                entry = compile_(signature)
            if isinstance(dispatcher._cache, _PackageCache):
                stand_alone(dispatcher)
        return entry


def _compile_for_call(dispatcher, compile_for_args, *arguments, **named):
    """Return what Numba calls for a call from Python with arguments of new types."""
    return _marked_once(dispatcher, compile_for_args(*arguments, **named))


def _marked_once(dispatcher, entry):
    """Return an entry point; where it is of loaded code, its first call has a marker."""
    cache = dispatcher._cache
    if not isinstance(cache, _PackageCache) or not cache.is_unproven:
        return entry

    def call(*arguments, **named):
        if not cache.is_unproven:
            return entry(*arguments, **named)
        with marked_call(cache.folder.parent, _loaded_from):
            result = entry(*arguments, **named)
        cache.is_unproven = False
        return result
    return call


_loaded_from: set[str] = set()      # names of folders of the cache


@contextlib.contextmanager
def _plain_loops():
    """
    Let LLVM leave loops as they are: most are over two to six numbers.

    Made for vectors of four, they take longer by a twentieth of a step, and to compile.
    """
    before = config.LOOP_VECTORIZE
    config.LOOP_VECTORIZE = 0
    try:
        yield
    finally:
        config.LOOP_VECTORIZE = before


@functools.cache
def _room_of(file):
    return Path(file).resolve().parent


def _type_of(type_of, value):
    """Numba's type of an argument; for an array, Numba alone would import `numpy.ma`."""
    if type(value) is np.ndarray and value.flags.carray and value.dtype.kind in 'fiu':
        return numba.types.Array(numba.from_dtype(value.dtype), value.ndim, 'C')
    return type_of(value)


def _add(dispatcher, add, result):
    """Let callers find what was compiled: those in Python only if they can call it."""
    if is_for_python(result):
        add(result)
    else:
        dispatcher.overloads[tuple(result.signature.args)] = result


class _PackageCache(FunctionCache):
    """
    Numba's cache, safe when two processes fill it at once, and never a reason to fail.

    Numba keeps apart what comes from other paths and what was written at another time. Here the
    folder is named after the sources themselves, so all installations that have the same ones
    share it: who finds it filled need not compile.
    """

    _impl_class = LinkedResults

    def __init__(self, function, folder, allocates):
        super().__init__(function)
        self._allocates, self.folder = allocates, folder
        self._cache_path = str(folder / PACKAGE.name)
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, None)
        self.is_unproven = False        # code was loaded, and no call of it has returned yet

    def is_there(self):
        return (Path(self._cache_path) / f'{self._impl.filename_base}.nbi').exists()

    def load_overload(self, *args):
        # numba gets all ready to compile before it loads, which takes a third of a start, and what
        # makes arrays alone needs some of it; who has to compile does it then
        load = super().load_overload if self._allocates else self._load_overload
        try:
            result = load(*args)
            if result is None or _depth <= 1 and not is_for_python(result):
                return None
            _loaded_from.add(self.folder.name)
            self.is_unproven = True
            return result
        except Exception as error:      # a damaged file only costs the time to compile
            if is_of_a_handler(error):  # and what is whole is kept
                raise
            with contextlib.suppress(OSError), self._lock():
                self.flush()
            return None

    def save_overload(self, *args):
        with contextlib.suppress(OSError), self._lock():
            super().save_overload(*args)

    @contextlib.contextmanager
    def _lock(self):
        """Keep other processes out: numba reads, extends and writes an index here."""
        with self._open('lock') as file:
            if sys.platform != 'win32':
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def alone(self):
        """Keep other processes from compiling this function; the kernel frees what is left."""
        with self._open(f'{self._impl.filename_base}.lock') as file:
            deadline = time.monotonic() + PATIENCE
            while not _is_locked(file) and time.monotonic() < deadline:
                pass_on_signals()
                time.sleep(0.01)
            yield

    def _open(self, name):
        folder = Path(self.cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        return open(folder / name, 'a')


def _is_locked(file):
    """Whether the file is ours now, because nobody else had locked it."""
    if sys.platform == 'win32':
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _cache_directory(folder):
    """Let numba place a cache in `folder`; other packages keep the setting they had."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


@functools.cache
def _cache_folder(room):
    """Folder for the present sources, ready to write to; None where there can be none."""
    try:
        return None if config.DISABLE_JIT else _folder_of(room)
    except CacheError:
        return None


def _folder_of(room):
    settings = sorted(item for item in os.environ.items()
                      if item[0].startswith('NUMBA_') and item[0] not in CHANGE_NO_CODE)
    return folder_of(room, numba.__version__, settings, sorted(OPTIONS.items()))
