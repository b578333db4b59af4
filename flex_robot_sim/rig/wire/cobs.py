"""
Consistent overhead byte stuffing (Cheshire and Baker, 1999): bytes without a zero.

Zero can then mark the start and end of a frame. Frames of the rig are shorter than the blocks of
254 bytes in the paper, so one block is enough.
"""

BLOCK_SIZE = 254


def stuff(data: bytes) -> bytes:
    """Return `data` without zeros, one byte longer: each zero becomes the distance to the next."""
    assert len(data) < BLOCK_SIZE
    return b''.join(bytes([len(piece) + 1]) + piece for piece in data.split(b'\0'))


def unstuff(data: bytes) -> bytes | None:
    """Return the original data, or None if `data` is no result of `stuff`."""
    if not 0 < len(data) <= BLOCK_SIZE or 0 in data:
        return None
    # each distance byte becomes a zero again
    plain, at, size = bytearray(data), 0, len(data)
    while at < size:
        plain[at] = 0
        at += data[at]
    return bytes(plain[1:]) if at == size else None
