"""The dynamics node publishes IMUs at their rate, and joint states by the encoders."""

import numpy as np
import pytest
from sensor_msgs.msg import Imu, JointState
from sensor_robots import with_sensors

from flex_robot_sim.util.share import shipped_robots

RATE, NOISE, STEP = 250.0, 0.01, 2e-3
SENSORS = {
    'tool': f'<imu name="hand" xyz="0.02 0 0" rate="{RATE}" accelerometer_noise="{NOISE}"/>'
    '<imu name="tool" gyroscope_range="5" accelerometer_range="40" bits="8"/>'
}


@pytest.fixture
def node(start, tmp_path):
    """The dynamics of an arm that swings freely, with stamps of simulated time."""
    text = shipped_robots()['single_link'].read_text('utf-8')
    encoder = f'<encoder resolution="{STEP}"/>'
    path = tmp_path / 'arm.urdf'
    path.write_text(with_sensors(text, SENSORS, {'motor': encoder}))
    return start(
        'dynamics',
        robot=str(path),
        publish_clock='true',
        gravity='[0.0, -9.81, 0.0]',
        sensor_seed=3,
    )


def vector(message):
    return np.array([message.x, message.y, message.z])


def stamp(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


@pytest.mark.usefixtures('node')
def test_imus_and_encoders_of_a_swinging_arm(observer):
    hand, tool = observer.listen(Imu, 'imu/hand'), observer.listen(Imu, 'imu/tool')
    states = observer.listen(JointState, 'joint_states')
    observer.spin_until(lambda: min(map(len, (hand, tool, states))) > 60)

    periods = np.diff([*map(stamp, hand)])
    assert np.median(periods) == pytest.approx(1e9 / RATE, abs=2)
    assert np.median(np.diff([*map(stamp, tool)])) == pytest.approx(1e9 / 200.0, abs=2)
    assert {message.header.frame_id for message in hand} == {'hand'}
    assert {message.header.frame_id for message in tool} == {'tool'}
    for message in (*hand, *tool):
        assert message.orientation_covariance[0] == -1.0
    assert hand[0].linear_acceleration_covariance[4] == pytest.approx(NOISE**2 * RATE / 2)
    assert hand[0].angular_velocity_covariance[0] == 0.0
    steps = np.array([vector(message.linear_acceleration) for message in tool]) / (80 / 256)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)

    assert np.ptp(steps, axis=0)[:2].min() > 3  # it falls freely at first, then swings

    positions = np.array([state.position[0] for state in states])
    np.testing.assert_allclose(positions / STEP, np.round(positions / STEP), atol=1e-9)
    # the gyroscope turns with the arm: difference of positions over its time
    turned, times = positions[-1] - positions[0], (stamp(states[-1]) - stamp(states[0])) / 1e9
    rates = [
        message.angular_velocity.z
        for message in hand
        if stamp(states[0]) <= stamp(message) <= stamp(states[-1])
    ]
    assert turned == pytest.approx(np.mean(rates) * times, abs=0.05 * abs(turned) + 2 * STEP)


def test_a_controller_inside_the_process_reads_the_encoders(start, observer, tmp_path):
    """The arm rests at 0.2 rad, which an encoder with steps of 0.5 rad shows as 0."""
    text = shipped_robots()['single_link'].read_text('utf-8')
    path = tmp_path / 'coarse.urdf'
    path.write_text(with_sensors(text, {}, {'motor': '<encoder resolution="0.5"/>'}))
    start('simulation', robot=str(path), initial_position='[0.2]')
    states = observer.listen(JointState, 'joint_states')
    reference = observer.publisher(JointState, 'controller/reference')
    observer.spin_until(lambda: states)
    assert states[-1].position[0] == 0.0
    reference.publish(JointState(name=['motor'], position=[0.1]))
    # towards 0.1 rad from the measured 0, not from 0.2 rad
    observer.spin_until(lambda: any(abs(state.effort[0]) > 1e-3 for state in states))
    first = next(state.effort[0] for state in states if abs(state.effort[0]) > 1e-3)
    assert first > 0.0
