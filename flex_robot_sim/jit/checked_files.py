"""
Cache files that begin with a digest of their content.

Numba's index and its data are pickles, and unpickling runs code: the digest is checked first. A
damaged file counts as missing, so its function is compiled again.
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

DIGEST_SIZE = 16  # of a digest                                         [bytes]

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
        """Return the content of a file; DamagedFileError if it does not match the digest."""
        with open(path, 'rb') as file:
            digest, content = file.read(DIGEST_SIZE), file.read()
        if digest != _digest(content):
            _report(os.path.dirname(os.path.dirname(path)), os.path.basename(path))
            raise DamagedFileError(path)
        return content


class DamagedFileError(OSError):  # Numba treats an OSError as missing data
    """The content of a file does not match its digest."""


def _digest(content):
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest()


_reported: set[str] = set()


def _report(folder, name):
    """Log one line per cache folder, however many of its files are damaged."""
    if folder not in _reported:
        _reported.add(folder)
        log.warning('the machine code in %s is damaged (%s): it is compiled again', folder, name)
