"""What `display_joint_states` says: positions of all joints of the display description."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.display.places import places
from flex_robot_sim.display.posture import Posture

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel


class DisplayJoints:
    """
    Names and positions of all joints of the display description of an arm.

    They are the joints of the arm on their link side, those that are held (a mimic joint), so that
    nobody lets them follow, and six virtual joints per Place.
    """

    def __init__(self, arm: ArmModel) -> None:
        """Take `arm` (ArmModel)."""
        found = places(arm)
        held = [joint for joint in arm.description.joints
                if joint.kind != 'fixed' and not joint.moves]
        self.names = (*arm.joint_names, *(joint.name for joint in held),
                      *(name for place in found for name in place.joint_names))
        self._moving = len(arm.joint_names)
        self._positions = np.zeros(len(self.names))
        self._positions[self._moving:self._moving + len(held)] = [j.held_at for j in held]
        self._posture = Posture(arm)
        self._station = np.array([place.station for place in found], int)
        self._along = np.array([place.along for place in found])
        # what lies beyond the first segment is seen from there
        self._beyond = np.array([k for k, place in enumerate(found)
                                 if place.body != arm.segments[place.link][0]], int)
        self._body = np.array([found[k].body for k in self._beyond], int)
        self._root = np.array([arm.segments[found[k].link][0] for k in self._beyond], int)

    def positions(self, coordinates: np.ndarray) -> np.ndarray:
        """
        Positions (names,) [rad, m] for the coordinates (n,) of the arm.

        The array is new with every call.
        """
        q = self._posture.take(coordinates)
        positions = self._positions.copy()
        positions[:self._moving] = q[:self._moving]
        if self._station.size:
            R, p = self._stations()
            virtual = positions[-6 * self._station.size:].reshape(-1, 6)
            virtual[:, :3] = p
            virtual[:, 0] -= self._along
            # R = Rz(a) Rx(b) Ry(c)
            virtual[:, 3] = np.arctan2(-R[:, 0, 1], R[:, 1, 1])
            virtual[:, 4] = np.arctan2(R[:, 2, 1], np.hypot(R[:, 0, 1], R[:, 1, 1]))
            virtual[:, 5] = np.arctan2(-R[:, 2, 0], R[:, 2, 2])
        return positions

    def _stations(self):
        """Pose of every place in the frame of the root of its beam."""
        posture = self._posture
        R, p = posture.station_R[self._station], posture.station_p[self._station]
        if self._beyond.size:
            k = self._beyond
            to_root = posture.base_R[self._root].transpose(0, 2, 1)
            body_R, body_p = posture.base_R[self._body], posture.base_p[self._body]
            reach = (body_R @ p[k, :, None])[..., 0] + body_p - posture.base_p[self._root]
            p[k] = (to_root @ reach[..., None])[..., 0]
            R[k] = to_root @ body_R @ R[k]
        return R, p
