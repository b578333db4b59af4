"""
Consistent overhead byte stuffing (Cheshire and Baker, 1999): bytes without a zero.

Zero is then free to mark where a frame starts and ends.
"""

LONGEST = 254               # bytes without a zero that one code byte can announce


def stuff(data):
    """Return `data` without zeros, one byte longer for each 254 bytes begun."""
    out = bytearray()
    for piece in data.split(b'\0'):
        while len(piece) >= LONGEST:
            out += b'\xff' + piece[:LONGEST]
            piece = piece[LONGEST:]
        out.append(len(piece) + 1)
        out += piece
    return bytes(out)


def unstuff(data):
    """Return what was stuffed, or None if `data` cannot have come from `stuff`."""
    out, at, size = bytearray(), 0, len(data)
    while at < size:
        code = data[at]
        end = at + code
        if code == 0 or end > size:
            return None
        out += data[at + 1:end]
        at = end
        if code <= LONGEST and at < size:
            out.append(0)
    return None if b'\0' in data else bytes(out)
