"""
Numba's cache for one function, in a folder that is named after the content of all sources.

Several processes may use it at the same time. If it is not usable, it is empty, without an error.
"""

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

from flex_robot_sim.jit.cache import PACKAGE, is_locked
from flex_robot_sim.jit.checked_files import CheckedFiles
from flex_robot_sim.jit.deferred_signals import deliver_signals, was_raised_by_handler
from flex_robot_sim.jit.linking import LinkedResults, has_python_wrapper

if sys.platform != 'win32':
    import fcntl

COMPILE_WAIT_TIMEOUT_S = 300.0  # for another process that compiles the same function

loaded_folders: set[str] = set()  # names of folders from which code was loaded


class PackageCache(FunctionCache):
    """
    Numba's cache, safe with several processes, and without errors if it is not usable.

    Numba separates code by path and modification time. Here the folder is named after the content
    of the sources, so that all installations with equal sources share it.
    """

    _impl_class = LinkedResults

    def __init__(self, function: Callable, folder: Path, allocates: bool) -> None:
        """Defer the constructor of Numba's cache: half of the functions are never used."""
        self._name, self._py_func = repr(function), function
        self._allocates, self.folder = allocates, folder
        self._cache_path = str(folder / PACKAGE.name)
        self.is_untested = False  # code was loaded, but no call has returned yet
        self.needs_python_wrapper = True  # of loaded code: Python calls the function
        self.enable()

    @functools.cached_property
    def _impl(self):
        return self._impl_class(self._py_func)

    @functools.cached_property
    def _cache_file(self):  # type: ignore[override]
        return CheckedFiles(self._cache_path, self._impl.filename_base, None)

    def _index_key(self, types, codegen):
        # the folder is named after the sources
        return types, _processor(codegen)

    def load_overload(self, *args: Any) -> Any:
        """Return the compile result for some types, or None."""
        # Numba initialises its compiler before it loads code, a third of the start time; only code
        # that allocates arrays needs it; otherwise initialise it when something is compiled
        load = super().load_overload if self._allocates else self._load_overload
        try:
            result = load(*args)
            if result is None or self.needs_python_wrapper and not has_python_wrapper(result):
                return None
            loaded_folders.add(self.folder.name)
            self.is_untested = True
            return result
        except Exception as error:  # a damaged file only causes recompilation
            if was_raised_by_handler(error):  # the file is intact
                raise
            with contextlib.suppress(OSError), self._lock():
                self.flush()
            return None

    def save_overload(self, *args: Any) -> None:
        """Write a compile result, if possible."""
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
    def exclusive(self) -> Iterator[None]:
        """Keep other processes from compiling this function; the kernel releases stale locks."""
        with self._open(f'{self._impl.filename_base}.lock') as file:
            deadline = time.monotonic() + COMPILE_WAIT_TIMEOUT_S
            while not is_locked(file) and time.monotonic() < deadline:
                deliver_signals()
                time.sleep(0.01)
            yield

    def _open(self, name):
        folder = Path(self.cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        return open(folder / name, 'a')


@functools.cache
def _processor(codegen):
    """Name and features of the processor; Numba queries LLVM for them each time."""
    return codegen.magic_tuple()
