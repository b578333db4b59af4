"""
`@compiled`: the only interface to Numba.

Machine code is cached on disk between runs. Plain Numba would keep running old machine code after
an edit in another file, because callees are inlined and only the caller's file is watched. So the
cache folder is named after a hash of all possible sources: those of the module's own folder, of
cache.CORE_ROOMS and of analysis/, which contain all callees. An edit in any of them starts an
empty folder, and code that has not been used for long is removed. Edits of other rooms, such as
nodes, do not trigger compilation.
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

from flex_robot_sim.jit.cache import (
    CORE_ROOMS,
    DYNAMICS,
    PACKAGE,
    CacheError,
    cache_variable,
    folder_of,
)
from flex_robot_sim.jit.call_marker import marked_call
from flex_robot_sim.jit.checked_files import CheckedFiles
from flex_robot_sim.jit.deferred_signals import (
    deferred_signals,
    deliver_signals,
    was_raised_by_handler,
)
from flex_robot_sim.jit.linking import LinkedResults, export_symbols, has_python_wrapper
from flex_robot_sim.jit.pipeline import ShortPipeline
from flex_robot_sim.util.garbage import collected_seldom

if sys.platform != 'win32':
    import fcntl

config: Any = numba_config  # attributes come from the environment; static tools do not see them

COMPILE_WAIT_TIMEOUT_S = 300.0  # for another process that compiles the same function
SLOWEST_FUNCTION = 'integrators.advance'    # slowest to compile, with its callees
# Numba's settings that do not change the code: workers of a sweep share the cache
IRRELEVANT_VARIABLES = ('NUMBA_CACHE_DIR', 'NUMBA_NUM_THREADS')
NUMBA_OPTIONS: dict[str, Any] = {
    'no_cfunc_wrapper': True,   # not called from C; saves 5 % of the compile time
    'nogil': True,              # ROS callbacks and the viewer run in parallel to a step
    'error_model': 'numpy',     # 1 / 0 is inf, as in numpy, without a branch or an exception
    'fastmath': False,          # keeps tests for nan and exact zeros; True would gain 3 %
}


def compiled(function: Callable | None = None, *, allocates: bool = False,
             inline: bool = False, vectorized: bool = False) -> Any:
    """
    Compile a function to machine code at its first call; release the GIL while it runs.

    With NUMBA_DISABLE_JIT=1 it stays plain Python, for debugging and coverage. Functions of other
    packages are compiled, but not cached on disk, because their dependencies are not watched.

    :param allocates: whether it may allocate arrays. If not, Numba refuses to compile `np.empty`,
        `a + b` of arrays and the like, and views take 20 % less time without reference counting.
    :param inline: whether it is inlined in each caller, which knows more about its arguments.
    :param vectorized: whether LLVM vectorises its loops. Most loops of the package have two to six
        iterations: vectorised by four, they cost 5 % of a step, and take longer to compile.
    """
    if function is None:
        return functools.partial(compiled, allocates=allocates, inline=inline,
                                 vectorized=vectorized)
    options: Any = {**NUMBA_OPTIONS, '_nrt': allocates, 'forceinline': inline}
    if not allocates:
        options['pipeline_class'] = ShortPipeline
    result: Any = numba.njit(**options)(function)
    room = _room_of(function.__code__.co_filename)
    folder = _cache_folder(room) if PACKAGE in room.parents and result is not function else None
    if folder is not None:
        result._cache = _PackageCache(function, folder, allocates)
    if result is not function:
        result.is_vectorized = vectorized
        result.compile = functools.partial(_compile_once, result, result.compile)
        result.add_overload = functools.partial(_add_overload, result, result.add_overload)
        result.typeof_pyval = functools.partial(_type_of, result.typeof_pyval)
        result._compile_for_args = functools.partial(
            _compile_for_call, result, result._compile_for_args)
    return result


def bind(function: Any, *arguments: Any) -> Callable:
    """
    Return an entry point of a compiled function for exactly the types of these arguments.

    A call takes a tenth of the time of an ordinary one, because it skips the dispatch by type.
    """
    if config.DISABLE_JIT:
        return function
    return _with_marked_first_call(
        function, function.overloads[compile_for(function, *arguments)].entry_point)


def call_with_tables(function: Any, *arguments: Any) -> Any:
    """
    Call a compiled function whose first and last arguments are tables, as `bind` does.

    The other arguments always have the same types.
    """
    key = function, id(arguments[0]._numba_type_), id(arguments[-1]._numba_type_)
    if key not in _bound_functions:     # types are never released, so ids stay valid
        _bound_functions[key] = bind(function, *arguments)
    return _bound_functions[key](*arguments)


_bound_functions: dict[tuple[Any, int, int], Callable] = {}


def compile_for(function: Any, *arguments: Any) -> tuple[Any, ...]:
    """Compile a function for the types of these arguments; return the types."""
    types = tuple(map(function.typeof_pyval, arguments))
    function.compile(types)
    return types


def must_compile() -> bool:
    """Whether the machine code of a step is not cached completely."""
    folder = _cache_folder(DYNAMICS)
    return not config.DISABLE_JIT and not (
        folder and any(folder.rglob(f'{SLOWEST_FUNCTION}-*.nbi')))


def why_compiling() -> str:
    """Return the message to show while machine code is compiled."""
    try:
        _folder_of(DYNAMICS)
    except CacheError as error:
        return f'compiling, at every start: {error}. Name another place by {cache_variable()}'
    return 'compiling, once after an installation: ten seconds to a minute'


def compiled_callees(function: Any) -> list[Any]:
    """Return a compiled function and all compiled functions that it calls."""
    functions, pending = [], [function]
    while pending:
        current = pending.pop()
        if current not in functions:
            functions.append(current)
            names = current.py_func.__globals__
            pending += [names[name] for name in current.py_func.__code__.co_names
                        if hasattr(names.get(name), 'py_func')]
    return functions


def is_cached(function: Any) -> bool:
    """Whether machine code of a compiled function is on disk."""
    return isinstance(function._cache, _PackageCache) and function._cache.exists()


@contextlib.contextmanager
def lock_of_second_process() -> Iterator[IO[str] | None]:
    """
    Yield a file that stays locked while this process, or one that inherits it, has it open.

    None: another process holds the lock, or there is no cache to share the work through.
    """
    folder = _cache_folder(DYNAMICS)
    if folder is None or sys.platform == 'win32':
        yield None
        return
    with open(folder / 'second_process.lock', 'a') as file:
        yield file if _is_locked(file) else None


def compile_part(function: Any, *arguments: Any) -> None:
    """Compile a function for compiled callers only, for the types of these arguments."""
    with _nested_compilation():
        compile_for(function, *arguments)


_nesting_depth = 0  # functions being compiled at present, each called by the previous one


@contextlib.contextmanager
def _nested_compilation() -> Iterator[None]:
    global _nesting_depth
    with global_compiler_lock:
        _nesting_depth += 1
        try:
            yield
        finally:
            _nesting_depth -= 1


def _compile_once(dispatcher, compile_, signature):
    """
    Compile a function, or wait until another process has compiled it, and load it.

    A function that only compiled code calls gets no Python wrapper, which saves 10 % of the time.
    If Python ever calls it, it is compiled again with a wrapper.

    Locks of callees are taken inside those of their callers, and there is no recursion, so
    processes do not deadlock; they share the work if they begin with different functions. Waiting
    ends after a timeout.
    """
    types = tuple(normalize_signature(signature)[0])
    overload = dispatcher.overloads.get(types)
    if overload is not None and not _nesting_depth:
        # a handler that raises inside llvmlite, or right after Numba's lock is taken, would leave
        # the lock taken, and block other threads for ever
        with deferred_signals():
            if has_python_wrapper(overload):
                return overload.entry_point
    # lock threads before processes
    with global_compiler_lock, contextlib.ExitStack() as stack:
        overload = dispatcher.overloads.get(types)
        if overload is not None:
            if _nesting_depth or has_python_wrapper(overload):
                return overload.entry_point
            del dispatcher.overloads[types]
        entry = _load(dispatcher, types)
        if entry is not None:
            return entry
        if isinstance(dispatcher._cache, _PackageCache):
            try:
                stack.enter_context(dispatcher._cache.exclusive())
            except OSError as error:        # includes TimeoutError
                if was_raised_by_handler(error):
                    raise
        dispatcher.targetoptions['no_cpython_wrapper'] = _nesting_depth > 0
        with deferred_signals():
            import flex_robot_sim.jit.typing_rules  # noqa: F401      (registers them)
            with _nested_compilation(), collected_seldom(), _vectorization(
                    dispatcher.is_vectorized):
                entry = compile_(signature)
            if isinstance(dispatcher._cache, _PackageCache):
                export_symbols(dispatcher)
        return entry


def _load(dispatcher, types):
    """Return the entry point of code on disk for these argument types, or None."""
    cache = dispatcher._cache
    if not isinstance(cache, _PackageCache):
        return None
    with deferred_signals(), _nested_compilation(), collected_seldom():
        result = cache.load_overload(types, dispatcher.targetctx)
        if result is None:
            return None
        dispatcher._cache_hits[types] += 1
        dispatcher.targetctx.insert_user_function(result.entry_point, result.fndesc,
                                                  [result.library])
        dispatcher.add_overload(result)
        export_symbols(dispatcher)
        return result.entry_point


def _compile_for_call(dispatcher, compile_for_args, *arguments, **named):
    """Return the entry point for a call from Python with arguments of new types."""
    return _with_marked_first_call(dispatcher, compile_for_args(*arguments, **named))


def _with_marked_first_call(dispatcher, entry):
    """Return an entry point; the first call of loaded code is marked by a file."""
    cache = dispatcher._cache
    if not isinstance(cache, _PackageCache) or not cache.is_untested:
        return entry

    def call(*arguments, **named):
        if not cache.is_untested:
            return entry(*arguments, **named)
        with marked_call(cache.folder.parent, _loaded_folders):
            result = entry(*arguments, **named)
        cache.is_untested = False
        return result
    return call


_loaded_folders: set[str] = set()   # names of cache folders


@contextlib.contextmanager
def _vectorization(is_on):
    """Switch LLVM's loop vectorisation on or off."""
    previous = config.LOOP_VECTORIZE
    config.LOOP_VECTORIZE = int(is_on)
    try:
        yield
    finally:
        config.LOOP_VECTORIZE = previous


@functools.cache
def _room_of(file):
    """Folder of a source file; one for all CORE_ROOMS, whose machine code is in one folder."""
    room = Path(file).resolve().parent
    return DYNAMICS if room in CORE_ROOMS else room


def _type_of(type_of, value):
    """Numba's type of an argument; for an array, plain Numba would import `numpy.ma`."""
    if type(value) is np.ndarray and value.flags.carray and value.dtype.kind in 'fiu':
        return numba.types.Array(numba.from_dtype(value.dtype), value.ndim, 'C')
    return type_of(value)


def _add_overload(dispatcher, add, result):
    """Register a compiled overload; for Python callers only if it has a Python wrapper."""
    if has_python_wrapper(result):
        add(result)
    else:
        dispatcher.overloads[tuple(result.signature.args)] = result


class _PackageCache(FunctionCache):
    """
    Numba's cache, safe with several processes, and without errors if it is not usable.

    Numba separates code by path and modification time. Here the folder is named after the content
    of the sources, so that all installations with equal sources share it.
    """

    _impl_class = LinkedResults

    def __init__(self, function, folder, allocates):
        # what Numba's does, but nothing yet: half of the functions are never used
        self._name, self._py_func = repr(function), function
        self._allocates, self.folder = allocates, folder
        self._cache_path = str(folder / PACKAGE.name)
        self.is_untested = False         # code was loaded, but no call has returned yet
        self.enable()

    @functools.cached_property
    def _impl(self):
        return self._impl_class(self._py_func)

    @functools.cached_property
    def _cache_file(self):
        return CheckedFiles(self._cache_path, self._impl.filename_base, None)

    def _index_key(self, types, codegen):
        # the folder is named after the sources
        return types, _processor(codegen)

    def exists(self):
        return (Path(self._cache_path) / f'{self._impl.filename_base}.nbi').exists()

    def load_overload(self, *args):
        # Numba initialises its compiler before it loads code, a third of the start time; only code
        # that allocates arrays needs it; otherwise initialise it when something is compiled
        load = super().load_overload if self._allocates else self._load_overload
        try:
            result = load(*args)
            if result is None or _nesting_depth <= 1 and not has_python_wrapper(result):
                return None
            _loaded_folders.add(self.folder.name)
            self.is_untested = True
            return result
        except Exception as error:      # a damaged file only causes recompilation
            if was_raised_by_handler(error):  # the file is intact
                raise
            with contextlib.suppress(OSError), self._lock():
                self.flush()
            return None

    def save_overload(self, *args):
        with contextlib.suppress(OSError), self._lock():
            super().save_overload(*args)

    @contextlib.contextmanager
    def _lock(self):
        """Exclude other processes: Numba reads, extends and writes an index in this context."""
        with self._open('lock') as file:
            if sys.platform != 'win32':
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def exclusive(self):
        """Keep other processes from compiling this function; the kernel releases stale locks."""
        with self._open(f'{self._impl.filename_base}.lock') as file:
            deadline = time.monotonic() + COMPILE_WAIT_TIMEOUT_S
            while not _is_locked(file) and time.monotonic() < deadline:
                deliver_signals()
                time.sleep(0.01)
            yield

    def _open(self, name):
        folder = Path(self.cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        return open(folder / name, 'a')


@functools.cache
def _processor(codegen):
    """Name and features of the processor; Numba asks LLVM for them each time."""
    return codegen.magic_tuple()


def _is_locked(file):
    """Try to lock a file; return whether this process holds the lock."""
    if sys.platform == 'win32':
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@functools.cache
def _cache_folder(room):
    """Writable folder for the present sources; None if it cannot be used."""
    try:
        return None if config.DISABLE_JIT else _folder_of(room)
    except CacheError:
        return None


def _folder_of(room):
    settings = sorted(item for item in os.environ.items()
                      if item[0].startswith('NUMBA_') and item[0] not in IRRELEVANT_VARIABLES)
    return folder_of(room, numba.__version__, settings, sorted(NUMBA_OPTIONS.items()))
