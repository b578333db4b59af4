"""
Shaper design: the shaper of an arm, of modes, or of the settings of a joint controller.

`design_shaper` returns an OnlineShaper for a joint controller. `design_for_arm` and
`design_for_modes` return a ShaperSpecification, for trajectories and streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import mode_table
from flex_robot_sim.analysis.joint_space_inertia import poses_within
from flex_robot_sim.model.arguments import array_or_nan, checked, expect_arm, expect_one_of
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.motion.limits import rate_limits
from flex_robot_sim.shaping import impulses
from flex_robot_sim.shaping.linear_moves import LinearMoves, ModeCase
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.poles import check_mode
from flex_robot_sim.shaping.shaper_comparison import (
    DEFAULT_ALLOWED_M,
    ShaperCandidate,
    compare_shapers,
)
from flex_robot_sim.shaping.shaper_specification import CoveredBand, ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import StageDesign, stages_of
from flex_robot_sim.shaping.specified_insensitivity import for_modes
from flex_robot_sim.util.exceptions import SettingError, shortened

STEP_RESPONSE = 2.0  # vibration after a step of acceleration, over its static deflection
MODEL_UNCERTAINTY = 0.1  # relative error of given frequencies
MODE_POSES = 6  # number of poses for the shares of modes
DEFAULT_SET_POINT_PERIOD_S = 1e-3  # [s]


def design_shaper(
    arm: ArmModel,
    settings: impulses.ShapingSettings,
    gains: tuple[ArrayLike, ArrayLike] | None,
    position: ArrayLike,
    period: float = 0.0,
    poses: ArrayLike | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> OnlineShaper | None:
    """
    Return the OnlineShaper of ShapingSettings, or None without a shaper; takes seconds.

    :param gains: (stiffness, damping) of the servo; None: the joints are locked.
    :param position: of the joints, the pose of a shaper with constant delays.
    :param period: of the set points; 0: default [s].
    :param poses: (k, joints) of the task; default: the joint range [rad, m].
    :param progress: function of the number of finished poses and of all poses.
    """
    if settings.shaper == impulses.NO_SHAPER:
        return None
    if settings.shaper_by_pose:
        table = mode_table.mode_table(arm, gains, None, poses, progress=progress)
    else:
        table = table_of_pose(arm, gains, position)
    stages = stages_of(
        table, settings.shaper, settings.shaper_tolerance, settings.shaper_uncertainty
    )
    return OnlineShaper(
        2 * len(arm.joint_names), period or DEFAULT_SET_POINT_PERIOD_S, table=table, stages=stages
    )


def refuse_shaper(
    arm: ArmModel,
    settings: impulses.ShapingSettings,
    gains: tuple[ArrayLike, ArrayLike] | None,
    position: ArrayLike,
    period: float = 0.0,
) -> None:
    """Raise SettingError if ShapingSettings are infeasible at a pose."""
    if settings.shaper == impulses.NO_SHAPER:
        return
    table = table_of_pose(arm, gains, position)
    for frequency in table.frequencies[0]:
        check_mode(float(frequency), 0.0, period or DEFAULT_SET_POINT_PERIOD_S)
    if settings.shaper != impulses.SI:  # slow, and always feasible
        stages_of(table, settings.shaper, settings.shaper_tolerance)


def table_of_pose(
    arm: ArmModel, gains: tuple[ArrayLike, ArrayLike] | None, position: ArrayLike
) -> mode_table.ModeTable:
    """Return the ModeTable of one pose; SettingError if no mode is excited there."""
    modes = mode_table.excited_modes(arm, np.asarray(position, float), gains)
    count = 1 + max(np.flatnonzero(modes.shares >= mode_table.SHARE), default=-1)
    if count == 0:
        raise SettingError(
            f'nothing of {arm.description.name} vibrates in this pose: it needs no shaper'
        )
    return mode_table.ModeTable(
        (), (), modes.frequencies[None, :count], modes.ratios[None, :count]
    )


def design_for_modes(
    kind: str, frequencies: Sequence[float], ratios: Sequence[float] = ()
) -> ShaperSpecification:
    """Return the ShaperSpecification for modes [Hz] that are independent of the pose."""
    if not len(frequencies):
        raise SettingError(
            'frequencies = [] must name the natural frequencies of the arm [Hz], or robot a '
            'URDF with <flexibility>'
        )
    if len(ratios) not in (0, len(frequencies)):
        raise SettingError(
            f'damping_ratios has {len(ratios)} numbers for {len(frequencies)} '
            'frequencies: give one each, or none'
        )
    ratios = ratios or [0.0] * len(frequencies)
    if kind == impulses.NO_SHAPER:
        return ShaperSpecification(impulses.NO_SHAPER)
    shaper = for_modes(
        'zv' if kind == impulses.AUTO else kind, zip(frequencies, ratios), joint=False
    )
    if kind == impulses.AUTO:
        # sizes of the modes are unknown: take those of a spring-mass oscillator
        f = np.array(frequencies, float)
        sizes = 1 / (2 * np.pi * f) ** 2
        case = ModeCase(f, np.array(ratios, float), sizes)
        # the acceleration of the machine is unknown too: a share of the vibration is allowed
        allowed = impulses.TOLERANCE * STEP_RESPONSE * float(sizes.sum())
        moves = LinearMoves([case], MODEL_UNCERTAINTY, acceleration=1.0)
        candidates, best = compare_shapers([case], moves, MODEL_UNCERTAINTY, allowed)
        shaper = candidates[best].shaper
    return ShaperSpecification(shaper.name, shaper)


def design_for_pose(
    arm: ArmModel,
    q: ArrayLike,
    *,
    kind: str = 'zvd',
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    tolerance: float = impulses.TOLERANCE,
) -> impulses.Shaper:
    """
    Return the Shaper for the modes that a motion excites in a pose.

    :param q: positions of the joints, (joints,) [rad, m].
    :param kind: 'zv', 'zvd', 'zvdd', 'ei' or 'ei2'.
    :param gains: (stiffness, damping) of the servo of the joints [N m/rad, N m s/rad; N/m, N s/m];
        None: the joints are locked.
    :param tolerance: residual vibration allowed for 'ei' and 'ei2', relative to the unshaped one.

    Example::

        arm = frs.load('single_link')
        shaper = frs.shaping.design_for_pose(arm, [0.0], kind='ei', gains=(400.0, 20.0))
        times = np.arange(0.0, 1.0, 1e-3)
        target = shaper.shape(times, np.minimum(times / 0.5, 1.0)[:, None])
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    arm = without_free_fall(arm)
    q = checked('q', q, arm.joint_names)
    modes = table_of_pose(arm, gains, q)
    return for_modes(kind, zip(modes.frequencies[0], modes.ratios[0]), tolerance, joint=False)


def design_for_arm(
    arm: ArmModel,
    *,
    kind: str = impulses.AUTO,
    masses: Sequence[float] = (),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    progress: Callable[[int, int], object] | None = None,
    uncertainty: float = MODEL_UNCERTAINTY,
    allowed_vibration: float | str = DEFAULT_ALLOWED_M,
    fixed: bool = False,
) -> ShaperSpecification:
    """
    Return the ShaperSpecification for the modes of an arm, whose delays follow the pose.

    It takes seconds.

    :param kind: 'zv', 'zvd', 'zvdd', 'ei', 'ei2' or 'si'; 'auto': the result of `recommend`.
    :param masses: one known payload mass of the tool, or the candidates for an unknown one [kg];
        none: the description.
    :param gains: (stiffness, damping) of the servo of the joints [N m/rad, N m s/rad; N/m, N s/m];
        None: the joints are locked.
    :param progress: function of the number of finished poses and of all poses.
    :param uncertainty: relative error of the frequencies, for 'auto'.
    :param allowed_vibration: distance of the tool that counts as rest [m], or a percentage such
        as '5%' of the unshaped vibration, for 'auto'.
    :param fixed: whether the delays must be the same in all poses, for 'auto'.

    Example::

        arm = frs.load('single_link')
        shaper = frs.shaping.design_for_arm(arm, kind='zvd')
        online = shaper.online(joints=1, period=1e-3)
        online.reset([0.0])
        target = online.step([0.1])
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    arm = without_free_fall(arm)
    # imports the simulation, which a joint controller does not need
    from flex_robot_sim.shaping.recommendation import recommend

    expect_one_of('kind', kind, (impulses.NO_SHAPER, impulses.AUTO, *impulses.KINDS))
    if kind == impulses.NO_SHAPER:
        return ShaperSpecification(impulses.NO_SHAPER)
    checked_masses = array_or_nan(masses)
    if checked_masses.ndim != 1 or not np.isfinite(checked_masses).all():
        raise SettingError(f'masses = {shortened(repr(masses), 60)} must be finite numbers [kg]')
    payloads = tuple((arm.tool, mass) for mass in checked_masses.tolist()) or (None,)
    if kind != impulses.AUTO:
        candidate = ShaperCandidate(impulses.NONE.renamed(kind), design=StageDesign(kind, 0.05))
        return specification_of(arm, candidate, (), payloads, gains, 0.0, progress)
    found = recommend(
        arm,
        payloads=payloads,
        gains=gains,
        uncertainty=uncertainty,
        allowed_vibration=allowed_vibration,
        fixed=fixed,
    )
    found.refuse_none(arm)
    return specification_of(arm, found.choice, found.cases, payloads, gains, uncertainty, progress)


def specification_of(
    arm: ArmModel,
    candidate: ShaperCandidate,
    cases: Sequence[ModeCase],
    payloads: Sequence[tuple | None] = (None,),
    gains: tuple[ArrayLike, ArrayLike] | None = None,
    uncertainty: float = 0.0,
    progress: Callable[[int, int], object] | None = None,
    tables: Sequence[mode_table.ModeTable] = (),
) -> ShaperSpecification:
    """
    Return the ShaperSpecification of a ShaperCandidate for an arm; by pose, it takes seconds.

    :param cases: [ModeCase] that the candidate is designed for.
    :param payloads: possible payloads; gains: of the servo. Both as of `recommend`.
    :param uncertainty: relative error of the frequencies of the design.
    :param progress: function of the number of finished poses and of all poses.
    :param tables: of `mode_tables`, if they are known.
    """
    from flex_robot_sim.shaping.recommendation import mode_tables  # imports the simulation

    rows = [*cases]
    parts = ShaperSpecification(candidate.name, candidate.shaper, velocity_limits=rate_limits(arm))
    if candidate.design is not None:
        tables = tables or mode_tables(arm, payloads, gains, progress)
        stages = stages_of(tables, *candidate.design)
        modes = tuple(
            mode_table.excited_modes(mode_table.loaded(arm, payload), pose, gains)
            for payload in tuple(payloads) or (None,)
            for pose in poses_within(arm, MODE_POSES)
        )
        parts = parts._replace(
            shaper=impulses.NONE, table=tables[0], stages=tuple(stages), modes=modes
        )
        rows += [
            ModeCase(*row, np.zeros(0))
            for table in tables
            for row in zip(table.frequencies, table.ratios)
        ]
    return parts._replace(bands=covered_bands(rows, uncertainty))


def covered_bands(cases: Sequence[ModeCase], uncertainty: float) -> tuple[CoveredBand, ...]:
    """Return the CoveredBands of the modes in all ModeCases, for an error of the frequencies."""
    count = min((case.frequencies.size for case in cases), default=0)
    frequencies = np.array([case.frequencies[:count] for case in cases]).reshape(-1, count)
    ratios = np.array([case.ratios[:count] for case in cases]).reshape(-1, count)
    return tuple(
        CoveredBand(
            float((1 - uncertainty) * column.min()),
            float((1 + uncertainty) * column.max()),
            float(ratio),
        )
        for column, ratio in zip(frequencies.T, ratios.T.mean(axis=1))
    )
