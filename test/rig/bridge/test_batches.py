"""Work for a background thread: complete, in order, in time."""

import time

from flex_robot_sim.rig.bridge.batches import Batches


def test_every_queued_item_is_handled_once_and_in_order():
    handled: list = []
    batches = Batches('test', 1e-3, handled.extend)
    for item in range(1000):
        batches.put(item)
    batches.close()
    assert handled == list(range(1000)) and batches.lost == 0


def test_batches_keep_their_period_for_any_duration_of_the_work():
    period, looks = 0.05, []

    def work(items):
        looks.append(time.monotonic())
        time.sleep(0.6 * period)  # the sleep is the load
        batches.put(None)

    batches = Batches('test', period, work)
    batches.put(None)
    while len(looks) < 12:
        time.sleep(period)
    batches.close()
    gaps = sorted(b - a for a, b in zip(looks, looks[1:]))
    # with a pause after the work it would be 1.6 periods
    assert gaps[len(gaps) // 2] < 1.3 * period


def test_late_batches_are_skipped():
    period, looks = 0.02, []

    def work(items):
        looks.append(time.monotonic())
        time.sleep(2.5 * period)
        batches.put(None)

    batches = Batches('test', period, work)
    batches.put(None)
    while len(looks) < 6:
        time.sleep(period)
    batches.close()
    # work of 2.5 periods begins every third period; less a tenth for the clocks
    assert min(b - a for a, b in zip(looks[:6], looks[1:6])) > 2.5 * period * 0.9


def test_an_error_in_the_work_does_not_end_the_thread(caplog):
    handled = []

    def work(items):
        handled.extend(items)
        raise ValueError(items)

    batches = Batches('test', 1e-3, work)
    for item in range(3):
        batches.put(item)
        while len(handled) <= item:
            time.sleep(1e-3)
    batches.close()
    assert handled == [0, 1, 2] and caplog.text.count('test failed; later') == 1
