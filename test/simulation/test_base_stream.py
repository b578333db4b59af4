"""A base that follows messages: near their motion, without jumps, and at rest after mistakes."""

from types import SimpleNamespace

import numpy as np
import pytest
from moved_bases import Roll
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.realtime.base_stream import DELAY_S, MAX_DELAY_S, BaseStream
from flex_robot_sim.util.exceptions import CommandError
from flex_robot_sim.util.share import shipped_robots

STEPS = 20  # between two messages
LATE = round(1e3 * DELAY_S)  # steps
ROLL = Roll((1, 0, 0))


@pytest.fixture
def sim(tmp_path):
    """Arm whose table has the base at rest."""
    (tmp_path / 'rest.csv').write_text('time,x,y,z,roll,pitch,yaw\n0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n')
    text = shipped_robots()['single_link'].read_text()
    path = tmp_path / 'arm.urdf'
    base = '<flexibility><base motion="rest.csv"/>'
    path.write_text(text.replace('<flexibility>', base, 1))
    return frs.Simulation(frs.load(path))


def message(time):
    """Stamp, pose and twist of a motion that starts at rest."""
    pose, twist, _ = ROLL.base(time - np.sin(time))  # the rate of the argument is zero at first
    twist = np.array(twist) * (1.0 - np.cos(time))
    return round(1e9 * time) + 1, np.array(pose), twist


def follow(sim, stream, count, poses):
    for _ in range(count):
        stream.take(*message(sim.time))
        for _ in range(STEPS):
            sim.step()
            poses.append(sim.base_pose)


@pytest.mark.parametrize('is_delayed', [False, True])
def test_the_base_follows_a_fixed_time_late_without_jumps(sim, is_delayed):
    stream, poses, rng = BaseStream(sim), [sim.base_pose], np.random.default_rng(1)
    h, arrivals = sim.settings.time_step, [0]
    for k in range(1, 150):  # late by up to three messages, but in order
        delay = rng.integers(3 * STEPS) if is_delayed else 0
        arrivals.append(max(arrivals[-1], k * STEPS + delay))
    sent = 0
    for step in range(150 * STEPS):
        while sent < 150 and arrivals[sent] <= step:
            stream.take(*message(sent * STEPS * h))
            sent += 1
        sim.step()
        poses.append(sim.base_pose)
    times = h * np.arange(len(poses))
    turns = Rotation.from_quat(np.array(poses)[:, 3:])
    expected = Rotation.from_quat([message(time)[1][3:] for time in times[1000 - LATE : -LATE]])
    # a cubic polynomial: fourth derivative, about 10 rad/s4, times interval^4 / 384
    assert (turns[1000:].inv() * expected).magnitude().max() < 1e-7
    # a jump of the rate would be a second difference of the order of the rate times h
    second = np.diff(turns.as_rotvec()[:, 0], 2) / h**2
    assert abs(second).max() < 5.0 and not sim.reports


@pytest.mark.parametrize('rate', [0.99, 1.01])
def test_a_clock_of_another_rate_keeps_the_base_in_time(sim, rate):
    base = SimpleNamespace(arm=sim.arm, time=0.0, base_pose=sim.base_pose, base_twist=np.zeros(6))
    base.move_base = lambda motion: setattr(base, 'motion', motion)
    stream, delays = BaseStream(base), []
    for k in range(1500):
        stream.take(*message(rate * base.time))
        delays.append(base.motion.times[-2] - base.time)
        base.time = 0.02 * (k + 1)
        sample = base.motion.samples(np.array([base.time]))[0]
        base.base_pose, base.base_twist = sample[:7], sample[7:13]
    assert 0.02 < min(delays) and max(delays) < MAX_DELAY_S + 0.01


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        (lambda s, p, t: (s - 10**8, p, t), 'a stamp is not later'),
        (lambda s, p, t: (s + 10**10, p, t), 'a stamp is 10.1 s before the simulation'),
        (lambda s, p, t: (s, p * np.nan, t), 'must be finite'),
        (lambda s, p, t: (s, p, t + np.inf), 'must be finite'),
        (lambda s, p, t: (s, p * 2.0, t), 'unit quaternion'),
        (lambda s, p, t: (s, p + [3.0, 0, 0, 0, 0, 0, 0], t), 'a pose jumps by 3 m'),
        (lambda s, p, t: (s, np.array([0, 0, 0, 1.0, 0, 0, 0]), t), 'a pose jumps by .* rad'),
    ],
)
def test_a_wrong_message_stops_the_base(sim, change, line):
    stream = BaseStream(sim)
    poses: list = []
    follow(sim, stream, 60, poses)
    with pytest.raises(CommandError, match=line):
        stream.take(*change(*message(sim.time)))
    before = sim.base_pose
    sim.step(700)
    assert stream.passed_end() and not stream.passed_end()
    np.testing.assert_array_equal(sim.base_twist, np.zeros(6))
    assert abs(sim.base_pose - before).max() < 0.1 and not sim.reports


def test_moving_poses_without_twists_are_refused(sim):
    stream = BaseStream(sim)
    with pytest.raises(CommandError, match='poses move, but the twists are zero'):
        for _ in range(1000):
            stamp, pose, _ = message(sim.time)
            stream.take(stamp, pose, np.zeros(6))
            sim.step(STEPS)
    assert sim.time < 4.0


def test_the_base_goes_on_after_a_gap_of_messages(sim):
    stream = BaseStream(sim)
    follow(sim, stream, 60, [])
    sim.step(300)  # it has begun to stop
    follow(sim, stream, 20, [])
    exact = Rotation.from_quat(message(sim.time - DELAY_S)[1][3:])
    assert (Rotation.from_quat(sim.base_pose[3:]).inv() * exact).magnitude() < 1e-6
    assert not sim.reports
