"""
Arrays of a batch with one row per member: live ones, which are writable, and copies.

Written values take effect at the next step. If they change the energy of an arm, the energy
balance excludes the change.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.batch.checks import checked_rows
from flex_robot_sim.batch.members import Members
from flex_robot_sim.model.arm_model import ArmModel


def _live(name: str, table: Callable[[Members], np.ndarray], about: str) -> Any:
    """Return a property whose getter gives a table of Members and whose setter writes into it."""
    def getter(batch):
        return table(batch._members)

    def setter(batch, values):
        numbers = getter(batch)
        numbers[:] = checked_rows(name, values, numbers.shape, np.arange(len(batch)))
    return property(getter, setter, doc=about)


class LiveArrays:
    """Base class of Batch with the arrays of its members."""

    _members: Members

    def __len__(self) -> int:
        return len(self._members)

    @property
    def arms(self) -> tuple[ArmModel, ...]:
        """The ArmModel of each member; `set_arms` replaces them."""
        return tuple(self._members.arms)

    @property
    def arm(self) -> ArmModel:
        """The ArmModel of the first member; all members have the same names."""
        return self._members.arms[0]

    effort: np.ndarray = _live(
        'effort', lambda members: members.state.effort,
        'Efforts of the motors, live, (count, joints) [N m, N].')
    target: np.ndarray = _live(
        'target', lambda members: members.works.target,
        'Targets of the servos of `hold`, live, (count, joints) [rad, m].')
    target_rate: np.ndarray = _live(
        'target_rate', lambda members: members.works.target_rate,
        'Velocities of these targets, live, (count, joints) [rad/s, m/s].')
    servo_stiffness: np.ndarray = _live(
        'servo_stiffness', lambda members: members.works.servo_stiffness,
        'Stiffness of these servos, live, (count, joints) [N m/rad, N/m].')
    servo_damping: np.ndarray = _live(
        'servo_damping', lambda members: members.works.servo_damping,
        'Damping of these servos, live, (count, joints) [N m s/rad, N s/m].')
    gear_stiffness: np.ndarray = _live(
        'gear_stiffness', lambda members: members.live('gear_stiffness'),
        'Stiffness of elastic gears, live, (count, joints) [N m/rad, N/m].')
    gear_damping: np.ndarray = _live(
        'gear_damping', lambda members: members.live('gear_damping'),
        'Damping of elastic gears, live, (count, joints) [N m s/rad, N s/m].')
    rotor: np.ndarray = _live(
        'rotor', lambda members: members.live('rotor'),
        'Inertia of the rotors behind these gears, joint side, live, (count, joints) [kg m2].')
    viscous: np.ndarray = _live(
        'viscous', lambda members: members.live('viscous'),
        'Viscous friction of the drives, live, (count, joints) [N m s/rad, N s/m].')
    coulomb: np.ndarray = _live(
        'coulomb', lambda members: members.live('coulomb'),
        'Dry friction in motion, live, (count, joints) [N m, N]; the excess at rest does not '
        'change.')

    @property
    def coordinates(self) -> np.ndarray:
        """All coordinates, in the order of arm.coordinate_names, (count, n)."""
        return self._members.state.q.copy()

    @property
    def rates(self) -> np.ndarray:
        """Rates of all coordinates, (count, n)."""
        return self._members.state.qd.copy()

    @property
    def position(self) -> np.ndarray:
        """Joint positions on the link side, (count, joints) [rad, m]."""
        return self._members.state.q[:, self.arm.joint_q].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities on the link side, (count, joints) [rad/s, m/s]."""
        return self._members.state.qd[:, self.arm.joint_q].copy()

    @property
    def motor_position(self) -> np.ndarray:
        """Joint positions on the motor side, behind the gear, (count, joints) [rad, m]."""
        return self._members.state.q[:, self.arm.motor_q]

    @property
    def motor_velocity(self) -> np.ndarray:
        """Joint velocities on the motor side, behind the gear, (count, joints) [rad/s, m/s]."""
        return self._members.state.qd[:, self.arm.motor_q]

    @property
    def lost(self) -> np.ndarray:
        """Times when the states of members became non-finite, (count,) [s]; NaN: still finite."""
        return self._members.lost.copy()

    @property
    def is_lost(self) -> np.ndarray:
        """Whether members have stopped at their last finite state, (count,)."""
        return np.isfinite(self._members.lost)

    def pose(self, link: str, station: float | str | None = None) -> np.ndarray:
        """Poses (count, 4, 4) of a link in the base frame, see `Simulation.pose`."""
        return np.array([pose(arm, q, link, station)
                         for arm, q in zip(self._members.arms, self._members.state.q)])
