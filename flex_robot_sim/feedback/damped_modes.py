"""
Modes of an arm held by a servo: which ones matter at the tip, and which ones feedback can damp.

A force at the tip deflects it by the compliance C = sum t t' / w^2, with the motion t of the tip
in a mode of unit modal mass and its rate w. A mode matters if it has a large share of the
compliance along a principal direction of C, and this direction a large share of the largest
compliance. So the sideways bending of a link matters, even if it is stiffer than its bending up
and down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.feedback.pose_model import PoseModel
from flex_robot_sim.util.exceptions import SettingError, shortened

DAMPED_FREQUENCY_RATIO = 1.3  # frequency of modes that are damped together, over the first one
MIN_SENSED, MIN_DRIVEN = 1e-3, 1e-3  # curvature and drive motion of a mode, over the largest ones
MIN_DIRECTION_SHARE = 0.25  # of a direction of the tip, over the largest compliance
MIN_MODE_SHARE = 0.3  # of a mode in a direction of the tip
MIN_PERIODS = 2.0  # sampling periods within half a period of a mode


class ServoModes(NamedTuple):
    """Undamped modes with the servo as springs, by frequency."""

    rates: np.ndarray  # (p,)    [rad/s]
    shapes: np.ndarray  # (p, p)  of unit modal mass, columns
    is_sensed: np.ndarray  # (p,)    by flex sensors
    is_driven: np.ndarray  # (p,)    by drives
    is_significant: np.ndarray  # (p,)    for the vibration of the tip


class LeftMode(NamedTuple):
    """A mode that matters at the tip, and that a design does not damp."""

    frequency: float  # [Hz]
    damping_ratio: float
    reason: str


def servo_modes(model: PoseModel, stiffness: np.ndarray) -> ServoModes:
    """Return the ServoModes of a PoseModel; stiffness: of the servo (joints,) [N m/rad, N/m]."""
    squares, shapes = model.servo_modes(stiffness)
    rates = np.sqrt(np.maximum(squares, 0.0))
    # curvature and drive motion over the root of the energy of a mode
    divisor = np.maximum(rates, 1e-9)
    curvature = np.abs(model.gauges @ shapes).max(axis=0) / divisor
    motion = np.linalg.norm(model.actuation.T @ shapes, axis=0) / divisor
    return ServoModes(
        rates,
        shapes,
        curvature > MIN_SENSED * curvature.max(),
        motion > MIN_DRIVEN * motion.max(),
        _significant(model, shapes, divisor),
    )


def _significant(model, shapes, rates):
    tip = jacobian(model.arm, model.rest, representation='mixed')[3:] @ model.shapes @ shapes
    tip = tip / rates
    compliances, directions = np.linalg.eigh(tip @ tip.T)
    shares = (directions.T @ tip) ** 2 / np.maximum(compliances, 1e-300)[:, None]
    matters = compliances > MIN_DIRECTION_SHARE * compliances[-1]
    return (shares[matters] > MIN_MODE_SHARE).any(axis=0)


class DampedModes:
    """Choice of the modes that a design damps, and of those that it leaves."""

    def __init__(
        self,
        modes: ServoModes,
        ratios: np.ndarray,
        wanted: float,
        period: float,
        gauges: int,
        count: int | None,
    ) -> None:
        """
        Choose among ServoModes.

        :param ratios: damping ratios with the servo alone (p,); wanted: that of damped modes.
        :param period: of the loop [s]; gauges: number of flex sensors.
        :param count: number of modes to damp, from the first; None: choose.
        """
        self._modes, self._ratios, self._wanted, self._count = modes, ratios, wanted, count
        total = len(modes.rates)
        if count is not None and (
            not isinstance(count, (int, np.integer)) or not 1 <= count <= total
        ):
            raise SettingError(
                f'modes = {shortened(repr(count), 60)} must be between 1 and {total}'
            )
        self._is_slow = modes.rates * MIN_PERIODS * period < np.pi
        is_reached = modes.is_sensed & modes.is_driven
        first = np.arange(total) < (count or 0)
        if count is None:
            first = modes.rates <= DAMPED_FREQUENCY_RATIO * modes.rates[0]
        self.near_first = np.flatnonzero(first & is_reached)[:gauges].tolist()
        self.all = self.near_first
        if count is None:
            wants = modes.is_significant & (ratios < wanted) & is_reached & self._is_slow
            self.all = np.flatnonzero((first & is_reached) | wants)[:gauges].tolist()
        if not self.all:
            raise SettingError(
                'no flex sensor sees the first mode in this pose: place one on the '
                'link that bends, in the plane in which it does'
            )
        fastest = modes.rates[self.all[-1]]
        if np.pi / period <= MIN_PERIODS * fastest:
            raise SettingError(
                f'a period of {period:g} s is too long for a mode of '
                f'{fastest / 2 / np.pi:.3g} Hz: take four or more in one period of the mode'
            )

    def left(self, damped: list[int]) -> tuple[LeftMode, ...]:
        """LeftModes of a design that damps some modes."""
        modes = self._modes
        rows = np.flatnonzero(modes.is_significant & (self._ratios < self._wanted / 2))
        return tuple(
            LeftMode(float(modes.rates[k]) / (2 * np.pi), float(self._ratios[k]), self._reason(k))
            for k in rows.tolist()
            if k not in damped
        )

    def _reason(self, k):
        modes = self._modes
        if not modes.is_sensed[k]:
            return 'no flex sensor measures it: place one in the plane in which the link bends'
        if not modes.is_driven[k]:
            return 'no drive moves it in this pose'
        if not self._is_slow[k]:
            return 'the period of the loop is too long for it'
        if self._count is not None and k >= self._count:
            return f'modes = {self._count}: take {k + 1}, or leave modes out'
        return 'sensors and delay do not suffice for it: add a sensor, or shorten the delay'


def left_warning(left: tuple[LeftMode, ...]) -> str:
    """Line about LeftModes, or ''."""
    return '; '.join(
        f'the mode of {mode.frequency:.3g} Hz keeps {100 * mode.damping_ratio:.2g} % of critical '
        f'damping, because {mode.reason}'
        for mode in left
    )
