"""
Design of the vibration feedback of a joint controller, over the poses of an arm; takes seconds.

Flex sensors have a longer period than joint states. Between two messages the newest one is held,
so curvatures are older than joint positions. Strain feedback is designed for the mean of this
delay; LQG runs with the period of the flex sensors.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.drive_conditions import Gains
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.loop_poses import reachable_pose
from flex_robot_sim.analysis.mode_table import excited_modes, joints_that_matter, range_of
from flex_robot_sim.feedback.damping_channels import closed_rates, ratios_of
from flex_robot_sim.feedback.damping_search import MAX_MODE_RATIO, MIN_REACHED_SHARE
from flex_robot_sim.feedback.feedback_settings import FeedbackSettings
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.modal_damping import (
    DEFAULT_RATIO,
    DampingDesign,
    design_damping,
    refuse_without_sensors,
)
from flex_robot_sim.feedback.pose_model import pose_model
from flex_robot_sim.feedback.strain_feedback import DampingTable, StrainFeedback
from flex_robot_sim.model.arguments import refuse_closed_loops
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.exceptions import SettingError

DEFAULT_STATE_PERIOD_S = 2e-3  # also the shortest of LQG                                      [s]
POSES_PER_JOINT = 3  # grid positions of joints that change the modes
MAX_GROWTH = 1e-2  # growth within rounding errors, which counts as stable            [1/s]


class MeasurementTiming(NamedTuple):
    """Timing of the measurements of a joint controller."""

    period: float  # between two joint states                                   [s]
    delay: float  # from a state to the resulting effort                       [s]
    strain_period: float  # between two messages of flex sensors; 0: each state has them


class Feedback(NamedTuple):
    """A law, and its requirements on the joint controller."""

    law: StrainFeedback | Lqg
    period: float  # between two samples of the law                             [s]
    needs_strain: bool
    is_paired: bool  # whether it runs with the samples of strain
    strain_timeout: float  # largest age of strain                                      [s]
    warning: str


def timing_of(settings: FeedbackSettings, loop: LoopTiming) -> MeasurementTiming:
    """Return the MeasurementTiming of FeedbackSettings and of the loop that sends the efforts."""
    return MeasurementTiming(
        loop.period,
        loop.delay + settings.loop_delay,
        settings.strain_period if loop.delay else 0.0,
    )


def refuse_feedback(arm: ArmModel, settings: FeedbackSettings) -> None:
    """Raise SettingError if FeedbackSettings are impossible for an arm."""
    if settings.vibration_feedback in ('strain', 'ppf'):
        refuse_without_sensors(arm, settings.vibration_feedback)


def design_feedback(
    arm: ArmModel,
    kind: str,
    gains: tuple[ArrayLike, ArrayLike],
    position: ArrayLike,
    timing: MeasurementTiming,
    limits: ArrayLike,
    feedback: str = 'motor',
    progress: Callable[[int, int], object] | None = None,
) -> Feedback:
    """
    Return the Feedback of a kind; SettingError if none improves the arm.

    :param gains: (stiffness, damping) of the servo, (joints,) each.
    :param position: of the joints; fixed for those that do not change the modes [rad, m].
    :param limits: of the efforts, (joints,) [N m, N]; feedback: side of the encoders.
    :param progress: function of the number of finished poses and of all poses.
    """
    position = np.asarray(position, float)
    axes = _grid(arm, position, gains)
    if kind == 'lqg':
        return _lqg(arm, axes, timing, limits, feedback)
    refuse_without_sensors(arm, kind)
    sensor_delay = 0
    if timing.strain_period:
        sensor_delay = round(0.5 * (timing.period + timing.strain_period) / timing.period)
    loop = LoopTiming(timing.period, timing.delay)
    table: dict[tuple[int, ...], DampingDesign] = {}
    middle = tuple(axis.size // 2 for axis in axes)
    corners = sorted(
        itertools.product(*(range(axis.size) for axis in axes)),
        key=lambda corner: np.abs(np.subtract(corner, middle)).sum(),
    )
    for corner in corners:
        nearest = min(
            table, key=lambda other: np.abs(np.subtract(other, corner)).sum(), default=None
        )
        pose = reachable_pose(arm, np.array([axis[k] for axis, k in zip(axes, corner)]))
        table[corner] = design_damping(
            arm,
            pose,
            gains=gains,
            kind=kind,
            **loop._asdict(),
            feedback=feedback,
            sensor_delay=sensor_delay,
            initial_design=None if nearest is None else table[nearest],
        )
        if progress is not None:
            progress(len(table), len(corners))
    _refuse_if_worse(arm, kind, axes, table, gains, feedback)
    by_ratio = sorted(table.values(), key=lambda design: design.damping_ratio)
    warning = next((design.warning for design in by_ratio if design.warning), '')
    law = StrainFeedback(arm, DampingTable(axes, table, warning), limits=limits)
    return Feedback(law, timing.period, True, False, _strain_timeout(timing), warning)


def _lqg(arm, axes, timing, limits, feedback):
    refuse_closed_loops(arm, 'strain feedback')
    has_strain = bool(flex_sensors(arm).names)
    longest = max(DEFAULT_STATE_PERIOD_S, timing.strain_period if has_strain else 0.0)
    period = timing.period * max(1, round(longest / timing.period))
    # strain arrives after the effort for its state, and is used with the next state
    is_paired = has_strain and timing.strain_period > 0.0
    late = timing.period if is_paired else 0.0
    design = design_lqg(arm, axes, period=period, delay=timing.delay + late, feedback=feedback)
    return Feedback(
        Lqg(arm, design, limits=limits), period, has_strain, is_paired, _strain_timeout(timing), ''
    )


def _strain_timeout(timing):
    return max(0.1, 10 * timing.strain_period)


def _grid(arm, position, gains):
    """Grid of poses, one array per joint: three positions if it changes the modes."""
    count = excited_modes(arm, position, gains).frequencies.size
    if count == 0:
        raise SettingError(
            f'nothing of {arm.description.name} vibrates in this pose: it needs no feedback'
        )
    lower, upper = range_of(arm)
    joints = joints_that_matter(arm, position, lower, upper, 1)
    return tuple(
        np.linspace(lower[j], upper[j], POSES_PER_JOINT) if j in joints else np.array([fixed])
        for j, fixed in enumerate(position)
    )


def _refuse_if_worse(arm, kind, axes, table, gains: Gains, feedback):
    """Raise SettingError if the loop is unstable at the poses of the table or between them."""
    name = arm.description.name
    for corner, design in table.items():
        # a design stops at the wanted ratio, of which the servo alone may have more
        least = min(_first_ratio(design.poles_before), MIN_REACHED_SHARE * DEFAULT_RATIO)
        if _growth(design.poles_after) > MAX_GROWTH or design.damping_ratio < least:
            pose = ' '.join(f'{axis[k]:.3g}' for axis, k in zip(axes, corner))
            raise SettingError(
                f'no {kind} feedback does {name} good at {pose} with these gains '
                'and this delay: take other gains, or a shorter strain_period'
            )
    cells = itertools.product(*(range(max(axis.size - 1, 1)) for axis in axes))
    for cell in cells:
        edges = [(k, k + 1) if axis.size > 1 else (0,) for k, axis in zip(cell, axes)]
        neighbours = [table[corner] for corner in itertools.product(*edges)]
        pose = [np.mean([axis[k] for k in side]) for axis, side in zip(axes, edges)]
        channels = [
            replace(channel, drive_weights=channel.drive_weights / len(neighbours))
            for design in neighbours
            for channel in design.channels
        ]
        rates = closed_rates(
            pose_model(arm, reachable_pose(arm, np.array(pose)), feedback),
            neighbours[0].loop,
            *gains,
            channels,
            neighbours[0].sensor_delay,
        )
        if _growth(rates) > MAX_GROWTH:
            raise SettingError(
                f'no {kind} feedback holds {name} all over its range: take other '
                'gains, a shorter strain_period, or lqg'
            )


def _growth(rates):
    return float(rates.real.max())


def _first_ratio(rates):
    """Damping ratio of the slowest oscillating motion, 0 without one."""
    return float(next((ratio for ratio in ratios_of(rates) if ratio < MAX_MODE_RATIO), 0.0))
