"""
The cache of machine code: a folder of this user that no other user can write to.

Loading machine code runs it. If no such folder is possible, nothing is cached or loaded. Code is
stored in a subfolder named after a hash of all sources that it may come from: an edit starts an
empty one, and subfolders that have not been used for long are removed.

    CACHEDIR.TAG        written by this module; a folder without it is left untouched
    0123456789abcdef/   machine code of one state of the sources
    call-...            a process calls loaded code for the first time: call_marker.py

This module deletes only files whose names match this layout, never follows a link, and leaves
files with foreign names alone.
"""

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from flex_robot_sim.jit.call_marker import MARKER, crashed_calls

if sys.platform != 'win32':
    import fcntl

PACKAGE = Path(__file__).resolve().parents[1]
DYNAMICS = PACKAGE / 'dynamics'
# rooms of the compiled equations of motion; their machine code shares one folder
CORE_ROOMS = (
    *(PACKAGE / 'jit', PACKAGE / 'spatial', PACKAGE / 'model'),
    *(DYNAMICS, DYNAMICS / 'constraints', DYNAMICS / 'contact', DYNAMICS / 'joint_laws'),
)
SHARED_ROOMS = (*CORE_ROOMS, PACKAGE / 'analysis')  # any compiled function may call these
MAX_FOLDERS = 24

TAG = 'CACHEDIR.TAG'  # https://bford.info/cachedir: backups exclude tagged folders
TAG_TEXT = (
    'Signature: 8a477f597d28d172789f06886806bc55\n'
    f'# Machine code of {PACKAGE.name}. This folder may be deleted.\n'
)
FOLDER_NAME = re.compile(r'[0-9a-f]{16}')
INNER_FOLDER_NAME = re.compile(rf'{PACKAGE.name}|\w+_[0-9a-f]{{40}}')  # ours, and Numba's
FILE_NAME = re.compile(r'[\w.-]+\.(nbi|nbc)(\.tmp\.[0-9a-f]{16})?|[\w.-]+\.lock|lock')


class CacheError(Exception):
    """Reason why machine code cannot be cached, in one line."""


def folder_of(room: Path, *settings: Any) -> Path:
    """
    Return the writable folder for code of the modules in `room`, or raise CacheError.

    :param settings: dependencies of the code in addition to sources, Python and numpy.
    """
    root = cache_root()
    try:
        root = _prepared_folder(root)
        folder = root / fingerprint(room, *settings)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # the time of last use
        if is_new:
            with contextlib.suppress(OSError):  # another process may remove the same folders
                prune(root)
    except OSError as error:
        raise CacheError(f'{root} cannot be written: {error.strerror}') from error
    return folder


def cache_root() -> Path:
    """Return the folder of all code of this package, in the user's cache folder."""
    home = os.environ.get(cache_variable()) or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(home) / f'{PACKAGE.name}_machine_code'


def cache_variable() -> str:
    """Return the environment variable that names the folder above the cache."""
    return 'NUMBA_CACHE_DIR' if os.environ.get('NUMBA_CACHE_DIR') else 'XDG_CACHE_HOME'


def sources_of(room: Path) -> list[Path]:
    """Return the source files that the machine code of a folder's functions may come from."""
    rooms = CORE_ROOMS if room in CORE_ROOMS else sorted({*SHARED_ROOMS, room})
    return [path for folder in rooms for path in sorted(folder.glob('*.py'))]


def fingerprint(room: Path, *settings: Any) -> str:
    """Hash of the sources in a folder, and of all other dependencies of the machine code."""
    digest = hashlib.sha256(repr((sys.version, np.__version__, settings)).encode())
    for path in sources_of(room):
        source = path.read_bytes()
        digest.update(f'{path.relative_to(PACKAGE).as_posix()} {len(source)}\n'.encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def prune(root: Path) -> None:
    """
    Remove all but the most recently used folders.

    A process that still uses a removed one only recompiles what is missing.
    """
    folders = [path for path in root.iterdir() if FOLDER_NAME.fullmatch(path.name)]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in folders[MAX_FOLDERS:]:
        remove_code(path)


def remove_code(folder: Path) -> None:
    """Remove files of machine code, and the folder if nothing else is in it."""
    with contextlib.suppress(OSError):
        for entry in [*os.scandir(folder)]:
            if entry.is_dir(follow_symlinks=False) and INNER_FOLDER_NAME.fullmatch(entry.name):
                _remove_files(entry.path)
        _remove_files(folder)


def _remove_files(folder):
    with contextlib.suppress(OSError):
        for entry in [*os.scandir(folder)]:
            if entry.is_file(follow_symlinks=False) and FILE_NAME.fullmatch(entry.name):
                os.unlink(entry.path)
        os.rmdir(folder)  # fails if anything is left


def _prepared_folder(root):
    """Return the resolved cache folder, created if needed; CacheError if it is not private."""
    root.parent.mkdir(parents=True, exist_ok=True)
    root = root.parent.resolve() / root.name
    if not os.path.lexists(root) or _is_empty_folder(root):
        _create(root)
    _expect_private(root)
    for folders in crashed_calls(root):
        for name in filter(FOLDER_NAME.fullmatch, folders):
            remove_code(root / name)
    return root


def _is_empty_folder(root):
    return stat.S_ISDIR(root.lstat().st_mode) and not any(root.iterdir())


def _create(root):
    """Create the folder with its tag atomically: other processes never see it without the tag."""
    draft = Path(tempfile.mkdtemp(prefix=f'{root.name}.', dir=root.parent))  # mode 0700
    try:
        (draft / TAG).write_text(TAG_TEXT, 'ascii')
        draft.rename(root)  # may replace an empty folder
    except OSError:
        (draft / TAG).unlink(missing_ok=True)
        draft.rmdir()
        if not root.is_dir():  # unless another process was faster
            raise


def _expect_private(root):
    """Raise CacheError if others may write, or if a link or the like has the name of an entry."""
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError(f'{root} is a link or a file, not a folder of machine code')
    if hasattr(os, 'getuid'):  # on Windows, a profile is private
        if status.st_uid != os.getuid():
            raise CacheError(f'{root} belongs to another user')
        for path in root.parents:
            if _lets_others_write(path.stat()):
                raise CacheError(f'other users can write to {path}')
        if status.st_mode & 0o022:
            raise CacheError(f'other users can write to {root}')
    if not _is_cache_tag(root / TAG):
        raise CacheError(f'{root} has no {TAG} of this program, so it is left untouched')
    misplaced = [entry.name for entry in os.scandir(root) if _is_misplaced(entry)]
    if misplaced:
        raise CacheError(f'{root} holds {min(misplaced)}, which this program did not write')


def _is_cache_tag(path):
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)  # neither a link nor a pipe
        return is_file and path.read_bytes() == TAG_TEXT.encode()
    except OSError:
        return False


def _is_misplaced(entry):
    """Whether an entry has a name of the layout above, but is a link or of another kind."""
    if FOLDER_NAME.fullmatch(entry.name):
        return not entry.is_dir(follow_symlinks=False)
    return bool(MARKER.fullmatch(entry.name)) and not entry.is_file(follow_symlinks=False)


def _lets_others_write(status):
    """Whether others may replace files in a folder; the user's own group is trusted."""
    mode = status.st_mode
    is_open = mode & 0o002 or mode & 0o020 and status.st_gid != os.getgid()
    return bool(is_open) and not mode & stat.S_ISVTX


def is_locked(file: IO) -> bool:
    """Try to lock a file; return whether this process holds the lock."""
    if sys.platform == 'win32':
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
