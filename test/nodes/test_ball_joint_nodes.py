"""Dynamics and controller of an arm with a ball or planar joint, over DDS."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from sensor_msgs.msg import JointState

BALL = (
    joint('wrist', 'fixed', 'arm', 'rod', '<origin xyz="1 0 0"/>'),
    flexibility('<joint name="wrist" type="spherical" viscous_friction="1"/>'),
)
MOUNT = (
    joint('wrist', 'planar', 'arm', 'rod', '<origin xyz="1 0 0"/><axis xyz="1 0 0"/>'),
    flexibility(
        '<joint name="wrist_x" spring_stiffness="200" viscous_friction="20"/>'
        '<joint name="wrist_y" spring_stiffness="40" viscous_friction="8"/>'
        '<joint name="wrist_theta" viscous_friction="1"/>'
    ),
)


def hanging_rod(folder, wrist):
    """Write a robot with a motor, from which a rod hangs on a wrist; return its path."""
    inertia = (1e-2, 1 / 6, 1 / 6)
    path = folder / 'hanging_rod.urdf'
    path.write_text(
        robot(
            link('arm', 2.0, '0.5 0 0', inertia),
            link('rod', 2.0, '0.5 0 0', inertia),
            joint(inside='<axis xyz="0 -1 0"/>'),
            *wrist,
        )
    )
    return path


@pytest.mark.parametrize(
    ('wrist', 'last'),
    [(BALL, 'z'), pytest.param(MOUNT, 'theta', marks=pytest.mark.long)],
    ids=['ball', 'planar'],
)
def test_joint_states_have_joints_with_one_coordinate_only(start, observer, tmp_path, wrist, last):
    path = hanging_rod(tmp_path, wrist)
    start('dynamics', robot=str(path))
    start('controller', robot=str(path))
    states = observer.listen(JointState, 'joint_states')
    shown = observer.listen(JointState, 'display_joint_states')
    flex = observer.listen(JointState, 'flex_states')
    assert list(observer.hear(JointState, 'joint_commands').name) == ['hinge']
    # the rod swings on the arm that the controller holds
    observer.spin_until(lambda: flex and shown and abs(flex[-1].position[1]) > 0.3)
    assert list(states[-1].name) == ['hinge'] and len(states[-1].effort) == 1
    names = ['wrist_x', 'wrist_y', f'wrist_{last}']
    assert list(flex[-1].name) == names
    turns = dict(zip(shown[-1].name, shown[-1].position))
    assert {'hinge', *names} <= {*turns}
    # the arm fell until the controller started
    observer.spin_until(lambda: abs(states[-1].velocity[0]) < 0.05)
    assert np.isfinite(flex[-1].velocity).all()
