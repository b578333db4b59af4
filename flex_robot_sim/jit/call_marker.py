"""
A marker file that exists during the first call of loaded machine code by a process.

Damaged machine code can crash a process without a message. Then its marker remains, without the
lock of a running process, and at the next start the cache removes the code that it names.
"""

import contextlib
import logging
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

if sys.platform != 'win32':
    import fcntl

MARKER = re.compile(r'call-[0-9a-f]{16}(\.new)?')

log = logging.getLogger(__name__)


@contextlib.contextmanager
def marked_call(root: Path, folders: Iterable[str]) -> Iterator[None]:
    """Keep a marker in the cache that names the folders of the loaded code."""
    path = root / f'call-{secrets.token_hex(8)}'
    try:
        file = _create_locked(path, ' '.join(sorted(folders)))
    except OSError:  # such as a full disk: make the call anyway
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(file)


def crashed_calls(root: Path) -> Iterator[list[str]]:
    """Remove markers of ended processes; yield the folders that each marker names."""
    if sys.platform == 'win32':
        return
    for path in [path for path in root.iterdir() if MARKER.fullmatch(path.name)]:
        if path.suffix:  # its process has not locked it yet
            continue
        with contextlib.suppress(OSError), open(path, 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: it still runs
            if os.fstat(file.fileno()).st_nlink:
                folders = file.read(10_000).decode(errors='replace').split()
                path.unlink()
                log.warning(
                    'a program ended in the first call of machine code from %s: the code '
                    'is compiled again',
                    root,
                )
                yield folders


def _create_locked(path, text):
    """Create a file that other processes see only when it is locked and complete."""
    if sys.platform == 'win32':
        raise OSError
    draft = path.with_suffix('.new')
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(file, text.encode())
        os.rename(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        os.close(file)
        raise
    return file
