"""Efforts from elsewhere: by name, checked, limited, and forgotten when they are old."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from flex_robot_sim.realtime.command_inbox import CommandInbox
from flex_robot_sim.util.exceptions import CommandError

pytestmark = pytest.mark.slow

NAMES = ('waist', 'shoulder', 'elbow')


@pytest.fixture
def inbox():
    return CommandInbox(NAMES, [10.0, 15.0, np.inf], timeout=0.1)


def test_without_a_command_all_efforts_are_zero_and_nothing_is_stale(inbox):
    assert inbox.efforts(1e9) == (0.0, 0.0, 0.0)
    assert not inbox.is_stale and inbox.timeouts == 0


def test_efforts_are_matched_by_name(inbox):
    inbox.offer(['elbow', 'waist'], [3.0, 1.0], now=0.0)
    assert inbox.efforts(0.05) == (1.0, 0.0, 3.0)


def test_each_joint_keeps_its_newest_command_and_its_own_age(inbox):
    inbox.offer(['waist'], [1.0], now=0.0)
    inbox.offer(['elbow'], [2.0], now=0.08)
    assert inbox.efforts(0.1) == (1.0, 0.0, 2.0)
    assert inbox.efforts(0.15) == (0.0, 0.0, 2.0)
    assert inbox.efforts(0.2) == (0.0, 0.0, 0.0)


def test_silence_is_counted_once_until_the_next_command(inbox):
    inbox.offer(NAMES, [1.0, 1.0, 1.0], now=0.0)
    for now in (0.2, 0.3, 0.4):
        assert not any(inbox.efforts(now))
        assert inbox.is_stale
    inbox.offer(NAMES, [1.0, 1.0, 1.0], now=0.5)
    inbox.efforts(0.5)
    assert (inbox.timeouts, inbox.is_stale) == (1, False)


def test_efforts_beyond_a_limit_are_cut_and_counted(inbox):
    inbox.offer(NAMES, [-99.0, 99.0, 99.0], now=0.0)
    assert inbox.efforts(0.0) == (-10.0, 15.0, 99.0)
    assert inbox.limited == 1


@pytest.mark.parametrize(
    'names, efforts, message',
    [
        (['hip'], [1.0], 'no joint "hip". Known: waist, shoulder, elbow'),
        (['waist', 'waist'], [1.0, 1.0], 'each joint must be named once'),
        ([], [], 'it names no joint'),
        (['waist', 'elbow'], [1.0], '1 efforts for 2 joints. Give one effort per name'),
        (['waist', 'elbow'], [1.0, np.nan], 'the effort of "elbow" is not finite'),
        (['waist'], [-np.inf], 'the effort of "waist" is not finite'),
    ],
)
def test_an_unusable_command_is_refused_and_changes_nothing(inbox, names, efforts, message):
    inbox.offer(NAMES, [1.0, 2.0, 3.0], now=0.0)
    assert refusal(CommandError, inbox.offer, names, efforts, now=0.05) == message
    assert inbox.efforts(0.09) == (1.0, 2.0, 3.0)
    assert not any(inbox.efforts(0.11))  # nor does it count as a sign of life
    assert (inbox.accepted, inbox.refused) == (1, 1)


@given(st.lists(st.tuples(st.sampled_from([*NAMES, 'hip']), st.floats(width=64)), max_size=4))
def test_whatever_arrives_what_comes_out_is_finite_and_within_limits(pairs):
    inbox = CommandInbox(NAMES, [10.0, 15.0, 20.0], timeout=0.1)
    names, efforts = [name for name, _ in pairs], [effort for _, effort in pairs]
    try:
        inbox.offer(names, efforts, now=0.0)
    except CommandError:
        assert inbox.refused == 1
    effort = inbox.efforts(0.0)
    assert np.isfinite(effort).all() and (np.abs(effort) <= [10.0, 15.0, 20.0]).all()
