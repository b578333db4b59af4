"""Two topics, one state: the joint states and motor states that carry the same stamp."""

import numpy as np

from flex_robot_sim.exceptions import CommandError
from flex_robot_sim.nodes.conversions import stamp_of


class StatePairs:
    """Positions and velocities of all joints on both sides of their drives."""

    def __init__(self, arm, need_motors):
        """
        Wait for the first state of an ArmModel.

        :param need_motors: whether a state is complete with its motor side only.
        """
        n = len(arm.joint_names)
        self.position, self.velocity, self.motor_position, self.motor_velocity = np.zeros((4, n))
        self.need_motors = need_motors and bool(arm.motor_names)
        self._joints = _Reader(arm.joint_names, arm.joint_names, 'joint_states')
        self._motors = _Reader(arm.motor_names, arm.joint_names, 'motor_states')
        self._rigid = np.array([name not in arm.motor_names for name in arm.joint_names])
        self._joint_stamp = self._motor_stamp = None

    def take_joints(self, message):
        """Take joint_states; return whether a state is complete. CommandError if unusable."""
        self._joints.read(message, self.position, self.velocity)
        self._joint_stamp = stamp_of(message.header)
        np.copyto(self.motor_position, self.position, where=self._rigid)
        np.copyto(self.motor_velocity, self.velocity, where=self._rigid)
        return self._is_complete()

    def take_motors(self, message):
        """Take motor_states; likewise."""
        self._motors.read(message, self.motor_position, self.motor_velocity)
        self._motor_stamp = stamp_of(message.header)
        return self._is_complete()

    def _is_complete(self):
        return not self.need_motors or self._joint_stamp == self._motor_stamp


class _Reader:
    """Puts the values of a JointState into the order of the arm's joints."""

    def __init__(self, wanted, joint_names, topic):
        self._wanted, self._topic = wanted, topic
        self._rows = np.array([joint_names.index(name) for name in wanted], int)
        self._names, self._columns = None, None

    def read(self, message, position, velocity):
        if message.name != self._names:
            self._columns = self._find(message.name)
            self._names = list(message.name)
        size = len(self._names)
        if len(message.position) != size or len(message.velocity) != size:
            raise CommandError(f'{self._topic} needs a position and a velocity for each of its '
                               f'{size} names')
        # a numpy view of the message's own memory
        position[self._rows] = np.frombuffer(message.position)[self._columns]
        velocity[self._rows] = np.frombuffer(message.velocity)[self._columns]

    def _find(self, names):
        places = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._wanted if name not in places]
        if missing:
            raise CommandError(f'{self._topic} lacks the joint "{missing[0]}"')
        return np.array([places[name] for name in self._wanted], int)
