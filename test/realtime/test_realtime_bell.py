"""What wakes the loop: a ring is neither lost nor heard twice."""

import threading
import time

from flex_robot_sim.realtime.bell import Bell

PATIENCE = 150.0  # with a thread that waits                                          [s]


def waited(bell, seconds):
    """How long it waits [s]."""
    began = time.monotonic()
    bell.wait(seconds)
    return time.monotonic() - began


def test_rings_before_somebody_waits_are_heard_once():
    bell = Bell()
    for _ in range(3):
        bell.ring()
    assert waited(bell, PATIENCE) < 0.5 * PATIENCE
    assert waited(bell, 0.05) >= 0.049


def test_a_ring_wakes_who_waits():
    bell, heard = Bell(), threading.Event()

    def listen():
        bell.wait(PATIENCE)
        heard.set()

    began = time.monotonic()
    threading.Thread(target=listen, daemon=True).start()
    assert not heard.wait(0.05)
    bell.ring()
    assert heard.wait(PATIENCE) and time.monotonic() - began < 0.5 * PATIENCE
