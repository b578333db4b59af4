"""Garbage that is collected seldom for a while, and as before afterwards."""

import gc

import pytest

from flex_robot_sim.util.garbage import RARE_THRESHOLDS, collected_seldom


@pytest.fixture(autouse=True)
def thresholds():
    """Keep what the tests change."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_thresholds_are_back_afterwards_whatever_happens():
    gc.set_threshold(600, 9, 8)
    with pytest.raises(ZeroDivisionError), collected_seldom():
        assert gc.get_threshold()[0] == RARE_THRESHOLDS[0]
        raise ZeroDivisionError
    assert gc.get_threshold()[:2] == (600, 9)


def test_who_comes_second_leaves_it_to_the_first_to_set_them_back():
    gc.set_threshold(600, 9, 8)
    first, second = collected_seldom(), collected_seldom()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)  # as two threads do that overlap
    assert gc.get_threshold()[:2] == (600, 9)
