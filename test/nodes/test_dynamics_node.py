"""The dynamics node as a process: what it sends, what it takes, and what it refuses."""

import math
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from node_processes import NodeProcess
from rcl_interfaces.srv import DescribeParameters
from ros_observer import LATCHED, figures
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

import flex_robot_sim as frs
from flex_robot_sim.realtime.answered_steps import ANSWER_TIMEOUT_S
from flex_robot_sim.util.share import shipped_robots

JOINTS = ['waist', 'shoulder', 'elbow']


def is_other(condition):
    """Condition for diagnostics of the second node."""
    return lambda message: message.status[0].name.startswith('/other') and condition(message)


def test_a_lost_state_is_an_error_that_keeps_the_last_good_one_until_a_reset(start, observer):
    # without effort limits, so that an absurd effort reaches the arm
    text = shipped_robots()['two_link'].read_text().replace('effort="4"', 'effort="0"')
    node = start('dynamics', '-r', '__ns:=/other')
    observer.publisher(String, '/other/robot_description', LATCHED).publish(String(data=text))
    commands = observer.publisher(JointState, '/other/joint_commands')
    states = observer.listen(JointState, '/other/joint_states')
    observer.spin_until(lambda: states)
    commands.publish(JointState(name=['elbow'], effort=[1e300]))
    node.wait_for_line('is not finite')
    status = observer.hear(
        DiagnosticArray,
        '/diagnostics',
        is_other(lambda message: message.status[0].level == b'\x02'),
    ).status[0]
    assert status.message == 'the state is no longer finite: call reset'
    assert not observer.call(Trigger, '/other/dynamics/step').success
    assert observer.call(Trigger, '/other/dynamics/reset').success
    observer.hear(
        DiagnosticArray,
        '/diagnostics',
        is_other(lambda message: figures(message)['state'] == 'running'),
    )
    assert all(np.isfinite(state.position).all() for state in states)


@pytest.fixture(scope='module')
def process():
    """One node for all tests here; each finds it reset."""
    process = NodeProcess('dynamics', robot='two_link', publish_clock='true')
    yield process
    process.close()


@pytest.fixture
def node(process, observer):
    assert observer.call(Trigger, '/dynamics/reset').success
    process.forget_lines()
    return process


def nanoseconds(header):
    return header.stamp.sec * 10**9 + header.stamp.nanosec


def test_it_sends_what_the_page_says(node, observer):
    state = observer.hear(JointState, 'joint_states')
    assert list(state.name) == JOINTS
    assert len(state.position) == len(state.velocity) == len(state.effort) == 3
    motors = observer.hear(JointState, 'motor_states')
    assert list(motors.name) == JOINTS
    arm = frs.load('two_link')
    flex = observer.hear(JointState, 'flex_states')
    assert list(flex.name) == list(arm.coordinate_names[6:]) and not flex.effort
    assert 'forearm/bending_z_1' in flex.name
    strain = observer.hear(JointState, 'strain')
    assert 'forearm/tip' in strain.name and len(strain.position) == 8
    tip = observer.hear(PoseStamped, 'forearm/tip_deflection')
    turn = tip.pose.orientation
    assert math.hypot(turn.x, turn.y, turn.z, turn.w) == pytest.approx(1.0)
    assert observer.hear(PoseStamped, 'tool_pose').header.frame_id == 'base'
    assert len(observer.hear(MarkerArray, 'bending_markers').markers) > 20
    display = observer.hear(JointState, 'display_joint_states')
    assert set(JOINTS) < set(display.name) and len(display.position) == len(display.name)
    assert observer.hear(Clock, '/clock').clock.sec < 3600
    assert observer.hear(DiagnosticArray, '/diagnostics').status[0].hardware_id == 'two_link'


def test_joint_states_come_every_second_period_in_order(node, observer):
    heard = observer.listen(JointState, 'joint_states')
    observer.spin_until(lambda: len(heard) > 200)
    steps = np.diff([nanoseconds(message.header) for message in heard])
    assert np.all(steps > 0) and np.median(steps) == 2_000_000  # 500 Hz of simulated time


def test_a_command_moves_the_joint_that_it_names(node, observer):
    commands = observer.publisher(JointState, 'joint_commands')
    at_rest = observer.hear(JointState, 'joint_states')
    message = JointState(name=['waist'], effort=[4.0])

    def turns(state):
        commands.publish(message)
        return state.velocity[0] > 0.1

    state = observer.hear(JointState, 'joint_states', turns)
    assert state.effort[0] == 4.0 and state.position[0] > at_rest.position[0]
    # then silence: the effort goes to zero, and that is said once
    observer.hear(JointState, 'joint_states', lambda state: state.effort[0] == 0.0)
    node.wait_for_line('no command for 0.5 s: efforts are zero')
    observer.hear(DiagnosticArray, '/diagnostics')
    assert node.count('no command for') == 1


def test_forward_command_controllers_are_understood(node, observer):
    commands = observer.publisher(Float64MultiArray, 'effort_controller/commands')

    def arrives(state):
        commands.publish(Float64MultiArray(data=[1.0, 2.0, -3.0]))
        return list(state.effort) == [1.0, 2.0, -3.0]

    observer.hear(JointState, 'joint_states', arrives)


WRONG = [
    (JointState(name=['hip'], effort=[1.0]), 'no joint "hip". Known: waist, shoulder, elbow'),
    (
        JointState(name=['waist', 'elbow'], effort=[1.0]),
        '1 efforts for 2 joints. Give one effort per name',
    ),
    (JointState(name=['waist'], effort=[float('nan')]), 'the effort of "waist" is not finite'),
    (JointState(name=['elbow'], effort=[float('-inf')]), 'the effort of "elbow" is not finite'),
    (
        JointState(name=['waist'], position=[1.0]),
        'it has no efforts. Fill the field effort [N m, N]',
    ),
    (JointState(), 'it names no joint'),
]


def test_wrong_commands_are_refused_counted_and_said_and_the_arm_goes_on(node, observer):
    commands = observer.publisher(JointState, 'joint_commands')
    for message, line in WRONG:
        end = time.monotonic() + 60.0
        while not node.count(f'refused: {line}'):
            # a line is printed once a second at most, so the message is sent until it is
            assert time.monotonic() < end, f'never refused: {line}'
            commands.publish(message)
            observer.spin_until(lambda: True)
            time.sleep(0.1)
    commands.publish(JointState(name=['elbow'], effort=[1e300]))  # cut to the motor's 4 N m
    state = observer.hear(JointState, 'joint_states', lambda state: state.effort[2] != 0.0)
    assert state.effort[2] == 4.0
    seen = figures(
        observer.hear(
            DiagnosticArray,
            '/diagnostics',
            lambda message: int(figures(message)['commands refused']) >= len(WRONG),
        )
    )
    assert seen['state'] == 'running' and int(seen['commands cut to an effort limit']) == 1


def test_pause_step_and_reset(node, observer):
    observer.hear(JointState, 'joint_states')
    assert not observer.call(Trigger, '/dynamics/step').success
    paused = observer.call(SetBool, '/dynamics/pause', SetBool.Request(data=True))
    assert paused.success and paused.message.startswith('paused at ')
    first, second = (
        float(observer.call(Trigger, '/dynamics/step').message.split()[-2]) for _ in range(2)
    )
    assert second - first == pytest.approx(1e-3, abs=1e-5)  # the message has six digits
    reset = observer.call(Trigger, '/dynamics/reset')
    assert reset.message.startswith('paused at ')
    state = observer.hear(JointState, 'joint_states')  # sent while paused, too
    assert not any(state.position) and not any(state.velocity)
    assert observer.call(SetBool, '/dynamics/pause', SetBool.Request(data=False)).success
    observer.hear(JointState, 'joint_states', lambda state: any(state.velocity))


def test_each_single_step_waits_for_the_command_that_answers_the_state_before(node, observer):
    publisher = observer.publisher(JointState, 'joint_commands')
    efforts = {}  # by stamp of the state [ns]

    def answer(state):
        time = nanoseconds(state.header)
        efforts[time] = state.effort[0]
        command = JointState(name=['waist'], effort=[wanted(time)])
        command.header.stamp = state.header.stamp
        publisher.publish(command)

    def wanted(time):
        return 1e-3 * (time // 10**6 % 1000)  # a number for each period

    subscription = observer.node.create_subscription(JointState, 'joint_states', answer, 50)
    try:
        observer.spin_until(lambda: efforts)
        assert observer.call(SetBool, '/dynamics/pause', SetBool.Request(data=True)).success
        # sent while paused: it is answered, too
        begin = nanoseconds(observer.hear(JointState, 'joint_states').header)
        observer.spin_until(lambda: begin in efforts)
        for _ in range(30):
            assert observer.call(Trigger, '/dynamics/step').success
        observer.spin_until(lambda: max(efforts) == begin + 30 * 10**6)
    finally:
        observer.node.destroy_subscription(subscription)
        observer.call(SetBool, '/dynamics/pause', SetBool.Request(data=False))
    times = sorted(time for time in efforts if time >= begin)
    assert np.diff(times).tolist() == [10**6] * 30
    assert [efforts[time] for time in times[1:]] == pytest.approx(
        [wanted(time) for time in times[:-1]], abs=1e-12
    )


def test_steps_go_on_where_no_command_answers_any_more(node, observer):
    def accepted(message):
        return int(figures(message).get('commands accepted', '0'))

    before = accepted(
        observer.hear(
            DiagnosticArray,
            '/diagnostics',
            lambda message: 'commands accepted' in figures(message),
        )
    )
    publisher = observer.publisher(JointState, 'joint_commands')
    publisher.publish(JointState(name=['waist'], effort=[0.0]))
    observer.hear(DiagnosticArray, '/diagnostics', lambda message: accepted(message) > before)
    try:
        assert observer.call(SetBool, '/dynamics/pause', SetBool.Request(data=True)).success
        times = []
        for _ in range(3):
            begin = time.monotonic()
            assert observer.call(Trigger, '/dynamics/step').success
            times.append(time.monotonic() - begin)
        # the line about it may be left out, if a test before this one has caused it, too
        assert times[0] > 0.9 * ANSWER_TIMEOUT_S > sum(times[1:])
    finally:
        assert observer.call(SetBool, '/dynamics/pause', SetBool.Request(data=False)).success


@pytest.mark.parametrize(
    'name, value, reason',
    [
        ('real_time_factor', 2.0, ''),
        ('real_time_factor', 2, ''),
        ('payload_link', 'tool', ''),
        (
            'real_time_factor',
            'fast',
            "real_time_factor = 'fast' must be a number: ratio of simulated time to real time",
        ),
        ('command_timeout', -1.0, 'out of range Min: 0.0'),
        # a timer that is due in 300 years ended the node
        ('display_rate', 1e-10, 'out of range Min: 0.01, Max: 1000.0'),
        ('command_timeout', 0.0, 'command_timeout = 0.0 must be > 0.0'),
        ('payload_link', 'hand', 'no link "hand"'),
        ('payload_mass', float('nan'), 'out of range Min: 0.0'),
        ('time_step', 1e-4, 'read-only'),
        ('robot', 'rig', 'read-only'),
    ],
    ids=str,
)
def test_parameters_change_or_are_refused_with_the_reason(node, observer, name, value, reason):
    result = observer.set_parameters('/dynamics', **{name: value})
    assert result.successful == (not reason) and reason in result.reason


def test_parameters_say_what_they_are(node, observer):
    request = DescribeParameters.Request(names=['command_timeout'])
    about = observer.call(
        DescribeParameters, '/dynamics/describe_parameters', request
    ).descriptors[0]
    assert (
        about.description == 'age above which the commanded effort of a joint is set to zero [s]'
    )
    assert about.additional_constraints == 'must be > 0.0' and not about.read_only
    assert about.floating_point_range[0].from_value == 0.0


def test_a_push_pulls_at_a_link_until_it_is_taken_away(node, observer):
    pushes = observer.publisher(WrenchStamped, 'push')
    push = WrenchStamped()
    push.header.frame_id, push.wrench.force.y = 'tool', 1.0
    pushes.publish(push)
    observer.hear(JointState, 'joint_states', lambda state: state.velocity[0] > 0.05)
    push.header.frame_id = 'hand'
    pushes.publish(push)
    node.wait_for_line('refused: no link "hand" to push at')
