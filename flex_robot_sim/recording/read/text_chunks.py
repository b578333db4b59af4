"""Text files as lines of any encoding and line ending, in chunks of bounded size."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from flex_robot_sim.util.exceptions import UsageError

CHUNK_CHARACTERS = 8 * 2**20
HEAD_BYTES = 65536
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: 'utf-8-sig',
    codecs.BOM_UTF16_LE: 'utf-16',
    codecs.BOM_UTF16_BE: 'utf-16',
}
TEXT_CONTROLS = b'\t\n\r\f\x0b'


def encoding_of(head: bytes) -> str:
    """Return the encoding of the first bytes of a file; '' if they are no text."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return encoding
    for encoding, zeros in (('utf-16-le', head[1::2]), ('utf-16-be', head[::2])):
        if len(head) >= 8 and zeros.count(0) > 0.9 * len(zeros) and head.count(0) <= len(zeros):
            return encoding
    if any(byte < 32 and byte not in TEXT_CONTROLS for byte in head):
        return ''
    try:
        codecs.getincrementaldecoder('utf-8')().decode(head)
    except UnicodeDecodeError:
        return 'latin-1'
    return 'utf-8'


def text_of(head: bytes) -> str:
    """Return the first bytes of a file as text with line feeds; '' if they are no text."""
    encoding = encoding_of(head)
    text = head.decode(encoding, errors='ignore') if encoding else ''
    return text.removeprefix('\ufeff').replace('\r\n', '\n').replace('\r', '\n')


def read_chunks(path: str | Path, encoding: str) -> Iterator[list[str]]:
    """Yield lists of lines with their line feeds; UsageError if the file is no text."""
    try:
        with open(path, encoding=encoding) as file:  # CR and CRLF become line feeds
            while lines := file.readlines(CHUNK_CHARACTERS):
                yield lines
    except OSError as error:
        raise UsageError(f'{path}: cannot be read: {error.strerror}.') from error
    except UnicodeError as error:
        raise UsageError(f'{path}: cannot be read: no text. Give a CSV or MCAP file.') from error
