"""A serial line: bytes pass no faster than the baud rate, and what waits too long is lost."""

BAUD = 921600
BYTES_PER_SECOND = BAUD / 10        # eight data bits between start and stop


class Line:
    """Bytes under way in one direction."""

    def __init__(self, room: int) -> None:
        """Let at most `room` bytes wait; older ones are lost, as in a receiver that runs over."""
        self._room = room
        self._waiting = bytearray()
        self._credit = 0.0              # bytes that could have passed by now

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
        # time in which nothing waited is gone
        self._credit = self._credit - count if self._waiting else 0.0
        return out

    def clear(self) -> None:
        """Forget what is under way."""
        self._waiting.clear()
