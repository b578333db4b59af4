"""The shaper over DDS, in a process of its own: an oscillator checks its output."""

import time

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray
from node_processes import NodeProcess
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicHermiteSpline
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.ros.conversions import STAMP

FREQUENCY, RATIO = 2.3, 0.01


def trajectory(points, names=('a', 'b'), stamp=None, **fields):
    """JointTrajectory of {seconds: positions}, at rest in all points."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = stamp or Time()
    for seconds, positions in points.items():
        whole = int(np.floor(seconds))
        message.points.append(
            JointTrajectoryPoint(
                **{
                    'positions': [float(x) for x in positions],
                    'velocities': [0.0] * len(positions),
                    'time_from_start': Duration(sec=whole, nanosec=round((seconds - whole) * 1e9)),
                    **fields,
                }
            )
        )
    return message


def nanoseconds(moment):
    return moment.sec * 1_000_000_000 + moment.nanosec


def curve(message, joint=0, since=0):
    """What a controller makes of points with velocities, since a time [ns]."""
    begin = (nanoseconds(message.header.stamp) - since) * 1e-9
    times = [begin + nanoseconds(point.time_from_start) * 1e-9 for point in message.points]
    assert np.diff(times).min() > 0.0
    return CubicHermiteSpline(
        times,
        *(
            [getattr(point, kind)[joint] for point in message.points]
            for kind in ('positions', 'velocities')
        ),
    )


def ringing(set_point, start, end):
    """Amplitude that an oscillator on the joint is left with, that follows set points."""
    rate, slope = 2 * np.pi * FREQUENCY, set_point.derivative()

    def move(t, x):
        return [x[1], rate**2 * (set_point(t) - x[0]) + 2 * RATIO * rate * (slope(t) - x[1])]

    x = solve_ivp(
        move, (start, end), [float(set_point(start)), 0.0], rtol=1e-8, atol=1e-10, max_step=0.01
    ).y[:, -1]
    return np.hypot(x[0] - float(set_point(end)), x[1] / rate)


@pytest.fixture(scope='module')
def shaper():
    """A shaper that knows frequencies only, in a namespace."""
    fields = {'frequencies': f'[{FREQUENCY}]', 'damping_ratios': f'[{RATIO}]', 'shaper': 'zvd'}
    process = NodeProcess('shaper', '-r', '__ns:=/any', **fields)
    process.wait_for_line('shapes /any/shaper/joint_trajectory by zvd, for /any/joint_trajectory')
    yield process
    process.close()


@pytest.fixture
def talk(shaper, observer):
    """Publisher of trajectories, and the list of what comes out."""
    out = observer.listen(JointTrajectory, '/any/joint_trajectory')
    observer.spin_until(lambda: observer.node.count_publishers('/any/joint_trajectory'))
    publisher = observer.publisher(JointTrajectory, '/any/shaper/joint_trajectory')

    def send(message):
        count = len(out)
        publisher.publish(message)
        observer.spin_until(lambda: len(out) > count, what=f'an answer; {shaper.lines}')
        return out[-1]

    # one without points forgets what was before; the last of them says that the way is open
    sent: list = []

    def mark():
        if not out and (not sent or time.monotonic() > sent[-1] + 0.5):
            sent.append(time.monotonic())
            publisher.publish(JointTrajectory(joint_names=[str(len(sent))]))
        return out and out[-1].joint_names == [str(len(sent))]

    observer.spin_until(mark, what=f'an answer; {shaper.lines}')
    yield send, publisher, out


def test_what_comes_out_leaves_no_vibration_and_ends_at_the_goal(talk):
    send, _, _ = talk
    points = {0.0: [0.2, -0.1], 0.4: [0.6, 0.0], 0.7: [0.9, 0.3]}
    message = send(trajectory(points))
    assert message.joint_names == ['a', 'b']
    assert list(message.points[0].positions) == [0.2, -0.1]
    assert list(message.points[-1].positions) == [0.9, 0.3]
    since = nanoseconds(message.header.stamp)
    end = nanoseconds(message.points[-1].time_from_start) * 1e-9
    assert end == pytest.approx(0.7 + 1 / (FREQUENCY * np.sqrt(1 - RATIO**2)))
    for joint in (0, 1):
        plain = CubicHermiteSpline([*points], [x[joint] for x in points.values()], [0, 0, 0])
        assert ringing(curve(message, joint, since), 0.0, end) <= 0.02 * ringing(plain, 0.0, 0.7)


def test_one_that_replaces_another_goes_on_without_a_jump(talk):
    send, _, _ = talk
    first = send(trajectory({0.0: [0.0, 0.0], 60.0: [30.0, -30.0]}))
    since = nanoseconds(first.header.stamp)
    second = send(trajectory({1.5: [-0.5, 0.0]}))
    joint = (nanoseconds(second.header.stamp) - since) * 1e-9
    assert 0.0 < joint < 60.0
    for k in (0, 1):
        old, new = curve(first, k, since), curve(second, k, since)
        assert new(joint) == pytest.approx(old(joint), abs=1e-6)
        assert new(joint, 1) == pytest.approx(old(joint, 1), abs=1e-6)
    assert list(second.points[-1].positions) == [-0.5, 0.0]


@pytest.mark.long(after=1)
@pytest.mark.parametrize('count', [10, 3681])
def test_trajectories_are_sent_before_their_first_point_is_due(talk, observer, count):
    send, publisher, _ = talk
    times = 0.01 * np.arange(count)
    message = trajectory(dict(zip(times, zip(0.2 * np.sin(times), 0.1 * np.cos(times)))))
    margins = []

    listener = rclpy.create_node('listener', context=observer.node.context)
    handle = listener.create_subscription(
        JointTrajectory, '/any/joint_trajectory', print, 10, raw=True
    ).handle

    def take():
        # when it was sent: a busy machine may hold up this process for longer than the lead
        with handle:
            while (taken := handle.take_message(JointTrajectory, True)) is not None:
                stamp = nanoseconds(
                    Time(**dict(zip(('sec', 'nanosec'), STAMP.unpack_from(taken[0], 4))))
                )
                if stamp:
                    margins.append((stamp - taken[1]['source_timestamp']) * 1e-9)
        return len(margins)

    for k in range(5):
        send(JointTrajectory(joint_names=['a']))  # the shaper forgets the motion before
        publisher.publish(message)
        observer.spin_until(lambda k=k: take() > k)
    listener.destroy_node()
    print(count, margins)
    assert np.median(margins) > 0.0  # a busy machine may delay one of them


def test_a_stamp_in_the_future_is_passed_on(talk, observer):
    send, _, _ = talk
    later = observer.node.get_clock().now().nanoseconds + 5_000_000_000
    stamp = Time(sec=later // 1_000_000_000, nanosec=later % 1_000_000_000)
    message = send(trajectory({0.0: [0.0, 0.0], 1.0: [0.1, 0.1]}, stamp=stamp))
    assert abs(nanoseconds(message.header.stamp) - later) < 1000


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    'useless, reason',
    [
        (trajectory({0.0: [0, 0], 1.0: [1, 1], 0.5: [0, 0]}), 'must rise'),
        (trajectory({0.0: [0, 0], 1.0: [np.nan, 1]}), 'not finite'),
        (trajectory({0.0: [0, 0], 1.0: [1, 1]}, velocities=[0.0, np.inf]), 'not finite'),
        (trajectory({0.0: [0, 0], 1.0: [1, 1]}, positions=[]), 'has no positions'),
        (trajectory({0.0: [0, 0], 1.0: [1, 1]}, names=()), 'it names no joint'),
        (
            trajectory({0.0: [0, 0], 1.0: [1, 1]}, names=('a', 'a')),
            'each joint must be named once',
        ),
        (trajectory({1.0: [1, 1]}, names=('c', 'd')), 'the position of "c" is unknown'),
        (trajectory({0.0: [0, 0], 1.0: [1, 1]}, stamp=Time(sec=5)), 'the trajectory is over'),
        (trajectory({0.0: [0, 0], 2e9: [1, 1]}), 'give a longer period'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_what_is_useless_is_refused_said_and_counted(shaper, talk, observer, useless, reason):
    _, publisher, out = talk
    count = len(out)
    shaper.forget_lines()
    publisher.publish(useless)
    assert (
        reason
        in observer.hear(
            DiagnosticArray, '/diagnostics', lambda message: reason in message.status[0].message
        )
        .status[0]
        .message
    )
    if shaper.count('refused: '):  # it is said once a second
        assert sum('refused' in line for line in shaper.lines) == 1
    assert len(out) == count and shaper.count('Traceback') == 0


def test_without_a_point_at_time_0_it_begins_where_the_arm_is(talk, observer):
    send, _, out = talk
    states = observer.publisher(JointState, '/any/joint_states')
    states.publish(JointState(name=['e', 'f'], position=[0.3, -0.2]))
    publisher = talk[1]
    count = len(out)

    def answered():
        publisher.publish(trajectory({1.0: [0.5, 0.5]}, names=('e', 'f')))
        return len(out) > count

    observer.spin_until(answered)
    assert list(out[count].points[0].positions) == [0.3, -0.2]


def test_a_trajectory_without_points_is_passed_on(talk):
    send, _, _ = talk
    assert send(JointTrajectory(joint_names=['a'])) == JointTrajectory(joint_names=['a'])


def test_a_stream_that_stops_is_finished_at_rest_whatever_shapes_it(start, observer):
    fields = {'frequencies': '[2.3]', 'shaper': 'zvd', 'stream': 'commands', 'joints': '[a, b]'}
    process = start('shaper', '-r', '__ns:=/stream', **fields)
    process.wait_for_line('/stream/shaper/set_points for /stream/set_points')
    out = observer.listen(Float64MultiArray, '/stream/set_points', 5000)
    observer.spin_until(lambda: observer.node.count_publishers('/stream/set_points'))
    source = observer.publisher(Float64MultiArray, '/stream/shaper/set_points')
    begun, sent = time.monotonic(), [0.0, 0.3]

    def stream(until):
        # as fast as it comes, with all the gaps of a machine that has other things to do
        def step():
            sent[:] = [0.2 * np.sin(3 * (time.monotonic() - begun)), 0.3]
            source.publish(Float64MultiArray(data=sent))
            return time.monotonic() > begun + until and out

        observer.spin_until(step)

    stream(0.8)
    # live: another shaper in the midst of the motion; what is not live is refused
    assert observer.set_parameters('/stream/shaper', shaper='ei').successful
    answer = observer.set_parameters('/stream/shaper', period=0.1)
    assert not answer.successful and answer.reason
    answer = observer.set_parameters('/stream/shaper', damping_ratios=[0.1, 0.2])
    assert (answer.successful, answer.reason) == (
        False,
        'damping_ratios has 2 numbers for 1 frequencies: give one each, or none',
    )
    stream(time.monotonic() - begun + 0.8)
    source.publish(Float64MultiArray(data=[np.nan, 0.3]))
    observer.spin_until(lambda: out[-1].data.tolist() == sent, what=f'{sent}; {out[-1].data}')
    rows = np.array([message.data for message in out])
    # 0.6 per s; a leap would be of one sample, and a gap is caught up with in a quarter second
    assert np.abs(np.diff(rows[:, 0])).max() < 0.1 and (rows[:, 1] == 0.3).all()
    assert process.count('Traceback') == 0
    # without input, the shaper stops publishing
    count = [-1, time.monotonic()]

    def silent():
        if count[0] != len(out):
            count[:] = [len(out), time.monotonic()]
        return time.monotonic() > count[1] + 0.7

    observer.spin_until(silent)


def test_a_robot_knows_its_joints_and_its_modes(start, observer):
    process = start(
        'shaper', '-r', '__ns:=/known', robot='two_link', shaper='zv', stream='joint_state'
    )
    process.wait_for_line('two_link: shapes')
    out = observer.listen(JointTrajectory, '/known/joint_trajectory')
    observer.spin_until(lambda: observer.node.count_publishers('/known/joint_trajectory'))
    publisher = observer.publisher(JointTrajectory, '/known/shaper/joint_trajectory')
    names = ('waist', 'shoulder', 'elbow')
    publisher.publish(trajectory({0.0: [0], 1.0: [1]}, names=('hip',)))
    assert 'no joint "hip"' in process.wait_for_line('refused: ')

    def answered():
        publisher.publish(trajectory({0.0: [0, 0, 0], 2.0: [0.4, 0.5, -0.6]}, names=names))
        return out

    observer.spin_until(answered)
    assert list(out[0].points[-1].positions) == [0.4, 0.5, -0.6]
    assert nanoseconds(out[0].points[-1].time_from_start) > 2_050_000_000
    # the same robot, by a stream: no further than its stops, and no faster than it may
    states = observer.listen(JointState, '/known/set_points', 5000)
    observer.spin_until(lambda: observer.node.count_publishers('/known/set_points'))
    source = observer.publisher(JointState, '/known/shaper/set_points')
    source.publish(JointState(name=names, position=[0.0, 0.3, 0.0]))
    observer.spin_until(lambda: states)
    source.publish(JointState(name=['elbow'], position=[9.0]))
    observer.spin_until(lambda: states[-1].position[2] == 2.4, what='the stop')
    assert list(states[-1].name) == list(names)
    assert list(states[-1].position) == [0.0, 0.3, 2.4]
    assert max(np.abs([message.velocity for message in states]).max(axis=0)) <= 4.0
    # it is computed in parallel with the stream, and takes effect when it is ready
    assert observer.set_parameters('/known/shaper', shaper='zvd').successful
    process.wait_for_line('shapes by zvd by pose')


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    'remap, parameters, line',
    [
        (
            (),
            {'frequencies': '[2.0]', 'damping_ratios': '[0.1, 0.2]'},
            '2 numbers for 1 frequencies',
        ),
        ((), {'frequencies': '[0.0]'}, 'frequencies[0] = 0.0 must be > 0.0'),
        ((), {'frequencies': '[2.0]', 'damping_ratios': '[1.5]'}, 'must be >= 0 and below 1'),
        ((), {'frequencies': '[2.0]', 'shaper': 'loud'}, 'must be one of auto, zv, zvd'),
        ((), {'frequencies': '[2.0]', 'stream': 'commands'}, 'joints = [] must name the joints'),
        (
            ('-r', 'set_points:=shaper/set_points'),
            {'frequencies': '[2.0]', 'stream': 'commands', 'joints': '[a]'},
            'would receive its own output',
        ),
        (
            ('-r', 'joint_trajectory:=shaper/joint_trajectory'),
            {'frequencies': '[2.0]'},
            'would receive its own output',
        ),
    ],
    ids=str,
)
def test_useless_parameters_end_it_with_one_line(refused, remap, parameters, line):
    assert line in refused('shaper', *remap, **parameters)


def test_none_is_the_word_for_no_shaper(start):
    process = start('shaper', frequencies='[2.0]', shaper='none')
    process.wait_for_line('by none, for')
    assert process.stop()[0] == 0
