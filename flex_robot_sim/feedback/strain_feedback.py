"""
Feedback of strain, or positive position feedback, at every sample of a loop.

It adds efforts to those of the servo for which it was designed. Its filters begin at rest, and
what they add is faded in and out, so that switching it makes no jump. Designs of several poses all
look on, and what they ask for is weighed by how near the arm is to each.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.feedback.gain_table import GainTable
from flex_robot_sim.feedback.modal_damping import DampingDesign, refuse_without_sensors
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import Serializable
from flex_robot_sim.util.summary import summarized

FADE = 0.5              # periods of its first mode in which it is faded in and out
LARGEST = 1e9           # curvature that is still believed                                  [1/m]


@summarized
class DampingTable(NamedTuple):
    """DampingDesigns over a grid of poses, of one kind, servo and loop."""

    axes: tuple                 # positions of the grid, one array per joint            [rad, m]
    designs: dict               # index of the grid -> DampingDesign
    complaint: str = ''


class StrainFeedback(Serializable):
    """Damps the modes of its designs; `effort` is what it adds now, (joints,) [N m, N]."""

    adds_to_servo = True

    def __init__(self, arm: ArmModel, design: DampingDesign | DampingTable,
                 limits: ArrayLike | None = None) -> None:
        """
        Get ready, switched off.

        :param design: DampingDesign, or DampingTable.
        :param limits: of what it may add, (joints,) [N m, N]; default: those of the motors.
        """
        names = arm.joint_names
        if isinstance(design, DampingDesign):
            design = DampingTable((np.zeros(1),) * len(names), {(0,) * len(names): design},
                                  design.complaint)
        first = next(iter(design.designs.values()))
        refuse_without_sensors(arm, first.kind)
        limits = effort_limits(arm) if limits is None else checked('limits', limits, names)
        if not (limits > 0.0).all():
            raise SettingError(f'the limits of {first.kind} feedback must be > 0, one per joint')
        channels = [channel for item in design.designs.values() for channel in item.channels]
        if len(channels[0].look) != len(first.rest) or len(channels[0].push) != len(names):
            raise SettingError(f'this design is not for {arm.description.name}')
        self.design, self.limits, self.loop = design, limits, first.loop
        self.effort, self.saturated = np.zeros((2, len(names)))
        self.is_on, self.refused = False, 0
        P, Q = zip(*(channel.sampled(self.loop.period) for channel in channels))
        self._P, self._Q = np.array(P), np.array(Q)
        self._looks = np.array([channel.look for channel in channels])
        self._pushes = np.array([channel.push for channel in channels]).T.copy()
        self._gains = np.array([(0.0, *channel.gains) for channel in channels])
        # the share of each channel, and the curvatures at rest, by the pose
        owners = [index for index, item in design.designs.items() for _ in item.channels]
        self._table = GainTable(design.axes, {
            index: {'shares': np.array([float(owner == index) for owner in owners]),
                    'rest': item.rest} for index, item in design.designs.items()})
        count = len(channels)
        self._x, self._next, self._part = np.zeros((3, count, 3))
        self._seen, self._force = np.zeros((2, count))
        self._bent = np.zeros(len(first.rest))
        self._lowest = -self.limits
        self._share = 0.0
        self._fade = self.loop.period * channels[0].rate / (2 * math.pi * FADE)

    @property
    def is_idle(self) -> bool:
        """Whether it adds nothing, now and until it is started."""
        return not self.is_on and self._share == 0.0

    def reset(self) -> None:
        """Switch off at once: somebody else has led the arm."""
        self.is_on, self._share = False, 0.0
        self.effort[:] = 0.0

    def start(self, position: np.ndarray | None = None, velocity: np.ndarray | None = None,
              curvature: np.ndarray | None = None, effort: ArrayLike | None = None) -> None:
        """Switch on: what is added grows from nothing, whatever the arm does now."""
        if not self.is_on and self._share == 0.0:
            self._x[:] = 0.0
        self.is_on = True

    def stop(self) -> None:
        """Switch off: what is added fades."""
        self.is_on = False

    def update(self, position: np.ndarray, velocity: np.ndarray, curvature: np.ndarray,
               reference: np.ndarray | None = None) -> np.ndarray:
        """
        Efforts to be added at a sample, (joints,) [N m, N]; overwritten by the next call.

        :param position: of the joints, (joints,) [rad, m]; read by a DampingTable only.
        :param curvature: of all flex sensors, (k,) [1/m]; the others are not needed.
        """
        fade = self._fade if self.is_on else -self._fade
        self._share = min(1.0, max(0.0, self._share + fade))
        if self._share == 0.0:
            self.effort[:] = 0.0
            return self.effort
        if not math.hypot(*curvature) < LARGEST:            # nan is not less either
            self.refused += 1                               # and the last effort stays
            return self.effort
        self._table.update(position)
        np.subtract(curvature, self._table.values['rest'], out=self._bent)
        np.dot(self._looks, self._bent, out=self._seen)
        np.matmul(self._P, self._x[:, :, None], out=self._next[:, :, None])
        np.multiply(self._Q, self._seen[:, None], out=self._part)
        np.add(self._next, self._part, out=self._x)
        np.multiply(self._x, self._gains, out=self._part)
        np.sum(self._part, axis=1, out=self._force)
        self._force *= self._table.values['shares']
        np.dot(self._pushes, self._force, out=self.effort)
        self.effort *= self._share
        if (np.abs(self.effort) > self.limits).any():
            self.saturated += np.abs(self.effort) > self.limits
            np.clip(self.effort, self._lowest, self.limits, out=self.effort)
        return self.effort
