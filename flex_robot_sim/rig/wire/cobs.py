"""
Consistent overhead byte stuffing (Cheshire and Baker, 1999): bytes without a zero.

Zero is then free to mark where a frame starts and ends. Frames of the rig are short, so that the
blocks of 254 bytes of the paper, which longer data need, do not occur.
"""

BLOCK_SIZE = 254


def stuff(data: bytes) -> bytes:
    """Return `data` without zeros, one byte longer: each zero becomes the way to the next."""
    assert len(data) < BLOCK_SIZE
    return b''.join(bytes([len(piece) + 1]) + piece for piece in data.split(b'\0'))


def unstuff(data: bytes) -> bytes | None:
    """Return what was stuffed, or None if `data` cannot have come from `stuff`."""
    if not 0 < len(data) <= BLOCK_SIZE or 0 in data:
        return None
    # a zero goes back to each place from which the way to the next one was told
    plain, at, size = bytearray(data), 0, len(data)
    while at < size:
        plain[at] = 0
        at += data[at]
    return bytes(plain[1:]) if at == size else None
