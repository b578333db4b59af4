"""`flexsim tune` on a simulated arm in other processes: interrupted, continued, without states."""

import os
import re
import signal
import sys
import time

import numpy as np
import pytest
from node_processes import Process
from sensor_msgs.msg import JointState
from sensor_robots import with_sensors

from flex_robot_sim.util.share import shipped_robots

NAMES = 'waist,shoulder,elbow'
CORNERS = '--from=0,0,-1', '--to=0,1,1'
SHORT = '--poses', '5', '--ring', '2'
STIFF = {'servo': 'drives', 'bandwidth': '8.0', 'damping_ratio': '1.0'}
ACTION = 'controller/follow_joint_trajectory'


@pytest.fixture
def robot(tmp_path):
    """Return the file of an arm with an IMU at its tool."""
    path = tmp_path / 'arm.urdf'
    imu = {'tool': '<imu name="hand" rate="200" accelerometer_noise="0.002"/>'}
    path.write_text(with_sensors(shipped_robots()['two_link'].read_text('utf-8'), imu))
    return str(path)


def elbow(state):
    """Position of the elbow in a JointState [rad]."""
    return state.position[state.name.index('elbow')]


def spin(observer, seconds):
    """Handle messages for a time."""
    end = time.monotonic() + seconds
    observer.spin_until(lambda: time.monotonic() > end)


@pytest.fixture
def tune(tmp_path):
    """Return a function that starts `flexsim tune`; its processes end with the test."""
    processes = []

    def start_tune(*words, environment=os.environ):
        command = sys.executable, '-m', 'flex_robot_sim', 'tune', str(tmp_path / 'session')
        ros = '--driver', 'ros', '--joints', NAMES, '--imu', 'imu/hand'
        processes.append(Process([*command, *ros, *CORNERS, *words], environment))
        return processes[-1]

    yield start_tune
    for process in processes:
        process.close()


@pytest.mark.long
@pytest.mark.parametrize(
    'way',
    [('--topic', 'joint_trajectory'), ('--action', ACTION)],
    ids=lambda way: way[0].strip('-'),
)
def test_the_arm_stops_by_ctrl_c_and_without_states(
    way, tune, robot, start, observer, request, tmp_path
):
    environment = os.environ
    arm = start('simulation', robot=robot, **STIFF)
    if way[0] == '--action':
        environment = request.getfixturevalue('control_msgs')
        action = start('trajectory_action', environment=environment, robot=robot)
        action.wait_for_line('offers')
    arm.wait_for_line('coordinates')
    states = observer.listen(JointState, 'joint_states', 5)
    first = tune(*way, *SHORT, environment=environment)
    first.wait_for_line('pose 2 of 5')
    del states[:]
    observer.spin_until(lambda: states and elbow(states[-1]) < -0.1)  # on its way to -0.85
    code, _ = first.stop()
    assert code == 130 and first.count('Traceback') == 0
    spin(observer, 0.5)
    del states[:]
    spin(observer, 0.5)
    places = [*map(elbow, states)]
    assert np.ptp(places) < 0.02 and min(places) > -0.8  # at rest, apart from vibration
    assert (tmp_path / 'session' / 'before_1.csv').is_file()

    second = tune(*way, *SHORT, environment=environment)
    second.wait_for_line('pose 2 of 5')
    assert second.count('pose 1 of 5') == 0
    spin(observer, 0.5)
    arm.send(signal.SIGSTOP)
    line = second.wait_for_line('joint states stopped arriving')
    arm.send(signal.SIGCONT)
    assert second.wait() == 2 and len(second.lines) == 2
    age = float(re.search(r'for ([\d.]+) s', line).group(1))
    assert 0.15 <= age < 0.5  # below 0.2 s on a machine with time


@pytest.mark.long
def test_a_session_over_dds_finds_the_frequencies_and_removes_vibration(
    tune, robot, start, tmp_path
):
    import flex_robot_sim as frs
    from flex_robot_sim.shaping.tuning.table_file import read_table

    start('simulation', robot=robot, **STIFF).wait_for_line('coordinates')
    process = tune('--topic', 'joint_trajectory', '--poses', '5')
    process.wait_for_line('Use the shaper' if process.wait() == 0 else 'never')
    left = [float(x) for x in re.findall(r'([\d.]+)% left', '\n'.join(process.lines))]
    assert len(left) == 5 and np.median(left) < 10.0
    arm = frs.load(robot)
    for log in read_table(tmp_path / 'session' / 'modes.json').logs:
        # the drives yield a little
        assert log.modes[0].frequency == pytest.approx(frs.frequencies(arm, log.pose)[0], rel=0.08)
