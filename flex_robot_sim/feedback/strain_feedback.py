"""
Strain feedback or positive position feedback, sample by sample.

It adds efforts to those of the servo for which it was designed. Its filters start at rest, and its
efforts are faded in and out, so that switching makes no step. With designs for several poses, the
filters of all of them run, and their efforts are weighted by the pose.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.feedback.gain_table import GainTable
from flex_robot_sim.feedback.measurement import Measurement, checked_curvature, checked_field
from flex_robot_sim.feedback.modal_damping import DampingDesign, refuse_without_sensors
from flex_robot_sim.model.arguments import checked, expect_arm, expect_kind
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import Serializable
from flex_robot_sim.util.summary import summarized

FADE_PERIODS = 0.5  # duration of a fade in periods of the first mode
MAX_CURVATURE = 1e9  # larger curvatures are refused                               [1/m]


@summarized
class DampingTable(NamedTuple):
    """DampingDesigns over a grid of poses, of one kind, servo and loop."""

    axes: tuple  # positions of the grid, one array per joint            [rad, m]
    designs: dict  # index of the grid -> DampingDesign
    warning: str = ''


class StrainFeedback(Serializable):
    """
    Strain feedback or positive position feedback: efforts to add to those of the servo.

    `effort` is the latest output, (joints,) [N m, N].

    Example::

        arm = frs.load('single_link')
        design = frs.feedback.design_damping(arm, [0.0], gains=(60.0, 0.18), kind='ppf',
                                             damping_ratio=0.1, period=5e-3, delay=0.0)
        law = frs.feedback.StrainFeedback(arm, design)
        added = law.step(frs.feedback.Measurement(0.0, curvature=[0.02, 0.01]))    # every period
    """

    adds_to_servo = True
    warning = ''  # reported while it runs; its design has its own

    def __init__(
        self,
        arm: ArmModel,
        design: DampingDesign | DampingTable,
        *,
        limits: ArrayLike | None = None,
    ) -> None:
        """Prepare the law, switched off; limits: largest efforts, (joints,) [N m, N]."""
        expect_arm(arm, closed_loops=True)
        expect_kind(
            'design',
            design,
            (DampingDesign, DampingTable),
            'a DampingDesign of design_damping(arm, q)',
        )
        names = arm.joint_names
        if isinstance(design, DampingDesign):
            design = DampingTable(
                (np.zeros(1),) * len(names), {(0,) * len(names): design}, design.warning
            )
        first = next(iter(design.designs.values()))
        refuse_without_sensors(arm, first.kind)
        limits = effort_limits(arm) if limits is None else checked('limits', limits, names)
        if not (limits[arm.actuated] > 0.0).all():
            raise SettingError(f'the limits of {first.kind} feedback must be > 0, one per joint')
        channels = [channel for item in design.designs.values() for channel in item.channels]
        if len(channels[0].sensor_weights) != len(first.rest_curvature) or len(
            channels[0].drive_weights
        ) != len(names):
            raise SettingError(f'this design is not for {arm.description.name}')
        self.design, self.limits, self.loop = design, limits, first.loop
        self._joint_names = names
        self.effort, self.saturated = np.zeros((2, len(names)))
        self.is_on, self.refused = False, 0
        P, Q = zip(*(channel.sampled(self.loop.period) for channel in channels))
        self._P, self._Q = np.array(P), np.array(Q)
        self._sensor_weights = np.array([channel.sensor_weights for channel in channels])
        self._drive_weights = np.array([channel.drive_weights for channel in channels]).T.copy()
        self._gains = np.array([(0.0, *channel.gains) for channel in channels])
        # weight of each channel, and curvatures at rest, by pose
        indices = [index for index, item in design.designs.items() for _ in item.channels]
        self._table = GainTable(
            design.axes,
            {
                index: {
                    'shares': np.array([float(entry == index) for entry in indices]),
                    'rest': item.rest_curvature,
                }
                for index, item in design.designs.items()
            },
        )
        count = len(channels)
        self._x, self._next, self._term = np.zeros((3, count, 3))
        self._modal_strain, self._force = np.zeros((2, count))
        self._curvature_change = np.zeros(len(first.rest_curvature))
        self._lower_limits = -self.limits
        self._share = 0.0
        self._fade_step = self.loop.period * channels[0].rate / (2 * math.pi * FADE_PERIODS)

    @property
    def is_idle(self) -> bool:
        """Whether it is off and has faded out."""
        return not self.is_on and self._share == 0.0

    def step(self, measurement: Measurement) -> np.ndarray:
        """
        Efforts to add for a Measurement, (joints,) [N m, N]; the first call switches it on.

        It uses the curvatures and, with designs for several poses, the positions.
        """
        position = None
        if len(self.design.designs) > 1:
            position = checked_field(measurement, 'position', self._joint_names)
        curvature = checked_curvature(measurement, self._curvature_change.size)
        self.start()
        return self.update(position, None, curvature).copy()

    def reset(self) -> None:
        """Switch off without a fade, after another controller has moved the arm."""
        self.is_on, self._share = False, 0.0
        self.effort[:] = 0.0

    def start(
        self,
        position: np.ndarray | None = None,
        velocity: np.ndarray | None = None,
        curvature: np.ndarray | None = None,
        effort: ArrayLike | None = None,
    ) -> None:
        """Switch on: the added efforts fade in."""
        if not self.is_on and self._share == 0.0:
            self._x[:] = 0.0
        self.is_on = True

    def stop(self) -> None:
        """Switch off: the added efforts fade out."""
        self.is_on = False

    def update(
        self,
        position: np.ndarray | None,
        velocity: np.ndarray | None,
        curvature: np.ndarray,
        reference: np.ndarray | None = None,
    ) -> np.ndarray:
        """
        Efforts to add at a sample, (joints,) [N m, N]; overwritten by the next call.

        :param position: of the joints, (joints,) [rad, m]; used by a DampingTable only.
        :param curvature: of all flex sensors, (k,) [1/m].
        :param velocity: not used; reference: the same.
        """
        fade = self._fade_step if self.is_on else -self._fade_step
        self._share = min(1.0, max(0.0, self._share + fade))
        if self._share == 0.0:
            self.effort[:] = 0.0
            return self.effort
        if not math.hypot(*curvature) < MAX_CURVATURE:  # false for nan, too
            self.refused += 1  # and the last effort is held
            return self.effort
        self._table.update(position)
        np.subtract(curvature, self._table.values['rest'], out=self._curvature_change)
        np.dot(self._sensor_weights, self._curvature_change, out=self._modal_strain)
        np.matmul(self._P, self._x[:, :, None], out=self._next[:, :, None])
        np.multiply(self._Q, self._modal_strain[:, None], out=self._term)
        np.add(self._next, self._term, out=self._x)
        np.multiply(self._x, self._gains, out=self._term)
        np.sum(self._term, axis=1, out=self._force)
        self._force *= self._table.values['shares']
        np.dot(self._drive_weights, self._force, out=self.effort)
        self.effort *= self._share
        if (np.abs(self.effort) > self.limits).any():
            self.saturated += np.abs(self.effort) > self.limits
            np.clip(self.effort, self._lower_limits, self.limits, out=self.effort)
        return self.effort
