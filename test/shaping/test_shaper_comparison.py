"""Comparison of shapers: sensitivity of each at the band edges, and the documented rule."""

import numpy as np
import pytest

from flex_robot_sim.shaping.impulses import KINDS, NONE, of_kind
from flex_robot_sim.shaping.shaper_comparison import (
    ModeCase,
    compare_shapers,
    evaluate_shaper,
    recommended_row,
)
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow


def case(*frequencies, ratio=0.01):
    frequencies = np.array(frequencies)
    ratios = np.full(frequencies.size, ratio)
    return ModeCase(frequencies, ratios, 1 / (2 * np.pi * frequencies) ** 2)


def test_without_a_shaper_all_of_the_vibration_is_left():
    one = evaluate_shaper(NONE, [case(2.0)], 0.1, 1e-3)
    assert one.vibration == pytest.approx(1.0)
    # an acceleration step causes twice the static deflection: 2 a / omega^2 = 1 mm
    assert one.acceleration == pytest.approx(1e-3 * (2 * np.pi * 2.0) ** 2 / 2)


def test_vibration_is_that_at_the_worse_edge_of_the_uncertainty():
    shaper = of_kind('zv', 2.0, 0.01)
    one = evaluate_shaper(shaper, [case(2.0)], 0.1, 1e-3)
    assert one.vibration == pytest.approx(
        max(shaper.vibration(2.0 * off, 0.01) for off in (0.9, 1.1)), rel=1e-9
    )


def test_acceleration_grows_as_the_vibration_falls():
    found, _ = compare_shapers([case(2.0)], 0.1)
    for one in found[1:]:
        assert one.acceleration == pytest.approx(found[0].acceleration / one.vibration, rel=0.03)


@pytest.mark.parametrize('uncertainty', [0.0, 0.02, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize('tolerance', [0.02, 0.05, 0.1])
def test_recommended_is_the_shortest_that_keeps_the_tolerance(uncertainty, tolerance):
    found, best = compare_shapers(
        [case(2.0, 2.4), case(2.1, 2.7)], uncertainty, tolerance, fixed=True
    )
    good = [one for one in found[1:] if one.vibration <= 1.01 * tolerance]
    assert found[best].vibration <= 1.01 * tolerance
    assert found[best].added_time == min(one.added_time for one in good)


def test_where_none_keeps_the_tolerance_the_one_that_leaves_least_is_taken():
    found = [
        evaluate_shaper(of_kind(kind, 2.0), [case(2.0)], 0.4, 1e-3) for kind in ('zv', 'zvd', 'ei')
    ]
    best = recommended_row([evaluate_shaper(NONE, [case(2.0)], 0.4, 1e-3), *found])
    assert found[best - 1].vibration == min(one.vibration for one in found)


def test_where_frequencies_differ_only_delays_that_follow_are_recommended():
    cases = [case(2.0), case(2.3)]
    found, best = compare_shapers(cases, 0.05)
    assert found[best].follows
    found, best = compare_shapers(cases, 0.05, fixed=True)
    assert not any(one.follows for one in found)


def test_delays_that_follow_the_pose_are_offered_where_frequencies_differ():
    one_pose, _ = compare_shapers([case(2.0)])
    assert not any(one.follows for one in one_pose)
    found, _ = compare_shapers([case(2.0), case(3.0)], 0.1)
    following = {one.shaper.name: one for one in found if one.follows}
    assert list(following) == [*KINDS, 'si 2%', 'si 1%']
    # each pose has its own shaper, so only the frequency uncertainty leaves vibration
    for kind in KINDS:
        one = following[kind]
        alone = max(of_kind(kind, 2.0, 0.01).vibration(np.linspace(1.8, 2.2, 9), 0.01))
        assert one.vibration == pytest.approx(alone, rel=1e-6)
        assert one.added_time == pytest.approx(of_kind(kind, 2.0, 0.01).duration)
        assert one.name == f'{kind} by pose'


def test_sure_frequency_needs_no_more_than_zv():
    found, best = compare_shapers([case(3.0)], 0.0)
    assert found[best].added_time <= of_kind('zv', 3.0, 0.01).duration * (1 + 1e-6)


def test_unsure_frequency_needs_more():
    sure, unsure = (compare_shapers([case(3.0)], off) for off in (0.01, 0.3))
    assert unsure[0][unsure[1]].added_time > 1.5 * sure[0][sure[1]].added_time


@pytest.mark.parametrize(
    'options, message',
    [
        (
            {'uncertainty': 0.5},
            'uncertainty = 0.5 of frequencies must be at least 0 and below 0.5',
        ),
        ({'tolerance': 0.0}, 'tolerance = 0.0 of vibration must lie between 0 and 0.5'),
        ({'allowed_vibration': 0.0}, 'allowed_vibration = 0.0 must be > 0 and finite [m]'),
    ],
)
def test_what_leaves_no_choice_is_refused(options, message):
    with pytest.raises(SettingError) as caught:
        compare_shapers([case(3.0)], **options)
    assert str(caught.value) == message
