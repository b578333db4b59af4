"""What is made in a thread beside the loops, and how its end is told."""

import threading

import pytest
from waiting import eventually

from flex_robot_sim.util.background import BackgroundTask
from flex_robot_sim.util.exceptions import SettingError


def outcome(background):
    """What `look` returns in the end."""
    said = []

    def has_ended():
        said.append(background.poll())
        return said[-1] is not None

    assert eventually(has_ended)
    return said[-1]


class Meals(list):
    """What was taken."""

    def serve(self, dish):
        """Take a dish, and report it."""
        self.append(dish)
        return 'served'


def fail(error):
    """Return a function that fails so."""

    def function(progress):
        raise error

    return function


def test_result_is_handed_over_once():
    background, taken = BackgroundTask('dish'), Meals()
    background.make(lambda progress: 'soup', taken.serve)
    assert outcome(background) == ('info', 'served')
    assert (taken, background.is_busy, background.poll()) == (['soup'], False, None)


def test_mistake_is_told_in_a_line():
    background = BackgroundTask('dish')
    background.make(fail(SettingError('no salt')), str)
    assert outcome(background) == ('warning', 'no dish: no salt')
    assert not background.is_busy


def test_bug_is_raised_where_it_is_seen():
    background = BackgroundTask('dish')
    background.make(fail(ZeroDivisionError('bug')), str)
    with pytest.raises(ZeroDivisionError, match='bug'):
        outcome(background)
    assert not background.is_busy


def test_newest_order_wins():
    background, go, taken = BackgroundTask('dish'), threading.Event(), Meals()

    def slow(progress):
        go.wait()
        progress(1, 2)  # which ends it
        raise AssertionError

    background.make(slow, taken.append)
    background.make(lambda progress: 'bread', taken.serve)
    go.set()
    assert outcome(background) == ('info', 'served') and taken == ['bread']
    background.make(lambda progress: 'soup', taken.append)
    background.cancel()
    assert background.poll() is None and not background.is_busy
