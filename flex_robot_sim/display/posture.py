"""Poses of bodies and stations for coordinates of a simulation or a rig."""

import numpy as np

from flex_robot_sim.dynamics.forward_dynamics import set_bodies
from flex_robot_sim.dynamics.kinematics import set_base_poses
from flex_robot_sim.dynamics.moved_base import COLUMNS, TWIST, place_base
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.model.workspace import make_workspace


class Posture:
    """Forward kinematics of an arm with a separate workspace, for use parallel to a simulation."""

    def __init__(self, arm: ArmModel) -> None:
        self._names, self._arrays = arm.coordinate_names, arm.arrays
        self._work, self._rates = make_workspace(arm.arrays), np.zeros(arm.size)
        self.base_R, self.base_p = self._work.base_R, self._work.base_p  # of bodies
        # of stations with child bodies, in the frame of their body
        self.station_R, self.station_p = self._work.station_R, self._work.station_p

    def take(self, coordinates: np.ndarray) -> np.ndarray:
        """Set the poses for `coordinates` (n,), and return these as an array."""
        q = checked('coordinates', coordinates, self._names)
        set_bodies(self._arrays, q, self._rates, self._work)
        set_base_poses(self._arrays, self._work)
        return q

    def place_base(self, pose: np.ndarray) -> None:
        """Put a moved base at a pose (7,), from the next `take` on."""
        place_base(np.append(pose, np.zeros(COLUMNS - TWIST)), self._work)

    def section(self, body: int, station: int) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a cross-section, in the base frame."""
        R, p = self.base_R[body], self.base_p[body]
        return R @ self.station_R[station], R @ self.station_p[station] + p

    def frame(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a Frame of the arm, in the base frame."""
        R, p = (
            (self._work.root_R, self._work.root_p)
            if frame.body < 0
            else (self.base_R[frame.body], self.base_p[frame.body])
        )
        return R @ frame.R, R @ frame.p + p
