"""Inputs of the drift node: which joint states it takes, and what it makes of them."""

from types import SimpleNamespace

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from sensor_msgs.msg import JointState

import flex_robot_sim as frs
from flex_robot_sim.nodes.drift_inputs import DriftInputs
from flex_robot_sim.ros import topics

SENSOR = '<flex_sensor name="root" from="0.02" to="0.1" plane="xz"/>'
SECTION = '<section EIy="200" EIz="300" GJ="100" EA="1e6"/>'


class FakeStamps:
    """Messages of subscriptions by topic, and their times."""

    def __init__(self, messages):
        self.messages = messages

    def new_messages(self, topic):
        """Yield the messages of a topic once."""
        yield from self.messages.pop(topic, ())

    def __call__(self, message):
        """Return the time of a message [s]."""
        return message.header.stamp.sec


def state(second, **fields):
    message = JointState(**fields)
    message.header.stamp.sec = second
    return message


def test_joint_states_need_no_coordinates_of_ball_joints(monkeypatch):
    arm = frs.load(
        robot(
            link('arm', 2.0, '0.5 0 0', (1e-2, 1 / 6, 1 / 6)),
            link('rod', 2.0, '0.5 0 0', (1e-2, 1 / 6, 1 / 6)),
            joint(inside='<axis xyz="0 -1 0"/>'),
            joint('wrist', 'fixed', 'arm', 'rod', '<origin xyz="1 0 0"/>'),
            flexibility('<joint name="wrist" type="spherical"/>', beam(SECTION + SENSOR)),
        )
    )
    monkeypatch.setattr('flex_robot_sim.nodes.drift_inputs.subscribe', lambda _, topic, *__: topic)
    fake = FakeStamps({})
    monkeypatch.setattr('flex_robot_sim.nodes.drift_inputs.Stamps', lambda _: fake)
    inputs = DriftInputs(SimpleNamespace(), arm)
    joints = [
        state(second, name=['hinge'], position=[0.1 * second], effort=[2.0 * second])
        for second in (1, 3)
    ]
    fake.messages |= {
        topics.JOINT_STATES: joints,
        topics.STRAIN: [state(2, name=['arm/root'], position=[0.7])],
    }
    ((time, drives, strain, efforts),) = inputs.samples()
    assert time == 2 and strain == pytest.approx([0.7])
    assert drives == pytest.approx([0.2, 0.0, 0.0, 0.0])
    assert efforts == pytest.approx([4.0, 0.0, 0.0, 0.0]) and np.isfinite(efforts).all()
