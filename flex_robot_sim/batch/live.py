"""
Arrays of a batch with a row for each member: live ones, which one may write, and copies.

What is written counts from the next step on. Other numbers of an arm change what energy is in it;
that is in no balance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.batch.checks import checked_rows
from flex_robot_sim.batch.members import Members
from flex_robot_sim.model.arm_model import ArmModel


def _live(name: str, table: Callable[[Members], np.ndarray], about: str) -> Any:
    """Return a property that shows a table of Members, and writes into it what is assigned."""
    def show(batch):
        return table(batch._members)

    def write(batch, values):
        numbers = show(batch)
        numbers[:] = checked_rows(name, values, numbers.shape, np.arange(len(batch)))
    return property(show, write, doc=about)


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

    effort: np.ndarray = _live(
        'effort', lambda those: those.state.effort,
        'Efforts of the motors, live, (count, joints) [N m, N].')
    target: np.ndarray = _live(
        'target', lambda those: those.works.target,
        'Where the servos of `hold` pull to, live, (count, joints) [rad, m].')
    target_rate: np.ndarray = _live(
        'target_rate', lambda those: those.works.target_rate,
        'With what rate these targets move, live, (count, joints) [rad/s, m/s].')
    servo_stiffness: np.ndarray = _live(
        'servo_stiffness', lambda those: those.works.servo_stiffness,
        'Gains of these servos, live, (count, joints) [N m/rad, N/m].')
    servo_damping: np.ndarray = _live(
        'servo_damping', lambda those: those.works.servo_damping,
        'Likewise [N m s/rad, N s/m].')
    gear_stiffness: np.ndarray = _live(
        'gear_stiffness', lambda those: those.live('gear_stiffness'),
        'Stiffness of gears that give, live, (count, joints) [N m/rad, N/m].')
    gear_damping: np.ndarray = _live(
        'gear_damping', lambda those: those.live('gear_damping'),
        'Damping inside these gears, live, (count, joints) [N m s/rad, N s/m].')
    rotor: np.ndarray = _live(
        'rotor', lambda those: those.live('rotor'),
        'Inertia of the rotors behind these gears, joint side, live, (count, joints) [kg m2].')
    viscous: np.ndarray = _live(
        'viscous', lambda those: those.live('viscous'),
        'Viscous friction of the drives, live, (count, joints) [N m s/rad, N s/m].')
    coulomb: np.ndarray = _live(
        'coulomb', lambda those: those.live('coulomb'),
        'Dry friction of drives that turn, live, (count, joints) [N m, N]; what one that stands '
        'has beyond it stays beyond it.')

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
