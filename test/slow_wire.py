"""
Slow reference of the wire for `rig.frames`, with which it shares no code.

It has a bitwise CRC-32, bytewise stuffing, and values with explicit types.
"""


def crc32(data):
    """CRC-32 of IEEE 802.3: reflected polynomial 0xEDB88320, start and end inverted."""
    crc = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            mix = (crc ^ (byte >> bit)) & 1
            crc = (crc >> 1) ^ (0xEDB88320 if mix else 0)
    return crc ^ 0xFFFFFFFF


def stuffed(data):
    """COBS by the rule of the paper: walk the bytes, close a block at a zero or after 254."""
    out = []
    block: list = []
    for byte in [*data, 0]:  # the phantom zero at the end closes the last block
        if byte == 0:
            out += [len(block) + 1, *block]
            block = []
        else:
            block.append(byte)
            if len(block) == 254:
                out += [255, *block]
                block = []
    return bytes(out)


def as_bytes(typed):
    """Return the bytes of `u16:500`, `i32:-3` or `hex:00ff`."""
    kind, _, value = typed.partition(':')
    if kind == 'hex':
        return bytes.fromhex(value)
    bits, number = int(kind[1:]), int(value)
    if kind[0] == 'i':
        number = (number + (1 << bits)) % (1 << bits)
    return bytes((number >> shift) & 0xFF for shift in range(0, bits, 8))


def on_the_wire(fields):
    """Return the bytes of a frame from its typed values, header first."""
    body = b''.join(as_bytes(field) for field in fields)
    return b'\0' + stuffed(body + as_bytes(f'u32:{crc32(body)}')) + b'\0'
