"""Files that a user names: read within bounds, written as a whole or not at all."""

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
    """
    Content of the regular file `path`; OSError if it is none, or has no end.

    :param most: bytes that are read; what is beyond them is left.
    """
    # some files of /proc call themselves regular and wait for more at their end
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
    Why no file can be written there, in the system's words; '' where one can.

    Asked before a long work begins; a disk that is full shows only at its end.
    """
    place = Path(path)
    folder = place.absolute().parent
    if not str(path) or not folder.exists():
        return os.strerror(errno.ENOENT)
    if not folder.is_dir():
        return os.strerror(errno.ENOTDIR)
    if place.is_dir():
        return os.strerror(errno.EISDIR)
    if not (os.access(place, os.W_OK) if place.exists() else
            os.access(folder, os.W_OK | os.X_OK)):
        return os.strerror(errno.EACCES)
    return ''


def checksum(tree: Any) -> str:
    """Return a checksum of numbers, text, lists and mappings, to be written beside them."""
    return f'{zlib.crc32(json.dumps(tree).encode()):08x}'


@contextlib.contextmanager
def open_atomic(path: str | Path, mode: str = 'w', is_new: bool = False,
                **options: Any) -> Iterator[IO[Any]]:
    """
    Open a file for writing that appears under its name once it is complete.

    Until then it has another name in the same folder: after a failure, nothing of it stays, and a
    file that was there before is as it was. Devices and pipes are written directly.

    :param mode: 'w' or 'wb'; options: as of `open`.
    :param is_new: whether a name that is taken raises FileExistsError.
    """
    if is_new and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    draft = draft_of(path)
    if draft is None:
        with open(path, mode, **options) as file:
            yield file
        return
    target = os.path.realpath(path)         # a link stays, and the file behind it is replaced
    if os.path.exists(target) and not os.access(target, os.W_OK):   # a rename would not ask
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
    """Return a free name beside a file; None where the file can only be written directly."""
    if os.path.abspath(path).startswith(('/dev/', '/proc/')):       # `> file` keeps its file, too
        return None
    if os.path.exists(path) and not (
            os.path.isfile(path) and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)):
        return None
    return Path(os.path.realpath(path)).with_name(f'.{secrets.token_hex(8)}.part')


def _rename_new(draft, target):
    """Rename a file; FileExistsError where another program has taken the name meanwhile."""
    try:
        os.link(draft, target)              # which never replaces a file
    except FileExistsError:
        raise
    except OSError:                         # a file system without such links
        os.rename(draft, target)
    else:
        draft.unlink()
