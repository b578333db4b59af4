"""
Modal damping design: gains from link curvatures to efforts, for an arm held by a servo.

Every damped mode has a channel. The flex sensors measure its share of the motion,

    s = w (kappa - slow mean of kappa),                                                      (C21)

with the row w of the pseudo-inverse of the curvatures of the first modes. A filter of second order
follows it, v'' = r^2 (s - v) - 2 z r v'. The efforts are b (g v + h v'), where b distributes a
modal force over the drives as the mode loads them. With `strain` the filter is fast, and g and h
are gains of the strain and of its rate (Luo, 1993). With `ppf` the filter is tuned near the mode,
and h = 0. Then v is a second mode that absorbs the energy of the first one (Goh & Caughey, 1985).

A search determines r, z, g and h. The sampled loop, with servo and delay, has to reach the wanted
damping ratio, and no other mode may lose damping. All modes that matter for the tip and that
sensors and drives reach are damped; `warning` names those that are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.drive_conditions import Gains, servo_gains
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.feedback.damped_modes import DampedModes, left_warning, servo_modes
from flex_robot_sim.feedback.damping_channels import closed_rates, ratios_of
from flex_robot_sim.feedback.damping_search import KINDS, DampingSearch
from flex_robot_sim.feedback.pose_model import pose_model
from flex_robot_sim.model.arguments import (
    checked,
    expect_arm,
    expect_kind,
    expect_one_of,
    number_or_nan,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import summarized

MAX_SENSOR_DELAY = 1000  # periods
DEFAULT_RATIO = 0.4  # wanted damping ratio of the damped modes


@summarized
@dataclass(frozen=True, eq=False)
class DampingDesign:
    """
    Channels for an arm at a pose, and their effect on its modes.

    Example::

        design = frs.feedback.design_damping(frs.load('single_link'), [0.0], gains=(60.0, 0.18),
                                             damping_ratio=0.1, period=5e-3, delay=0.0, kind='ppf')
        design.damping_ratio, design.damping_loss, design.warning
        design.left_modes                                       # that matter, and are not damped
        design.poles_before[0], design.poles_after[0]           # poles [1/s]
    """

    kind: str
    loop: LoopTiming
    stiffness: np.ndarray  # (joints,)  of the parallel servo               [N m/rad, N/m]
    damping: np.ndarray  # (joints,)
    channels: tuple
    rest_curvature: np.ndarray  # (k,)       of the pose at rest                          [1/m]
    poles_before: np.ndarray  # (r,)       of the loop without channels           [1/s]
    poles_after: np.ndarray  # (q,)       of the loop with channels
    damping_ratio: float  # least damping ratio of the damped modes
    damping_loss: float  # largest relative loss of damping of another mode
    warning: str = ''  # why the design is insufficient
    sensor_delay: int = 0  # of the flex sensors relative to the encoders, in periods
    search_variables: tuple = ()  # search variables of each channel
    left_modes: tuple = ()  # LeftModes: those that matter at the tip, and are not damped


def design_damping(
    arm: ArmModel,
    q: ArrayLike,
    *,
    gains: Gains,
    kind: str = 'strain',
    period: float = 1e-3,
    delay: float = 1e-3,
    damping_ratio: float = DEFAULT_RATIO,
    modes: int | None = None,
    feedback: str = 'motor',
    sensor_delay: int = 0,
    initial_design: DampingDesign | None = None,
) -> DampingDesign:
    """
    Design strain feedback or positive position feedback for an arm in a pose, held by a servo.

    Pass the result to StrainFeedback. The search takes seconds.

    :param q: positions of the joints, (joints,) [rad, m].
    :param gains: (stiffness, damping) of the servo, numbers or (joints,) each
        [N m/rad, N m s/rad; N/m, N s/m].
    :param kind: 'strain', or 'ppf' for positive position feedback.
    :param period: between two samples [s]; delay: from a sample to the resulting effort [s].
    :param damping_ratio: of the damped modes.
    :param modes: number of damped modes, from the first; None: those near the first one, and all
        others that matter for the tip and that sensors and drives reach.
    :param feedback: side of the drives that the encoders measure, 'motor' or 'link'.
    :param sensor_delay: delay of the flex sensors relative to the encoders, in periods.
    :param initial_design: DampingDesign of another pose, with which the search starts.

    Example::

        arm = frs.load('single_link')
        design = frs.feedback.design_damping(arm, [0.0], gains=(60.0, 0.18), kind='ppf',
                                             damping_ratio=0.1, period=5e-3, delay=0.0)
        design.damping_ratio, design.warning              # achieved damping ratio
        law = frs.feedback.StrainFeedback(arm, design)
    """
    expect_arm(arm, closed_loops=True)
    expect_one_of('kind', kind, KINDS)
    if not isinstance(damping_ratio, Real) or not 0.0 < damping_ratio < 1.0:
        raise SettingError(f'damping_ratio = {damping_ratio!r} must be between 0 and 1')
    refuse_without_sensors(arm, kind)
    if not 0 <= number_or_nan(sensor_delay) <= MAX_SENSOR_DELAY or sensor_delay % 1:
        raise SettingError(
            f'sensor_delay = {shortened(repr(sensor_delay), 60)} must be a whole number of '
            f'periods from 0 to {MAX_SENSOR_DELAY}'
        )
    if initial_design is not None:
        expect_kind('initial_design', initial_design, DampingDesign, 'a DampingDesign')
    loop = checked_timing(LoopTiming(period, delay))
    stiffness, damping = servo_gains(arm, gains)
    model = pose_model(arm, pose_of_drives(arm, checked('q', q, arm.joint_names)), feedback)
    own_modes = servo_modes(model, stiffness)
    before = closed_rates(model, loop, stiffness, damping)
    choice = DampedModes(
        own_modes,
        _ratios_of_modes(before, own_modes.rates),
        damping_ratio,
        loop.period,
        len(model.gauges),
        modes,
    )

    def solve(damped):
        search = DampingSearch(
            model,
            own_modes,
            damped,
            (stiffness, damping),
            loop,
            kind,
            float(damping_ratio),
            sensor_delay,
        )
        return search.solve(initial_design.search_variables if initial_design else ())

    damped, found = choice.all, solve(choice.all)
    if found.warning and choice.near_first and choice.near_first != choice.all:
        damped, found = choice.near_first, solve(choice.near_first)
    left = choice.left(damped)
    return DampingDesign(
        kind,
        loop,
        stiffness,
        damping,
        found.channels,
        model.gauges_rest,
        before,
        found.rates,
        found.ratio,
        found.loss,
        '; '.join(filter(None, [found.warning, left_warning(left)])),
        sensor_delay,
        tuple(found.search_variables),
        left,
    )


def _ratios_of_modes(rates, mode_rates):
    """Damping ratios (p,) of modes, from the nearest rates of the loop."""
    distance = np.abs(np.abs(rates)[None] - mode_rates[:, None])
    return ratios_of(rates)[distance.argmin(axis=1)]


def refuse_without_sensors(arm: ArmModel, what: str) -> None:
    """Raise SettingError if an arm has no flex sensors."""
    if flex_sensors(arm).names:
        return
    links = ', '.join(arm.tips) or 'none'
    raise SettingError(
        f'{what} feedback needs flex sensors, and {arm.description.name} has none: '
        f'give <flex_sensor> to a flexible link (there are: {links}), or take lqg, '
        'which does with encoders'
    )
