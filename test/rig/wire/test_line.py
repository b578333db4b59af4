"""Bytes on the emulated serial line, against the arithmetic of its baud rate."""

import pytest

from flex_robot_sim.rig.wire.line import SerialLine

BYTE = 10 / 921600  # start bit, eight data bits, stop bit [s]


@pytest.mark.parametrize('step', [1e-4, 1e-3, 7e-3])
def test_bytes_take_their_time_and_keep_their_order(step):
    line, data = SerialLine(4096), bytes(range(250)) * 4
    assert line.put(data) == 0
    came, steps = b'', 0
    while len(came) < len(data):
        came += line.take(step)
        steps += 1
        assert len(came) == min(int(steps * step / BYTE + 1e-9), len(data))  # rounding
    assert came == data


def test_time_in_which_nothing_waits_is_not_saved_up():
    line = SerialLine(4096)
    for _ in range(1000):
        assert line.take(1e-3) == b''
    line.put(bytes(1000))
    assert len(line.take(1e-3)) <= 1 + 1e-3 / BYTE


def test_what_finds_no_room_pushes_the_oldest_out_and_is_counted():
    line = SerialLine(100)
    assert line.put(bytes(range(90))) == 0
    assert line.put(bytes(range(90, 130))) == 30
    assert len(line) == 100
    assert line.take(1.0) == bytes(range(30, 130))


def test_cleared_line_is_empty():
    line = SerialLine(100)
    line.put(b'abc')
    line.clear()
    assert len(line) == 0 and line.take(1.0) == b''
