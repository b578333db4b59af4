"""
Numba's dispatcher of one function, tuned by its private interfaces.

It treats indices as unsigned, loads code of other processes, links callees by symbol, and defers
signals. Numba is initialised only when something is compiled.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import binding
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature

from flex_robot_sim.jit import table_types
from flex_robot_sim.jit.call_marker import marked_call
from flex_robot_sim.jit.deferred_signals import deferred_signals, was_raised_by_handler
from flex_robot_sim.jit.function_cache import PackageCache, loaded_folders
from flex_robot_sim.jit.linking import export_symbols, has_python_wrapper
from flex_robot_sim.jit.pipeline import UnsignedIndexPipeline

# the interned name of the attribute, known to the linker, for a fast look-up
_SYMBOL = f'{__name__}.ADDRESS'
binding.add_symbol(_SYMBOL, id(table_types.ADDRESS))


def _find_address(table, c):
    return c.pyapi.object_getattr(table, c.pyapi.get_c_object(_SYMBOL))


table_types.find_address = _find_address


def make_dispatcher(
    function: Any, folder: Path | None, options: dict[str, Any], allocates: bool
) -> Any:
    """
    Return a function that compiles at its first call; see `compiled.compiled`.

    :param folder: of the machine code; None: it is not cached.
    """
    options = {**options, '_nrt': allocates}
    if not allocates:
        options['pipeline_class'] = UnsignedIndexPipeline
    # Numba computes the signature twice, which takes longer than the remainder of this function
    function.__signature__ = inspect.signature(function)
    result: Any = numba.njit(**options)(function)
    if folder is not None:
        result._cache = PackageCache(function, folder, allocates)
    result.compile = functools.partial(_compile_once, result, result.compile)
    result.add_overload = functools.partial(_add_overload, result, result.add_overload)
    result.typeof_pyval = functools.partial(_type_of, result.typeof_pyval)
    result._compile_for_args = functools.partial(
        _compile_for_call, result, result._compile_for_args
    )
    return result


def entry_point(dispatcher: Any, types: tuple[Any, ...]) -> Callable:
    """Return the entry point for Python of a function compiled for some types."""
    return _with_marked_first_call(dispatcher, dispatcher.overloads[types].entry_point)


def compile_part(dispatcher: Any, *arguments: Any) -> None:
    """Compile a function for compiled callers only, for the types of these arguments."""
    with _nested_compilation():
        dispatcher.compile(tuple(map(dispatcher.typeof_pyval, arguments)))


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
            with _nested_compilation():
                entry = compile_(signature)
            if is_cacheable:
                export_symbols(dispatcher)
        return entry


def _load(dispatcher, types):
    """Return the entry point of code on disk for these argument types, or None."""
    with deferred_signals(), _nested_compilation():
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
