"""A payload that the controller does not know of, over DDS: lifted as soon as it may sum up."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState


@pytest.mark.long
def test_a_payload_that_the_controller_does_not_know_is_lifted(start, observer):
    # it waits for a controller that starts late on a busy machine: an arm that has fallen onto a
    # stop is held there, with a target a little beyond it
    start(
        'dynamics',
        robot='two_link',
        payload_link='tool',
        payload_mass=0.3,
        wait_for_command='true',
    )
    start('controller', robot='two_link')
    sagging = observer.hear(
        JointState,
        'joint_states',
        lambda state: (
            any(state.effort)
            and np.abs(state.velocity).max() < 0.01
            and np.abs(state.position).max() > 0.02
        ),
    )
    target = observer.hear(JointState, 'controller/target')
    away = np.abs(np.subtract(sagging.position, target.position)).max()
    assert away > 0.02
    answer = observer.set_parameters('controller', integral_action=0.2)
    assert answer.successful, answer.reason
    # the drives come there; behind them gears give by weight over stiffness
    observer.hear(
        JointState,
        'motor_states',
        lambda state: (
            np.abs(
                np.subtract(
                    state.position,
                    [target.position[target.name.index(name)] for name in state.name],
                )
            ).max()
            < 2e-3
        ),
    )
