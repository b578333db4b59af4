"""
Linking of compiled functions by symbol, instead of inlining.

Numba inlines a callee in each caller, and optimises every copy again. A function that takes the
table of a whole arm is never a small inner loop, so the cost of a call is negligible. It is
compiled once, separately, and callers refer to a symbol. The cache stores with each function the
object code of all symbols that it needs. At the start this code is loaded without Numba, which
would take ten times as long for each function.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl

from flex_robot_sim.jit.table_types import Handle


class _Symbol(NamedTuple):
    """Object code that defines a symbol, and the symbols that it calls."""

    function: str  # name of the symbol in the object code
    object_code: bytes
    callees: tuple[str, ...]


# by the name that callers use; None: the code is not cached, and so are its callers
symbols: dict[str, _Symbol | None] = {}
_object_codes: dict[str, _Symbol] = {}  # of functions compiled or loaded by Numba, by their names
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
        name = symbol_name(function, types)
        if _exported.get(name) is result or not _is_linked(result):
            continue
        address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
        _define(name, address, _object_codes.get(result.fndesc.llvm_func_name))
        _exported[name] = result
        description = copy.copy(result.fndesc)
        description.mangled_name = name
        result.target_context.insert_user_function(result.entry_point, description, [])


def symbol_name(function: Any, types: tuple[Any, ...]) -> str:
    """Return the symbol of a Python function that is compiled for some types."""
    digest = hashlib.sha256(repr(types).encode()).hexdigest()[:16]
    return f'{function.__module__}.{function.__qualname__}.{digest}'


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


def _define(name, address, symbol):
    """Make the linker resolve a name to an address, unless it is defined already."""
    if name not in symbols:
        binding.add_symbol(name, address)
        symbols[name] = symbol


def _load(loaded):
    """Load object code; symbols that it calls come before it."""
    for name, symbol in loaded:
        if name not in symbols:
            engine = _engine()
            engine.add_object_file(binding.ObjectFileRef.from_data(symbol.object_code))
            _define(name, engine.get_function_address(symbol.function), symbol)


@functools.cache
def _engine():
    """Return a separate linker: names in loaded code may be defined in that of Numba, too."""
    machine = binding.Target.from_default_triple().create_target_machine()
    return binding.create_mcjit_compiler(binding.parse_assembly(''), machine)


def _callees_of(result):
    """Names of the symbols that a compile result calls."""
    return tuple(
        function.name
        for function in result.library._final_module.functions
        if function.is_declaration and function.name in symbols
    )


def _with_callees(names: Iterable[str]) -> dict[str, _Symbol]:
    """Return symbols and all that they call, each after its callees."""
    found: dict[str, _Symbol] = {}
    for name in names:
        symbol = symbols[name]
        assert symbol is not None
        found.update(_with_callees(symbol.callees))
        found[name] = symbol
    return found


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
    """Machine code on disk, with that of the symbols that it calls."""

    _locator_classes = [_Locator]

    def check_cachable(self, result: Any) -> bool:
        """Whether the code of all callees is known."""
        return super().check_cachable(result) and all(map(symbols.get, _callees_of(result)))

    def reduce(self, result: Any) -> Any:
        """Return the state for the file."""
        callees = _callees_of(result)
        # the source with types at each line would be half of the file
        code = super().reduce(result._replace(type_annotation=''))
        function, object_code = result.fndesc.llvm_func_name, code[0][2][0]
        _object_codes[function] = _Symbol(function, object_code, callees)
        if _is_linked(result):
            code = _without_bitcode(result, code)
        called = [(name, tuple(one)) for name, one in _with_callees(callees).items()]
        return called, callees, code

    def rebuild(self, context: Any, payload: Any) -> Any:
        """Return the result from a file, after loading the code that it calls."""
        called, callees, code = payload
        _load((name, _Symbol(*one)) for name, one in called)
        result = super().rebuild(context, code)
        function = result.fndesc.llvm_func_name
        _object_codes[function] = _Symbol(function, code[0][2][0], callees)
        return result
