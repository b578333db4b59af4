"""Goals of FollowJointTrajectory on the bench: emulator, bridge, controller, action; over DDS."""

import pytest
from action_client import ABORTED, SUCCEEDED, Client, duration, trajectory
from bridge_bench import CALM, enable
from std_srvs.srv import Trigger

pytestmark = pytest.mark.usefixtures('patient_board')

NAMES = ('slide', 'turn')
GOAL_TOLERANCE_VIOLATED = -5


def test_a_goal_succeeds_on_the_bench_and_is_aborted_without_its_cable(
    emulator, observer, start, control_msgs
):
    from control_msgs.msg import JointTolerance

    bridge = start('bridge', **CALM, serial_port=emulator.link)
    # a busy machine may keep states back for a while
    start(
        'controller',
        robot='rig',
        bandwidth='1.5',
        damping_ratio='1.0',
        state_period='0.0',
        state_timeout='3.0',
    )
    action = start('trajectory_action', environment=control_msgs, robot='rig')
    bridge.wait_for_line('disarmed, call ~/enable')
    action.wait_for_line('offers')
    client = Client(observer, '/controller/follow_joint_trajectory', '/joint_states')
    assert observer.call(Trigger, '/bridge/zero').success
    # a controller that holds the arm sends efforts, without which the motors stay off
    observer.spin_until(lambda: enable(observer).success)

    def place():
        state = client.states[-1]
        return dict(zip(state.name, state.position))

    observer.spin_until(
        lambda: not client.states[-1].header.frame_id and place()['slide'] > 0.1,
        what='a state after the zero',
    )

    def goal(slide, turn, seconds, tolerance):
        here = place()
        return client.send(
            trajectory({0.0: [here[name] for name in NAMES], seconds: [slide, turn]}, NAMES),
            goal_tolerance=[JointTolerance(name='slide', position=0.015)],
            goal_time_tolerance=duration(tolerance),
        )

    status, code, line = client.result(goal(0.17, 0.05, 1.5, 30.0))
    assert (status, code) == (SUCCEEDED, 0), line
    pulled = goal(0.15, 0.0, 2.0, 5.0)  # long before the cable is back
    client.wait(0.5)
    emulator.inject('unplug=30')
    status, code, line = client.result(pulled)
    assert (status, code) == (ABORTED, GOAL_TOLERANCE_VIOLATED), line
    assert line == 'no joint state of "slide" arrives: check the topic joint_states'
    bridge.wait_for_line('the port is gone')
