"""
Linking of compiled functions by symbol, instead of inlining.

Numba inlines a callee in each caller, and optimises every copy again. A function that takes a
whole arm (a Handle) is never a small inner loop, so the cost of a call is negligible: it is
compiled once, separately, and callers refer to a symbol. The cache stores the symbols that a
caller needs with its machine code, and loads them first.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import weakref
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl

from flex_robot_sim.jit.array_table import Handle


class _Symbol(NamedTuple):
    """Function and argument types that a symbol refers to."""

    module: str
    name: str
    types: tuple[Any, ...]


_symbols: dict[str, _Symbol] = {}
# cached results of has_python_wrapper
_python_wrapper_flags: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
_exported: dict[str, Any] = {}  # symbol -> result that it was registered for


def has_python_wrapper(result: Any) -> bool:
    """Whether a compile result can be called from Python, not only from compiled code."""
    flag = _python_wrapper_flags.get(result.library)
    if flag is None:
        flag = _python_wrapper_flags[result.library] = (
            result.library.get_pointer_to_function(result.fndesc.llvm_cpython_wrapper_name) != 0
        )
    return flag


def export_symbols(dispatcher: Any) -> None:
    """Register symbols of a compiled function, so that later callers link to its machine code."""
    function = dispatcher.py_func
    if '<locals>' in function.__qualname__:
        return
    for types, result in dispatcher.overloads.items():
        symbol = _Symbol(function.__module__, function.__qualname__, types)
        digest = hashlib.sha256(repr(symbol).encode()).hexdigest()[:16]
        name = f'{function.__module__}.{function.__qualname__}.{digest}'
        if _exported.get(name) is result or not _is_linked(result):
            continue
        if name not in _symbols:
            binding.add_symbol(
                name, result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
            )
        _symbols[name], _exported[name] = symbol, result
        description = copy.copy(result.fndesc)
        description.mangled_name = name
        result.target_context.insert_user_function(result.entry_point, description, [])


def _is_linked(result):
    """Whether callers link to a compile result by its symbol."""
    return not result.fndesc.inline and any(
        isinstance(type_, Handle) for type_ in result.signature.args
    )


def _without_bitcode(result, code):
    """Reduce bitcode, which only inlining needs and which is slow to load, to names."""
    names = [result.fndesc.llvm_func_name]
    if has_python_wrapper(result):
        names.append(result.fndesc.llvm_cpython_wrapper_name)
    named = '\n'.join(f'define void @"{name}"() {{ unreachable }}' for name in names)
    (name, kind, (machine_code, _)), *others = code
    return (name, kind, (machine_code, binding.parse_assembly(named).as_bitcode())), *others


class _Locator:
    """Numba's interface to a folder of cached code; the folder itself is that of the cache."""

    def __init__(self, function: Any, _file: str) -> None:
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        """Return the locator for a function in a source file."""
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        """Do nothing: the folder exists."""

    def get_disambiguator(self) -> str:
        """Return the part of a file name that separates functions of one name."""
        return str(self._line)


class LinkedResults(CompileResultCacheImpl):
    """Machine code on disk, with the symbols that it calls."""

    _locator_classes = [_Locator]

    def reduce(self, result: Any) -> Any:
        """Return what is written to disk."""
        module = result.library._final_module
        callees = [
            _symbols[function.name]
            for function in module.functions
            if function.is_declaration and function.name in _symbols
        ]
        # the source with types at each line would be half of the file
        code = super().reduce(result._replace(type_annotation=''))
        if _is_linked(result):
            code = _without_bitcode(result, code)
        return callees, code

    def rebuild(self, context: Any, payload: Any) -> Any:
        """Return what was read, after loading its callees."""
        callees, code = payload
        for symbol in callees:
            dispatcher = getattr(importlib.import_module(symbol.module), symbol.name)
            dispatcher.compile(symbol.types)
        return super().rebuild(context, code)
