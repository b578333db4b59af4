"""
Arrays of a batch with one row per member: live ones, which are writable, and copies.

Written values take effect at the next step. If they change the energy of an arm, the energy
balance excludes the change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flex_robot_sim.batch.batch_checks import UNITS, checked_rows
from flex_robot_sim.batch.members import Members
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import coordinates_of_poses, link_pose, link_twist


def _live(name: str, table: str, about: str) -> Any:
    """Return a property for an array of a table of Members; '': of a live column of the arms."""

    def getter(batch):
        members = batch._members
        return getattr(getattr(members, table), name) if table else members.live(name)

    def setter(batch, values):
        numbers = getter(batch)
        numbers[:] = checked_rows(name, values, numbers.shape, np.arange(len(batch)))

    return property(getter, setter, doc=f'{about}, live, (count, joints) [{UNITS[name]}].')


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

    effort: np.ndarray = _live('effort', 'state', 'Efforts of the motors')
    target: np.ndarray = _live('target', 'works', 'Targets of the servos of `hold`')
    target_rate: np.ndarray = _live('target_rate', 'works', 'Velocities of the servo targets')
    servo_stiffness: np.ndarray = _live('servo_stiffness', 'works', 'Stiffness of the servos')
    servo_damping: np.ndarray = _live('servo_damping', 'works', 'Damping of the servos of `hold`')
    gear_stiffness: np.ndarray = _live('gear_stiffness', '', 'Stiffness of elastic gears')
    gear_damping: np.ndarray = _live('gear_damping', '', 'Damping of elastic gears')
    rotor: np.ndarray = _live('rotor', '', 'Rotor inertias, seen from the joint')
    viscous: np.ndarray = _live('viscous', '', 'Viscous friction of the drives')
    coulomb: np.ndarray = _live('coulomb', '', 'Dry friction in motion, at constant stiction')

    @property
    def q(self) -> np.ndarray:
        """All coordinates, in the order of arm.coordinate_names, (count, nq)."""
        q, members = self._members.state.q.copy(), self._members
        if self.arm.has_free_base:
            q[:, self.arm.base_q] = coordinates_of_poses(
                self.arm, members.start_poses(range(len(members))), members.works.base_pose
            )
        return q

    @property
    def v(self) -> np.ndarray:
        """Rates of all coordinates, (count, nv)."""
        return self._members.state.qd.copy()

    @property
    def base_pose(self) -> np.ndarray:
        """Poses of the base links of free bases, (count, 7), see `Simulation.base_pose`."""
        pairs = zip(self._members.arms, self._members.works.base_pose)
        return np.array([link_pose(arm, pose) for arm, pose in pairs])

    @property
    def base_twist(self) -> np.ndarray:
        """Twists of the base links of free bases, (count, 6), see `Simulation.base_twist`."""
        pairs = zip(self._members.arms, self._members.state.qd)
        return np.array([link_twist(arm, rates) for arm, rates in pairs])

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
