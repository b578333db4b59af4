"""The newest joint states by joint."""

import math

import pytest
from sensor_msgs.msg import JointState

from flex_robot_sim.nodes.joint_table import JointTable


def test_messages_with_some_of_the_joints_add_up():
    table = JointTable()
    table.update(JointState(name=['a', 'b'], position=[1.0, 2.0], velocity=[0.1, 0.2]), 5.0)
    table.update(JointState(name=['b'], position=[2.5], velocity=[0.4]), 6.0)
    assert table.positions == {'a': 1.0, 'b': 2.5} and table.velocities == {'a': 0.1, 'b': 0.4}
    assert table.times == {'a': 5.0, 'b': 6.0}
    assert table.position_at('a', 7.0) == pytest.approx(1.2)


def test_without_velocities_they_come_from_two_positions():
    table = JointTable()
    table.update(JointState(name=['a'], position=[1.0]), 5.0)
    assert table.velocities == {'a': 0.0}
    table.update(JointState(name=['a'], position=[1.2]), 5.1)
    assert table.velocities['a'] == pytest.approx(2.0)
    table.update(JointState(name=['a'], position=[1.3]), 5.1)  # a clock that stands still
    assert table.velocities == {'a': 0.0}


@pytest.mark.parametrize('position, velocity', [(math.nan, 0.0), (1.0, math.inf)])
def test_values_that_are_not_finite_are_left_out(position, velocity):
    table = JointTable()
    table.update(
        JointState(name=['a', 'b'], position=[position, 1.0], velocity=[velocity, 0.0]), 5.0
    )
    assert table.positions == {'b': 1.0}
