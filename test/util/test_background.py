"""Background tasks in a thread, and the report of their outcome."""

import threading

import pytest
from waiting import eventually

from flex_robot_sim.util.background import BackgroundTask
from flex_robot_sim.util.exceptions import SettingError


def outcome(background):
    """Final result of `poll`."""
    said = []

    def has_ended():
        said.append(background.poll())
        return said[-1] is not None

    assert eventually(has_ended)
    return said[-1]


class Meals(list):
    """Record of accepted results."""

    def serve(self, dish):
        """Accept a result, and report it."""
        self.append(dish)
        return 'served'


def fail(error):
    """Return a function that raises this error."""

    def function(progress):
        raise error

    return function


def test_result_is_handed_over_once():
    background, taken = BackgroundTask('dish'), Meals()
    background.make(lambda progress: 'soup', taken.serve)
    assert outcome(background) == ('info', 'served')
    assert (taken, background.is_busy, background.poll()) == (['soup'], False, None)


def test_setting_error_is_one_warning_line():
    background = BackgroundTask('dish')
    background.make(fail(SettingError('no salt')), str)
    assert outcome(background) == ('warning', 'no dish: no salt')
    assert not background.is_busy


def test_unexpected_error_is_raised_by_poll():
    background = BackgroundTask('dish')
    background.make(fail(ZeroDivisionError('bug')), str)
    with pytest.raises(ZeroDivisionError, match='bug'):
        outcome(background)
    assert not background.is_busy


def test_newest_order_wins():
    background, go, taken = BackgroundTask('dish'), threading.Event(), Meals()

    def slow(progress):
        go.wait()
        progress(1, 2)  # which ends the task
        raise AssertionError

    background.make(slow, taken.append)
    background.make(lambda progress: 'bread', taken.serve)
    go.set()
    assert outcome(background) == ('info', 'served') and taken == ['bread']
    background.make(lambda progress: 'soup', taken.append)
    background.cancel()
    assert background.poll() is None and not background.is_busy
