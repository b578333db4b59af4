"""Dynamics and controller of an arm with a ball joint, over DDS."""

import numpy as np
from arms import flexibility, joint, link, robot
from sensor_msgs.msg import JointState

WRIST = ['wrist_x', 'wrist_y', 'wrist_z']


def hanging_rod(folder):
    """Write a robot with a motor, from which a rod hangs on a ball joint; return its path."""
    inertia = (1e-2, 1 / 6, 1 / 6)
    path = folder / 'hanging_rod.urdf'
    path.write_text(
        robot(
            link('arm', 2.0, '0.5 0 0', inertia),
            link('rod', 2.0, '0.5 0 0', inertia),
            joint(inside='<axis xyz="0 -1 0"/>'),
            joint('wrist', 'fixed', 'arm', 'rod', '<origin xyz="1 0 0"/>'),
            flexibility('<joint name="wrist" type="spherical" viscous_friction="1"/>'),
        )
    )
    return path


def test_joint_states_have_the_joints_of_the_urdf_only(start, observer, tmp_path):
    path = hanging_rod(tmp_path)
    start('dynamics', robot=str(path))
    start('controller', robot=str(path))
    states = observer.listen(JointState, 'joint_states')
    shown = observer.listen(JointState, 'display_joint_states')
    flex = observer.listen(JointState, 'flex_states')
    assert list(observer.hear(JointState, 'joint_commands').name) == ['hinge']
    # the rod swings on the arm that the controller holds
    observer.spin_until(lambda: flex and shown and abs(flex[-1].position[1]) > 0.3)
    assert list(states[-1].name) == ['hinge'] and len(states[-1].effort) == 1
    assert list(flex[-1].name) == WRIST
    turns = dict(zip(shown[-1].name, shown[-1].position))
    assert {'hinge', *WRIST} <= {*turns}
    # the arm fell until the controller started
    observer.spin_until(lambda: abs(states[-1].velocity[0]) < 0.05)
    assert np.isfinite(flex[-1].velocity).all()
