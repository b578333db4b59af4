"""Shaped set points within velocity limits, in random moves with random tables of modes."""

import pickle
from unittest.mock import Mock

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.motion.limits import rate_limits
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.impulses import NONE, of_kind
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaper_design import design_for_arm
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.shaping.velocity_limiter import VelocityLimiter
from flex_robot_sim.util.exceptions import SettingError

ROUNDING = 1 + 1e-9
FAST = np.array([0.9, 0.4])  # velocity limits of two joints


def random_table(rng, low, high):
    """Modes that depend on the first joint, by up to a factor of 3."""
    axis = np.linspace(low - 1e-3, high + 1e-3, int(rng.integers(2, 7)))
    frequencies = rng.uniform(1.5, 4.5, (axis.size, int(rng.integers(1, 3))))
    return ModeTable((0,), (axis,), np.sort(frequencies), np.full_like(frequencies, 0.01))


def random_moves(rng, period, limits, count=3):
    """Set points of moves in series, of which each reaches the limit of a joint."""
    rows, place = [], rng.uniform(-1.0, 1.0, limits.size)
    for _ in range(count):
        goal = rng.uniform(-1.0, 1.0, limits.size)
        duration = 15 / 8 * (np.abs(goal - place) / limits).max()
        u = np.arange(period, duration, period)[:, None] / duration
        rows.append(place + u**3 * (10 - 15 * u + 6 * u**2) * (goal - place))
        rows.append(np.repeat(goal[None], int(rng.uniform(1.0, 1.0 + 0.5 / period)), axis=0))
        place = goal
    return np.concatenate(rows)


def shapers(rng, samples, period, limits):
    """A shaper with limits, and the same without."""
    table = random_table(rng, samples[:, 0].min(), samples[:, 0].max())
    stages = stages_of(table, str(rng.choice(['zv', 'zvd', 'ei'])))
    return (
        OnlineShaper(
            samples.shape[1], period, table=table, stages=stages, velocity_limits=velocity_limits
        )
        for velocity_limits in (limits, None)
    )


def largest_excess(rows, period, limits):
    return (np.abs(np.diff(rows, axis=0)) / (period * limits)).max()


@pytest.mark.parametrize(
    'period',
    [pytest.param(1e-3, marks=pytest.mark.slow), pytest.param(4e-3, marks=pytest.mark.slow), 0.02],
)
def test_limited_set_points_never_exceed_the_limits_and_end_at_the_target(period):
    rng, excesses, waits = np.random.default_rng(int(1e6 * period)), [], []
    for _ in range(3 if period < 4e-3 else 8):
        samples = random_moves(rng, period, FAST)
        limited, free = shapers(rng, samples, period, FAST)
        found, expected = limited.run(samples), free.run(samples)
        excesses.append(largest_excess(expected, period, FAST))
        waits.append(period * (len(found) - len(expected)))
        assert largest_excess(found, period, FAST) <= ROUNDING
        assert (found[-1] == samples[-1]).all()
        # the velocity changes no faster than that of the free set points, but for the catch-up
        jumps = [np.abs(np.diff(rows, 2, axis=0)).max() for rows in (found, expected)]
        assert jumps[0] <= 1.5 * jumps[1]
        if excesses[-1] <= 1.0:
            np.testing.assert_array_equal(found, expected)
    assert max(excesses) > 1.05  # without the limits they are exceeded
    assert 0.0 <= min(waits) and max(waits) < 0.3


@pytest.mark.parametrize('seed', range(3))
def test_the_limiter_goes_along_the_set_points_as_fast_as_the_limits_permit(seed):
    rng, period = np.random.default_rng(seed), 0.01
    rows = np.cumsum(rng.normal(size=(400, 3)) * [0.01, 0.02, 0.005], axis=0)
    limits = np.array([1.2, 2.5, np.inf])
    limiter = VelocityLimiter(limits, period, duration=8.0)
    limiter.reset(rows[0])
    ticks, place, before = np.arange(len(rows)), 0.0, rows[0]
    for tick in range(1, len(rows)):
        goal = min(tick, place + 1 + (tick - 1 - place) * period / 8.0)
        limiter.step(rows[tick])
        place_before, place = place, tick - limiter.delay
        on_path = [np.interp(place, ticks, column) for column in rows.T]
        np.testing.assert_allclose(limiter.position, on_path, atol=1e-9)
        step = np.abs(limiter.position - before) / (period * limits)
        assert step.max() <= ROUNDING and place_before - 1e-9 <= place <= goal + 1e-9
        assert place >= goal - 1e-9 or step.max() >= 1 - 1e-9
        before = limiter.position.copy()


@pytest.mark.parametrize('shaper', [NONE, of_kind('zvd', 2.0)])
def test_a_jump_becomes_a_straight_move_at_the_limit(shaper):
    online = OnlineShaper(2, 0.01, shaper=shaper, velocity_limits=FAST)
    online.reset([0.0, 0.0])
    rows = online.run(np.repeat([[1.0, -2.0]], 3, axis=0))
    assert (rows[-1] == [1.0, -2.0]).all()
    assert largest_excess(np.vstack([[[0.0, 0.0]], rows]), 0.01, FAST) <= ROUNDING
    np.testing.assert_allclose(rows[:, 1], -2.0 * rows[:, 0], atol=1e-12)
    # the second joint needs 5 s
    assert 0.01 * len(rows) == pytest.approx(2.0 / FAST[1], abs=shaper.duration + 0.02)


def test_a_pickled_shaper_continues_within_its_limits():
    rng, period = np.random.default_rng(3), 4e-3
    samples = random_moves(rng, period, FAST)
    shaper, _ = shapers(rng, samples, period, FAST)
    for sample in samples[:150]:
        shaper.step(sample)
    other = pickle.loads(pickle.dumps(shaper))
    np.testing.assert_array_equal(other.run(samples[150:]), shaper.run(samples[150:]))


@pytest.mark.parametrize('limits', [[1.0], [1.0, 0.0], [1.0, np.nan], 'fast'])
def test_limits_that_are_none_are_refused(limits):
    with pytest.raises(SettingError) as caught:
        OnlineShaper(2, 1e-3, velocity_limits=limits)
    assert str(caught.value) == (
        f'velocity_limits = {limits!r} must be 2 numbers > 0, one per joint [rad/s, m/s]; '
        'inf: no limit'
    )


@pytest.fixture(scope='module')
def ur5e(tmp_path_factory):
    """Public arm with elastic joints and its shaper by pose."""
    text = ROOT.joinpath('test', 'data', 'robots', 'ur5e.urdf').read_text('utf-8')
    joints = [joint for joint in frs.read_description(text).joints if joint.moves]
    elastic = ''.join(
        f'<joint name="{joint.name}" stiffness="{40 * joint.effort}" damping="0.3" '
        'rotor_inertia="1e-4" gear_ratio="101"/>'
        for joint in joints
    )
    path = tmp_path_factory.mktemp('arm') / 'ur5e.urdf'
    path.write_text(
        text.replace('</robot>', f'<flexibility>{elastic}</flexibility></robot>'), 'utf-8'
    )
    arm = frs.load(path)
    return arm, design_for_arm(arm, kind='zv')


def straight_moves(arm, rng, period, count):
    """Moves from rest to rest at the limit of a joint, between random poses."""
    limits, place = rate_limits(arm), np.zeros(len(arm.joint_names))
    for _ in range(count):
        goal = rng.uniform(-1.5, 1.5, place.size)
        duration = 1.5 * (np.abs(goal - place) / limits).max()
        u = np.arange(0.0, duration + period, period) / duration
        share = np.interp(u, np.linspace(0, 1, 301), np.cumsum(trapezoid(301)) * 1.5 / 300)
        yield place + np.minimum(share / share[-1], 1.0)[:, None] * (goal - place)
        place = goal


def trapezoid(count):
    return np.clip(3 * np.minimum(np.linspace(0, 1, count), np.linspace(1, 0, count)), 0.0, 1.0)


@pytest.mark.slow
def test_set_points_of_a_public_arm_keep_its_limits_by_pose(ur5e):
    arm, design = ur5e
    rng, period, limits = np.random.default_rng(1), 2e-3, rate_limits(arm)
    excess, wait = 0.0, 0.0
    for samples in straight_moves(arm, rng, period, 12):
        times = period * np.arange(len(samples))
        limited = design.shape(times, samples).positions
        free = design._replace(velocity_limits=None).shape(times, samples).positions
        assert largest_excess(limited, period, limits) <= ROUNDING
        assert (limited[-1] == samples[-1]).all()
        excess = max(excess, largest_excess(free, period, limits))
        wait = max(wait, period * (len(limited) - len(free)))
    assert excess > 1.01 and wait < 0.05


@pytest.mark.slow
def test_trajectories_of_a_public_arm_by_pose_keep_its_limits(ur5e):
    arm, design = ur5e
    rng, limits = np.random.default_rng(2), rate_limits(arm)
    for samples in straight_moves(arm, rng, 0.01, 4):
        shaper = TrajectoryShaper(lambda end: design, 0.02, arm)
        shaper.measured = dict(zip(arm.joint_names, samples[0]))
        times = 0.01 * np.arange(1, len(samples))
        speeds = np.gradient(samples, 0.01, axis=0)[1:]
        speeds[-1] = 0.0
        shaped = shaper.shaped(Trajectory(arm.joint_names, times, samples[1:], speeds), 0.0)
        assert (np.abs(shaped.velocities) <= ROUNDING * limits).all()
        assert largest_excess(shaped.positions, np.diff(shaped.times)[:, None], limits) < 1.0001
        assert (shaped.positions[-1] == samples[-1]).all()
        shaper.keep(shaped)
        assert not shaper.is_moving(max(shaped.start + shaped.times[-1], shaped.state.end))


def test_a_shaper_by_pose_keeps_the_acceleration_limits_or_refuses():
    builder = frs.ArmBuilder().add_rigid('link', mass=1.0, centre=(0.1, 0, 0))
    arm = builder.add_joint(
        'a', parent='base', child='link', axis='y', velocity=9.0, acceleration=2.0
    ).build()
    outcomes, axis = [], np.array([-1.0, 1.0])
    for fastest in (2.4, 20.0):
        modes = ModeTable((0,), (axis,), np.array([[2.0], [fastest]]), np.zeros((2, 1)))
        parts = ShaperSpecification('', table=modes, stages=tuple(stages_of(modes, 'zv')))
        shaper = TrajectoryShaper(Mock(return_value=parts), 0.02, arm)
        shaper.measured = {'a': -1.0}
        duration = np.sqrt(10 / np.sqrt(3) * 2.0 / 3.9)  # twice the limit is tolerated
        try:
            one = shaper.shaped(Trajectory(['a'], [duration], [[1.0]], [[0.0]], [[0.0]]), 0.0)
        except SettingError as error:
            outcomes.append(str(error))
            continue
        assert one.velocities is not None
        rates = np.diff(one.velocities[:, 0]) / np.diff(one.times)
        assert np.abs(rates).max() <= 4.0
        outcomes.append('')
    assert outcomes[0] == ''
    assert 'shaped by pose, the trajectory accelerates "a" at ' in outcomes[1]


def test_constant_delays_keep_limits_of_velocity_and_acceleration():
    rng = np.random.default_rng(8)
    for _ in range(20):
        shaper = of_kind(str(rng.choice(['zv', 'zvd', 'ei2'])), rng.uniform(1.0, 9.0))
        period = float(rng.choice([1e-3, 4e-3, 0.02]))
        samples = random_moves(rng, period, FAST)
        shaped = shaper.shape(period * np.arange(len(samples)), samples).positions
        for order in (1, 2):
            found, bound = (
                np.abs(np.diff(rows, order, axis=0)).max(axis=0) for rows in (shaped, samples)
            )
            assert (found <= bound * ROUNDING + 1e-15).all()
