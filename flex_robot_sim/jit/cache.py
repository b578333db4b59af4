"""
The folder of machine code: a folder of this user that no other user can write to.

Loading machine code runs it. Where such a folder is not possible, nothing is kept and nothing is
loaded. Code lies in a folder named after a hash of all sources that it may come from: an edit
starts an empty one, and folders that have not been used for long are removed.

    CACHEDIR.TAG        written by this module; a folder without it is left untouched
    0123456789abcdef/   machine code of one state of the sources
    call-...            a process calls loaded code for the first time: call_marker.py

This module deletes only files whose names match this layout, and never follows a link. A folder
that holds anything else is refused.
"""

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.jit.call_marker import MARKER, crashed_calls

PACKAGE = Path(__file__).resolve().parents[1]
DYNAMICS = PACKAGE / 'dynamics'
# rooms of the compiled equations of motion; their machine code shares one folder
CORE = (PACKAGE / 'jit', PACKAGE / 'spatial', PACKAGE / 'model', DYNAMICS)
SHARED = (*CORE, PACKAGE / 'analysis')      # what any compiled function may call
FOLDERS_KEPT = 24

TAG = 'CACHEDIR.TAG'        # https://bford.info/cachedir, by which backups leave a cache out
TAG_TEXT = ('Signature: 8a477f597d28d172789f06886806bc55\n'
            f'# Machine code of {PACKAGE.name}. This folder may be deleted.\n')
FOLDER = re.compile(r'[0-9a-f]{16}')
INNER_FOLDER = re.compile(rf'{PACKAGE.name}|\w+_[0-9a-f]{{40}}')        # ours, and Numba's
NFS = re.compile(r'\.nfs[0-9a-f]+')     # what NFS makes of a file that is removed while it is open
FILE = re.compile(r'[\w.-]+\.(nbi|nbc)(\.tmp\.[0-9a-f]{16})?|[\w.-]+\.lock|lock')


class CacheError(Exception):
    """Why no machine code can be kept, in one line."""


def folder_of(room: Path, *settings: Any) -> Path:
    """
    Return the folder for code of the modules in `room`, ready to write to, or raise CacheError.

    :param settings: what the code depends on beside sources, Python and numpy.
    """
    root = cache_root()
    try:
        root = _own_folder(root)
        folder = root / fingerprint(room, *settings)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)        # the time of last use
        if is_new:
            with contextlib.suppress(OSError):      # another process removes the same ones
                prune(root)
    except OSError as error:
        raise CacheError(f'{root} cannot be written: {error.strerror}') from error
    return folder


def cache_root() -> Path:
    """Where all folders of this package lie: in the user's cache, as other programs do it."""
    home = os.environ.get(cache_variable()) or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(home) / f'{PACKAGE.name}_machine_code'


def cache_variable() -> str:
    """Return the environment variable that names the folder above the cache."""
    return 'NUMBA_CACHE_DIR' if os.environ.get('NUMBA_CACHE_DIR') else 'XDG_CACHE_HOME'


def sources_of(room: Path) -> list[Path]:
    """Return the files from which the machine code of a folder's functions may come."""
    rooms = CORE if room in CORE else sorted({*SHARED, room})
    return [path for folder in rooms for path in sorted(folder.glob('*.py'))]


def fingerprint(room: Path, *settings: Any) -> str:
    """Hash of the sources in a folder, and of all else that the machine code depends on."""
    digest = hashlib.sha256(repr((sys.version, np.__version__, settings)).encode())
    for path in sources_of(room):
        source = path.read_bytes()
        digest.update(f'{path.relative_to(PACKAGE).as_posix()} {len(source)}\n'.encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def prune(root: Path) -> None:
    """
    Remove the code in all but the folders used last.

    A process that still works with a removed one only compiles again what it misses.
    """
    folders = [path for path in root.iterdir() if FOLDER.fullmatch(path.name)]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in folders[FOLDERS_KEPT:]:
        remove_code(path)


def remove_code(folder: Path) -> None:
    """Remove files of machine code, and the folder if nothing else is in it."""
    with contextlib.suppress(OSError):
        for entry in [*os.scandir(folder)]:
            if entry.is_dir(follow_symlinks=False) and INNER_FOLDER.fullmatch(entry.name):
                _remove_files(entry.path)
        _remove_files(folder)


def _remove_files(folder):
    with contextlib.suppress(OSError):
        for entry in [*os.scandir(folder)]:
            if entry.is_file(follow_symlinks=False) and FILE.fullmatch(entry.name):
                os.unlink(entry.path)
        os.rmdir(folder)        # which refuses where anything is left


def _own_folder(root):
    """Return where the cache really is, made if need be; CacheError where it is not ours alone."""
    root.parent.mkdir(parents=True, exist_ok=True)
    root = root.parent.resolve() / root.name
    if not os.path.lexists(root) or _is_empty_folder(root):
        _make(root)
    _refuse_foreign(root)
    for folders in crashed_calls(root):
        for name in filter(FOLDER.fullmatch, folders):
            remove_code(root / name)
    return root


def _is_empty_folder(root):
    return stat.S_ISDIR(root.lstat().st_mode) and not any(root.iterdir())


def _make(root):
    """Make the folder with its tag in one step: other processes never see it without."""
    draft = Path(tempfile.mkdtemp(prefix=f'{root.name}.', dir=root.parent))     # mode 0700
    try:
        (draft / TAG).write_text(TAG_TEXT, 'ascii')
        draft.rename(root)      # in the place of an empty folder, too
    except OSError:
        (draft / TAG).unlink(missing_ok=True)
        draft.rmdir()
        if not root.is_dir():       # and no other process was faster
            raise


def _refuse_foreign(root):
    """Raise CacheError where others may write, or where a file is not of the cache."""
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError(f'{root} is a link or a file, not a folder of machine code')
    if hasattr(os, 'getuid'):           # on Windows, a profile is private
        if status.st_uid != os.getuid():
            raise CacheError(f'{root} belongs to another user')
        for path in root.parents:
            if _lets_others_write(path.stat()):
                raise CacheError(f'other users can write to {path}')
        if status.st_mode & 0o022:
            raise CacheError(f'other users can write to {root}')
    if not _is_own_tag(root / TAG):
        raise CacheError(f'{root} has no {TAG} of this program, so it is left untouched')
    foreign = [entry.name for entry in os.scandir(root) if not _is_own(entry)]
    if foreign:
        raise CacheError(f'{root} holds {min(foreign)}, which is not machine code, so it is left '
                         'untouched')


def _is_own_tag(path):
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)        # neither a link nor a pipe
        return is_file and path.read_bytes() == TAG_TEXT.encode()
    except OSError:
        return False


def _is_own(entry):
    """Whether an entry of the folder is of the layout above, and no link."""
    if entry.is_dir(follow_symlinks=False):
        return FOLDER.fullmatch(entry.name)
    return entry.is_file(follow_symlinks=False) and (
        entry.name == TAG or MARKER.fullmatch(entry.name) or NFS.fullmatch(entry.name))


def _lets_others_write(status):
    """Whether others may replace what is ours in a folder; the group of a user is the user."""
    mode = status.st_mode
    is_open = mode & 0o002 or mode & 0o020 and status.st_gid != os.getgid()
    return bool(is_open) and not mode & stat.S_ISVTX
