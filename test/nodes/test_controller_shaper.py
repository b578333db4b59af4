"""The shaper of the controller over DDS: taken while it runs, refused where of no use."""

import numpy as np
import pytest
from arms import joint, link, robot
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


def shaper_is(value):
    """Condition for diagnostics of the controller: they say so of the shaper."""
    return lambda message: any(
        item.key == 'shaper' and item.value == value
        for status in message.status
        if status.name.endswith('/controller: control')
        for item in status.values
    )


def follow(observer, targets, position):
    """Let the joint make a trajectory of a second; the targets from then on, by time [s]."""
    del targets[:]
    publisher = observer.publisher(JointTrajectory, 'joint_trajectory')
    point = JointTrajectoryPoint(
        positions=[position],
        velocities=[0.0],
        accelerations=[0.0],
        time_from_start=Duration(sec=1),
    )
    publisher.publish(JointTrajectory(joint_names=['motor'], points=[point]))
    observer.spin_until(lambda: targets and targets[-1].position[0] == position)
    times = np.array(
        [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in targets]
    )
    return times, np.array([message.position[0] for message in targets])


@pytest.mark.long(after=1)
@pytest.mark.parametrize('place', ['beside', 'inside'])
def test_a_shaper_is_taken_over_while_it_runs_and_given_back(start, observer, place):
    settings = {'robot': 'single_link', 'shaper': 'zv', 'damping_ratio': 0.2}  # it vibrates
    if place == 'inside':
        node = start('simulation', **settings)
    else:
        start('dynamics', robot='single_link')
        node = start('controller', **settings)
    node.wait_for_line('shaper zv: every motion takes up to')
    targets = observer.listen(JointState, 'controller/target', 4000)
    observer.spin_until(lambda: targets)  # it has heard a state: there is a place to start from
    observer.hear(DiagnosticArray, '/diagnostics', shaper_is('zv'))
    durations = []
    for kind, position in ((None, 0.5), ('zvd', 0.0), ('none', 0.5)):
        if kind is not None:
            assert observer.set_parameters('controller', shaper=kind).successful
            observer.hear(DiagnosticArray, '/diagnostics', shaper_is(kind))
        times, positions = follow(observer, targets, position)
        moving = (positions != positions[0]) & (positions != position)
        durations.append(np.ptp(times[moving]))
        # one after the other, without a leap: quintic, 15/8 of its mean velocity at most
        late = np.diff(times)
        assert (np.abs(np.diff(positions)) < 15 / 8 * 0.5 * (late + 0.05)).all()
    # ZV makes a second longer by half a period, ZVD by a whole one
    zv, zvd, none = np.array(durations) - 1.0
    assert zvd - none == pytest.approx(2 * (zv - none), abs=0.15)  # targets come at 50 Hz
    assert zv - none > 0.2


@pytest.mark.long
def test_what_is_of_no_use_is_refused_with_the_reason(start, observer, tmp_path):
    (tmp_path / 'stiff.urdf').write_text(
        robot(joint('hinge', inside='<axis xyz="0 0 1"/>'), link('arm', 1.0, '0 0 0', (0.4,) * 3))
    )
    start('dynamics', robot=str(tmp_path / 'stiff.urdf'))
    node = start('controller', robot=str(tmp_path / 'stiff.urdf'), shaper='ei')
    assert 'it needs no shaper' in node.wait_for_line('no shaper: ')
    for value, reason in (('zvd', 'it needs no shaper'), ('square', 'must be one of none, zv')):
        answer = observer.set_parameters('controller', shaper=value)
        assert not answer.successful and reason in answer.reason
    answer = observer.set_parameters('controller', shaper='none', shaper_tolerance=0.9)
    assert not answer.successful and 'shaper_tolerance' in answer.reason
    assert node.count('Traceback') == 0
