"""Comparison of shapers in linear moves, against closed forms, and the documented rule."""

import numpy as np
import pytest

from flex_robot_sim.shaping.impulses import NONE, of_kind
from flex_robot_sim.shaping.linear_moves import LinearMoves, ModeCase
from flex_robot_sim.shaping.move_figures import MoveFigures, summed_figures
from flex_robot_sim.shaping.recommendation import check_rule
from flex_robot_sim.shaping.shaper_comparison import (
    ShaperCandidate,
    compare_shapers,
    pareto_front,
    recommended_row,
    shaped_path,
)
from flex_robot_sim.util.exceptions import SettingError

ALLOWED = 5e-4


def case(*frequencies, ratio=0.01):
    frequencies = np.array(frequencies)
    ratios = np.full(frequencies.size, ratio)
    return ModeCase(frequencies, ratios, 1 / (2 * np.pi * frequencies) ** 2)


def compared(cases, uncertainty=0.1, **options):
    return compare_shapers(cases, LinearMoves(cases, uncertainty, 1.0), uncertainty, **options)


def row(name, rest, left, meets=True, profile=''):
    figures = MoveFigures(left, left, rest, 0.0, 1.0, 1.0, 0.1, left)
    return ShaperCandidate(NONE.renamed(name), figures, meets, profile=profile)


def test_vibration_after_an_undamped_trapezoid_is_the_sum_of_four_steps_of_acceleration():
    frequency, acceleration = 2.0, 1.5
    moves = LinearMoves([case(frequency, ratio=0.0)], 0.0, acceleration)
    rate = 2 * np.pi * frequency
    for move in moves.moves:
        T = move.step * (len(move.share) - 1)
        steps = acceleration * np.array([1.0, -1.0, -1.0, 1.0])
        times = T * np.array([0.0, 1 / 3, 2 / 3, 1.0])
        expected = abs((steps * np.exp(1j * rate * times)).sum()) / rate**2
        alone = LinearMoves([case(frequency, ratio=0.0)], 0.0, acceleration)
        alone.moves = [move]
        found = alone.figures(lambda move: move.share, ALLOWED)
        assert found.left == pytest.approx(expected, rel=0.01, abs=0.02 / rate**2)


def test_a_shaper_leaves_its_sensitivity_at_the_worst_frequency():
    moves = LinearMoves([case(2.0, ratio=0.0)], 0.1, 1.0)
    shaper = of_kind('zv', 2.0)
    worst = 0.0
    for factor in np.linspace(0.9, 1.1, 9):
        plant = ModeCase(*case(2.0, ratio=0.0))._replace(frequencies=np.array([2.0 * factor]))
        plant = plant._replace(sizes=case(2.0).sizes / factor**2)
        exact = LinearMoves([plant], 0.0, 1.0)
        exact.moves = moves.moves
        plain = exact.figures(lambda move: move.share, ALLOWED).left
        worst = max(worst, plain * shaper.vibration(2.0 * factor))
    path = moves.figures(lambda move: shaped_path(ShaperCandidate(shaper), move, ALLOWED), ALLOWED)
    # the largest of all moves is at most the largest unshaped one times the sensitivity
    assert path.left == pytest.approx(worst, rel=0.05)


@pytest.mark.slow
def test_the_recommended_shaper_is_the_first_at_rest_of_those_that_meet_the_constraint():
    found, best = compared([case(2.0, 4.5)])
    shapers = [one for one in found if not one.profile and one.meets_constraint]
    assert found[best].figures.left <= 1.01 * ALLOWED
    assert found[best].figures.rest_time == min(one.figures.rest_time for one in shapers)


def test_a_percentage_is_one_of_the_unshaped_vibration_whatever_the_acceleration():
    # undamped, ZV leaves sin(0.1 pi/2) = 16 % at 10 % error, and ZVD its square
    cases, off = [case(2.0, ratio=0.0)], 0.1
    for acceleration in (0.1, 10.0):
        moves = LinearMoves(cases, off, acceleration)
        found, best = compare_shapers(cases, moves, off, '5%')
        left = found[0].figures.mean_left
        assert found[best].figures.left <= 1.01 * 0.05 * left
        names = [one.name for one in found if one.meets_constraint and not one.profile]
        assert 'zv' not in names and 'zvd' in names
        if acceleration == 0.1:
            first = found[best].shaper
    np.testing.assert_allclose(found[best].shaper.times, first.times, rtol=1e-6, atol=1e-9)


def test_rows_beyond_the_constraint_stay_in_the_table():
    found, _ = compared([case(2.0)])
    assert not found[0].meets_constraint and found[0].figures.left > ALLOWED
    assert [one.name for one in found[-4:]] == ['s-curve', 'quintic', 'low-pass', 'ruckig']


def test_the_rule_takes_the_first_at_rest_and_never_a_profile():
    rows = [row('none', 3.0, 9.0, False), row('a', 1.2, 0.4), row('b', 1.1, 0.5)]
    assert recommended_row(rows) == 2
    assert recommended_row([*rows, row('c', 1.0, 0.9, False), row('', 0.9, 0.1, profile='q')]) == 2


def test_without_a_row_that_meets_the_constraint_the_first_at_rest_is_taken():
    rows = [row('none', 3.0, 9.0, False), row('a', 2.0, 2.0, False), row('b', 2.5, 1.0, False)]
    assert recommended_row(rows) == 1


def test_rows_on_the_pareto_front_are_not_beaten_in_both():
    rows = [row('none', 3.0, 9.0), row('a', 2.0, 2.0), row('b', 2.5, 1.0), row('c', 2.6, 2.5)]
    assert pareto_front(rows) == [1, 2]


def test_time_to_rest_is_the_mean_of_all_moves_and_vibration_the_largest():
    rows = [row('', rest, left).figures for rest, left in ((1.0, 0.1), (2.0, 0.3), (6.0, 0.2))]
    found = summed_figures(rows)
    assert (found.rest_time, found.left) == (3.0, 0.3)
    assert found.mean_left == pytest.approx(0.2)


@pytest.mark.slow
def test_delays_that_follow_the_pose_are_offered_where_frequencies_differ():
    from flex_robot_sim.analysis.mode_table import ModeTable

    cases = [case(2.0), case(3.0)]
    moves = LinearMoves(cases, 0.1, 1.0)
    axis = np.linspace(0.0, 1.0, 5)
    table = ModeTable((0,), (axis,), (2.0 + axis)[:, None], np.full((5, 1), 0.01))

    class AlongTable:
        def figures(self, path, allowed):
            return moves.figures(lambda move: path(_WithTable(move, table)), allowed)

    found, _ = compare_shapers(cases, AlongTable(), 0.1)
    names = [one.name for one in found if one.follows]
    assert names[:5] == [f'{kind} by pose' for kind in ('zv', 'zvd', 'zvdd', 'ei', 'ei2')]
    assert any(name.startswith('si ') for name in names)
    found, _ = compare_shapers(cases, AlongTable(), 0.1, fixed=True)
    assert not any(one.follows for one in found)


class _WithTable:
    def __init__(self, move, table):
        self.share, self.step, self.tool_travel = move
        self.tables = (table,)


def test_sure_frequency_needs_no_more_than_zv():
    found, best = compared([case(3.0)], 0.0)
    assert found[best].added_time <= of_kind('zv', 3.0, 0.01).duration * 1.2


@pytest.mark.slow
def test_unsure_frequency_needs_more():
    (sure, few), (unsure, many) = (compared([case(3.0)], off) for off in (0.01, 0.3))
    assert unsure[many].added_time > 1.5 * sure[few].added_time


@pytest.mark.parametrize(
    'numbers, message',
    [
        ((0.5, 1.0, 1.0), 'uncertainty = 0.5 of frequencies must be at least 0 and below 0.5'),
        (
            (0.1, 0.0, 1.0),
            'allowed_vibration = 0.0 must be > 0 and finite [m], or a percentage such as "5%"',
        ),
        ((0.1, 1.0, -1.0), 'acceleration = -1.0 must be > 0 and finite [m/s2]'),
    ],
)
def test_what_leaves_no_choice_is_refused(numbers, message):
    with pytest.raises(SettingError) as caught:
        check_rule(*numbers)
    assert str(caught.value) == message
