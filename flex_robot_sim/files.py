"""Files that a user names: what is read may be a device or a pipe without an end, too."""

import errno
import os
import stat
from pathlib import Path


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
