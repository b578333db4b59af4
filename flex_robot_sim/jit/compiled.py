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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numba

from flex_robot_sim.jit.cache import (
    CORE_ROOMS,
    DYNAMICS,
    PACKAGE,
    CacheError,
    cache_variable,
    folder_of,
    is_locked,
)
from flex_robot_sim.jit.numba_support import USES_PLAIN_NUMBA

if not USES_PLAIN_NUMBA:
    from flex_robot_sim.jit.tuned_dispatcher import entry_point, make_dispatcher

config: Any = numba.config  # attributes come from the environment; static tools do not find them

SLOWEST_FUNCTION = 'integrators.advance_checked'  # compiled last, after its callees
# Numba's settings that do not change the code: workers of a sweep share the cache
IRRELEVANT_VARIABLES = ('NUMBA_CACHE_DIR', 'NUMBA_NUM_THREADS')
NUMBA_OPTIONS: dict[str, Any] = {
    'nogil': True,  # ROS callbacks and the viewer run in parallel to a step
    'error_model': 'numpy',  # 1 / 0 is inf, as in numpy, without a branch or an exception
    'fastmath': False,  # keeps tests for nan and exact zeros; True would gain 3 %
}


def compiled(
    function: Callable | None = None, *, allocates: bool = False, inline: bool = False
) -> Any:
    """
    Compile a function to machine code at its first call; release the GIL while it runs.

    With NUMBA_DISABLE_JIT=1 it stays plain Python, for debugging and coverage. Functions of other
    packages are compiled, but not cached on disk, because their dependencies are not watched.

    :param allocates: whether it may allocate arrays. If not, Numba refuses to compile `np.empty`,
        `a + b` of arrays and the like, and views take 20 % less time without reference counting.
    :param inline: whether it is inlined in each caller, with more known about its arguments.
    """
    if function is None:
        return functools.partial(compiled, allocates=allocates, inline=inline)
    if config.DISABLE_JIT:
        return function
    room = _room_of(function.__code__.co_filename)
    folder = _cache_folder(room) if PACKAGE in room.parents else None
    if USES_PLAIN_NUMBA:
        return _plain_dispatcher(function, folder)
    options = {**NUMBA_OPTIONS, 'forceinline': inline}
    return make_dispatcher(function, folder, options, allocates)


def _plain_dispatcher(function, folder):
    """Return a function compiled by documented interfaces of Numba, with Numba's own cache."""
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(folder or '')  # read by the decorator
    try:
        return numba.njit(cache=folder is not None, **NUMBA_OPTIONS)(function)
    finally:
        config.CACHE_DIR = previous


def bind(function: Any, *arguments: Any) -> Callable:
    """
    Return an entry point of a compiled function for exactly the types of these arguments.

    A call takes a tenth of the time of an ordinary one, because it skips the dispatch by type.
    """
    if config.DISABLE_JIT or USES_PLAIN_NUMBA:
        return function
    return entry_point(function, compile_for(function, *arguments))


def call_with_tables(function: Any, *arguments: Any) -> Any:
    """
    Call a compiled function whose first and last arguments are tables, as `bind` does.

    The other arguments always have the same types.
    """
    if USES_PLAIN_NUMBA:
        return function(*arguments)
    key = function, id(arguments[0]._numba_type_), id(arguments[-1]._numba_type_)
    if key not in _bound_functions:  # types are never released, so ids stay valid
        _bound_functions[key] = bind(function, *arguments)
    return _bound_functions[key](*arguments)


_bound_functions: dict[tuple[Any, int, int], Callable] = {}


def compile_for(function: Any, *arguments: Any) -> tuple[Any, ...]:
    """Compile a function for the types of these arguments; return the types."""
    types = tuple(map(numba.typeof if USES_PLAIN_NUMBA else function.typeof_pyval, arguments))
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
    folder = _cache_folder(_room_of(function.py_func.__code__.co_filename))
    name = f'{function.__module__.rpartition(".")[2]}.{function.__qualname__}'
    return folder is not None and any(folder.rglob(f'{name}-*.nbi'))


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


@functools.cache
def _room_of(file):
    """Folder of a source file; one for all CORE_ROOMS, whose machine code is in one folder."""
    room = Path(file).resolve().parent
    return DYNAMICS if room in CORE_ROOMS else room


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
    return folder_of(
        room, numba.__version__, settings, USES_PLAIN_NUMBA, sorted(NUMBA_OPTIONS.items())
    )
