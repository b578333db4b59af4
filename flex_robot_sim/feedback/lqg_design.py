"""
Robust LQG design: gains over poses, with the highest bandwidth that is stable for all plants.

The design model omits modes and uncertainty. The eigenvalues of the closed loop with the full arm
account for them. The bandwidth is the highest at which every motion decays: at every pose of a
grid, at every stiffness of the range, and with deviating motor strengths.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.feedback.lqg_gains import gains_at, lqg_law, outputs_of
from flex_robot_sim.feedback.pose_model import closed_loop_step, pose_model
from flex_robot_sim.model.arguments import (
    array_or_nan,
    expect_arm,
    expect_one_of,
    number_or_nan,
    refuse_closed_loops,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import summarized

SENSORS = ('encoders', 'all')
BANDWIDTH_STEP, MIN_BANDWIDTH = 0.8, 0.02  # ratio of trials; minimum over the first mode
MIN_DECAY = 0.1  # decay rate of the closed loop, over the bandwidth
MIN_LINK_DECAY = 0.5  # the same, over the decay rate of the links alone, if that is slower
MOTOR_STRENGTHS = (0.8, 1.25)  # motor efforts of the plants, over the nominal ones
STIFFNESS_SAMPLES = 5  # stiffnesses of the plants, in addition to the nominal one


@summarized
@dataclass(frozen=True, eq=False)
class LqgDesign:
    """
    Gains of an LQG over a grid of poses.

    Example::

        design = frs.feedback.design_lqg(frs.load('single_link'), [0.0], period=5e-3, delay=5e-3)
        design.bandwidth, design.slowest_decay, design.warning
    """

    loop: LoopTiming
    delay_periods: int  # delay of the efforts in the law
    sensors: str
    feedback: str
    axes: tuple  # positions of the grid, one array per joint            [rad, m]
    gains: dict  # index of the grid -> LqgGains
    bandwidth: float  # [Hz]
    slowest_decay: float  # of all plants; None: unstable     [1/s]
    warning: str = ''
    stiffness_range: tuple = (1.0, 1.0)  # of the plants, relative to the description
    modes: int = 0  # in the law


def design_lqg(
    arm: ArmModel,
    poses: ArrayLike | Sequence[np.ndarray],
    *,
    period: float = 2e-3,
    delay: float = 2e-3,
    bandwidth: float | None = None,
    modes: int | None = None,
    sensors: str | None = None,
    stiffness_range: Sequence[float] = (0.8, 1.25),
    feedback: str = 'motor',
) -> LqgDesign:
    """
    Design a linear quadratic Gaussian controller (LQG) that is stable for all plants of a range.

    Pass the result to Lqg.

    :param poses: one pose (joints,), or an array of grid positions per joint [rad, m].
    :param period: between two samples [s]; delay: from a sample to the resulting effort [s].
    :param bandwidth: to begin with [Hz]; None: the first natural frequency with locked drives.
    :param modes: number of modes in the law; None: those below an eighth of the sampling rate,
        and at least one.
    :param sensors: 'encoders' or 'all'; None: all available ones.
    :param stiffness_range: smallest and largest stiffness of links and gears for which the loop
        is stable, relative to the description.
    :param feedback: side of the drives that the encoders measure, 'motor' or 'link'.

    Example::

        arm = frs.load('single_link')
        design = frs.feedback.design_lqg(arm, [0.0], period=5e-3, delay=5e-3)
        design.bandwidth, design.warning          # [Hz], and why it is unusable, or ''
        law = frs.feedback.Lqg(arm, design)
    """
    expect_arm(arm, closed_loops=True)
    refuse_closed_loops(arm, 'Lqr or design_damping')
    if not arm.actuated.all():
        name = arm.joint_names[int(np.argmin(arm.actuated))]
        raise SettingError(
            f'{arm.description.name}: "{name}" is passive, but an LQG needs a motor at each '
            'joint. Take Lqr, or give the joint a fixed type'
        )
    loop = checked_timing(LoopTiming(period, delay))
    has_gauges = bool(flex_sensors(arm).names)
    sensors = ('all' if has_gauges else 'encoders') if sensors is None else sensors
    expect_one_of('sensors', sensors, SENSORS)
    if sensors == 'all' and not has_gauges:
        raise SettingError(
            f'{arm.description.name} has no flex sensors: take sensors = encoders, '
            'or give <flex_sensor> to a flexible link'
        )
    low, high = _checked_range(stiffness_range)
    axes = _axes(arm, poses)
    middle = np.array([axis[axis.size // 2] for axis in axes])
    natural = frequencies(arm, middle)
    natural = natural[natural > 0.0]
    first = natural[0] if natural.size else 1.0
    bandwidth = float(first) if bandwidth is None else number_or_nan(bandwidth)
    if not 0.0 < bandwidth < 0.25 / loop.period:
        raise SettingError(
            f'bandwidth = {bandwidth!r} must be > 0 and below a quarter of the '
            f'{1 / loop.period:g} samples per second [Hz]'
        )
    if modes is None:
        modes = max(1, int((natural < 0.125 / loop.period).sum()))
    if not isinstance(modes, (int, np.integer)) or modes < 0:
        raise SettingError(f'modes = {shortened(repr(modes), 60)} must be a whole number >= 0')
    corners = list(itertools.product(*(range(axis.size) for axis in axes)))
    factors = sorted({1.0, *np.geomspace(low, high, STIFFNESS_SAMPLES)})
    plants, reduced = {}, {}
    like = pose_model(arm, middle, feedback).reduced(modes)
    for corner in corners:
        pose = np.array([axis[k] for axis, k in zip(axes, corner)])
        plants[corner] = [pose_model(arm, pose, feedback, factor) for factor in factors]
        reduced[corner] = pose_model(arm, pose, feedback).reduced(modes, like)
    late, first_bandwidth = round(loop.delay / loop.period), bandwidth
    cases = [
        _Plant(corner, plant, loop, sensors) for corner in corners for plant in plants[corner]
    ]
    # other motor strengths also represent other weights and payloads
    cases += [
        _Plant(corner, replace(plant, actuation=strength * plant.actuation), loop, sensors)
        for corner in corners
        for factor, plant in zip(factors, plants[corner])
        if factor == 1.0
        for strength in MOTOR_STRENGTHS
    ]
    while True:
        gains = {
            corner: gains_at(model, loop, bandwidth, first, sensors)
            for corner, model in reduced.items()
        }
        slowest = _slowest_decay(cases, gains, late, MIN_DECAY * 2 * np.pi * bandwidth)
        if slowest is not None or bandwidth < MIN_BANDWIDTH * first:
            break
        bandwidth *= BANDWIDTH_STEP
    warning = ''
    if slowest is None:
        warning = (
            f'no bandwidth from {first_bandwidth:.3g} Hz down holds {arm.description.name} at '
            f'{low:g} to {high:g} of its stiffness: take a shorter delay, more damping, or a '
            'narrower range'
        )
    return LqgDesign(
        loop,
        late,
        sensors,
        feedback,
        axes,
        gains,
        bandwidth,
        slowest,
        warning,
        (low, high),
        int(modes),
    )


class _Plant:
    """A plant that the design has to stabilise."""

    def __init__(self, corner, plant, loop, sensors):
        self.corner, self.period = corner, loop.period
        self._step, self._outputs = plant.sampled(loop), outputs_of(plant, sensors)
        m, n = plant.actuation.shape[1], len(plant.M)
        undriven = plant.undriven
        elastic = np.concatenate([undriven, n + undriven])
        # decay rate of the links without feedback
        self.link_decay = np.inf
        if undriven.size and m:
            self.link_decay = -np.linalg.eigvals(plant.A[np.ix_(elastic, elastic)]).real.max(
                initial=-np.inf
            )

    def decay(self, gains, late):
        """Decay rate [1/s] of the slowest motion of the closed loop."""
        step = closed_loop_step(self._step, lqg_law(gains, late), self._outputs)
        return -np.log(np.abs(np.linalg.eigvals(step)).max()) / self.period


def _slowest_decay(plants, gains, late, wanted):
    """Slowest decay [1/s] of all plants, or None if one of them is too slow."""
    slowest = np.inf
    for i, plant in enumerate(plants):
        decay = plant.decay(gains[plant.corner], late)
        if (
            not decay >= min(wanted, MIN_LINK_DECAY * max(plant.link_decay, 0.0))
            or not decay > 0.0
        ):
            plants.insert(0, plants.pop(i))  # checked first next time
            return None
        slowest = min(slowest, decay)
    return slowest


def _checked_range(stiffness_range):
    values = array_or_nan(stiffness_range)
    if values.shape != (2,) or not 0.0 < values[0] <= 1.0 <= values[1] < np.inf:
        raise SettingError(
            f'stiffness_range = {shortened(repr(stiffness_range), 60)} must be two '
            'factors, the one > 0 and at most 1, the other at least 1'
        )
    return values.tolist()


def _axes(arm, poses):
    """Positions of the grid, one array per joint."""
    names = arm.joint_names
    try:
        axes = tuple(np.atleast_1d(np.array(axis, float)) for axis in poses)
        is_valid = len(axes) == len(names) and all(
            axis.ndim == 1 and axis.size and np.isfinite(axis).all() and (np.diff(axis) > 0).all()
            for axis in axes
        )
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise SettingError(
            'poses must be a position per joint, or positions that rise, in this '
            f'order: {", ".join(names)}'
        )
    lower, upper = arm.arrays.lower, arm.arrays.upper
    for j, axis in enumerate(axes):
        if axis[0] < lower[j] or axis[-1] > upper[j]:
            raise SettingError(
                f'a pose is beyond the stops of "{names[j]}" at {lower[j]:.6g} and '
                f'{upper[j]:.6g} {arm.units[j]}'
            )
    return axes
