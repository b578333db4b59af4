"""
Where machine code is kept: in a folder of this user that nobody else may write to.

To load machine code is to run it, so where such a folder cannot be had, nothing is kept and
nothing loaded. It is named after a hash of all sources that the code may come from: an edit starts
an empty one, and folders that nobody has used for long are removed.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np

CORE = Path(__file__).resolve().parent
PACKAGE = CORE.parent
SHARED = (CORE, PACKAGE / 'analysis')       # what any compiled function may call
FOLDERS_KEPT = 24


def folder_of(room: Path, *settings: Any) -> Path | None:
    """
    Return the folder for code of the modules in `room`, ready to write to, if there can be one.

    :param settings: what the code depends on beside sources, Python and numpy.
    """
    try:
        root = _private_folder(cache_root())
        folder = root / fingerprint(room, *settings)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)        # the time of last use
        if is_new:
            prune(root)
    except OSError:
        return None
    return folder


def cache_root() -> Path:
    """Where all folders of this package lie: in the user's cache, as other programs do it."""
    if os.environ.get('NUMBA_CACHE_DIR'):
        return Path(os.environ['NUMBA_CACHE_DIR']) / PACKAGE.name
    home = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(home) / PACKAGE.name


def sources_of(room: Path) -> list[Path]:
    """Return the files from which the machine code of a folder's functions may come."""
    rooms = [CORE] if room == CORE else sorted({*SHARED, room})
    return [path for folder in rooms for path in sorted(folder.glob('*.py'))]


def fingerprint(room: Path, *settings: Any) -> str:
    """Hash of the sources in a folder, and of all else that the machine code depends on."""
    digest = hashlib.sha256(repr((sys.version, np.__version__, settings)).encode())
    for path in sources_of(room):
        source = path.read_bytes()
        digest.update(f'{path.relative_to(PACKAGE).as_posix()} {len(source)}\n'.encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def _private_folder(root):
    """Make a folder for this user alone; return where it really is, or raise OSError."""
    root.parent.mkdir(parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
    root = root.resolve()
    if not hasattr(os, 'getuid'):       # Windows, where a profile is private
        return root
    if root.stat().st_uid != os.getuid():
        raise PermissionError(f'{root} belongs to another user')
    for path in root.parents:
        if _lets_others_write(path.stat()):
            raise PermissionError(f'others may replace folders in {path}')
    if root.stat().st_mode & 0o022:
        root.chmod(0o700)
        for path in root.iterdir():     # nobody knows who has put it there
            _remove(path)
    return root


def _lets_others_write(status):
    """Whether others may replace what is ours in a folder; the group of a user is the user."""
    mode = status.st_mode
    is_open = mode & 0o002 or mode & 0o020 and status.st_gid != os.getgid()
    return bool(is_open) and not mode & stat.S_ISVTX


def prune(root: Path) -> None:
    """
    Remove all but the folders used last.

    A process that still works with a removed one only compiles again what it misses.
    """
    folders = [path for path in root.iterdir() if path.is_dir()]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in folders[FOLDERS_KEPT:]:
        with contextlib.suppress(OSError):
            _remove(path)


def _remove(path):
    """Remove a folder or a file, in one step for those who look on."""
    rubbish = path.with_name(f'removed-{uuid.uuid4().hex}')
    path.rename(rubbish)        # nobody sees a folder that is half empty
    if rubbish.is_dir() and not rubbish.is_symlink():
        shutil.rmtree(rubbish)
    else:
        rubbish.unlink()
