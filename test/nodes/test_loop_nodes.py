"""Dynamics and controller of an arm with a closed loop, over DDS."""

import time

import numpy as np
from builtin_interfaces.msg import Duration
from displayed_loops import displayed_gaps
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import flex_robot_sim as frs

SEND_PERIOD_S = 8.0  # of a message that may get lost
JOINTS = ['crank_joint', 'coupler_joint', 'rocker_joint']


def send_until(observer, publisher, message, condition):
    """Send a message every few seconds until a condition holds."""
    last = -SEND_PERIOD_S

    def holds():
        nonlocal last
        if time.monotonic() - last > SEND_PERIOD_S:
            last = time.monotonic()
            publisher.publish(message)
        return condition()

    observer.spin_until(holds)


def move(joint, position):
    """Return a trajectory of one joint over 2 s."""
    point = JointTrajectoryPoint(
        positions=[position], velocities=[0.0], time_from_start=Duration(sec=2)
    )
    return JointTrajectory(joint_names=[joint], points=[point])


def test_a_controller_moves_a_closed_loop_by_its_motor(start, observer):
    arm = frs.load('four_bar')
    dynamics = start('dynamics', robot='four_bar')
    controller = start(
        'controller',
        robot='four_bar',
        position_gain='[20.0, 0.0, 0.0]',
        velocity_gain='[1.0, 0.0, 0.0]',
    )
    states = observer.listen(JointState, 'joint_states')
    shown = observer.listen(JointState, 'display_joint_states')
    command = observer.hear(JointState, 'joint_commands')
    assert list(command.name) == ['crank_joint']
    assert list(observer.hear(JointState, 'controller/target').name) == ['crank_joint']
    trajectories = observer.publisher(JointTrajectory, 'joint_trajectory')
    send_until(
        observer,
        trajectories,
        move('rocker_joint', 0.3),
        lambda: controller.count('joint "rocker_joint" is passive and has no target'),
    )
    send_until(
        observer,
        trajectories,
        move('crank_joint', 0.8),
        lambda: abs(states[-1].position[0] - 0.8) < 0.03 and abs(states[-1].velocity[0]) < 0.05,
    )
    assert list(states[-1].name) == JOINTS and not any(states[-1].effort[1:])
    rows = [one.position for one in shown[:: 1 + len(shown) // 20]]
    assert max(displayed_gaps(arm, shown[0].name, rows)) < 1e-9
    assert np.ptp([one.position[2] for one in states]) > 0.1
    force = observer.hear(WrenchStamped, 'constraint_forces/coupler_end')
    # at rest, the constraint force is that of a simulation that is held there
    simulation = frs.Simulation(arm, frs.SimulationSettings())
    simulation.set_state(states[-1].position)
    simulation.hold(states[-1].position, 200.0, 20.0)
    simulation.advance_to(1.0)
    expected = simulation.constraint_force('coupler_end')[3:]
    found = force.wrench.force
    assert force.header.frame_id == 'coupler'
    assert np.abs(np.array([found.x, found.y, found.z]) - expected).max() < 0.2
    send_until(
        observer,
        observer.publisher(JointState, 'joint_commands'),
        JointState(name=['rocker_joint'], effort=[1.0]),
        lambda: dynamics.count('joint "rocker_joint" is passive: it takes no effort'),
    )
