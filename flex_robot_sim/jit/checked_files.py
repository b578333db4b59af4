"""
Files of the cache that begin with a digest of the rest of them.

Numba's index and its data are pickles, and a pickle is a program: nothing is unpickled before its
digest is compared. A damaged file counts as missing, so its function is compiled again.
"""

import contextlib
import hashlib
import io
import logging
import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

from numba.core.caching import IndexDataCacheFile

SIZE = 16               # of a digest                                             [bytes]

log = logging.getLogger(__name__)


class CheckedFiles(IndexDataCacheFile):
    """Index and data of one function; each file begins with its digest."""

    def _load_index(self) -> dict[Any, str]:
        try:
            content = io.BytesIO(self._checked(self._index_path))
        except (FileNotFoundError, DamagedFileError):
            return {}
        if pickle.load(content) != self._version:
            return {}
        stamp, overloads = pickle.load(content)
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._checked(self._data_path(name)))

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(_digest(content.getvalue()))
            file.write(content.getvalue())

    def _checked(self, path):
        """Return what follows the digest of a file; DamagedFileError if the two do not match."""
        with open(path, 'rb') as file:
            digest, content = file.read(SIZE), file.read()
        if digest != _digest(content):
            _report(os.path.dirname(os.path.dirname(path)), os.path.basename(path))
            raise DamagedFileError(path)
        return content


class DamagedFileError(OSError):        # by which Numba takes data for missing
    """A file has not the content that was written."""


def _digest(content):
    return hashlib.blake2b(content, digest_size=SIZE).digest()


_reported: set[str] = set()


def _report(folder, name):
    """Print one line for each cache, however many of its files are damaged."""
    if folder not in _reported:
        _reported.add(folder)
        log.warning('the machine code in %s is damaged (%s): it is compiled again', folder, name)
