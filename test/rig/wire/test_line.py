"""Bytes on the emulated serial line, against the arithmetic of its baud rate."""

import pytest

from flex_robot_sim.rig.wire.line import Line

BYTE = 10 / 921600          # start bit, eight data bits, stop bit [s]


@pytest.mark.parametrize('step', [1e-4, 1e-3, 7e-3])
def test_bytes_arrive_at_the_baud_rate_and_in_order(step):
    line, data = Line(4096), bytes(range(250)) * 4
    assert line.put(data) == 0
    came, steps = b'', 0
    while len(came) < len(data):
        came += line.take(step)
        steps += 1
        assert len(came) == min(int(steps * step / BYTE + 1e-9), len(data))     # rounding
    assert came == data


def test_idle_time_is_not_accumulated():
    line = Line(4096)
    for _ in range(1000):
        assert line.take(1e-3) == b''
    line.put(bytes(1000))
    assert len(line.take(1e-3)) <= 1 + 1e-3 / BYTE


def test_an_overflow_drops_the_oldest_bytes_and_counts_them():
    line = Line(100)
    assert line.put(bytes(range(90))) == 0
    assert line.put(bytes(range(90, 130))) == 30
    assert len(line) == 100
    assert line.take(1.0) == bytes(range(30, 130))


def test_a_cleared_line_is_empty():
    line = Line(100)
    line.put(b'abc')
    line.clear()
    assert len(line) == 0 and line.take(1.0) == b''
