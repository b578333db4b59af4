"""Streams of set points: their output, sample by sample, and its effect on an exact oscillator."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import flex_robot_sim as frs
from flex_robot_sim.analysis.mode_table import mode_table
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.set_point_stream import SetPointStream
from flex_robot_sim.shaping.shaper_design import design_for_arm, design_for_modes
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.trajectory_shaper import TrajectoryShaper
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

PERIOD, FREQUENCY = 0.01, 2.3
NAMES = 'a', 'b'


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


@pytest.fixture(scope='module')
def by_pose(arm):
    """ShaperSpecification of a kind whose delays depend on the pose."""
    table = mode_table(arm, poses=[[0.0, 0.2, -1.0], [0.5, 0.9, 1.5]], count=2)
    return lambda kind: ShaperSpecification(
        kind, table=table, stages=tuple(stages_of(table, kind))
    )


def run(stream, source, count, changes=None):
    """Output rows (count, joints) while a source {tick: (time, positions)} sends."""
    out = []
    for k in range(count):
        for item in source.get(k, ()):
            stream.receive(item[1], stamp=item[0], now=k * PERIOD)
        if changes and k in changes:
            stream.use(changes[k])
        stream.tick()
        out.append(stream.position.copy())
    return np.array(out)


def waves(until=150, every=2, jitter=0.0, seed=0):
    """A source that sends at a period in ticks, with jitter."""
    rng = np.random.default_rng(seed)
    source: dict = {}
    for k in range(0, until, every):
        place = max(0, k + round(jitter * rng.normal()))
        time = k * PERIOD
        source.setdefault(place, []).append(
            (1000.0 + time, [0.3 * np.sin(2.0 * time), 0.2 - 0.2 * np.cos(3.0 * time)])
        )
    return source


def residual_amplitude(rows):
    """Amplitude of an undamped oscillator after its base has followed the rows (k,)."""
    rate = 2 * np.pi * FREQUENCY
    step = expm(np.array([[0.0, 1.0], [-(rate**2), 0.0]]) * PERIOD)
    state = np.array([0.0, 0.0])
    for row in rows:
        state = row * np.array([1.0, 0.0]) + step @ (state - [row, 0.0])
    return np.hypot(state[0] - rows[-1], state[1] / rate)


def test_a_source_that_stops_in_the_midst_of_a_motion_is_finished_at_rest():
    plain, shaped = (
        SetPointStream(NAMES, PERIOD, design_for_modes(kind, [FREQUENCY]))
        for kind in ('none', 'zvd')
    )
    source = waves(until=60)
    rows = [run(stream, source, 260)[:, 0] for stream in (plain, shaped)]
    last = source[58][-1][1]
    for stream in (plain, shaped):
        assert stream.is_settled and (stream.position == last).all()
        assert not stream.velocity.any()
    assert residual_amplitude(rows[1]) < 0.03 * residual_amplitude(rows[0])


@pytest.mark.parametrize('seed', range(4))
def test_late_and_early_set_points_make_no_jump(seed):
    stream = SetPointStream(NAMES, PERIOD, design_for_modes('zvd', [FREQUENCY]))
    out = run(stream, waves(jitter=2.0, seed=seed), 400)
    # the fastest of the source moves 0.6 per s, and may have to catch up after a gap
    assert np.abs(np.diff(out, axis=0)).max() <= 3.0 * 0.6 * PERIOD
    assert stream.is_settled and np.abs(out).max() <= 0.4


def test_what_comes_twice_or_late_is_ignored_and_counted():
    stream = SetPointStream(NAMES, PERIOD, design_for_modes('zv', [FREQUENCY]))
    assert stream.receive([0.0, 0.0], stamp=5.0)
    assert stream.receive([0.01, 0.0], stamp=5.1)
    assert not stream.receive([0.02, 0.0], stamp=5.1)
    assert not stream.receive([0.03, 0.0], stamp=4.9)
    assert stream.ignored == 2
    # a clock that was set back restarts the time base
    assert stream.receive([0.02, 0.0], stamp=-10.0)
    for _ in range(200):
        stream.tick()
    assert stream.position.tolist() == [0.02, 0.0]


def test_leaps_become_moves_no_faster_than_the_urdf_allows(arm, by_pose):
    stream = SetPointStream(arm.joint_names, PERIOD, by_pose('zvd'), arm)
    limits = np.array([arm.description.joint(name).velocity for name in arm.joint_names])
    rng, out = np.random.default_rng(1), []
    stream.receive([0.0, 0.3, 0.0])
    for k in range(900):
        if k % 50 == 0 and k < 500:
            stream.receive(rng.uniform(-6.0, 6.0, 3), now=k * PERIOD)
        stream.tick()
        out.append(stream.position.copy())
    out = np.array(out)
    speeds = np.abs(np.diff(out, axis=0)) / PERIOD
    assert (speeds <= limits * (1 + 1e-9)).all() and speeds.max() > 0.9 * limits.min()
    assert (out >= arm.arrays.lower).all() and (out <= arm.arrays.upper).all()
    assert stream.limited > 0 and stream.is_settled


@pytest.mark.parametrize('kind', ['none', 'zvd'])
@pytest.mark.parametrize('seed', range(6))
def test_set_points_keep_limits_of_velocity_and_acceleration_and_pass_no_goal(seed, kind):
    rng = np.random.default_rng(seed)
    builder, limits = frs.ArmBuilder(), []
    for number, name in enumerate(NAMES):
        builder.add_rigid(f'link_{name}', mass=1.0, centre=(0.1, 0, 0))
        limits.append(
            {
                'velocity': rng.uniform(0.3, 2.0),
                'acceleration': rng.uniform(0.5, 8.0),
                'deceleration': rng.uniform(0.5, 8.0),
            }
        )
        parent = f'link_{NAMES[0]}' if number else 'base'
        builder.add_joint(name, parent=parent, child=f'link_{name}', axis='z', **limits[-1])
    stream = SetPointStream(NAMES, PERIOD, design_for_modes(kind, [FREQUENCY]), builder.build())
    # a source that leaps, pauses, and wanders
    goals, source, place = [np.zeros(2)], {0: [(0.0, [0.0, 0.0])]}, np.zeros(2)
    for k in np.unique(rng.integers(1, 800, 120)).tolist():
        place = rng.uniform(-1, 1, 2) if rng.random() < 0.2 else place + rng.normal(size=2) * 0.02
        goals.append(place)
        source[k] = [(k * PERIOD, place)]
    out = run(stream, source, 2500)
    velocities = np.diff(out, axis=0, prepend=out[:1]) / PERIOD
    changes = np.diff(velocities, axis=0) / PERIOD
    is_braking = np.abs(velocities[1:]) < np.abs(velocities[:-1])
    for j, limit in enumerate(limits):
        assert np.abs(velocities[:, j]).max() <= limit['velocity'] * (1 + 1e-9)
        least, most = sorted((limit['acceleration'], limit['deceleration']))
        assert np.abs(changes[:, j]).max() <= most * (1 + 1e-6)
        if kind == 'none':
            for is_one, key in ((is_braking, 'deceleration'), (~is_braking, 'acceleration')):
                assert np.abs(changes[is_one[:, j], j]).max() <= limit[key] * (1 + 1e-6)
            assert np.abs(changes[:, j]).max() >= 0.99 * least  # the limits act
        column = np.array(goals)[:, j]
        assert column.min() - 1e-12 <= out[:, j].min() and out[:, j].max() <= column.max() + 1e-12
    assert stream.is_settled and (out[-1] == goals[-1]).all()


@pytest.mark.parametrize('acceleration, deceleration', [(2.0, 2.0), (1.0, 4.0), (6.0, 1.5)])
def test_a_leap_takes_the_time_of_the_fastest_move_within_the_limits(acceleration, deceleration):
    limits = {'velocity': 1.0, 'acceleration': acceleration, 'deceleration': deceleration}
    builder = frs.ArmBuilder().add_rigid('link', mass=1.0, centre=(0.1, 0, 0))
    builder.add_joint('a', parent='base', child='link', axis='z', **limits)
    stream = SetPointStream(['a'], PERIOD, ShaperSpecification('none'), builder.build())
    distance, ramps = 1.7, 1 / acceleration + 1 / deceleration
    out = run(stream, {0: [(0.0, [0.0])], 1: [(0.01, [distance])]}, 600)[:, 0]
    taken = PERIOD * (np.argmax(out == distance) - 1)
    # 1.7 rad at 1 rad/s, and half of both ramps
    assert taken == pytest.approx(distance + ramps / 2, abs=3 * PERIOD)


@pytest.mark.parametrize('seed', range(3))
def test_another_shaper_at_any_instant_makes_no_jump(arm, by_pose, seed):
    rng = np.random.default_rng(seed)
    kinds = [by_pose(kind) for kind in ('zv', 'ei', 'zvdd')] + [ShaperSpecification('none')]
    changes = {int(k): kinds[rng.integers(len(kinds))] for k in rng.integers(5, 280, 6)}
    share = [10 * u**3 - 15 * u**4 + 6 * u**5 for u in np.linspace(0.0, 1.0, 251)]
    source = {k: [(k * PERIOD, [0.9 * s, 0.4, -0.5 - 1.2 * s])] for k, s in enumerate(share)}
    stream = SetPointStream(arm.joint_names, PERIOD, kinds[0], arm)
    out = run(stream, source, 700, changes)
    # the source moves with v = 15/8 and a = 10 / sqrt(3) of its means at most
    v, a = 15 / 8 * 1.2 / 2.5, 10 / 3**0.5 * 1.2 / 2.5**2
    # a fade of w(t) from x to y, both late by no more than D / 2 on the mean, adds w' (x - y) to
    # the velocity and w'' (x - y) + 2 w' (x' - y') to the acceleration, where |x - y| <= v D / 2;
    # it takes 3/2 D, so w' is 15/8 and w'' 10 / sqrt(3) over powers of that; D is shortest for zv
    D = kinds[0].online(3, PERIOD, 2).duration
    slope, bend = 15 / 8 / (1.5 * D), 10 / 3**0.5 / (1.5 * D) ** 2
    assert np.abs(np.diff(out, axis=0)).max() / PERIOD <= v + slope * v * D / 2
    assert np.abs(np.diff(out, 2, axis=0)).max() / PERIOD**2 <= (
        a + bend * v * D / 2 + 2 * slope * a * D / 2
    )
    assert stream.is_settled and out[-1] == pytest.approx(source[250][0][1])


def test_joints_that_a_set_point_does_not_name_stay():
    stream = SetPointStream(NAMES, PERIOD, design_for_modes('zv', [FREQUENCY]))
    stream.measured = {'a': 0.5, 'b': -0.2}
    stream.receive([-0.15], ['b'])
    for _ in range(200):
        stream.tick()
    assert stream.position.tolist() == [0.5, -0.15]


@pytest.mark.parametrize(
    'call, message',
    [
        (lambda s: s.receive([0.0]), '1 positions for 2 joints: send one each'),
        (lambda s: s.receive([0.0, np.nan]), 'set points must be finite'),
        (lambda s: s.receive([0.0], ['c']), 'no joint "c". Known: a, b'),
        (
            lambda s: s.receive([0.0], ['a']),
            'the position of "b" is unknown: send joint_states, or '
            'all '
            'joints in the first set point',
        ),
        (
            lambda s: s.measured.update(a=1.0) or s.receive([0.0, 0.0]),
            'the set points begin with "a" at 0, but it is at 1: let them begin where the arm is',
        ),
        (
            lambda s: s.receive([0.0, 0.0]) and s.receive([0.0, 0.5]),
            'the set points leap with "b" from 0 to 0.5, and its velocity limit is unknown: '
            'send smaller steps, or name a robot whose URDF limits velocities',
        ),
    ],
)
def test_what_is_useless_is_refused(call, message):
    stream = SetPointStream(NAMES, PERIOD, design_for_modes('zv', [FREQUENCY]))
    with pytest.raises(SettingError) as caught:
        call(stream)
    assert str(caught.value) == message
    stream.tick()
    assert np.isfinite(stream.position).all()


def test_trajectories_follow_the_pose_and_replace_each_other_without_a_jump(arm, by_pose):
    parts, names = by_pose('ei'), arm.joint_names
    shaper = TrajectoryShaper(lambda end: parts, 0.02, arm)
    shaper.measured = dict(zip(names, [0.0, 0.3, -0.8]))
    rng, now = np.random.default_rng(5), 0.0
    sent: list = []
    for _ in range(5):
        goal = rng.uniform([-0.3, 0.2, -1.0], [0.5, 0.8, 1.0])
        one = shaper.shaped(Trajectory(names, [1.2], [goal], [[0.0] * 3]), now)
        shaper.keep(one)
        sent.append(one)
        now += rng.uniform(0.2, 0.9)
    for old, new in zip(sent, sent[1:]):
        k = int(np.searchsorted(old.start + old.times, new.start))
        share = (new.start - old.start - old.times[k - 1]) / (old.times[k] - old.times[k - 1])
        before = old.positions[k - 1] + share * (old.positions[k] - old.positions[k - 1])
        assert new.positions[0] == pytest.approx(before, abs=2e-3)  # a line instead of a curve
        near = old.velocities[k - 1 : k + 1]
        margin = 0.02 + np.abs(np.diff(near, axis=0))[0]
        assert (np.abs(new.velocities[0] - near.mean(axis=0)) <= margin).all()
    assert sent[-1].positions[-1] == pytest.approx(goal, abs=0.0)
    assert not sent[-1].velocities[-1].any()


@pytest.mark.parametrize('kind', ['zvd', 'by modes'])
def test_no_trajectory_that_is_sent_leaves_the_limits_of_the_urdf(arm, by_pose, kind):
    parts = design_for_modes('ei', [1.7, 4.1]) if kind == 'by modes' else by_pose(kind)
    names, rng, now = arm.joint_names, np.random.default_rng(3), 0.0
    limits = np.array([arm.description.joint(name).velocity for name in names])
    shaper = TrajectoryShaper(lambda end: parts, 0.02, arm)
    shaper.measured = dict(zip(names, [0.0, 0.3, -0.8]))
    place, outcomes, fastest = np.array([0.0, 0.3, -0.8]), [], 0.0
    one: Any
    for _ in range(40):
        goals = rng.uniform(arm.arrays.lower - 1.0, arm.arrays.upper + 1.0, (2, 3))
        goals = place + (goals - place) * rng.uniform(0.1, 1.0)
        times = np.cumsum(rng.uniform(0.4, 2.0, 2))
        speeds = rng.uniform(-0.5, 0.5, (2, 3)) * [[1], [0]]
        try:
            one = shaper.shaped(Trajectory(names, times, goals, speeds), now)
        except SettingError as error:
            outcomes.append('faster' if 'faster' in str(error) else 'stops')
            assert outcomes[-1] in str(error)
            continue
        shaper.keep(one)
        outcomes.append('sent')
        # an arm may exceed its stops by 1e-3
        assert (one.positions >= arm.arrays.lower - 1e-3).all()
        assert (one.positions <= arm.arrays.upper + 1e-3).all()
        rates = np.abs(np.diff(one.positions, axis=0)) / np.diff(one.times)[:, None]
        assert (np.maximum(rates, np.abs(one.velocities[1:])) <= 1.02 * limits * (1 + 1e-6)).all()
        fastest = max(fastest, (rates / limits).max())
        # the next one comes in motion, or at rest
        now, place = now + rng.uniform(0.2, 1.5) * times[-1], goals[-1]
    assert {*outcomes} == {'sent', 'faster', 'stops'} and fastest > 0.7
    assert outcomes.count('sent') > 5


@pytest.mark.long
def test_the_node_and_the_command_line_have_one_rule():
    arm = frs.load('single_link')
    from flex_robot_sim.shaping.recommendation import recommend

    parts, best = design_for_arm(arm), recommend(arm).choice
    assert parts.name == best.name and parts.shaper.times.tolist() == best.shaper.times.tolist()


def test_modes_alone_get_a_shaper_that_bears_what_is_unsure():
    parts = design_for_modes('auto', [2.0, 5.0], [0.01, 0.02])
    for off in (0.9, 1.1):
        assert parts.shaper.vibration(off * 2.0, 0.01) <= 0.07


@pytest.mark.parametrize('seed', range(3))
def test_a_stop_at_any_instant_comes_to_rest_within_the_stops_and_without_a_jump(
    arm, by_pose, seed
):
    rng, parts, names = np.random.default_rng(seed), by_pose('zvd'), arm.joint_names
    shaper = TrajectoryShaper(lambda end: parts, 0.02, arm)
    shaper.measured = dict(zip(names, [0.0, 0.3, 1.0]))
    # ends next to a stop
    one = shaper.shaped(Trajectory(names, [1.0], [[0.3, 0.5, 2.35]], [[0.0] * 3]), 0.0)
    shaper.keep(one)
    now = rng.uniform(0.05, 1.2)
    stop: Any = shaper.stopped(now)
    shaper.keep(stop)
    assert not stop.velocities[-1].any() and (stop.positions[:, 2] <= 2.4).all()
    assert stop.times[-1] <= 0.25 + parts.online(3, 0.005).duration + 0.1
    k = int(np.searchsorted(one.start + one.times, stop.start))
    if k < len(one.times):
        near = one.positions[k - 1 : k + 1]
        assert (near.min(axis=0) - 1e-3 <= stop.positions[0]).all()
        assert (stop.positions[0] <= near.max(axis=0) + 1e-3).all()
    with pytest.raises(SettingError, match='nothing moves that could be stopped'):
        shaper.stopped(now + 10.0)


@pytest.mark.parametrize('kind', ['zv', 'zvd'])
def test_a_controller_accepts_what_a_shaper_makes_of_a_motion_at_its_limits(arm, by_pose, kind):
    start, goal, duration = np.array([0.0, 0.3, 1.0]), np.array([0.4, 0.8, 0.1]), 0.7
    way, limits = np.abs(goal - start), {}
    for j, name in enumerate(arm.joint_names):  # peaks of minimum jerk
        limits[f'{name}.velocity'] = 15 / 8 * way[j] / duration
        limits[f'{name}.acceleration'] = 10 / np.sqrt(3) * way[j] / duration**2
        limits[f'{name}.jerk'] = 60 * way[j] / duration**3
    limited = frs.with_parameters(arm, limits)
    shaper = TrajectoryShaper(lambda end: by_pose(kind), 0.02, limited)
    shaper.measured = dict(zip(arm.joint_names, start))
    rest = [[0.0] * 3]
    shaped: Any = shaper.shaped(Trajectory(arm.joint_names, [duration], [goal], rest, rest), 0.0)
    reference = Reference(limited)
    reference.position[:] = start
    points = Trajectory(shaped.names, shaped.times, shaped.positions, shaped.velocities)
    reference.follow(reference.plan(points, 0.0), 0.0)
    assert reference.is_moving
