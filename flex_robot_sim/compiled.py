"""
`@compiled`: the only door to Numba.

Machine code is kept on disk between runs. Numba alone would keep running old machine code after an
edit in another file, because callees are inlined and only the caller's file is watched. So the
folder is named after a hash of all modules that lie directly in the package, where all machine
code comes from: an edit in any of them starts an empty one, and code that nobody has used for long
is removed. Modules in folders of the package (beams, nodes and the like) are left out, so that
work on them does not wait for the compiler.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
import uuid
from pathlib import Path

import numba
import numpy as np
from numba.core.caching import FunctionCache

try:
    import fcntl
except ImportError:     # Windows
    fcntl = None

PACKAGE = Path(__file__).resolve().parent
FOLDERS_KEPT = 8
LONGEST = 'integrators.advance'     # what takes longest to compile, with all that it calls
OPTIONS = {
    'no_cfunc_wrapper': True,   # nobody calls these from C, and it takes a twentieth of the time
    'nogil': True,              # ROS callbacks and the viewer run beside a step
    'error_model': 'numpy',     # 1 / 0 is inf, as in numpy; no hidden branch and no exception
    'fastmath': False,          # tests for nan hold, and exact zeros stay zero; it gained 3 %
}


def compiled(function=None, *, allocates=False, inline='never'):
    """
    Compile a function to machine code at its first call; release the GIL while it runs.

    With NUMBA_DISABLE_JIT=1 it stays plain Python, for debugging and coverage. Functions of other
    packages, and of folders in this one, are compiled too, but not kept on disk: what they depend
    on is not watched.

    :param allocates: whether it may make arrays. Without that right, numba refuses to compile
        `np.empty`, `a + b` of arrays and the like, and views cost a fifth less time, because
        nobody counts references.
    """
    if function is None:
        return functools.partial(compiled, allocates=allocates, inline=inline)
    result = numba.njit(_nrt=allocates, inline=inline, **OPTIONS)(function)
    is_watched = PACKAGE == Path(function.__code__.co_filename).resolve().parent
    if CACHE_FOLDER is not None and is_watched and result is not function:
        with _cache_directory(CACHE_FOLDER):
            result._cache = _PackageCache(function)
    return result


def inlined(function):
    """
    Compile a function as a part of its callers: for one that takes a whole arm and is called once.

    A call that passes the hundred arrays of an arm and its workspace costs a third of a
    microsecond to run and a second to compile.
    """
    return compiled(function, inline='always')


def must_compile():
    """Whether the machine code that takes half a minute is not kept yet; little parts may be."""
    return not numba.config.DISABLE_JIT and not (
        CACHE_FOLDER and any(CACHE_FOLDER.rglob(f'{LONGEST}-*.nbi')))


class _PackageCache(FunctionCache):
    """Numba's cache, safe when two processes fill it at once, and never a reason to fail."""

    def load_overload(self, *args):
        try:
            return super().load_overload(*args)
        except Exception:       # a damaged file only costs the time to compile
            with contextlib.suppress(OSError), self._lock():
                self.flush()
            return None

    def save_overload(self, *args):
        with contextlib.suppress(OSError), self._lock():
            super().save_overload(*args)

    @contextlib.contextmanager
    def _lock(self):
        """Keep other processes out: numba reads, extends and writes an index here."""
        folder = Path(self.cache_path).parent
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / 'lock', 'w') as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield


@contextlib.contextmanager
def _cache_directory(folder):
    """Let numba place a cache in `folder`; other packages keep the setting they had."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _fingerprint(package):
    """Hash of all that the machine code depends on, beside what numba itself checks."""
    settings = sorted(item for item in os.environ.items()
                      if item[0].startswith('NUMBA_') and item[0] != 'NUMBA_CACHE_DIR')
    versions = sys.version, numba.__version__, np.__version__
    digest = hashlib.sha256(repr((versions, settings, sorted(OPTIONS.items()))).encode())
    for path in sorted(package.glob('*.py')):
        source = path.read_bytes()
        digest.update(f'{path.name} {len(source)}\n'.encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def _cache_root():
    """Where all folders of this package lie: in the user's cache, as other programs do it."""
    if os.environ.get('NUMBA_CACHE_DIR'):
        return Path(os.environ['NUMBA_CACHE_DIR']) / PACKAGE.name
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(home) / PACKAGE.name


def _open_cache(root, package):
    """Folder for the present sources, ready to write to; None where there can be none."""
    try:
        folder = root.absolute() / _fingerprint(package)
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)        # the time of last use
        if is_new:
            _prune(root)
    except OSError:
        return None
    return folder


def _prune(root):
    """
    Remove all but the folders used last.

    A process that still works with a removed one only compiles again what it misses.
    """
    folders = [path for path in root.iterdir() if path.is_dir()]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in folders[FOLDERS_KEPT:]:
        rubbish = path.with_name(f'removed-{uuid.uuid4().hex}')
        with contextlib.suppress(OSError):
            path.rename(rubbish)        # nobody sees a folder that is half empty
            shutil.rmtree(rubbish)


CACHE_FOLDER = None if numba.config.DISABLE_JIT else _open_cache(_cache_root(), PACKAGE)
