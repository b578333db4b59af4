"""
Rest-to-rest planning without residual vibration, within limits, by the full nonlinear model.

`plan_move` plans for the arm as described, and for its payloads and errors of its frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.loop_poses import full_pose, pose_of_drives
from flex_robot_sim.model.arguments import expect_arm, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import refuse_beyond_stops, refuse_curve_beyond_stops
from flex_robot_sim.planning.plan import Plan, PlanLimits
from flex_robot_sim.planning.plan_search import PlanSearch
from flex_robot_sim.planning.planned_arms import arms_of_design
from flex_robot_sim.util.exceptions import SettingError, shortened

DEFAULT_UNCERTAINTY = 0.1  # relative error of the frequencies
MIN_DURATION_S, MAX_DURATION_S = 1e-6, 1e4  # of a plan                                  [s]


def plan_move(
    arm: ArmModel,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    duration: float | None = None,
    limits: PlanLimits | None = None,
    payload: Mapping[str, float | tuple[float, float]] | None = None,
    uncertainty: float = DEFAULT_UNCERTAINTY,
) -> Plan:
    """
    Plan a move from rest to rest without residual vibration.

    Without a duration, it is time-optimal within its family of paths. Planning takes seconds. If a
    limit prevents the move, SettingError names it.

    :param start: positions of the drives (joints,) [rad, m]; goal: (joints,) [rad, m].
    :param duration: [s]; None: as short as the limits allow.
    :param limits: PlanLimits; payload: link -> mass at its origin, or smallest and largest mass
        [kg].
    :param uncertainty: relative error of the natural frequencies, below 0.5. The plan is designed
        for all frequencies within it; 0: for the description alone, which is faster.

    Example::

        arm, limits = frs.load('single_link'), frs.planning.PlanLimits(acceleration=(20.0,))
        plan = frs.planning.plan_move(arm, [0.0], [0.3], duration=0.9, limits=limits)
        plan.residual_vibration, plan.limit_usage   # relative amplitude, used shares of limits
        plan.worst_residual, plan.warning           # with frequencies 10 % lower or higher
        plan.motion.sample(0.3), plan.effort(0.3)
    """
    expect_arm(arm, closed_loops=True)
    if limits is not None and not isinstance(limits, PlanLimits):
        raise SettingError(f'limits = {shortened(repr(limits), 60)} must be PlanLimits(...)')
    if payload is not None and not isinstance(payload, Mapping):
        raise SettingError(
            f'payload = {shortened(repr(payload), 60)} must be a dict from links '
            "to masses [kg], such as {'tool': 0.1}"
        )
    if not 0.0 <= number_or_nan(uncertainty) < 0.5:
        raise SettingError(
            f'uncertainty = {shortened(repr(uncertainty), 60)} must be from 0 to below 0.5'
        )
    start, goal = (
        pose_of_drives(arm, full_pose(arm, name, value))
        for name, value in (('start', start), ('goal', goal))
    )
    every = np.arange(len(start))
    for pose in (start, goal):
        refuse_beyond_stops(arm, every, pose)
    if (start == goal).all():
        raise SettingError('start and goal are the same pose: there is nothing to plan')
    arms, between = arms_of_design(arm, payload or {}, float(uncertainty), goal)
    planner = PlanSearch(arms, start, goal, limits or PlanLimits(), between)
    if duration is None:
        return planner.with_sensitivity(planner.shortest())
    if not MIN_DURATION_S <= number_or_nan(duration) <= MAX_DURATION_S:
        raise SettingError(
            f'duration = {shortened(repr(duration), 60)} must be from '
            f'{MIN_DURATION_S:g} to {MAX_DURATION_S:g} s'
        )
    plan = planner.plan(float(duration))
    violation = planner.violation(plan, is_nominal=True)
    if violation:
        raise SettingError(
            f'a move in {duration:g} s is not possible: {violation}. Take more '
            'time, or leave the duration out for the shortest one'
        )
    refuse_curve_beyond_stops(arm, plan.motion)
    return planner.with_sensitivity(plan)
