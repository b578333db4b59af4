"""Pairing of joint states and motor states with the same stamp to one state."""

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import UNCOMMANDED, stamp_of
from flex_robot_sim.ros.topics import Topic
from flex_robot_sim.util.exceptions import CommandError


class JointMotorPairing:
    """Positions and velocities of all joints on both sides of their drives."""

    def __init__(self, arm: ArmModel, need_motors: bool) -> None:
        """
        Wait for the first state of an ArmModel.

        :param need_motors: whether a state needs motor states to be complete.
        """
        n = len(arm.joint_names)
        self.position, self.velocity, self.motor_position, self.motor_velocity = np.zeros((4, n))
        self.is_prescribed = True              # whether commands move the arm
        self.need_motors = need_motors and bool(arm.motor_names)
        self._joints = _Reader(arm.joint_names, arm.joint_names, topics.JOINT_STATES.name)
        self._motors = _Reader(arm.motor_names, arm.joint_names, topics.MOTOR_STATES.name)
        self._rigid = np.array([name not in arm.motor_names for name in arm.joint_names])
        self._joint_stamp: int | None = None
        self._motor_stamp: int | None = None

    def take_joints(self, message: JointState) -> bool:
        """Read joint_states; return whether the state is complete. CommandError if unusable."""
        self._joints.read(message, self.position, self.velocity)
        self._joint_stamp = stamp_of(message.header)
        self.is_prescribed = message.header.frame_id != UNCOMMANDED
        np.copyto(self.motor_position, self.position, where=self._rigid)
        np.copyto(self.motor_velocity, self.velocity, where=self._rigid)
        return self._is_complete()

    def take_motors(self, message: JointState) -> bool:
        """Read motor_states; return whether the state is complete, as `take_joints` does."""
        self._motors.read(message, self.motor_position, self.motor_velocity)
        self._motor_stamp = stamp_of(message.header)
        return self._is_complete()

    def _is_complete(self):
        return not self.need_motors or self._joint_stamp == self._motor_stamp


class NamedValues:
    """Reads values from messages that list names in any order."""

    def __init__(self, names: Sequence[str], topic: Topic, what: str) -> None:
        """Read `names`; `what` describes them in error messages."""
        self._required_names, self._topic, self._what = tuple(names), topic.name, what
        self._names: list[str] | None = None
        self._columns = np.zeros(0, int)

    def read(self, message: JointState, field: str = 'position') -> np.ndarray:
        """Return a field (k,) of a JointState; CommandError if one is missing."""
        if message.name != self._names:
            self._columns = _columns(self._required_names, message.name, self._topic, self._what)
            self._names = list(message.name)
        size, values = len(message.name), getattr(message, field)
        if len(values) != size:
            article = 'an' if field[0] == 'e' else 'a'
            raise CommandError(f'{self._topic} needs {article} {field} for each of its {size} '
                               'names')
        return np.frombuffer(values)[self._columns]


class StrainReader(NamedValues):
    """Curvatures of all flex sensors [1/m]."""

    def __init__(self, arm: ArmModel) -> None:
        """Read the flex sensors of an ArmModel."""
        super().__init__(flex_sensors(arm).names, topics.STRAIN, 'flex sensor')


class _Reader:
    """Sorts the values of a JointState into the order of the joints of the arm."""

    def __init__(self, required_names, joint_names, topic):
        self._required_names, self._topic = required_names, topic
        self._rows = np.array([joint_names.index(name) for name in required_names], int)
        self._names, self._columns = None, None

    def read(self, message, position, velocity):
        if message.name != self._names:
            self._columns = _columns(self._required_names, message.name, self._topic, 'joint')
            self._names = list(message.name)
        size = len(self._names)
        if len(message.position) != size or len(message.velocity) != size:
            raise CommandError(f'{self._topic} needs a position and a velocity for each of its '
                               f'{size} names')
        # a numpy view of the message's own memory
        position[self._rows] = np.frombuffer(message.position)[self._columns]
        velocity[self._rows] = np.frombuffer(message.velocity)[self._columns]


def _columns(required_names, names, topic, what):
    """Return the indices of the required names."""
    index_of = {name: i for i, name in enumerate(names)}
    missing = [name for name in required_names if name not in index_of]
    if missing:
        raise CommandError(f'{topic} lacks the {what} "{missing[0]}"')
    return np.array([index_of[name] for name in required_names], int)
