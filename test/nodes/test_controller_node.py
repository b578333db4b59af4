"""The controller over DDS: in a process of its own, and in the process of the dynamics."""

import signal

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from node_processes import NodeProcess
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.ros.trajectory_messages import read_trajectory_status
from flex_robot_sim.system.launch_arguments import SimulationArguments

JOINTS = ['waist', 'shoulder', 'elbow']
POSE = [0.4, 0.5, -0.6]
# an arm that sags and vibrates is near its target [rad], and slow [rad/s]
NEAR, SLOW = 0.025, 0.05


def stamp(message):
    """Return the time of a message [ns]."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def is_at(pose):
    """Condition for joint states: at rest near a pose."""
    return lambda state: (
        np.allclose(state.position, pose, atol=NEAR) and np.abs(state.velocity).max() < SLOW
    )


@pytest.mark.long
def test_a_servo_in_the_drives_holds_beams_without_rotors_and_moves_them(start, observer):
    program = SimulationArguments(robot='ella', use_rviz=False, namespace='drives').programs()[0]
    assert program.executable == 'simulation'
    start('simulation', '-r', '__ns:=/drives', robot='ella', servo=program.parameters['servo'])
    first = observer.hear(JointState, '/drives/joint_states')
    goal = [0.2] * len(first.name)
    observer.hear(JointState, '/drives/controller/target')
    trajectory = JointTrajectory(
        joint_names=first.name,
        points=[
            JointTrajectoryPoint(
                positions=goal, velocities=[0.0] * 3, time_from_start=Duration(sec=2)
            )
        ],
    )
    observer.publisher(JointTrajectory, '/drives/joint_trajectory').publish(trajectory)
    observer.hear(JointState, '/drives/joint_states', is_at(goal))


def test_a_controller_or_dynamics_that_is_killed_leaves_no_effort_and_is_replaced(start, observer):
    first = start('controller', robot='two_link')
    # hold is refused as long as the place of the arm is unknown
    response = observer.call(Trigger, '/controller/hold')
    assert not response.success and 'no joint states arrive' in response.message
    dynamics = start('dynamics', robot='two_link')
    observer.hear(JointState, 'joint_states', lambda state: any(state.effort))
    first.stop(signal.SIGKILL)
    observer.hear(JointState, 'joint_states', lambda state: not any(state.effort))
    dynamics.wait_for_line('no command for 0.5 s: efforts are zero')
    controller = start('controller', robot='two_link')
    observer.hear(JointState, 'joint_states', lambda state: any(state.effort))
    dynamics.wait_for_line('commands arrive again')
    dynamics.stop(signal.SIGKILL)
    controller.wait_for_line('no joint state for 0.5 s: efforts are zero until the next')
    observer.hear(
        DiagnosticArray,
        '/diagnostics',
        lambda message: (
            message.status[0].name == '/controller: control'
            and message.status[0].message == 'no joint states: efforts are zero'
        ),
    )
    start('dynamics', robot='two_link')
    observer.hear(JointState, 'joint_states', lambda state: any(state.effort))
    assert controller.process.poll() is None


@pytest.mark.long
def test_lockstep_is_deterministic_however_slow_a_process_is(start, observer):
    """The same run twice, bit for bit, with the controller in a process of its own."""
    runs = []
    for run in range(2):
        name = f'/run_{run}'
        processes = [start('dynamics', '-r', f'__ns:={name}', robot='two_link', pacing='lockstep')]
        states = observer.listen(JointState, f'{name}/joint_states', 2000)
        observer.spin_until(lambda states=states: states)
        # a controller that is held up must not take it for silence, which ends by the wall clock
        profile = {'profile_start': 0.05, 'profile_displacement': '[0.1, 0.1, 0.1]'}
        fields = {'robot': 'two_link', 'profile': 'step', 'state_timeout': 10.0, **profile}
        processes.append(start('controller', '-r', f'__ns:={name}', **fields))
        observer.spin_until(lambda states=states: states[-1].header.stamp.nanosec >= 400_000_000)
        runs.append(
            {
                stamp(state): tuple(state.position)
                for state in states
                if state.header.stamp.nanosec <= 400_000_000
            }
        )
        for process in processes:  # nothing else would keep them from running as fast as they can
            process.stop(signal.SIGINT)
    # a listener that is held up misses states, which is its right, and not the same ones twice
    both = runs[0].keys() & runs[1].keys()
    assert len(both) >= 200 and all(runs[0][stamp] == runs[1][stamp] for stamp in both)


@pytest.fixture(scope='module', params=['beside', 'inside'])
def system(request):
    """Dynamics and controller, in two processes or in one; in a namespace each."""
    namespace = ['-r', f'__ns:=/{request.param}']
    if request.param == 'inside':
        processes = [NodeProcess('simulation', *namespace, robot='two_link')]
    else:
        processes = [
            NodeProcess('dynamics', *namespace, robot='two_link'),
            NodeProcess('controller', *namespace, robot='two_link'),
        ]
    yield f'/{request.param}', processes[-1]
    for process in processes:
        process.close()


@pytest.mark.long(after=1)
def test_it_goes_to_a_reference_and_holds_there(system, observer):
    namespace, _ = system
    observer.hear(JointState, f'{namespace}/controller/target')
    references = observer.publisher(JointState, f'{namespace}/controller/reference')
    references.publish(JointState(name=JOINTS, position=POSE))
    observer.hear(JointState, f'{namespace}/joint_states', is_at(POSE))
    references.publish(JointState(name=['waist'], position=[-0.2]))  # the others stay
    observer.hear(JointState, f'{namespace}/joint_states', is_at([-0.2, *POSE[1:]]))


def test_it_follows_a_trajectory_in_time(system, observer):
    namespace, _ = system
    observer.hear(JointState, f'{namespace}/controller/target')
    trajectories = observer.publisher(JointTrajectory, f'{namespace}/joint_trajectory')
    points = [
        JointTrajectoryPoint(
            positions=[position, 0.6], velocities=[0.0, 0.0], time_from_start=Duration(sec=second)
        )
        for second, position in ((1, 0.5), (2, 0.0))
    ]
    heard = observer.listen(JointState, f'{namespace}/controller/target')
    trajectories.publish(JointTrajectory(joint_names=['waist', 'shoulder'], points=points))
    observer.spin_until(
        lambda: (
            heard
            and is_at([0.0, 0.6, heard[-1].position[2]])(heard[-1])
            and max(target.position[0] for target in heard) > 0.4
        )
    )
    # a cubic of 0.7 rad in one second is never faster than 1.5 times the mean; a busy machine may
    # lose targets, and one is as old as a period of the controller
    steps = np.diff([target.position[0] for target in heard])
    pauses = 1e-9 * np.diff([stamp(target) for target in heard])
    assert (np.abs(steps) <= 1.5 * 0.7 * (pauses + 2e-3)).all()
    observer.hear(
        JointState, f'{namespace}/joint_states', lambda state: abs(state.position[1] - 0.6) < NEAR
    )


def test_it_follows_a_trajectory_from_its_stamp_on(system, observer):
    namespace, _ = system
    heard = observer.listen(JointState, f'{namespace}/controller/target')
    trajectories = observer.publisher(JointTrajectory, f'{namespace}/joint_trajectory')
    reports = observer.listen(DiagnosticStatus, f'{namespace}/controller/trajectory_status')
    observer.spin_until(
        lambda: (
            heard and observer.node.count_publishers(f'{namespace}/controller/trajectory_status')
        )
    )
    here = heard[-1].position[2]
    goal = here - 0.3
    start = observer.node.get_clock().now().nanoseconds + 500_000_000
    message = JointTrajectory(
        joint_names=['elbow'],
        points=[
            JointTrajectoryPoint(
                positions=[goal], velocities=[0.0], time_from_start=Duration(nanosec=500_000_000)
            )
        ],
    )
    message.header.stamp = Time(sec=start // 10**9, nanosec=start % 10**9)
    trajectories.publish(message)
    observer.spin_until(lambda: heard[-1].position[2] == goal)
    waiting = [target for target in heard if stamp(target) < start]
    assert waiting and {target.position[2] for target in waiting} == {here}
    observer.spin_until(lambda: len(reports) > 1)
    assert [tuple(read_trajectory_status(report))[:2] for report in reports[-2:]] == [
        (start, 'accepted'),
        (start, 'completed'),
    ]


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    'name, position, reason',
    [
        (JOINTS, [0.0, float('nan'), 0.0], 'position'),
        (JOINTS, [0.0], 'position'),
        (['hip'], [0.0], 'no joint "hip"'),
        (['waist'], [1e300], 'waist'),
    ],
    ids=str,
)
def test_a_useless_reference_is_refused_and_said(system, observer, name, position, reason):
    namespace, process = system
    references = observer.publisher(JointState, f'{namespace}/controller/reference')
    process.forget_lines()
    references.publish(JointState(name=name, position=position))
    observer.spin_until(
        lambda: (
            process.count('refused: ')
            or references.publish(JointState(name=name, position=position))
        )
    )
    assert reason in process.wait_for_line('refused: ')
    assert process.count('Traceback') == 0


def test_hold_stops_it_where_it_is(system, observer):
    namespace, _ = system
    references = observer.publisher(JointState, f'{namespace}/controller/reference')
    at_rest = observer.hear(JointState, f'{namespace}/controller/target')
    references.publish(JointState(name=['waist'], position=[at_rest.position[0] + 2.0]))
    observer.hear(JointState, f'{namespace}/joint_states', lambda state: state.velocity[0] > 0.1)
    assert observer.call(Trigger, f'{namespace}/controller/hold').success
    target = observer.hear(
        JointState,
        f'{namespace}/controller/target',
        lambda target: target.position[0] < at_rest.position[0] + 1.9,
    )
    observer.hear(
        JointState,
        f'{namespace}/joint_states',
        lambda state: abs(state.position[0] - target.position[0]) < NEAR,
    )


@pytest.mark.long(after=1)
def test_gains_change_while_it_runs_and_useless_ones_are_refused(system, observer):
    namespace, _ = system
    node = f'{namespace}/controller'
    assert observer.set_parameters(node, bandwidth=1.5).successful
    refused = observer.set_parameters(node, state_timeout=0.0)
    assert not refused.successful and 'state_timeout = 0.0 must be > 0.0' in refused.reason


@pytest.mark.parametrize('system', ['beside'], indirect=True)
def test_each_command_carries_the_stamp_of_the_state_that_it_answers(system, observer):
    states = observer.listen(JointState, '/beside/joint_states', 2000)
    commands = observer.listen(JointState, '/beside/joint_commands', 2000)
    observer.spin_until(lambda: states)
    observer.spin_until(lambda: len(commands) > 200)
    observer.spin_until(lambda: stamp(states[-1]) >= stamp(commands[-1]))
    known = np.array([stamp(state) for state in states])
    asked = np.array(
        [stamp(command) for command in commands if stamp(states[0]) <= stamp(command) <= known[-1]]
    )
    is_known = np.isin(asked, known)
    # ten states are kept for a listener that is held up, so on a busy machine it misses some: then
    # there is a gap in what it has. By chance, a stamp is never another one to the nanosecond
    after = np.searchsorted(known, asked[~is_known])
    gaps = (known[after] - known[after - 1]) / np.median(np.diff(known))
    assert is_known.sum() > 20 and (gaps > 1.5).all()
