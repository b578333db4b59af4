"""
FollowJointTrajectory over DDS: of the shaper, and of the controller, with a simulated arm.

control_msgs is the installed package, or types that message_packages.py builds.
"""

import os
import re
import shlex
import threading
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from action_client import (
    ABORTED,
    CANCELED,
    EXECUTING,
    NAMES,
    SUCCEEDED,
    Client,
    duration,
    trajectory,
)
from diagnostic_msgs.msg import DiagnosticStatus
from message_packages import INSTALLED
from node_processes import NodeProcess
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from flex_robot_sim.motion.reference import REFUSED, TrajectoryEvent
from flex_robot_sim.ros.trajectory_messages import trajectory_status
from flex_robot_sim.util.share import shipped_robots

INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -1, -4, -5
SPACE = '/goals'
CANCELS = 4  # for each action, in a plain run


def stamp_of(message):
    stamp = message.header.stamp
    return stamp.sec, stamp.nanosec


def cpu_seconds(process):
    """Time that all threads of a process have taken so far."""
    line = Path(f'/proc/{process.process.pid}/stat').read_text('ascii')
    user, system = line.rpartition(')')[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Return the file of a rigid arm, which comes to rest soon."""
    path = tmp_path_factory.mktemp('robot') / 'two_link.urdf'
    text = shipped_robots()['two_link'].read_text('utf-8')
    path.write_text(re.sub('<flexibility>.*</flexibility>', '', text, flags=re.S), 'utf-8')
    return path


@pytest.fixture
def isolated(control_msgs, start, observer):
    """Start a shaper of one joint without an arm, and return a client."""

    def start_shaper(space, **parameters):
        fields = {'frequencies': '[2.0]', 'shaper': 'zv', **parameters}
        process = start('shaper', '-r', f'__ns:=/{space}', environment=control_msgs, **fields)
        process.wait_for_line('shapes')
        return Client(observer, f'/{space}/shaper/follow_joint_trajectory')

    return start_shaper


@pytest.mark.long
def test_a_path_deviation_above_the_limit_rejects_the_goal(control_msgs, start, observer):
    fields = {'shaper': 'zv', 'frequencies': '[1.0]', 'max_path_deviation': '0.02'}
    process = start(
        'shaper', '-r', '__ns:=/path', robot='two_link', environment=control_msgs, **fields
    )
    process.wait_for_line('two_link: shapes')
    states = observer.publisher(JointState, '/path/joint_states')
    client = Client(observer, '/path/shaper/follow_joint_trajectory')
    places = [0.0, 0.5, 0.5], [0.6, 0.5, 0.5], [0.6, 1.0, 0.5]
    states.publish(JointState(name=NAMES, position=places[0]))
    corner = trajectory(dict(zip((0.0, 0.5, 1.0), places)))
    for point in corner.points:
        point.velocities = []
    assert not client.send(corner).accepted
    line = process.wait_for_line('refused: ')
    assert 'shaped, the tool leaves its path by 0.' in line
    assert 'm, more than max_path_deviation = 0.02: move slower, or stop at corners' in line
    straight = client.send(trajectory({0.0: places[0], 0.5: places[1]}))
    assert straight.accepted


def test_a_trajectory_that_the_controller_refuses_ends_the_goal(isolated, observer):
    client = isolated('refused')
    answers = observer.publisher(DiagnosticStatus, '/refused/controller/trajectory_status')
    sent = observer.listen(JointTrajectory, '/refused/joint_trajectory')
    observer.spin_until(lambda: observer.node.count_publishers('/refused/joint_trajectory'))
    goal = client.send(trajectory({0.0: [0.0], 2.0: [0.5]}, ['a']))
    observer.spin_until(lambda: sent)
    stamp = sent[0].header.stamp
    answers.publish(
        trajectory_status(
            TrajectoryEvent(stamp.sec * 1_000_000_000 + stamp.nanosec, REFUSED, 'it is elsewhere')
        )
    )
    assert client.result(goal) == (
        ABORTED,
        INVALID_GOAL,
        'the controller refused the trajectory: it is elsewhere',
    )


@contextmanager
def resting_joint(observer, topic, position):
    """Publish states of a joint `a` that does not move."""
    states, has_ended = observer.publisher(JointState, topic), threading.Event()

    def publish():
        while not has_ended.wait(0.02):
            states.publish(JointState(name=['a'], position=[position]))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def test_success_needs_joint_states(isolated, observer):
    client = isolated('silent')
    goal = client.send(trajectory({0.0: [0.0], 0.2: [0.5]}, ['a']))
    assert client.result(goal) == (
        ABORTED,
        GOAL_TOLERANCE_VIOLATED,
        'no joint state of "a" arrives: check the topic joint_states',
    )
    with resting_joint(observer, '/silent/joint_states', 0.5):
        goal = client.send(
            trajectory({0.0: [0.5], 0.2: [0.9]}, ['a']), goal_time_tolerance=duration(0.1)
        )
        status, code, line = client.result(goal)
    assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED)
    assert line == '"a" is 0.4 from its goal, more than its tolerance 0.1'


def test_a_joint_that_has_not_moved_does_not_succeed_within_its_tolerance(isolated, observer):
    from control_msgs.msg import JointTolerance

    client = isolated('stuck')
    with resting_joint(observer, '/stuck/joint_states', 0.5):
        short = client.send(
            trajectory({0.0: [0.5], 0.2: [0.45]}, ['a']), goal_time_tolerance=duration(0.1)
        )
        status, code, line = client.result(short)
        assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED)
        assert line.startswith('"a" has moved by 0 of 0.05 to its goal: ')
        # a goal where the joint is, and one with a tolerance of its own
        here = client.send(trajectory({0.0: [0.5], 0.2: [0.5]}, ['a']))
        assert client.result(here) == (SUCCEEDED, 0, '')
        wide = client.send(
            trajectory({0.0: [0.5], 0.2: [0.45]}, ['a']),
            goal_tolerance=[JointTolerance(name='a', position=0.06)],
        )
        assert client.result(wide) == (SUCCEEDED, 0, '')


@pytest.mark.long
def test_a_canceled_goal_is_aborted_where_a_joint_rests_far_from_its_set_point(isolated, observer):
    client = isolated('blocked')
    with resting_joint(observer, '/blocked/joint_states', 0.5):
        goal = client.send(trajectory({0.0: [0.5], 0.3: [0.8], 0.9: [2.0]}, ['a']))
        client.wait(0.5)
        assert client.cancel(goal)
        status, code, line = client.result(goal)
    assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED)
    assert re.fullmatch(
        r'at rest after the stop, but "a" is [\d.]+ from its last set point: the '
        r'diagnostics of the controller may name the reason',
        line,
    )


@pytest.mark.long
def test_a_named_action_that_is_missing_ends_the_goal_with_its_name(isolated, observer):
    client = isolated('missing', controller_action='/no/such_action')
    sent = observer.listen(JointTrajectory, '/missing/joint_trajectory')
    observer.spin_until(lambda: observer.node.count_publishers('/missing/joint_trajectory'))
    goal = client.send(trajectory({0.0: [0.0], 1.0: [0.5]}, ['a']))
    assert client.result(goal) == (
        ABORTED,
        INVALID_GOAL,
        'no action server "/no/such_action" answers: start the controller, '
        'or correct controller_action',
    )
    assert not sent


@pytest.mark.long
def test_a_controller_action_that_ends_aborts_the_goal(control_msgs, isolated, start, observer):
    server = start(
        *shlex.split('shaper -r __ns:=/ending -r __node:=driver'),
        frequencies='[2.0]',
        shaper='none',
        environment=control_msgs,
    )
    server.wait_for_line('shapes')
    client = isolated('ending', controller_action='/ending/driver/follow_joint_trajectory')
    goal = client.send(trajectory({0.0: [0.0], 60.0: [0.5]}, ['a']))
    client.wait(0.3)
    assert server.stop()[0] == 0
    status, code, line = client.result(goal)
    assert (status, code) == (ABORTED, INVALID_GOAL)
    assert line.startswith('no action server "/ending/driver/follow_joint_trajectory" answers')


@pytest.mark.skipif('control_msgs' in INSTALLED, reason='control_msgs is installed')
def test_without_control_msgs_the_node_ends_with_one_line(start):
    process = start('trajectory_action', robot='two_link')
    assert process.wait() == 2
    assert process.lines[-1].startswith(
        'trajectory_action: control_msgs cannot be imported: install the package'
    )


@pytest.fixture(scope='module')
def simulated(robot, control_msgs, the_observer):
    """Processes of an arm with its controller, the shaper, and both actions."""
    nodes = {
        'simulation': {'bandwidth': '2.5'},
        'trajectory_action': {},
        'shaper': {'shaper': 'zv', 'frequencies': '[2.3]'},
    }
    for parameters in nodes.values():
        parameters['environment'] = control_msgs
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(
                closing(NodeProcess(name, '-r', f'__ns:={SPACE}', robot=robot, **parameters))
            )
            for name, parameters in nodes.items()
        }
        processes['shaper'].wait_for_line('two_link: shapes')
        processes['trajectory_action'].wait_for_line('offers')
        # the controller listens to trajectories once it holds the arm
        the_observer.hear(JointState, f'{SPACE}/controller/target')
        yield processes


@pytest.fixture(params=['shaper', 'controller'])
def client(request, simulated, observer):
    client = Client(
        observer, f'{SPACE}/{request.param}/follow_joint_trajectory', f'{SPACE}/joint_states'
    )
    client.rest()
    return client


def test_a_goal_succeeds_when_the_arm_has_arrived(client):
    handle = client.send(trajectory({0.0: client.position, 0.8: [0.4, 0.5, -0.4]}))
    assert client.result(handle)[:2] == (SUCCEEDED, 0)
    np.testing.assert_allclose(client.position, [0.4, 0.5, -0.4], atol=0.1)  # goal_tolerance
    assert client.feedback
    last = client.feedback[-1]
    assert list(last.joint_names) == list(NAMES) and len(last.actual.positions) == 3
    np.testing.assert_allclose(
        np.array(last.desired.positions) - last.actual.positions, last.error.positions
    )
    client.rest()
    back = client.send(trajectory({0.0: client.position, 0.8: [0.0, 0.2, 0.0]}))
    assert client.result(back)[0] == SUCCEEDED


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ('name', 'node'), [('shaper', 'shaper'), ('controller', 'trajectory_action')]
)
def test_a_running_goal_leaves_the_processor_to_others(simulated, observer, name, node):
    """Executors of rclpy resume a coroutine that waits all the time: a whole processor's worth."""
    client = Client(observer, f'{SPACE}/{name}/follow_joint_trajectory', f'{SPACE}/joint_states')
    client.rest()

    def busy():
        before = cpu_seconds(simulated[node])
        client.wait(2.0)
        return cpu_seconds(simulated[node]) - before

    idle = busy()
    handle = client.send(trajectory({0.0: client.position, 4.0: client.position}))
    observer.spin_until(lambda: handle.status == EXECUTING, what='execution of the goal')
    running = busy()
    assert handle.status == EXECUTING
    assert running < idle + 0.5, (idle, running)
    assert client.result(handle)[0] == SUCCEEDED


@pytest.mark.long(after=1)
def test_a_canceled_goal_leaves_every_joint_at_rest(client, observer, mutants):
    """100 cancellations for each action with `--long`."""
    random = np.random.default_rng(35)
    targets = observer.listen(JointState, f'{SPACE}/controller/target')
    count = int(np.clip(mutants // 10_000, CANCELS, 100))
    ends: Counter = Counter()
    for _ in range(count):
        client.rest()
        seconds = random.uniform(0.4, 0.8)
        handle = client.send(client.goal_near(random.uniform(-0.4, 0.4, 3), seconds))
        assert handle.accepted
        client.wait(random.uniform(0.0, 0.6 * seconds))
        if not client.cancel(handle):
            ends['ended before'] += 1
            client.result(handle)
            continue
        status, code, line = client.result(handle)
        assert (status, code) in ((CANCELED, 0), (SUCCEEDED, 0)), line
        ends[status] += 1
        if status == CANCELED:
            index = len(client.states)
            observer.spin_until(lambda index=index: len(client.states) > index + 10)
            # on a busy machine, targets come later than states
            now = stamp_of(client.states[-1])
            observer.spin_until(lambda now=now: targets and stamp_of(targets[-1]) >= now)
            assert client.fastest(index) < 0.01
            assert np.abs(client.position - targets[-1].position).max() < 1e-3
    print(dict(ends))
    # each is canceled before its trajectory ends, unless the machine is busy
    assert ends[CANCELED] >= count / 2


@pytest.mark.long(after=1)
def test_a_new_goal_replaces_the_running_one(client):
    first = client.send(client.goal_near(0.5, 20.0))
    client.wait(0.6)
    second = client.send(trajectory({1.0: client.position}))
    assert client.result(first) == (CANCELED, INVALID_GOAL, 'replaced by a new goal')
    assert client.result(second)[:2] == (SUCCEEDED, 0)


def beyond_a_stop(place):
    return trajectory({0.0: place, 1.0: [9.0, 0.0, 0.0]})


def unknown_joint(place):
    return trajectory({0.0: place, 1.0: place}, ('waist', 'shoulder', 'wrist'))


def wrong_size(place):
    return trajectory({0.0: place, 1.0: [0.0, 0.0]})


def past(place):
    message = trajectory({0.0: place, 1.0: place})
    message.header.stamp.sec = 5
    return message


def empty(place):
    return JointTrajectory(joint_names=list(NAMES))


def test_rejected_goals_leave_the_running_one_alone(client):
    place = client.position
    running = client.send(client.goal_near([0.2, 0.1, -0.2], 0.8))
    assert running.accepted
    for useless in beyond_a_stop, unknown_joint, wrong_size, past, empty:
        assert not client.send(useless(place)).accepted, useless
    assert client.result(running)[:2] == (SUCCEEDED, 0)


@pytest.mark.long(after=1)
def test_a_goal_that_cannot_be_joined_leaves_the_running_one_alone(client):
    running = client.send(client.goal_near([0.2, 0.1, -0.2], 1.0))
    too_fast = client.send(trajectory({0.02: client.position + [1.5, 0.5, 0.0]}))
    status, code, line = client.result(too_fast)
    assert (status, code) == (ABORTED, INVALID_GOAL) and 'faster than its' in line
    assert client.result(running)[:2] == (SUCCEEDED, 0)


@pytest.mark.long(after=1)
def test_tolerances_end_a_goal_with_the_codes_of_joint_trajectory_controller(client):
    from control_msgs.msg import JointTolerance

    def end(change, **fields):
        client.rest()
        return client.result(client.send(client.goal_near(change, 0.6), **fields))

    status, code, line = end(
        [0.2, 0.0, 0.0],
        goal_time_tolerance=duration(0.5),
        # on a busy machine the first look comes seconds late, and the joint is within 1e-12 then
        goal_tolerance=[JointTolerance(name='waist', position=1e-18)],
    )
    assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED) and '"waist" is ' in line
    for tolerance, part in (
        ({'position': 1e-6}, '"waist" is '),
        ({'velocity': 1e-6}, 'the velocity of "waist" is '),
    ):
        status, code, line = end(
            [-0.2, 0.0, 0.0], path_tolerance=[JointTolerance(name='waist', **tolerance)]
        )
        assert (status, code) == (ABORTED, PATH_TOLERANCE_VIOLATED)
        assert part in line and client.fastest() < 0.02
    # a cubic between points far apart is followed, not the line between them
    status, code, line = end(
        [0.4, 0.0, 0.0],
        path_tolerance=[
            JointTolerance(name='shoulder', position=0.1),
            JointTolerance(name='elbow', position=-1.0),
        ],
    )
    assert (status, code) == (SUCCEEDED, 0), line


def test_the_shaper_sends_goals_to_the_action_of_the_controller(
    control_msgs, robot, simulated, start, observer
):
    process = start(
        *f'shaper -r __ns:={SPACE} -r __node:=shaper_by_action'.split(),
        robot=robot,
        shaper='zv',
        frequencies='[2.3]',
        environment=control_msgs,
        controller_action=f'{SPACE}/controller/follow_joint_trajectory',
    )
    process.wait_for_line('two_link: shapes')
    client = Client(
        observer, f'{SPACE}/shaper_by_action/follow_joint_trajectory', f'{SPACE}/joint_states'
    )
    client.rest()
    status, code, line = client.result(client.send(client.goal_near([0.3, 0.1, -0.2])))
    assert (status, code) == (SUCCEEDED, 0), line
    assert client.feedback
    # a goal in place of another one, and its cancellation
    client.rest()
    first = client.send(client.goal_near([-0.3, -0.1, 0.2], 20.0))
    client.wait(0.5)
    second = client.send(client.goal_near([-0.2, 0.1, 0.2], 20.0))
    assert client.result(first) == (CANCELED, INVALID_GOAL, 'replaced by a new goal')
    client.wait(0.5)
    assert client.cancel(second)
    assert client.result(second) == (CANCELED, 0, 'stopped')
    assert client.fastest() < 0.01
