"""Deadlines that do not drift, lag that is made up for or dropped, and figures of short times."""

import numpy as np
import pytest

from flex_robot_sim.realtime.pacing import Pacer
from flex_robot_sim.realtime.timing import Histogram, RoundTrip, Samples

pytestmark = pytest.mark.slow


def test_deadlines_do_not_drift():
    pacer = Pacer(1e-3)
    pacer.restart(100.0)
    for _ in range(1_000_000):
        pacer.count()
    assert pacer.deadline == pytest.approx(1100.0, abs=1e-9)


def test_a_short_lag_leaves_deadlines_unchanged_and_one_beyond_the_limit_is_dropped():
    pacer = Pacer(1e-3, max_lag=0.05)
    pacer.restart(0.0)
    assert pacer.lateness(0.0302) == pytest.approx(0.0302)
    pacer.count()
    assert pacer.deadline == 1e-3 and pacer.dropped == 0.0
    pacer.restart(0.0)
    assert pacer.lateness(0.2) == pytest.approx(0.2)
    assert pacer.deadline == pytest.approx(0.2) and pacer.dropped == pytest.approx(0.2)
    assert pacer.lateness(0.2) == 0.0


def test_a_change_of_pace_leaves_a_deadline_that_is_due():
    pacer = Pacer(1e-3)
    pacer.restart(0.0)
    for _ in range(10):
        pacer.count()
    pacer.set_factor(0.5, 0.011)
    assert pacer.deadline == pytest.approx(0.010)
    pacer.count()
    assert pacer.deadline == pytest.approx(0.012)


def test_what_is_left_of_a_period_goes_by_at_the_new_pace():
    pacer = Pacer(1e-3, factor=1e-6)
    pacer.restart(0.0)
    pacer.count()
    assert pacer.deadline == pytest.approx(1000.0)
    pacer.set_factor(1.0, 250.0)  # a quarter of it is over
    assert pacer.deadline == pytest.approx(250.0 + 0.75e-3, abs=1e-12)


def test_samples_forget_the_old_but_not_the_longest():
    samples = Samples(size=100)
    assert np.isnan(samples.quantile(0.5))
    for value in (9.0, *np.linspace(0.0, 1.0, 100)):
        samples.add(value)
    assert samples.quantile(0.5) == pytest.approx(0.5)
    assert samples.quantile(0.99) == pytest.approx(0.99)
    assert (samples.count, samples.longest) == (101, 9.0)
    assert (samples.take_peak(), samples.take_peak()) == (9.0, 0.0)
    samples.add(0.5)
    assert (samples.take_peak(), samples.longest) == (0.5, 9.0)


def test_a_round_trip_is_timed_once_and_only_for_published_states():
    round_trip = RoundTrip(states=2)
    for stamp in (1, 2, 3):
        round_trip.sent(stamp, now=float(stamp))
    assert not round_trip.answered(1, now=9.0)  # only two states are stored
    assert round_trip.answered(3, now=3.5) and not round_trip.answered(3, now=4.0)
    assert not round_trip.answered(7, now=9.0)
    assert round_trip.delays.counts.sum() == 1
    assert round_trip.delays.quantile(1.0) == pytest.approx(0.5, rel=0.023)  # the width of a bin


def test_a_histogram_knows_the_quantiles_of_all_times_to_a_bin():
    times = np.random.default_rng(3).lognormal(mean=-7.0, sigma=1.0, size=20000)
    histogram = Histogram()
    for value in times:
        histogram.add(value)
    for share in (0.01, 0.5, 0.99):
        # a bin is 2.3 % wide
        assert histogram.quantile(share) == pytest.approx(np.quantile(times, share), rel=0.023)
    assert histogram.counts.sum() == times.size


def test_a_histogram_leaves_out_what_was_there_before():
    histogram = Histogram()
    histogram.add(1.0)
    before = histogram.counts.copy()
    assert np.isnan(histogram.quantile(0.5, before))
    histogram.add(1e-3)
    assert histogram.quantile(0.5, before) == pytest.approx(1e-3, rel=0.023)  # a bin


def test_a_histogram_takes_what_is_beyond_its_bins():
    histogram = Histogram()
    for value in (0.0, 1e-9, 1e9):
        histogram.add(value)
    assert histogram.counts[0] == 2 and histogram.counts[-1] == 1
