"""
Clock synchronisation: board time on the clock of the host.

The board counts microseconds in 32 bits. Each exchange of TIME and TIME_REPLY bounds the offset of
the two clocks by its round trip. The fit uses the tenth of the exchanges with the shortest round
trips; a straight line through them includes the drift of the crystal.
"""

from collections import deque
from typing import NamedTuple

from flex_robot_sim.rig.wire.ticks import WRAP, signed_elapsed

MAX_EXCHANGES = 100  # window of the fit
MIN_DRIFT_SPAN = 2.0  # time span of the best exchanges for a drift estimate            [s]
MIN_DRIFT_EXCHANGES = 4  # number of best exchanges for a drift estimate
MAX_DRIFT = 5e-4  # ten times that of a crystal; beyond it the line is noise        [-]
JUMP_TOLERANCE = 1e-3  # beyond the bounds of an exchange; no drift explains it          [s]
MAX_JUMPS = 3  # consecutive contradicting exchanges that restart the fit
HALF_WRAP = WRAP / 2e6  # longest gap over which the order of two stamps is known      [s]


class Exchange(NamedTuple):
    """One TIME and its TIME_REPLY."""

    board: float  # unwrapped, midway between receipt and reply                   [s]
    host: float  # midway between sending and arrival                            [s]
    round_trip: float  # without the processing time on the board                      [s]


class ClockMap:
    """Map from ticks of the board to the host's clock."""

    def __init__(self) -> None:
        self._ticks: int | None = None  # newest, unwrapped [us]
        self._exchanges: deque[Exchange] = deque(maxlen=MAX_EXCHANGES)
        self._best: tuple[float, float] | None = None  # (board, host), middle of the line [s]
        self._jumps = 0  # exchanges in a row that contradict the line
        self.drift = 0.0  # host seconds per board second, minus one              [-]
        self.spread: float | None = None  # of the best exchanges about the line      [s]
        self.round_trip: float | None = None  # shortest in the window                    [s]

    @property
    def is_known(self) -> bool:
        """Whether there has been an exchange."""
        return self._best is not None

    @property
    def offset(self) -> float:
        """Host time minus unwrapped board time, at the middle of the best exchanges [s]."""
        assert self._best is not None
        return self._best[1] - self._best[0]

    def forget(self) -> None:
        """Reset: the board has booted, or another one is on the port."""
        ClockMap.__init__(self)

    def unwrap(self, ticks: int) -> int:
        """
        Ticks [us] since the first call, without wrap.

        Stamps may run back by half a wrap: frames need not arrive in the order of their stamps.
        """
        if self._ticks is None:
            self._ticks = ticks
            return ticks
        unwrapped = self._ticks + signed_elapsed(ticks, self._ticks)
        self._ticks = max(self._ticks, unwrapped)
        return unwrapped

    def add(self, sent: float, received: int, replied: int, arrived: float) -> None:
        """
        Add an exchange to the fit.

        :param sent: host time at which TIME was sent; arrived: of the arrival of its reply [s].
        :param received: ticks of the board at receipt of TIME; replied: at its reply [us].
        """
        received_at, replied_at = self.unwrap(received) * 1e-6, self.unwrap(replied) * 1e-6
        round_trip = (arrived - sent) - (replied_at - received_at)
        if arrived < sent or replied_at < received_at or round_trip < 0.0:
            return  # impossible times: a reply to another TIME
        # TIME cannot be received before it was sent, nor its reply be sent after it arrived
        is_possible = self._best is None or (
            sent - JUMP_TOLERANCE < self._host(received_at)
            and self._host(replied_at) < arrived + JUMP_TOLERANCE
        )
        self._jumps = 0 if is_possible else self._jumps + 1
        self._exchanges.append(
            Exchange((received_at + replied_at) / 2, (sent + arrived) / 2, round_trip)
        )
        if self._jumps == MAX_JUMPS:  # an emulated board that was paused has a new offset
            self._exchanges = deque(list(self._exchanges)[-MAX_JUMPS:], MAX_EXCHANGES)
            self._jumps = 0
        self._fit()

    def to_host(self, ticks: int) -> float | None:
        """Host time [s] of ticks of the board [us]; None before the first exchange."""
        if self._best is None:
            return None
        return self._host(self.unwrap(ticks) * 1e-6)

    def _host(self, seconds):
        assert self._best is not None
        board, host = self._best
        return host + (seconds - board) * (1.0 + self.drift)

    def _fit(self):
        best = sorted(self._exchanges, key=lambda exchange: exchange.round_trip)
        best = best[: max(1, len(best) // 10)]
        count = len(best)
        board = sum(exchange.board for exchange in best) / count
        host = sum(exchange.host for exchange in best) / count
        centred = [(e.board - board, e.host - host) for e in best]
        self.drift = 0.0
        if (
            count >= MIN_DRIFT_EXCHANGES
            and max(x for x, _ in centred) - min(x for x, _ in centred) > MIN_DRIFT_SPAN
        ):
            drift = sum(x * (y - x) for x, y in centred) / sum(x * x for x, _ in centred)
            self.drift = min(max(drift, -MAX_DRIFT), MAX_DRIFT)
        self._best = board, host
        residuals = [y - x * (1.0 + self.drift) for x, y in centred]
        self.spread = max(residuals) - min(residuals)
        self.round_trip = best[0].round_trip


class StampMonitor:
    """Checks that the telemetry stamps of one boot advance, wraps included."""

    def __init__(self) -> None:
        self.count = 0  # stamps that did not advance
        self.is_behind = False  # whether the latest stamp did not advance
        self._last: int | None = None  # latest stamp [us], and when its frame arrived [s]
        self._arrived = 0.0
        self._lag = 0  # of the latest stamp behind the newest one [us]

    def forget(self) -> None:
        """Reset: a boot restarts the clock of the board."""
        self._last, self.is_behind = None, False

    def advances(self, ticks: int, arrived: float) -> bool:
        """
        Whether a stamp [us] is later than all stamps before it.

        :param arrived: when its frame arrived [s]. After a gap of half a wrap or more the order
            of two stamps is unknown, and the stamp counts as later.
        """
        if self._last is None or arrived - self._arrived >= HALF_WRAP:
            self._lag, self.is_behind = 0, False
        else:
            # sum over all frames: a clock that has run back by an hour stays behind
            lag = self._lag - signed_elapsed(ticks, self._last)
            self._lag, self.is_behind = max(0, lag), lag >= 0
        self._last, self._arrived = ticks, arrived
        self.count += self.is_behind
        return not self.is_behind
