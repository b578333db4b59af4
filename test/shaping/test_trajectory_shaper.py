"""Shaped trajectories, tested by an exact oscillator that follows the sent points."""

import numpy as np
import pytest
from scipy.interpolate import BPoly
from scipy.linalg import expm

import flex_robot_sim as frs
from flex_robot_sim.motion.trajectory import Interpolation, Trajectory
from flex_robot_sim.shaping.impulses import KINDS, of_kind
from flex_robot_sim.shaping.shaped_samples import shaped_motion
from flex_robot_sim.shaping.shaper_design import design_for_modes
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.util.exceptions import SettingError

FREQUENCY, RATIO = 2.3, 0.01


def by_modes(kind, frequencies, ratios=()):
    """Return one shaper for all positions, as the node makes it from frequencies alone."""
    shaper = design_for_modes(kind, frequencies, ratios).shaper
    return lambda position: shaper


def shaper_for(kind='zvd', modes=((FREQUENCY, RATIO),), **options):
    frequencies, ratios = zip(*modes)
    return TrajectoryShaper(by_modes(kind, frequencies, ratios), **options)


def curves(times, positions, velocities=None, accelerations=None):
    """Interpolation of points by a trajectory controller, by scipy: (positions, rates)."""
    rows = [row for row in (positions, velocities, accelerations) if row is not None]
    poly = BPoly.from_derivatives(times, np.stack(rows, axis=1))
    return poly, poly.derivative()


def residual(times, *rows, frequency=FREQUENCY, ratio=RATIO, step=1e-3):
    """Residual amplitude of an oscillator on the joint, by exact steps."""
    curve, _ = curves(times, *rows)
    rate = 2 * np.pi * frequency
    # position of the oscillator, its velocity, set point, slope of the set point
    A = np.array(
        [
            [0, 1, 0, 0],
            [-(rate**2), -2 * ratio * rate, rate**2, 2 * ratio * rate],
            [0, 0, 0, 1],
            [0, 0, 0, 0],
        ]
    )
    F = expm(A * step)
    grid = np.arange(times[0], times[-1] + step, step)
    points = curve(np.minimum(grid, times[-1]))
    x = np.array([points[0, 0], 0.0])
    for now, then in zip(points[:, 0], points[1:, 0]):
        x = (F @ [*x, now, (then - now) / step])[:2]
    return np.hypot(x[0] - points[-1, 0], x[1] / rate)


def a_move(order, k=5, seed=0, names=('a',)):
    """Trajectory with random points in between."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 0.5, k))
    positions, velocities, accelerations = rng.normal(size=(3, k, len(names)))
    velocities[-1] = accelerations[-1] = 0.0
    if order == 2:
        accelerations *= 3.0
    return Trajectory(names, times, positions, *[velocities, accelerations][:order])


def rows_of(shaped):
    return shaped.times, shaped.positions, shaped.velocities, shaped.accelerations


def from_zero(shaper, *names):
    shaper.measured.update(dict.fromkeys(names, 0.0))
    return shaper


@pytest.mark.parametrize('order', [0, 1, 2])
@pytest.mark.parametrize('kind', KINDS)
def test_points_leave_next_to_no_vibration_and_end_at_the_goal(kind, order):
    move = a_move(order, seed=order)
    shaped = from_zero(shaper_for(kind), 'a').shaped(move, 7.0)
    plain = from_zero(shaper_for('none'), 'a').shaped(move, 7.0)
    allowed = 0.055 if kind == 'ei' else 0.02  # which tolerates 5 %
    assert residual(*rows_of(shaped)) <= allowed * residual(*rows_of(plain))
    assert residual(*rows_of(plain)) > 0.05
    assert (shaped.positions[-1] == move.positions[-1]).all()
    assert (shaped.velocities is None) == (order == 0)
    assert (shaped.accelerations is None) == (order < 2)
    assert shaped.start == 7.0 and shaped.times[0] == 0.0
    assert np.diff(shaped.times).min() > 0.0 and np.diff(shaped.times).max() < 0.02 + 1e-9


def test_points_are_those_of_the_shaped_motion():
    move = a_move(2, names=('a', 'b'))
    shaped = from_zero(shaper_for('zvdd'), 'a', 'b').shaped(move, 0.0)
    motion = shaped_motion(
        of_kind('zvdd', FREQUENCY, RATIO), Interpolation(move, ['a', 'b']).motion(np.zeros((3, 2)))
    )
    expected = np.array([motion.sample(time) for time in shaped.times])
    for k, rows in enumerate(rows_of(shaped)[1:]):
        assert rows == pytest.approx(expected[:, k], abs=1e-8)


def test_two_modes_and_a_wrong_one():
    modes = ((2.0, 0.01), (5.3, 0.02))
    move = a_move(1)
    plain = from_zero(shaper_for('none'), 'a').shaped(move, 0.0)
    shaped = from_zero(shaper_for('zvd', modes), 'a').shaped(move, 0.0)
    for frequency, ratio in modes:
        mode = {'frequency': frequency, 'ratio': ratio}
        assert residual(*rows_of(shaped), **mode) < 0.02 * residual(*rows_of(plain), **mode)
    # a shaper for another frequency is not sufficient
    other = {'frequency': 1.2, 'ratio': 0.01}
    assert residual(*rows_of(shaped), **other) > 0.1 * residual(*rows_of(plain), **other)


@pytest.mark.parametrize('order', [1, 2])
@pytest.mark.parametrize('after', [0.03, 0.7, 1.1, 1.6])
def test_a_trajectory_that_replaces_another_goes_on_without_a_jump(order, after):
    first, second = a_move(order, seed=3), a_move(order, seed=4)
    shaper = from_zero(shaper_for(), 'a')
    old = shaper.shaped(first, 10.0)
    shaper.keep(old)
    new = shaper.shaped(second, 10.0 + after)
    assert new.start == pytest.approx(10.0 + after)
    for before, now in zip(curves(*rows_of(old)), curves(*rows_of(new))):
        assert now(0.0) == pytest.approx(before(min(after, old.times[-1])), abs=1e-8)
    assert (new.positions[-1] == second.positions[-1]).all()
    # all sent points together leave no vibration
    kept = old.times < after
    times = np.concatenate([old.times[kept], after + new.times])
    rows = [
        np.concatenate([a[kept], b])
        for a, b in zip(rows_of(old)[1 : order + 2], rows_of(new)[1 : order + 2])
    ]
    plain = from_zero(shaper_for('none'), 'a').shaped(second, 0.0)
    assert residual(times, *rows) <= 0.02 * residual(*rows_of(plain))


def test_many_that_replace_each_other_stay_in_the_range_of_what_was_asked_for():
    rng = np.random.default_rng(5)
    shaper, now, last = from_zero(shaper_for('ei2'), 'a'), 100.0, None
    for _ in range(30):
        goal = rng.uniform(-1, 1)
        sent = shaper.shaped(Trajectory(['a'], [0.4], [[goal]], [[0.0]], [[0.0]]), now)
        if last is not None:
            before = curves(*rows_of(last))[0]
            assert sent.positions[0] == pytest.approx(
                before(min(sent.start - last.start, last.times[-1])), abs=1e-8
            )
        shaper.keep(sent)
        last, now = sent, now + rng.uniform(0.01, 1.0)
    assert len(shaper._state.motion.knots) < 40  # motions that ended long ago are forgotten


def test_the_stamp_of_a_trajectory_is_passed_on_and_what_is_over_is_left_out():
    shaper = from_zero(shaper_for(), 'a')
    later = shaper.shaped(a_move(1), 10.0, 12.5)
    assert later.start == 12.5
    move = a_move(1)
    late = shaper.shaped(move, 10.0, 10.0 - move.times[1])
    assert late.start == 10.0
    assert late.times[-1] == pytest.approx(
        move.times[-1] - move.times[1] + shaper.shaped(move, 0.0).times[-1] - move.times[-1]
    )
    with pytest.raises(SettingError, match='the trajectory is over'):
        shaper.shaped(move, 10.0, 1.0)


def test_one_that_begins_later_lets_the_running_one_go_on_until_then():
    shaper, first = from_zero(shaper_for(), 'a'), a_move(1, seed=3)
    old = shaper.shaped(first, 0.0)
    shaper.keep(old)
    new = shaper.shaped(a_move(1, seed=4), 0.3, 0.8)
    grid = np.linspace(0.3, 0.8, 50)
    assert curves(*rows_of(new))[0](grid - 0.3) == pytest.approx(
        curves(*rows_of(old))[0](grid), abs=1e-9
    )


def test_it_begins_at_its_first_point_or_where_the_arm_is_or_not_at_all():
    shaper = shaper_for()
    with pytest.raises(SettingError, match='the position of "a" is unknown: send joint_states'):
        shaper.shaped(a_move(1), 0.0)
    move = Trajectory(['a'], [0.0, 1.0], [[0.4], [1.0]], [[0.0], [0.0]])
    assert shaper.shaped(move, 0.0).positions[0] == 0.4
    shaper.measured['a'] = 0.35  # the arm sags
    assert shaper.shaped(move, 0.0).positions[0] == 0.4
    shaper.measured['a'] = 0.7
    with pytest.raises(SettingError, match='begins with "a" at 0.4, but it is at 0.7'):
        shaper.shaped(move, 0.0)
    assert shaper.shaped(a_move(1), 0.0).positions[0, 0] == 0.7


def test_after_a_motion_the_next_begins_at_the_goal_though_the_arm_sags():
    shaper = from_zero(shaper_for(), 'a')
    first = shaper.shaped(a_move(1), 0.0)
    shaper.keep(first)
    shaper.measured['a'] = first.positions[-1, 0] - 0.05
    assert shaper.shaped(a_move(1), 100.0).positions[0] == first.positions[-1]
    shaper.measured['a'] = first.positions[-1, 0] - 0.5  # another program has moved it
    assert shaper.shaped(a_move(1), 100.0).positions[0, 0] == shaper.measured['a']


def test_joints_of_a_running_motion_are_not_left_behind():
    shaper = from_zero(shaper_for(), 'a', 'b')
    shaper.keep(shaper.shaped(a_move(1, names=('a', 'b')), 0.0))
    with pytest.raises(SettingError, match='"b" is moving and not in the new trajectory'):
        shaper.shaped(a_move(1, names=('a',)), 0.5)
    shaper = from_zero(shaper_for(), 'a', 'b')
    first = shaper.shaped(a_move(1, names=('a',)), 0.0)
    shaper.keep(first)
    # "a" has arrived, but the sent motion has not
    settling = float(a_move(1).times[-1]) + 0.05
    new = shaper.shaped(a_move(1, names=('b',)), settling)
    assert new.names == ('b', 'a')
    assert new.positions[0, 1] != first.positions[-1, 0]
    assert new.positions[-1, 1] == first.positions[-1, 0]


def test_a_clock_that_is_set_back_ends_the_memory():
    shaper = from_zero(shaper_for(), 'a')
    shaper.keep(shaper.shaped(a_move(1), 1000.0))
    assert not shaper.is_moving(2000.0)
    assert shaper.shaped(a_move(1), 1.0).start == 1.0


def test_what_is_refused_changes_nothing():
    shaper = from_zero(shaper_for(), 'a')
    first = shaper.shaped(a_move(1), 0.0)
    shaper.keep(first)
    before = shaper.shaped(a_move(1, seed=2), 0.4).positions
    with pytest.raises(SettingError, match='points, more than 100000: give a longer period'):
        shaper.shaped(Trajectory(['a'], [1e6], [[1.0]], [[0.0]]), 0.4)
    assert (shaper.shaped(a_move(1, seed=2), 0.4).positions == before).all()


@pytest.mark.parametrize(
    'frequencies, ratios, line',
    [
        ((), (), 'must name the natural frequencies of the arm'),
        ((1.0, 2.0), (0.1,), '1 numbers for 2 frequencies'),
        ((0.0,), (), 'must be above 0 and finite'),
        ((1.0,), (1.0,), 'below 1'),
    ],
)
def test_useless_modes_are_one_line(frequencies, ratios, line):
    with pytest.raises(SettingError, match=line) as caught:
        by_modes('zv', frequencies, ratios)
    assert '\n' not in str(caught.value)


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


def test_a_robot_knows_its_joints_stops_speeds_and_modes(arm):
    shaper = TrajectoryShaper(lambda end: of_kind('zv', 2.0 + end[2]), arm=arm)
    names = arm.joint_names
    move = Trajectory(names, [0.0, 2.0], [np.zeros(3), [0.1, 0.2, 0.5]], np.zeros((2, 3)))
    assert shaper.shaped(move, 0.0).times[-1] == pytest.approx(2.0 + 0.5 / 2.5)
    with pytest.raises(SettingError, match='no joint "hip"'):
        shaper.shaped(Trajectory(['hip'], [1.0], [[0.0]]), 0.0)
    with pytest.raises(SettingError, match=f'the position of "{names[1]}" is unknown'):
        shaper.shaped(Trajectory(names[:1], [0.0, 1.0], [[0.0], [0.1]]), 0.0)
    from_zero(shaper, *names)
    with pytest.raises(SettingError, match='beyond its stops'):
        shaper.shaped(Trajectory(names[1:2], [9.0], [[50.0]]), 0.0)
    with pytest.raises(SettingError, match=f'moves "{names[0]}" at .* faster than its'):
        shaper.shaped(Trajectory(names[:1], [0.01], [[1.0]]), 0.0)
    # one joint is requested, one is sent
    assert shaper.shaped(Trajectory(names[:1], [2.0], [[0.1]]), 0.0).names == tuple(names[:1])
