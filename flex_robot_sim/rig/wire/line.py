"""Serial line model: throughput limited by the baud rate, with a finite receive buffer."""

BAUD = 921600
BYTES_PER_SECOND = BAUD / 10  # eight data bits between start and stop


class SerialLine:
    """Bytes in transit in one direction."""

    def __init__(self, room: int) -> None:
        """Buffer at most `room` bytes; beyond it the oldest are lost, as in a receiver overrun."""
        self._room = room
        self._waiting = bytearray()
        self._credit = 0.0  # bytes that could have passed by now

    def __len__(self):
        return len(self._waiting)

    def put(self, data: bytes) -> int:
        """Send bytes; return how many were lost."""
        self._waiting += data
        lost = max(0, len(self._waiting) - self._room)
        del self._waiting[:lost]
        return lost

    def take(self, duration: float) -> bytes:
        """Bytes that arrive within `duration` [s]."""
        self._credit += duration * BYTES_PER_SECOND
        count = min(int(self._credit), len(self._waiting))
        out = bytes(self._waiting[:count])
        del self._waiting[:count]
        # idle time gives no credit
        self._credit = self._credit - count if self._waiting else 0.0
        return out

    def clear(self) -> None:
        """Discard all bytes in transit."""
        self._waiting.clear()
