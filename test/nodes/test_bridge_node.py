"""The bridge node over DDS, with an emulated bench behind a pseudo terminal."""

import time

import numpy as np
import pytest
from bridge_bench import CALM, enable, of_bridge
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from node_processes import NodeProcess
from ros_observer import LATCHED, figures
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from test_topics import SERVICE_OF_EVERY_NODE, endpoints, offered, published, subscribed
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

import flex_robot_sim as frs
from flex_robot_sim.util.share import shipped_robots

DRIVEN = ['slide', 'turn']


@pytest.fixture(scope='module')
def process():
    """One node with an emulated bench of its own."""
    process = NodeProcess('bridge', **CALM, twin='true')
    yield process
    process.close()


@pytest.fixture
def node(process, observer):
    assert observer.call(SetBool, '/bridge/enable', SetBool.Request(data=False)).success
    assert observer.call(Trigger, '/bridge/clear').success
    assert observer.call(Trigger, '/bridge/zero').success
    process.forget_lines()
    return process


def test_it_sends_what_the_page_says(node, observer):
    state = observer.hear(JointState, 'joint_states')
    assert list(state.name) == DRIVEN
    assert state.position.tolist() == pytest.approx([0.15, 0.0], abs=1e-9)
    flex = observer.hear(JointState, 'flex_states')
    assert list(flex.name) == ['strip/bending_y_1', 'strip/bending_y_2', 'strip/bending_y_3']
    strain = observer.hear(JointState, 'strain')
    assert list(strain.name) == ['strip/root', 'strip/tip']
    tip = observer.hear(PoseWithCovarianceStamped, 'strip/tip_deflection_with_covariance')
    variance = np.array(tip.pose.covariance).reshape(6, 6)
    assert 0.0 < variance[1, 1] < 1e-6 and variance[2, 2] == 1e6
    assert abs(tip.pose.pose.position.y) < 6 * np.sqrt(variance[1, 1])  # at rest
    assert len(observer.hear(MarkerArray, 'bending_markers').markers) > 5
    display = observer.hear(JointState, 'display_joint_states')
    assert set(DRIVEN) < set(display.name)
    pose = observer.hear(PoseStamped, 'tool_pose')
    straight = frs.Simulation(frs.load('rig'))
    straight.set_state(q=[0.15, 0.0])
    place, (x, y, z) = pose.pose.position, straight.pose('tool')[:3, 3]
    # at rest, up to what its flex sensors see of nothing
    assert pose.header.frame_id == 'base' and (place.x, place.y, place.z) == pytest.approx(
        (x, y, z), abs=2e-3
    )
    description = observer.hear(String, 'robot_description', qos=LATCHED)
    assert description.data == shipped_robots()['rig'].read_text('utf-8')
    residual = observer.hear(JointState, 'twin/residual')
    assert list(residual.name) == [*DRIVEN, 'strip/root', 'strip/tip', 'strip/tip_deflection']
    seen = observer.hear(DiagnosticArray, '/diagnostics', of_bridge)
    assert figures(seen)['board'] == 'DISARMED' and figures(seen)['CRC errors'] == '0'


def test_the_table_lists_exactly_the_topics_and_services_of_the_node(node, observer):
    ros = observer.node

    def of_the_node(kind):
        return getattr(ros, f'get_{kind}_names_and_types_by_node')('bridge', '/')

    def of_the_strip(rows):
        """Rows with the only link that bends."""
        return {
            (name.replace('/forearm/', '/strip/'), *rest)
            for name, *rest in rows
            if '/upper_arm/' not in name
        }

    given = {('/robot_description', 'std_msgs/msg/String', 'latched')}  # by the parameter
    for ask, expected in (
        (
            lambda: {
                (name, kinds[0])
                for name, kinds in of_the_node('service')
                if not SERVICE_OF_EVERY_NODE.fullmatch(name)
            },
            offered('bridge'),
        ),
        (
            lambda: endpoints(
                ros, 'bridge', of_the_node('publisher'), ros.get_publishers_info_by_topic
            ),
            of_the_strip(published('bridge')),
        ),
        (
            lambda: endpoints(
                ros, 'bridge', of_the_node('subscriber'), ros.get_subscriptions_info_by_topic
            ),
            subscribed('bridge') - given,
        ),
    ):
        observer.spin_until(
            lambda ask=ask, expected=expected: ask() >= expected, what=f'{expected}'
        )
        assert ask() == expected


def play_profile(node, observer, names, effort):
    """Push one way and the other for 0.2 s each; return the publisher of profiles."""
    profiles = observer.publisher(JointTrajectory, 'bridge/profile')
    profiles.publish(
        JointTrajectory(
            joint_names=names,
            points=[
                JointTrajectoryPoint(effort=effort, time_from_start=Duration(nanosec=200_000_000)),
                JointTrajectoryPoint(
                    effort=[-value for value in effort],
                    time_from_start=Duration(nanosec=400_000_000),
                ),
            ],
        )
    )
    node.wait_for_line('the board holds a profile of 0.4 s in 20 segments')
    assert enable(observer).success
    answer = observer.call(Trigger, '/bridge/start_profile')
    assert answer.success and answer.message.endswith('. It is of 0.4 s in 20 segments')
    node.wait_for_line('the profile is done, 20 segments')
    return profiles


@pytest.mark.long
def test_the_end_of_a_profile_leads_back_to_no_old_target(node, observer, start):
    assert 'there is no profile' in observer.call(Trigger, '/bridge/start_profile').message
    start('controller', robot='rig', state_timeout=1.0, state_period=0.0)
    observer.hear(JointState, 'controller/target')
    play_profile(node, observer, DRIVEN, [40.0, 0.02])
    end = observer.hear(JointState, 'joint_states', lambda state: not state.header.frame_id)
    later = observer.listen(JointState, 'joint_states', 1000)
    observer.spin_until(lambda: len(later) > 400)
    # it rests off its target by what friction holds, and had come 1 mm and 0.02 rad at least
    moved = np.array(end.position) - [0.15, 0.0]
    assert moved[0] > 0.001 and moved[1] > 0.02
    bound = 0.5 * moved + [0.003, 0.04]
    for state in later:
        assert (np.abs(np.array(state.position) - end.position) < bound).all()
    assert enable(observer, False).success


def test_commands_by_name_and_by_order_move_it_only_when_enabled(node, observer):
    by_name = observer.publisher(JointState, 'joint_commands')
    by_order = observer.publisher(Float64MultiArray, 'effort_controller/commands')
    heard = observer.listen(JointState, 'joint_states')

    def pushed(publisher, message):
        def moves():
            publisher.publish(message)
            return heard and heard[-1].velocity[0] > 0.005

        return moves

    force = JointState(name=['slide'], effort=[40.0])
    start = time.monotonic()
    observer.spin_until(lambda: pushed(by_name, force)() or time.monotonic() > start + 0.5)
    assert heard[-1].velocity[0] == 0.0
    # refused while a command is alive
    refused = enable(observer)
    if refused.success:  # the command was already too old
        enable(observer, False)
    else:
        assert '"slide" is commanded 40' in refused.message
    observer.spin_until(lambda: enable(observer).success)
    observer.spin_until(pushed(by_name, force))
    observer.spin_until(lambda: heard[-1].velocity[0] == 0.0 or abs(heard[-1].velocity[0]) < 1e-4)
    observer.spin_until(pushed(by_order, Float64MultiArray(data=[40.0, 0.0])))
    assert enable(observer, False).success


def test_wrong_commands_are_refused_with_a_line(node, observer):
    observer.publisher(JointState, 'joint_commands').publish(
        JointState(name=['hip'], effort=[1.0])
    )
    node.wait_for_line('refused: no joint "hip". Known: slide, turn')


def test_same_controller_moves_the_bench_to_a_reference(node, observer, start):
    start('controller', robot='rig', state_timeout=1.0, state_period=0.0)
    observer.hear(JointState, 'controller/target')
    assert enable(observer).success
    observer.hear(JointState, 'joint_states', lambda state: not state.header.frame_id)
    references = observer.publisher(JointState, 'controller/reference')
    references.publish(JointState(name=DRIVEN, position=[0.165, 0.2]))
    # friction of 8 N and 5 mN m against the stiffness of a loop of 1 Hz: 2 mm and 34 mrad
    observer.hear(
        JointState,
        'joint_states',
        lambda state: (
            abs(state.position[0] - 0.165) < 0.003
            and abs(state.position[1] - 0.2) < 0.05
            and abs(state.velocity[0]) < 1e-3
        ),
    )
    assert enable(observer, False).success


def test_profile_of_efforts_is_played_by_the_board(node, observer):
    profiles = play_profile(node, observer, ['turn', 'slide'], [0.02, 40.0])
    state = observer.hear(JointState, 'joint_states')
    assert state.position[0] > 0.151 and state.position[1] > 0.02
    profiles.publish(JointTrajectory(joint_names=['hip'], points=[]))
    node.wait_for_line('profile refused: no joint "hip". Known: slide, turn')
    profiles.publish(JointTrajectory(joint_names=['turn', 'turn'], points=[]))
    node.wait_for_line('profile refused: each joint must be named once')
    # the ramp of the stepper takes 0.24 N m
    profiles.publish(
        JointTrajectory(
            joint_names=['turn'],
            points=[
                JointTrajectoryPoint(effort=[0.4], time_from_start=Duration(nanosec=100_000_000))
            ],
        )
    )
    node.wait_for_line('"turn" cannot do what the profile asks for, in 5 of its segments: see')


def test_twin_takes_a_fitted_robot_while_it_runs_and_refuses_another(node, observer, tmp_path):
    text = shipped_robots()['rig'].read_text('utf-8')
    fitted, other, program = (tmp_path / name for name in ('fitted.urdf', 'other.urdf', 'a.xacro'))
    fitted.write_text(text.replace('E="206e9"', 'E="170e9"'), 'utf-8')
    other.write_text(text.replace('bending_y="3"', 'bending_y="2"'), 'utf-8')
    program.write_text(text, 'utf-8')
    heard = observer.listen(JointState, 'twin/joint_states')
    # wait until residual vibration of the previous test has decayed: 200 states within 1e-4
    observer.spin_until(
        lambda: (
            len(heard) > 200
            and np.ptp([message.position for message in heard[-200:]], axis=0).max() < 1e-4
        )
    )
    heard.clear()
    assert observer.set_parameters('/bridge', twin_robot=str(fitted)).successful
    node.wait_for_line(f'the twin uses the parameters of {fitted}')
    count = len(heard)
    observer.spin_until(lambda: len(heard) > count + 20)
    places = np.array([message.position for message in heard])
    # the bench stands, and so does its twin, to a count of its encoders
    assert (np.abs(np.diff(places, axis=0)).max(axis=0) < [1e-5, 3e-3]).all()
    for file, said in (
        (
            other,
            f'{other}: is of another structure: of its shapes, "strip/bending_y_3" is '
            'missing. Give the same robot with other numbers',
        ),
        (
            program,
            f'{program}:1: the file holds xacro, which would be run. Give the expanded URDF.',
        ),
        (
            tmp_path / 'none.urdf',
            f'{tmp_path / "none.urdf"}: the file cannot be read: No such '
            'file or directory. Give the path of a URDF or xacro file.',
        ),
    ):
        answer = observer.set_parameters('/bridge', twin_robot=str(file))
        assert not answer.successful and answer.reason == said
    assert observer.set_parameters('/bridge', twin_robot='').successful
    node.wait_for_line('the twin uses the parameters of the robot')
