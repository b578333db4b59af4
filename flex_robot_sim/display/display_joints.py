"""Contents of `display_joint_states`: positions of all joints of the display description."""

import numpy as np

from flex_robot_sim.display.places import places
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.split_screws import travel_names
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.slide_columns import LENGTH, OFFSET


class DisplayJoints:
    """
    Names and positions of all joints of the display description of an arm.

    They are the joints of the arm on the link side, the held mimic joints, so that no program
    moves them, the travels of screw joints, and six per Place. A free or moved base has none.
    """

    def __init__(self, arm: ArmModel) -> None:
        frames = places(arm)
        held = [
            joint
            for joint in arm.description.joints
            if joint.kind != 'fixed' and not joint.moves and not joint.is_base
        ]
        travels = travel_names(arm.description)
        self.names = (
            *arm.joint_names,
            *(joint.name for joint in held),
            *travels.values(),
            *(name for place in frames for name in place.joint_names),
        )
        self._joint_count = len(arm.joint_names)
        self._positions = np.zeros(len(self.names))
        self._positions[self._joint_count : self._joint_count + len(held)] = [
            j.held_at for j in held
        ]
        first = self._joint_count + len(held)
        self._travels = slice(first, first + len(travels))
        self._screws = np.array([arm.idx_q[name] for name in travels], int)
        screws = [arm.description.joint(name) for name in travels]
        self._travel_per_radian = np.array([joint.travel_per_radian for joint in screws])
        self._posture = Posture(arm)
        self._station = np.array([place.station for place in frames], int)
        poses = [_undeformed(arm, place) for place in frames]
        self._home_R = np.array([R for R, _ in poses]).reshape(-1, 3, 3)
        self._home_p = np.array([p for _, p in poses]).reshape(-1, 3)
        # places beyond the first segment are transformed to its frame
        # the frame of a sliding link is at its rear end, that of its body at the mouth
        data = [_hidden_length(arm, place.body) for place in frames]
        self._hidden, self._slides = np.array(data).reshape(-1, 3)[:, :2].T
        self._slide_q = np.array([joint for _, _, joint in data], int)
        self._later = np.array(
            [k for k, place in enumerate(frames) if place.body != arm.segments[place.link][0]], int
        )
        self._body = np.array([frames[k].body for k in self._later], int)
        self._root = np.array([arm.segments[frames[k].link][0] for k in self._later], int)

    def positions(self, coordinates: np.ndarray) -> np.ndarray:
        """Return new positions (names,) [rad, m] for the coordinates (n,) of the arm."""
        q = self._posture.take(coordinates)
        positions = self._positions.copy()
        positions[: self._joint_count] = q[: self._joint_count]
        positions[self._travels] = self._travel_per_radian * q[self._screws]
        if self._station.size:
            R, p = self._stations()
            p[:, 0] += self._hidden + self._slides * q[self._slide_q]
            virtual = positions[-6 * self._station.size :].reshape(-1, 6)
            virtual[:, :3] = p - self._home_p
            R = R @ self._home_R.transpose(0, 2, 1)
            # R = Rz(a) Rx(b) Ry(c)
            virtual[:, 3] = np.arctan2(-R[:, 0, 1], R[:, 1, 1])
            virtual[:, 4] = np.arctan2(R[:, 2, 1], np.hypot(R[:, 0, 1], R[:, 1, 1]))
            virtual[:, 5] = np.arctan2(-R[:, 2, 0], R[:, 2, 2])
        return positions

    def _stations(self):
        """Poses of all places in the frames of the roots of their beams."""
        posture = self._posture
        R, p = posture.station_R[self._station], posture.station_p[self._station]
        if self._later.size:
            k = self._later
            to_root = posture.base_R[self._root].transpose(0, 2, 1)
            body_R, body_p = posture.base_R[self._body], posture.base_p[self._body]
            offset = (body_R @ p[k, :, None])[..., 0] + body_p - posture.base_p[self._root]
            p[k] = (to_root @ offset[..., None])[..., 0]
            R[k] = to_root @ body_R @ R[k]
        return R, p


def _hidden_length(arm, body):
    """Length of a sliding link in its guide [m], its slope with a joint, and this joint."""
    arrays = arm.arrays
    if arrays.kind[body] != SLIDING:
        return 0.0, 0.0, 0
    data = arrays.slide_data[body]
    return data[LENGTH] - data[OFFSET], -1.0, int(arrays.slide[body])


def _undeformed(arm, place):
    """Pose of a place on the undeformed link, in the frame of the root of its beam."""
    beam = arm.description.beam(place.link)
    if beam.axis is None:
        return np.eye(3), np.array([place.along, 0.0, 0.0])
    R, p = beam.section_pose(place.along)
    return beam.axes.T @ R, beam.axes.T @ p
