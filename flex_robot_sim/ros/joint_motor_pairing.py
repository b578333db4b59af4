"""Pairing of joint states and motor states with the same stamp to one state."""

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import UNCOMMANDED, stamp_of
from flex_robot_sim.ros.state_rows import joint_rows
from flex_robot_sim.ros.topics import Topic
from flex_robot_sim.util.exceptions import CommandError


class JointMotorPairing:
    """
    Positions and velocities of all joints on both sides of their drives.

    Those of universal, spherical and planar joints, which joint_states do not have, stay zero.
    """

    def __init__(self, arm: ArmModel, need_motors: bool) -> None:
        """Wait for a state; if `need_motors`, motor states complete it."""
        n = len(arm.joint_names)
        self.position, self.velocity, self.motor_position, self.motor_velocity = np.zeros((4, n))
        self.is_prescribed = True  # whether commands move the arm
        self.need_motors = need_motors and bool(arm.motor_names)
        self._rows = joint_rows(arm)
        self._joints = NamedValues(arm.description.urdf_joint_names, topics.JOINT_STATES)
        self._motors = NamedValues(arm.motor_names, topics.MOTOR_STATES)
        self._motor_rows = np.array([arm.idx_q[name] for name in arm.motor_names], int)
        self._rigid = np.array([name not in arm.motor_names for name in arm.joint_names])
        self._joint_stamp: int | None = None
        self._motor_stamp: int | None = None

    def take_joints(self, message: JointState) -> bool:
        """Read joint_states; return whether the state is complete. CommandError if unusable."""
        rows = self._rows
        self.position[rows], self.velocity[rows] = self._joints.read_motion(message)
        self._joint_stamp = stamp_of(message.header)
        self.is_prescribed = message.header.frame_id != UNCOMMANDED
        np.copyto(self.motor_position, self.position, where=self._rigid)
        np.copyto(self.motor_velocity, self.velocity, where=self._rigid)
        return self._is_complete()

    def take_motors(self, message: JointState) -> bool:
        """Read motor_states; return whether the state is complete, as `take_joints` does."""
        rows = self._motor_rows
        self.motor_position[rows], self.motor_velocity[rows] = self._motors.read_motion(message)
        self._motor_stamp = stamp_of(message.header)
        return self._is_complete()

    def _is_complete(self):
        return not self.need_motors or self._joint_stamp == self._motor_stamp


class NamedValues:
    """Reads values from messages that list names in any order."""

    def __init__(self, names: Sequence[str], topic: Topic, what: str = 'joint') -> None:
        """Read `names`; `what` describes them in error messages."""
        self._required_names, self._topic, self._what = tuple(names), topic.name, what
        self._names: list[str] | None = None
        self._columns = np.zeros(0, int)

    def read(self, message: JointState, field: str = 'position') -> np.ndarray:
        """Return a field (k,) of a JointState; CommandError if one is missing."""
        columns, size = self._find(message.name), len(message.name)
        values = getattr(message, field)
        if len(values) != size:
            article = 'an' if field[0] == 'e' else 'a'
            raise CommandError(
                f'{self._topic} needs {article} {field} for each of its {size} names'
            )
        return np.frombuffer(values)[columns]

    def read_motion(self, message: JointState) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and velocities (k,) of a JointState; CommandError if one is missing."""
        columns, size = self._find(message.name), len(message.name)
        if len(message.position) != size or len(message.velocity) != size:
            raise CommandError(
                f'{self._topic} needs a position and a velocity for each of its {size} names'
            )
        # numpy views of the message's own memory
        return np.frombuffer(message.position)[columns], np.frombuffer(message.velocity)[columns]

    def _find(self, names):
        """Return the indices of the required names, which rarely change."""
        if names != self._names:
            index_of = {name: i for i, name in enumerate(names)}
            missing = [name for name in self._required_names if name not in index_of]
            if missing:
                raise CommandError(f'{self._topic} lacks the {self._what} "{missing[0]}"')
            self._columns = np.array([index_of[name] for name in self._required_names], int)
            self._names = list(names)
        return self._columns


def strain_values(arm: ArmModel) -> NamedValues:
    """Return the reader of the curvatures of all flex sensors [1/m]."""
    return NamedValues(flex_sensors(arm).names, topics.STRAIN, 'flex sensor')
