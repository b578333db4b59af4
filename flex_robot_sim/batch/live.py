"""
Arrays of a batch with a row for each member: live ones, which one may write, and copies.

What is written counts from the next step on. Other numbers of an arm change what energy is in it;
that is in no balance.
"""

from __future__ import annotations

import numpy as np

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.batch.members import Members
from flex_robot_sim.core.model import ArmModel


class LiveArrays:
    """A base of Batch, whose members it shows."""

    _members: Members

    def __len__(self) -> int:
        return len(self._members)

    @property
    def arms(self) -> tuple[ArmModel, ...]:
        """The ArmModel of each member; `set_arms` gives others."""
        return tuple(self._members.arms)

    @property
    def arm(self) -> ArmModel:
        """The ArmModel of the first member, whose names are those of all."""
        return self._members.arms[0]

    @property
    def effort(self) -> np.ndarray:
        """Efforts of the motors, live, (count, joints) [N m, N]."""
        return self._members.state.effort

    @property
    def target(self) -> np.ndarray:
        """Where the servos of `hold` pull to, live, (count, joints) [rad, m]."""
        return self._members.works.target

    @property
    def target_rate(self) -> np.ndarray:
        """With what rate these targets move, live, (count, joints) [rad/s, m/s]."""
        return self._members.works.target_rate

    @property
    def servo_stiffness(self) -> np.ndarray:
        """Gains of these servos, live, (count, joints) [N m/rad, N/m]."""
        return self._members.works.servo_stiffness

    @property
    def servo_damping(self) -> np.ndarray:
        """Likewise [N m s/rad, N s/m]."""
        return self._members.works.servo_damping

    @property
    def gear_stiffness(self) -> np.ndarray:
        """Stiffness of gears that give, live, (count, joints) [N m/rad, N/m]."""
        return self._members.live('gear_stiffness')

    @property
    def gear_damping(self) -> np.ndarray:
        """Damping inside these gears, live, (count, joints) [N m s/rad, N s/m]."""
        return self._members.live('gear_damping')

    @property
    def rotor(self) -> np.ndarray:
        """Inertia of the rotors behind these gears, joint side, live, (count, joints) [kg m2]."""
        return self._members.live('rotor')

    @property
    def viscous(self) -> np.ndarray:
        """Viscous friction of the drives, live, (count, joints) [N m s/rad, N s/m]."""
        return self._members.live('viscous')

    @property
    def coulomb(self) -> np.ndarray:
        """
        Dry friction of drives that turn, live, (count, joints) [N m, N].

        What one that stands has beyond it stays beyond it.
        """
        return self._members.live('coulomb')

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
        return self._members.state.q[:, :len(self.arm.joint_names)].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities on the link side, (count, joints) [rad/s, m/s]."""
        return self._members.state.qd[:, :len(self.arm.joint_names)].copy()

    @property
    def motor_position(self) -> np.ndarray:
        """Joint positions on the motor side, behind the gear, (count, joints) [rad, m]."""
        return self._members.state.q[:, driven(self.arm)]

    @property
    def motor_velocity(self) -> np.ndarray:
        """Joint velocities on the motor side, behind the gear, (count, joints) [rad/s, m/s]."""
        return self._members.state.qd[:, driven(self.arm)]

    @property
    def lost(self) -> np.ndarray:
        """When members left the finite range, (count,) [s]; NaN: they are in it."""
        return self._members.lost.copy()

    @property
    def is_lost(self) -> np.ndarray:
        """Which members have stopped at their last good state, (count,)."""
        return np.isfinite(self._members.lost)

    def pose(self, link: str, station: float | str | None = None) -> np.ndarray:
        """Poses (count, 4, 4) of a link in the base frame, see `Simulation.pose`."""
        return np.array([pose(arm, q, link, station)
                         for arm, q in zip(self._members.arms, self._members.state.q)])
