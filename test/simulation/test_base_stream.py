"""A base that follows messages: near their motion, without jumps, and at rest after mistakes."""

import numpy as np
import pytest
from moved_bases import Roll
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.realtime.base_stream import BaseStream
from flex_robot_sim.util.exceptions import CommandError
from flex_robot_sim.util.share import shipped_robots

STEPS = 20  # between two messages
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


def test_the_base_follows_two_messages_late_without_jumps(sim):
    stream, poses = BaseStream(sim), [sim.base_pose]
    follow(sim, stream, 150, poses)
    h = sim.settings.time_step
    times = h * np.arange(len(poses))
    turns = Rotation.from_quat(np.array(poses)[:, 3:])
    late = 2 * STEPS * h
    expected = Rotation.from_quat([message(time - late)[1][3:] for time in times[1000:]])
    errors = (turns[1000:].inv() * expected).magnitude()
    assert errors.max() < 1e-5
    # a jump of the rate would be a second difference of the order of the rate times h
    second = np.diff(turns.as_rotvec()[:, 0], 2) / h**2
    assert abs(second).max() < 5.0 and not sim.reports


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        (lambda s, p, t: (s - 10**8, p, t), 'a stamp is not later'),
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
    sim.step(500)
    assert stream.passed_end() and not stream.passed_end()
    np.testing.assert_array_equal(sim.base_twist, np.zeros(6))
    assert abs(sim.base_pose - before).max() < 0.05 and not sim.reports
