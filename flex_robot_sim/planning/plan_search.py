"""
Search for a plan: paths without residual vibration, within limits, for several arms at once.

The drives follow a SplinePaths motion, and the nonlinear model gives the motion of the links. The
residual at the end is expressed by the modes with locked drives. With the mass matrix M, the
shapes phi of unit modal mass and their rates w,

    r = (phi' M (e - e_rest), phi' M e' / w),                                                (C27)

The weights of the splines are chosen so that r vanishes within all limits, and is small for arms
with other payloads and frequencies. The solver is a Gauss-Newton method whose slopes are finite
differences of whole motions. Penalties act on violated limits and, weakly, on the weights, which
keeps the path near minimum jerk. A bisection finds the shortest duration. A joint with equal start
and goal does not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk_motion
from flex_robot_sim.motion.limits import refuse_curve_beyond_stops
from flex_robot_sim.motion.spline_path import SplinePaths
from flex_robot_sim.planning.limit_usage import LimitUsage
from flex_robot_sim.planning.motion_response import MotionResponse
from flex_robot_sim.planning.plan import Plan, PlanLimits
from flex_robot_sim.planning.planned_arms import PlannedArm
from flex_robot_sim.util.exceptions import SettingError

SPLINES_PER_JOINT = 10
SLOPE_STEP_FACTOR = 2.0  # factor on the step of simulations for slopes
LIMIT_SHARE = 0.97  # target for the largest share of a limit
MAX_ITERATIONS = 10  # Gauss-Newton iterations of a plan
NEW_SLOPES_RATIO, STAGNATION_RATIO = 0.4, 0.9  # cost over the best one: compute new slopes; stop
SHORTENED_STEP, MAX_SHORTENED_STEPS = 0.4, 3  # of a step that raises the cost
RESIDUAL_GOAL = 0.003  # target residual vibration, over minimum jerk
MAX_RESIDUAL = 0.05  # residual vibration of an acceptable plan, over minimum jerk
# the same for other payloads and frequencies; minimum jerk may leave 20 % less there: 15 % of it
MAX_WORST_RESIDUAL = 0.12
MAX_WORST_USAGE = 1.01  # share of a limit of effort or deflection for them
OTHER_ARM_WEIGHTS = 0.2, 0.06  # of their residual, over that of the nominal arm
MAX_OTHER_ITERATIONS, OTHER_STAGNATION_RATIO = 20, 0.97  # of the search for all arms
WEIGHT_STEP = 0.02  # finite difference of a weight, over the longest travel
WEIGHTS = {'residual': 300.0, 'beyond': 30.0, 'weights': 0.1}
DURATION_TOLERANCE = 0.02  # relative, of the shortest duration
MAX_DURATION_RATIO = 64.0  # largest trial duration, over the first guess
SENSITIVITY_FACTORS = 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2  # on the frequencies


class _BestPath(NamedTuple):
    """The best path so far."""

    cost: float
    weights: np.ndarray
    motion: Motion
    responses: list[MotionResponse]  # of all arms
    residual: np.ndarray
    shares: np.ndarray


def _corrected_slopes(slopes, step, change):
    """Update slopes with the effect of the last step (Broyden, 1965)."""
    step = step.ravel()
    whole = np.vstack(slopes)
    whole = whole + np.outer(change - whole @ step, step) / max(step @ step, 1e-300)
    return whole[: len(slopes[0])], whole[len(slopes[0]) :]


class PlanSearch:
    """Plans of one move, for a nominal arm and others with other payloads and frequencies."""

    def __init__(
        self,
        arms: Sequence[ArmModel],
        start: np.ndarray,
        goal: np.ndarray,
        limits: PlanLimits,
        between: Sequence[ArmModel] = (),
    ) -> None:
        """
        Take the arms, the nominal one first, and the poses (joints,) [rad, m].

        :param between: arms that a plan is designed for only if they vibrate too much.
        """
        self.arm, self.start, self.goal = arms[0], start, goal
        self._arms = [PlannedArm(arm, start, goal) for arm in (*arms, *between)]
        self._counts = sorted({len(arms), len(self._arms)})  # of arms that a plan is designed for
        self._usage = LimitUsage(self.arm, limits)
        self.paths = SplinePaths(start, goal, SPLINES_PER_JOINT)
        self.first = self._arms[0].first
        self._weights = np.zeros((start.size, SPLINES_PER_JOINT))
        self.distance = np.abs(goal - start).max()

    def shortest(self) -> Plan:
        """Return the Plan of the shortest duration that the limits allow."""
        if not self._usage.is_limited:
            raise SettingError(
                'nothing limits this move: give a duration, or limits of effort, '
                'velocity, acceleration, jerk or deflection'
            )
        motion = minimum_jerk_motion(self.start, self.goal, duration=1.0)
        peaks = self._usage.peaks(self.arm, self._arms[0].simulate(motion, 1.0))
        velocity_shares = {
            name: share for name, share in peaks.items() if name.startswith('velocity')
        }
        duration = max(
            [*velocity_shares.values(), 0.5 / self.first if np.isfinite(self.first) else 0.1]
        )
        longest = MAX_DURATION_RATIO * duration
        low, plan = 0.0, self._plan_warm_started(duration)
        while self.violation(plan):
            if duration > longest:
                raise SettingError(
                    f'no duration up to {longest:.3g} s is long enough: {self.violation(plan)}'
                )
            low, duration = duration, 1.3 * duration
            plan = self._plan_warm_started(duration)
        best = plan
        while best.duration > (1 + DURATION_TOLERANCE) * low:
            # as long as low is 0, the first guess was too long
            plan = self._plan_warm_started(
                (low * best.duration) ** 0.5 if low else best.duration / 1.3
            )
            if self.violation(plan):
                low = plan.duration
            else:
                best = plan
        refuse_curve_beyond_stops(self.arm, best.motion)
        return best

    def _plan_warm_started(self, duration):
        """Return a Plan that starts from the last good one, or else from minimum jerk."""
        previous = self._weights
        plan = self.plan(duration)
        if self.violation(plan) and previous.any():
            self._weights = np.zeros_like(previous)
            plan = self.plan(duration)
        if self.violation(plan):
            self._weights = previous
        return plan

    def plan(self, duration: float) -> Plan:
        """Return the best Plan of a duration [s], also if it violates limits."""
        minimum_jerk = minimum_jerk_motion(self.start, self.goal, duration=duration)
        nominal = self._arms[0]
        amplitude = float(
            np.linalg.norm(nominal.residual(nominal.simulate(minimum_jerk, duration)))
        )
        scale = amplitude if amplitude > 0.0 else 1.0
        best = self._search(self._arms[:1], self._weights.copy(), duration, scale)
        self._weights = best.weights
        plan = self._plan_of(best, duration, scale)
        if len(self._arms) == 1 or self.violation(plan, is_nominal=True):
            return plan
        return self._improved(best, duration, scale)

    def _improved(self, nominal, duration, scale):
        """Return the Plan with the least worst residual, for the nominal or for several arms."""
        plans = [self._plan_of(nominal, duration, scale)]
        for count in self._counts:
            for weight in OTHER_ARM_WEIGHTS:
                arms = self._arms[:count]
                plan = self._plan_of(
                    self._search(arms, nominal.weights, duration, scale, weight), duration, scale
                )
                if not self.violation(plan, is_nominal=True):
                    plans.append(plan)
                    break
            if plans[-1].worst_residual <= MAX_WORST_RESIDUAL:
                break
        return min(plans, key=lambda plan: plan.worst_residual)

    def _search(self, arms, weights, duration, scale, other_weight=1.0):
        """
        Return the best path for some arms, the nominal one first.

        :param other_weight: of the residual of the other arms, over that of the nominal one.
        """

        def residual_of(responses):
            return np.concatenate(
                [
                    (other_weight if k else 1.0) / scale * arm.residual(response)
                    for k, (arm, response) in enumerate(zip(arms, responses))
                ]
            )

        is_nominal = len(arms) == 1
        stagnation = STAGNATION_RATIO if is_nominal else OTHER_STAGNATION_RATIO
        slopes, best, has_new_slopes, shortened = None, None, False, 0
        for _ in range(MAX_ITERATIONS if is_nominal else MAX_OTHER_ITERATIONS):
            motion = self.paths.motion(weights, duration)
            responses = [arm.simulate(motion, duration) for arm in arms]
            residual, shares = (residual_of(responses), self._limit_shares(arms, responses))
            vibration, excess = np.linalg.norm(residual), max(shares.max(initial=0.0) - 1.0, 0.0)
            cost = float(vibration + 3 * excess)
            gain = cost / best.cost if best is not None and best.cost > 0.0 else 0.0
            if best is not None and gain > 1.0 and shortened < MAX_SHORTENED_STEPS:
                weights = best.weights + SHORTENED_STEP * (weights - best.weights)
                shortened += 1
                continue
            shortened = 0
            if best is not None and slopes is not None:
                slopes = _corrected_slopes(
                    slopes,
                    weights - best.weights,
                    np.concatenate([residual, shares])
                    - np.concatenate([best.residual, best.shares]),
                )
            if best is None or gain < 1.0:
                best = _BestPath(cost, weights, motion, responses, residual, shares)
            if (
                cost < RESIDUAL_GOAL
                and shares.max(initial=0.0) <= LIMIT_SHARE + 0.01
                or (has_new_slopes and gain > stagnation)
            ):
                break
            has_new_slopes = slopes is None or gain > NEW_SLOPES_RATIO
            if has_new_slopes:
                slopes = self._slopes(arms, best.weights, duration, residual_of)
            weights = self._corrected(best.weights, best.residual, best.shares, slopes)
        assert best is not None
        return best

    def _plan_of(self, best, duration, scale):
        others = self._arms[len(best.responses) :]
        responses = [*best.responses, *(arm.simulate(best.motion, duration) for arm in others)]
        response = responses[0]
        left = [
            float(np.linalg.norm(arm.residual(each))) / scale
            for arm, each in zip(self._arms, responses)
        ]
        return Plan(
            best.motion,
            duration,
            left[0],
            response.times,
            response.effort,
            self._usage.peaks(self.arm, response),
            self.arm.joint_names,
            max(left),
            max(self._effort_and_deflection(responses).values(), default=0.0),
            passive_joints=self._passive_joints(),
        )

    def _passive_joints(self):
        """Names of the passive joints of closed loops."""
        rows = zip(self.arm.joint_names, self.arm.actuated)
        return tuple(name for name, driven in rows if self.arm.closed_loops and not driven)

    def with_sensitivity(self, plan: Plan) -> Plan:
        """Return a Plan with its sensitivity to the frequencies, and a warning if it is large."""
        if not np.isfinite(self.first):
            return plan
        minimum_jerk = minimum_jerk_motion(self.start, self.goal, duration=plan.duration)
        nominal, rows = self._arms[0], []
        scale = np.linalg.norm(nominal.residual(nominal.simulate(minimum_jerk, plan.duration)))
        for factor in SENSITIVITY_FACTORS:
            arm = PlannedArm(with_stiffness(self.arm, factor**2), self.start, self.goal)
            left = np.linalg.norm(arm.residual(arm.simulate(plan.motion, plan.duration)))
            rows.append((factor, float(left / scale) if scale else 0.0))
        shortfall = self._shortfall(plan)
        remedy = ': take more time, or a smaller uncertainty'
        return replace(plan, sensitivity=np.array(rows), warning=shortfall and shortfall + remedy)

    @staticmethod
    def _shortfall(plan):
        """Line about what a Plan lacks for other payloads or frequencies, or ''."""
        if plan.worst_usage > MAX_WORST_USAGE:
            return (
                'with other payloads or frequencies of the design, effort or deflection would be '
                f'{plan.worst_usage:.3g} times its limit'
            )
        if plan.worst_residual > MAX_WORST_RESIDUAL:
            return (
                f'{plan.worst_residual:.2g} of the residual vibration would be left with other '
                'payloads or frequencies of the design'
            )
        return ''

    def violation(self, plan: Plan, *, is_nominal: bool = False) -> str:
        """
        Line about a violated limit of a Plan, or ''.

        :param is_nominal: whether only the vibration of the nominal arm counts.
        """
        name, share = max(plan.limit_usage.items(), key=lambda item: item[1], default=('', 0.0))
        if share > 1.0:
            return f'the {name} would be {share:.3g} times its limit'
        tight = f', because the {name} is at its limit' if share > LIMIT_SHARE - 0.02 else ''
        if plan.residual_vibration > MAX_RESIDUAL:
            return f'{plan.residual_vibration:.2g} of the residual vibration would be left{tight}'
        return '' if is_nominal else self._shortfall(plan)

    def _limit_shares(self, arms, responses):
        return np.concatenate(
            [
                self._usage.shares(arm.arm, response, of_motion=k == 0)
                for k, (arm, response) in enumerate(zip(arms, responses))
            ]
        )

    def _effort_and_deflection(self, responses):
        """Largest shares of the limits that differ between arms, by name."""
        usages = [self._usage.peaks(arm.arm, each) for arm, each in zip(self._arms, responses)]
        return {
            name: max(usage[name] for usage in usages)
            for name in usages[0]
            if name.startswith(('effort', 'deflection'))
        }

    def _slopes(self, arms, weights, duration, residual_of):
        """Slopes of residual and limit shares with the weights."""

        def values(weights):
            motion = self.paths.motion(weights, duration)
            responses = [arm.simulate(motion, duration, SLOPE_STEP_FACTOR) for arm in arms]
            return residual_of(responses), self._limit_shares(arms, responses)

        step = WEIGHT_STEP * self.distance
        residual, shares = values(weights)
        out = np.zeros((residual.size + shares.size, weights.size))
        moves = self.goal != self.start
        if self.arm.closed_loops:
            moves &= self.arm.actuated
        for k in np.flatnonzero(np.repeat(moves, SPLINES_PER_JOINT)):
            changed = weights.copy()
            changed.flat[k] += step
            out[:, k] = (
                np.concatenate(values(changed)) - np.concatenate([residual, shares])
            ) / step
        return out[: residual.size], out[residual.size :]

    def _corrected(self, weights, residual, shares, slopes):
        """Weights for which the linear model has no residual and violates no limit."""
        current = weights.ravel()
        residual_weight = WEIGHTS['residual']
        limit_weight = WEIGHTS['beyond']
        regularisation = WEIGHTS['weights'] / self.distance * np.eye(current.size)

        def costs(step):
            share = shares + slopes[1] @ step
            excess = np.sign(share) * np.maximum(np.abs(share) - LIMIT_SHARE, 0.0)
            return np.concatenate(
                [
                    residual_weight * (residual + slopes[0] @ step),
                    limit_weight * excess,
                    regularisation @ (current + step),
                ]
            )

        def slope(step):
            is_beyond = np.abs(shares + slopes[1] @ step) > LIMIT_SHARE
            return np.vstack(
                [
                    residual_weight * slopes[0],
                    limit_weight * is_beyond[:, None] * slopes[1],
                    regularisation,
                ]
            )

        solution = least_squares(costs, np.zeros(current.size), slope, method='trf', max_nfev=60)
        return weights + solution.x.reshape(weights.shape)
