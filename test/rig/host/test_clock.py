"""Board time on the host's clock, tested with clocks of known offset and drift."""

import random

import numpy as np
import pytest

from flex_robot_sim.rig.host.clock import ClockMap, StampMonitor
from flex_robot_sim.rig.wire.ticks import WRAP


class Clocks:
    """A host clock, a board clock with known offset and drift, and a line between them."""

    def __init__(self, offset, drift=0.0, start=0.0, seed=1):
        self.offset, self.drift, self.now = offset, drift, start
        self.random = random.Random(seed)

    def ticks(self, host):
        """Return the board ticks [us] at a host time [s]."""
        return round((host - self.offset) / (1.0 + self.drift) * 1e6) % WRAP

    def exchange(self, clock, there, back, stay=50e-6):
        """Make one TIME exchange, with the delays of both directions [s]."""
        sent = self.now
        received, replied = sent + there, sent + there + stay
        clock.add(sent, self.ticks(received), self.ticks(replied), replied + back)

    def run(self, clock, count, period=0.125):
        """Make exchanges with the delays of a serial line and an occasionally busy host."""
        for _ in range(count):
            busy = self.random.expovariate(1 / 2e-3) if self.random.random() < 0.5 else 0.0
            self.exchange(
                clock,
                200e-6 + self.random.random() * 50e-6,
                300e-6 + self.random.random() * 50e-6 + busy,
            )
            self.now += period


def test_nothing_is_known_before_the_first_exchange():
    clock = ClockMap()
    assert not clock.is_known and clock.to_host(5) is None


def test_one_exchange_with_equal_delays_gives_the_offset():
    clocks, clock = Clocks(offset=1000.0, start=1005.0), ClockMap()
    clocks.exchange(clock, 3e-4, 3e-4)
    assert clock.offset == pytest.approx(1000.0, abs=1e-6)  # a tick of the board
    assert clock.round_trip == pytest.approx(6e-4, abs=2e-6)  # a tick at each end


def test_slow_exchanges_do_not_shift_the_clock():
    clocks, clock = Clocks(offset=-7.0, start=100.0), ClockMap()
    clocks.run(clock, 100)
    ticks = clocks.ticks(clocks.now)
    # half the difference of the delays (100 us), plus the scatter of the best (50 us)
    assert clock.to_host(ticks) == pytest.approx(clocks.now, abs=100e-6)
    assert clock.spread is not None and clock.spread < 150e-6


@pytest.mark.parametrize('drift', [-100e-6, -20e-6, 50e-6, 100e-6])
def test_the_drift_of_a_crystal_is_found(drift):
    clocks, clock = Clocks(offset=3.0, drift=drift, start=50.0), ClockMap()
    clocks.run(clock, 300)
    # scatter of the delays (50 us) over the span of the best tenth of 12.5 s
    assert clock.drift == pytest.approx(drift, abs=20e-6)
    assert clock.to_host(clocks.ticks(clocks.now)) == pytest.approx(clocks.now, abs=200e-6)


def test_the_wrap_after_2_32_us_is_invisible():
    clocks, clock = Clocks(offset=0.0, start=WRAP * 1e-6 - 5.0), ClockMap()
    before = clocks.now
    clocks.run(clock, 80)
    assert before < WRAP * 1e-6 < clocks.now
    stamps = [clock.to_host(clocks.ticks(clocks.now - 8.0 + k)) for k in range(8)]
    assert np.diff(np.array(stamps)) == pytest.approx([1.0] * 7, abs=1e-4)
    assert stamps[0] == pytest.approx(clocks.now - 8.0, abs=100e-6)


def test_stamps_out_of_order_are_not_a_wrap():
    clock = ClockMap()
    assert [clock.unwrap(ticks) for ticks in (WRAP - 10, 5, WRAP - 5, 20)] == [
        WRAP - 10,
        WRAP + 5,
        WRAP - 5,
        WRAP + 20,
    ]


@pytest.mark.parametrize('jump', [-0.3, 0.05, 2.0])
def test_a_clock_that_jumped_is_followed_after_three_exchanges(jump):
    clocks, clock = Clocks(offset=10.0, start=100.0), ClockMap()
    clocks.run(clock, 100)
    clocks.offset += jump  # the board was delayed, or has caught up
    clocks.run(clock, 2)
    assert clock.offset == pytest.approx(10.0, abs=1e-3)  # twice may still be chance
    clocks.run(clock, 1)
    clocks.exchange(clock, 220e-6, 320e-6)
    ticks = clocks.ticks(clocks.now)
    # half the difference of the delays for the best of four, all of which may be slow
    assert clock.to_host(ticks) == pytest.approx(clocks.now, abs=2e-3)


@pytest.mark.parametrize(
    'exchange',
    [
        (2.0, 100, 200, 1.0),  # arrived before it was sent
        (1.0, 200, 100, 1.5),  # answered before it arrived
        (1.0, 0, 900000, 1.5),  # longer on the board than the complete round trip
    ],
)
def test_an_impossible_exchange_is_ignored(exchange):
    clock = ClockMap()
    clock.add(*exchange)
    assert not clock.is_known


def advances(stamps, period=2e-3):
    monitor = StampMonitor()
    return [monitor.advances(round(ticks) % WRAP, k * period) for k, ticks in enumerate(stamps)]


def test_a_wrap_of_the_clock_is_an_advance():
    assert all(advances(range(WRAP - 10_000, WRAP + 10_000, 2000)))


@pytest.mark.parametrize('step', [-1, -2000, 0])
def test_a_clock_that_runs_backwards_or_stops_never_advances(step):
    # around the whole counter in less than two hours of frames, including half a wrap
    period = 30.0 if step < -1 else 2e-3
    stamps = [5_000_000 + k * (step * 15_000 if step < -1 else step) for k in range(300)]
    assert advances(stamps, period) == [True] + [False] * 299


def test_a_clock_that_jumped_back_advances_again_after_catching_up():
    stamps = [*range(1000, 10_000, 1000), *range(5000, 12_000, 1000)]
    assert advances(stamps) == [True] * 9 + [False] * 5 + [True, True]


def test_after_a_gap_of_half_a_wrap_any_stamp_is_later():
    monitor = StampMonitor()
    assert monitor.advances(5000, 0.0) and not monitor.advances(4000, 1.0)
    assert monitor.advances(3000, 2200.0)


def test_the_clock_restarts_with_the_next_boot():
    monitor = StampMonitor()
    assert monitor.advances(5000, 0.0)
    monitor.forget()
    assert monitor.advances(1, 0.1) and not monitor.is_behind
