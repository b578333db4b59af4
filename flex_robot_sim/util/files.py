"""Bounded reading and atomic writing of files that a user names."""

import contextlib
import errno
import json
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def read_bytes(path: str | Path, most: int = 2**30) -> bytes:
    """Return up to `most` bytes of a regular file; OSError if it is none, or has no end."""
    # some files of /proc are regular files that block at their end
    file = os.open(path, os.O_RDONLY | getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_BINARY', 0))
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(None, 'this is not a regular file')
        parts = []
        while most > 0:
            parts.append(os.read(file, min(most, 2**20)))
            most -= len(parts[-1])
            if not parts[-1]:
                break
        return b''.join(parts)
    except BlockingIOError as error:
        raise OSError(None, 'it has no end') from error
    finally:
        os.close(file)


def why_unwritable(path: str | Path) -> str:
    """
    Return why a file cannot be written, as a system message; '' if it can.

    Call it before long computations; it cannot detect a full disk.
    """
    target = Path(path)
    folder = target.absolute().parent
    if not str(path) or not folder.exists():
        return os.strerror(errno.ENOENT)
    if not folder.is_dir():
        return os.strerror(errno.ENOTDIR)
    if target.is_dir():
        return os.strerror(errno.EISDIR)
    if not (
        os.access(target, os.W_OK) if target.exists() else os.access(folder, os.W_OK | os.X_OK)
    ):
        return os.strerror(errno.EACCES)
    return ''


def checksum(tree: Any) -> str:
    """Return a checksum of numbers, text, lists and mappings, to be stored with them."""
    return f'{zlib.crc32(json.dumps(tree).encode()):08x}'


@contextlib.contextmanager
def open_atomic(
    path: str | Path, mode: str = 'w', is_new: bool = False, **options: Any
) -> Iterator[IO[Any]]:
    """
    Open a file for writing; it appears under its name once it is complete.

    Until then it has another name in the same folder. A failure removes it and leaves an existing
    file unchanged. Devices and pipes are written directly.

    :param mode: 'w' or 'wb'; options: as of `open`.
    :param is_new: whether an existing file raises FileExistsError.
    """
    if is_new and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    draft = draft_of(path)
    if draft is None:
        with open(path, mode, **options) as file:
            yield file
        return
    target = os.path.realpath(path)  # keep a link and replace its target
    if os.path.exists(target) and not os.access(target, os.W_OK):  # a rename ignores it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    try:
        with open(draft, mode.replace('w', 'x'), **options) as file:
            if os.path.exists(target):
                os.chmod(draft, stat.S_IMODE(os.stat(target).st_mode))
            yield file
        if is_new:
            _rename_new(draft, target)
        else:
            os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def draft_of(path: str | Path) -> Path | None:
    """Return a free name in the same folder; None if the file can only be written directly."""
    if os.path.abspath(path).startswith(('/dev/', '/proc/')):  # `> file` keeps its file, too
        return None
    if os.path.exists(path) and not (
        os.path.isfile(path) and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)
    ):
        return None
    return Path(os.path.realpath(path)).with_name(f'.{secrets.token_hex(8)}.part')


def _rename_new(draft, target):
    """Rename a file; FileExistsError if another program has created the target meanwhile."""
    try:
        os.link(draft, target)  # never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.rename(draft, target)
    else:
        draft.unlink()
