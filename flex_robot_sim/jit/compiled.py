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
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

try:
    import numba
except ImportError as error:
    from flex_robot_sim.util.exceptions import SettingError

    raise SettingError(
        'numba, which compiles the equations of motion, is not installed. Install '
        f'it by {sys.executable} -m pip install numba'
    ) from error
import numpy as np
from numba.core import config as numba_config
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
from flex_robot_sim.jit.deferred_signals import deferred_signals, was_raised_by_handler
from flex_robot_sim.jit.function_cache import PackageCache, is_locked, loaded_folders
from flex_robot_sim.jit.linking import export_symbols, has_python_wrapper
from flex_robot_sim.jit.pipeline import ShortPipeline
from flex_robot_sim.util.garbage import collected_seldom

config: Any = numba_config  # attributes come from the environment; static tools do not see them

SLOWEST_FUNCTION = 'integrators.advance'  # slowest to compile, with its callees
# Numba's settings that do not change the code: workers of a sweep share the cache
IRRELEVANT_VARIABLES = ('NUMBA_CACHE_DIR', 'NUMBA_NUM_THREADS')
NUMBA_OPTIONS: dict[str, Any] = {
    'no_cfunc_wrapper': True,  # not called from C; saves 5 % of the compile time
    'nogil': True,  # ROS callbacks and the viewer run in parallel to a step
    'error_model': 'numpy',  # 1 / 0 is inf, as in numpy, without a branch or an exception
    'fastmath': False,  # keeps tests for nan and exact zeros; True would gain 3 %
}


def compiled(
    function: Callable | None = None,
    *,
    allocates: bool = False,
    inline: bool = False,
    vectorized: bool = False,
) -> Any:
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
        return functools.partial(
            compiled, allocates=allocates, inline=inline, vectorized=vectorized
        )
    options: Any = {**NUMBA_OPTIONS, '_nrt': allocates, 'forceinline': inline}
    if not allocates:
        options['pipeline_class'] = ShortPipeline
    # Numba asks twice for the signature, which takes longer than the remainder of this function
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    result: Any = numba.njit(**options)(function)
    room = _room_of(function.__code__.co_filename)
    folder = _cache_folder(room) if PACKAGE in room.parents and result is not function else None
    if folder is not None:
        result._cache = PackageCache(function, folder, allocates)
    if result is not function:
        result.is_vectorized = vectorized
        result.compile = functools.partial(_compile_once, result, result.compile)
        result.add_overload = functools.partial(_add_overload, result, result.add_overload)
        result.typeof_pyval = functools.partial(_type_of, result.typeof_pyval)
        result._compile_for_args = functools.partial(
            _compile_for_call, result, result._compile_for_args
        )
    return result


def bind(function: Any, *arguments: Any) -> Callable:
    """
    Return an entry point of a compiled function for exactly the types of these arguments.

    A call takes a tenth of the time of an ordinary one, because it skips the dispatch by type.
    """
    if config.DISABLE_JIT:
        return function
    return _with_marked_first_call(
        function, function.overloads[compile_for(function, *arguments)].entry_point
    )


def call_with_tables(function: Any, *arguments: Any) -> Any:
    """
    Call a compiled function whose first and last arguments are tables, as `bind` does.

    The other arguments always have the same types.
    """
    key = function, id(arguments[0]._numba_type_), id(arguments[-1]._numba_type_)
    if key not in _bound_functions:  # types are never released, so ids stay valid
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
        folder and any(folder.rglob(f'{SLOWEST_FUNCTION}-*.nbi'))
    )


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
            pending += [
                names[name]
                for name in current.py_func.__code__.co_names
                if hasattr(names.get(name), 'py_func')
            ]
    return functions


def is_cached(function: Any) -> bool:
    """Whether machine code of a compiled function is on disk."""
    return isinstance(function._cache, PackageCache) and function._cache.exists()


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
        yield file if is_locked(file) else None


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
        is_cacheable = isinstance(dispatcher._cache, PackageCache)
        if is_cacheable:
            dispatcher._cache.needs_python_wrapper = not _nesting_depth
            entry = _load(dispatcher, types)
            if entry is not None:
                return entry
            try:
                stack.enter_context(dispatcher._cache.exclusive())
            except OSError as error:  # includes TimeoutError
                if was_raised_by_handler(error):
                    raise
        dispatcher.targetoptions['no_cpython_wrapper'] = _nesting_depth > 0
        with deferred_signals():
            import flex_robot_sim.jit.typing_rules  # noqa: F401      (registers them)

            with (
                _nested_compilation(),
                collected_seldom(),
                _vectorization(dispatcher.is_vectorized),
            ):
                entry = compile_(signature)
            if is_cacheable:
                export_symbols(dispatcher)
        return entry


def _load(dispatcher, types):
    """Return the entry point of code on disk for these argument types, or None."""
    with deferred_signals(), _nested_compilation(), collected_seldom():
        result = dispatcher._cache.load_overload(types, dispatcher.targetctx)
        if result is None:
            return None
        dispatcher._cache_hits[types] += 1
        dispatcher.targetctx.insert_user_function(
            result.entry_point, result.fndesc, [result.library]
        )
        dispatcher.add_overload(result)
        export_symbols(dispatcher)
        return result.entry_point


def _compile_for_call(dispatcher, compile_for_args, *arguments, **named):
    """Return the entry point for a call from Python with arguments of new types."""
    return _with_marked_first_call(dispatcher, compile_for_args(*arguments, **named))


def _with_marked_first_call(dispatcher, entry):
    """Return an entry point; the first call of loaded code is marked by a file."""
    cache = dispatcher._cache
    if not isinstance(cache, PackageCache) or not cache.is_untested:
        return entry

    def call(*arguments, **named):
        if not cache.is_untested:
            return entry(*arguments, **named)
        with marked_call(cache.folder.parent, loaded_folders):
            result = entry(*arguments, **named)
        cache.is_untested = False
        return result

    return call


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


@functools.cache
def _cache_folder(room):
    """Writable folder for the present sources; None if it cannot be used."""
    try:
        return None if config.DISABLE_JIT else _folder_of(room)
    except CacheError:
        return None


def _folder_of(room):
    settings = sorted(
        item
        for item in os.environ.items()
        if item[0].startswith('NUMBA_') and item[0] not in IRRELEVANT_VARIABLES
    )
    return folder_of(room, numba.__version__, settings, sorted(NUMBA_OPTIONS.items()))
