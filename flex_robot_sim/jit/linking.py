"""
Compiled functions that others call and do not contain.

Numba makes a callee part of each caller, and that of each caller of it, and optimises all copies
again. A function that takes a whole arm (a Handle) is no leaf of a loop, so a call costs nothing
beside its work: it is compiled once, by itself, and callers know it by the name of a symbol. What
a caller needs is kept with its machine code, and loaded before it.
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
    """Which function stands behind a symbol, for arguments of which types."""

    module: str
    name: str
    types: tuple[Any, ...]


_known: dict[str, _Symbol] = {}
# answers of is_for_python
_for_python: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
_standing: dict[str, Any] = {}      # symbol -> result for which it was made known


def is_for_python(result: Any) -> bool:
    """Whether what was compiled can be called from Python, and not by compiled code alone."""
    is_known = _for_python.get(result.library)
    if is_known is None:
        is_known = _for_python[result.library] = result.library.get_pointer_to_function(
            result.fndesc.llvm_cpython_wrapper_name) != 0
    return is_known


def stand_alone(dispatcher: Any) -> None:
    """Let later callers of a compiled function call the machine code that it has."""
    function = dispatcher.py_func
    if '<locals>' in function.__qualname__:
        return
    for types, result in dispatcher.overloads.items():
        symbol = _Symbol(function.__module__, function.__qualname__, types)
        digest = hashlib.sha256(repr(symbol).encode()).hexdigest()[:16]
        name = f'{function.__module__}.{function.__qualname__}.{digest}'
        if _standing.get(name) is result or not _stands_alone(result):
            continue
        if name not in _known:
            binding.add_symbol(name, result.library.get_pointer_to_function(
                result.fndesc.llvm_func_name))
        _known[name], _standing[name] = symbol, result
        description = copy.copy(result.fndesc)
        description.mangled_name = name
        result.target_context.insert_user_function(result.entry_point, description, [])


def _stands_alone(result):
    """Whether callers know what was compiled by its symbol, and need nothing else of it."""
    return not result.fndesc.inline and any(
        isinstance(type_, Handle) for type_ in result.signature.args)


def _without_bitcode(result, code):
    """Leave but names of what could become part of callers: all of it takes longest to load."""
    names = [result.fndesc.llvm_func_name]
    if is_for_python(result):
        names.append(result.fndesc.llvm_cpython_wrapper_name)
    named = '\n'.join(f'define void @"{name}"() {{ unreachable }}' for name in names)
    (name, kind, (machine_code, _)), *others = code
    return (name, kind, (machine_code, binding.parse_assembly(named).as_bitcode())), *others


class LinkedResults(CompileResultCacheImpl):
    """Machine code on disk, with the names of what it calls."""

    def reduce(self, result: Any) -> Any:
        """Return what is written to disk."""
        module = result.library._final_module
        called = [_known[function.name] for function in module.functions
                  if function.is_declaration and function.name in _known]
        # half of what would be written is the source, with types at each line
        code = super().reduce(result._replace(type_annotation=''))
        if _stands_alone(result):
            code = _without_bitcode(result, code)
        return called, code

    def rebuild(self, context: Any, payload: Any) -> Any:
        """Return what was read, after what it calls."""
        called, code = payload
        for symbol in called:
            dispatcher = getattr(importlib.import_module(symbol.module), symbol.name)
            dispatcher.compile(symbol.types)
        return super().rebuild(context, code)
