"""
Rest-to-rest planning without residual vibration, within limits, by the full nonlinear model.

The drives follow a SplinePaths motion, and the nonlinear model gives the motion of the links. The
residual at the end is expressed by the modes with locked drives. With the mass matrix M, the
shapes phi of unit modal mass and their rates w,

    r = (phi' M (e - e_rest), phi' M e' / w),                                                (C27)

The weights of the splines are chosen so that r vanishes within all limits. The solver is a
Gauss-Newton method whose slopes are finite differences of whole motions. Penalties act on violated
limits and, weakly, on the weights, which keeps the path near minimum jerk. A bisection finds the
shortest duration. A joint with equal start and goal does not move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import least_squares

from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arguments import checked, expect_arm, number_or_nan
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk_motion
from flex_robot_sim.motion.limits import (
    acceleration_limits,
    deceleration_limits,
    effort_limits,
    jerk_limits,
    rate_limits,
    refuse_beyond_stops,
    refuse_curve_beyond_stops,
)
from flex_robot_sim.motion.spline_path import SplinePaths
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.planning.motion_response import MotionResponse, MotionSimulator
from flex_robot_sim.util.exceptions import SettingError, SimulationError, shortened
from flex_robot_sim.util.settings import Settings, setting
from flex_robot_sim.util.summary import summarized

SPLINES_PER_JOINT = 10
MAX_STEP_S = 1e-3  # time step of the simulation                                   [s]
STEPS_PER_PERIOD = 200  # in a period of the first mode, minimum
MIN_RIGID_STEPS = 300  # in a motion of a rigid arm
SLOPE_STEP_FACTOR = 2.0  # factor on the step of simulations for slopes
SEGMENTS = 40  # segments of a path; the largest share of each one counts
MIN_STEPS = 2 * SEGMENTS  # in one motion, so that no segment is empty
MIN_DURATION_S, MAX_DURATION_S = 1e-6, 1e4  # of a plan                                  [s]
LIMIT_SHARE = 0.97  # target for the largest share of a limit
MAX_ITERATIONS = 10  # Gauss-Newton iterations of a plan
NEW_SLOPES_RATIO, STAGNATION_RATIO = 0.4, 0.9  # cost over the best one: compute new slopes; stop
RESIDUAL_GOAL = 0.003  # target residual vibration, over minimum jerk
MAX_RESIDUAL = 0.05  # residual vibration of an acceptable plan, over minimum jerk
WEIGHT_STEP = 0.02  # finite difference of a weight, over the longest travel
WEIGHTS = {'residual': 300.0, 'beyond': 30.0, 'weights': 0.1}
DURATION_TOLERANCE = 0.02  # relative, of the shortest duration
MAX_DURATION_RATIO = 64.0  # largest trial duration, over the first guess


@dataclass(frozen=True)
class PlanLimits(Settings):
    """
    Limits of a plan, one number per joint; empty: as in the description, or none.

    Example::

        limits = frs.planning.PlanLimits(acceleration=(12.0,), deflection=0.05)
    """

    effort: tuple = setting((), 'largest effort of each motor', 'N m, N', above=0.0, of=float)
    velocity: tuple = setting((), 'of each joint', 'rad/s, m/s', above=0.0, of=float)
    acceleration: tuple = setting(
        (), 'of each joint, also decelerating', 'rad/s2, m/s2', above=0.0, of=float
    )
    jerk: tuple = setting((), 'of each joint', 'rad/s3, m/s3', above=0.0, of=float)
    deflection: float = setting(
        0.0, 'of the tip of a link, over its length; 0: free', at_least=0.0
    )


@summarized
@dataclass(frozen=True, eq=False)
class Plan:
    """
    A planned motion that ends with the arm at rest.

    Example::

        plan = frs.planning.plan_move(frs.load('single_link'), [0.0], [0.3], duration=1.0)
        plan.duration, plan.trajectory().times[-1]
    """

    motion: Motion  # of the drives, which begins at 0
    duration: float  # [s]
    residual_vibration: float  # amplitude at the end, over that of minimum jerk
    times: np.ndarray  # (t,)          of the efforts                              [s]
    efforts: np.ndarray  # (t, joints)   of the drives                           [N m, N]
    limit_usage: dict  # 'effort of "elbow"' -> largest share of that limit
    joint_names: tuple

    def effort(self, t: float) -> np.ndarray:
        """Efforts (joints,) at a time, for feed-forward [N m, N]."""
        return np.array([np.interp(t, self.times, row) for row in self.efforts.T])

    def trajectory(self) -> Trajectory:
        """Return the same motion as a Trajectory, whose points have accelerations."""
        knots = self.motion.knots[1:]
        rows = self.motion.samples(np.array(knots))
        rows[-1, 1:] = 0.0
        return Trajectory(self.joint_names, knots, rows[:, 0], rows[:, 1], rows[:, 2])


def plan_move(
    arm: ArmModel,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    duration: float | None = None,
    limits: PlanLimits | None = None,
    payload: Mapping[str, float] | None = None,
) -> Plan:
    """
    Plan a move from rest to rest without residual vibration.

    Without a duration, it is time-optimal within its family of paths. Planning takes seconds. If a
    limit prevents the move, SettingError names it.

    :param start: positions of the drives (joints,) [rad, m]; goal: (joints,) [rad, m].
    :param duration: [s]; None: as short as the limits allow.
    :param limits: PlanLimits; payload: link -> mass at its origin [kg].

    Example::

        arm, limits = frs.load('single_link'), frs.planning.PlanLimits(acceleration=(20.0,))
        plan = frs.planning.plan_move(arm, [0.0], [0.3], duration=0.9, limits=limits)
        plan.residual_vibration, plan.limit_usage   # relative amplitude, used shares of limits
        plan.motion.sample(0.3), plan.effort(0.3)
    """
    expect_arm(arm)
    if limits is not None and not isinstance(limits, PlanLimits):
        raise SettingError(f'limits = {shortened(repr(limits), 60)} must be PlanLimits(...)')
    if payload is not None and not isinstance(payload, Mapping):
        raise SettingError(
            f'payload = {shortened(repr(payload), 60)} must be a dict from links '
            "to masses [kg], such as {'tool': 0.1}"
        )
    for link, mass in (payload or {}).items():
        arm = with_payload(arm, link, mass)
    start, goal = (
        checked(name, value, arm.joint_names) for name, value in (('start', start), ('goal', goal))
    )
    every = np.arange(len(start))
    for pose in (start, goal):
        refuse_beyond_stops(arm, every, pose)
    if (start == goal).all():
        raise SettingError('start and goal are the same pose: there is nothing to plan')
    planner = _Planner(arm, start, goal, limits or PlanLimits())
    if duration is None:
        return planner.shortest()
    if not MIN_DURATION_S <= number_or_nan(duration) <= MAX_DURATION_S:
        raise SettingError(
            f'duration = {shortened(repr(duration), 60)} must be from '
            f'{MIN_DURATION_S:g} to {MAX_DURATION_S:g} s'
        )
    plan = planner.plan(float(duration))
    violation = planner.violation(plan)
    if violation:
        raise SettingError(
            f'a move in {duration:g} s is not possible: {violation}. Take more '
            'time, or leave the duration out for the shortest one'
        )
    refuse_curve_beyond_stops(arm, plan.motion)
    return plan


class _BestPath(NamedTuple):
    """The best path so far."""

    cost: float
    weights: np.ndarray
    motion: Motion
    response: MotionResponse
    residual: np.ndarray
    shares: np.ndarray


def _corrected_slopes(slopes, step, change):
    """Update slopes with the effect of the last step (Broyden, 1965)."""
    step = step.ravel()
    whole = np.vstack(slopes)
    whole = whole + np.outer(change - whole @ step, step) / max(step @ step, 1e-300)
    return whole[: len(slopes[0])], whole[len(slopes[0]) :]


def _extremes(rows):
    """Largest entries of (t, joints) in each of SEGMENTS segments, flat."""
    starts = [part[0] for part in np.array_split(np.arange(len(rows)), min(SEGMENTS, len(rows)))]
    highest, lowest = (extreme.reduceat(rows, starts) for extreme in (np.maximum, np.minimum))
    return np.where(highest >= -lowest, highest, lowest).ravel()


class _Planner:
    def __init__(self, arm, start, goal, limits):
        self.arm, self.start, self.goal = arm, start, goal
        n = len(arm.joint_names)

        def limit(name, default):
            values = getattr(limits, name)
            return checked(name, values, arm.joint_names) if values else default

        self.limits = {
            'effort': limit('effort', effort_limits(arm)),
            'velocity': limit('velocity', rate_limits(arm)),
            'acceleration': limit('acceleration', acceleration_limits(arm)),
            'jerk': limit('jerk', jerk_limits(arm)),
        }
        decelerations = limit('acceleration', deceleration_limits(arm))
        if (decelerations != self.limits['acceleration']).any():
            self.limits['deceleration'] = decelerations
        self.deflection = limits.deflection or np.inf
        self.lengths = {link: arm.length(link) for link in arm.tips}
        self.paths = SplinePaths(start, goal, SPLINES_PER_JOINT)
        start_rest = equilibrium(arm, start).q
        self.rest = equilibrium(arm, goal)
        undriven = arm.passive_q
        block = np.ix_(undriven, undriven)
        q, zero = self.rest.q, np.zeros(arm.size)
        K = tangent(arm, make_loads(arm), q, zero, zero)[1][block]
        self._undriven = undriven
        M = mass_matrix(arm.arrays, q)[block]
        # SciPy 1.8 rejects the empty matrices of a rigid arm
        squares, shapes = eigh((K + K.T) / 2, M) if undriven.size else (np.zeros(0), M)
        self._modes = shapes.T @ M
        self._rates = np.sqrt(np.maximum(squares, 1e-12))
        natural = frequencies(arm, goal)
        natural = natural[natural > 0.0]
        self.first = natural[0] if natural.size else np.inf
        self._start_coordinates, self._weights = start_rest, np.zeros((n, SPLINES_PER_JOINT))
        self.distance = np.abs(goal - start).max()

    def shortest(self):
        """Return the Plan of the shortest duration that the limits allow."""
        if not np.isfinite(np.concatenate([*self.limits.values(), [self.deflection]])).any():
            raise SettingError(
                'nothing limits this move: give a duration, or limits of effort, '
                'velocity, acceleration, jerk or deflection'
            )
        motion = minimum_jerk_motion(self.start, self.goal, duration=1.0)
        peaks = self._peaks(self._simulate(motion, 1.0))
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

    def plan(self, duration):
        """Return the best Plan of a duration, also if it violates limits."""
        minimum_jerk = self._simulate(
            minimum_jerk_motion(self.start, self.goal, duration=duration), duration
        )
        unplanned = self._residual(minimum_jerk)
        amplitude = np.linalg.norm(unplanned)
        scale = amplitude if amplitude > 0.0 else 1.0
        weights, slopes, best, has_new_slopes = self._weights.copy(), None, None, False
        for _ in range(MAX_ITERATIONS):
            motion = self.paths.motion(weights, duration)
            response = self._simulate(motion, duration)
            residual, shares = self._residual(response) / scale, self._limit_shares(response)
            vibration, excess = np.linalg.norm(residual), max(shares.max(initial=0.0) - 1.0, 0.0)
            cost = vibration + 3 * excess
            if best is not None and slopes is not None:
                slopes = _corrected_slopes(
                    slopes,
                    weights - best.weights,
                    np.concatenate([residual, shares])
                    - np.concatenate([best.residual, best.shares]),
                )
            gain = cost / best.cost if best is not None and best.cost > 0.0 else 0.0
            if best is None or gain < 1.0:
                best = _BestPath(cost, weights, motion, response, residual, shares)
            if (
                cost < RESIDUAL_GOAL
                and shares.max(initial=0.0) <= LIMIT_SHARE + 0.01
                or (has_new_slopes and gain > STAGNATION_RATIO)
            ):
                break
            has_new_slopes = slopes is None or gain > NEW_SLOPES_RATIO
            if has_new_slopes:
                slopes = self._slopes(best.weights, duration, scale)
            weights = self._corrected(best.weights, best.residual, best.shares, slopes)
        assert best is not None
        self._weights = best.weights
        return Plan(
            best.motion,
            duration,
            float(np.linalg.norm(best.residual)) if amplitude > 0.0 else 0.0,
            best.response.times,
            best.response.effort,
            self._peaks(best.response),
            self.arm.joint_names,
        )

    def violation(self, plan):
        """Line about a violated limit of a Plan, or ''."""
        name, share = max(plan.limit_usage.items(), key=lambda item: item[1], default=('', 0.0))
        if share > 1.0:
            return f'the {name} would be {share:.3g} times its limit'
        if plan.residual_vibration > MAX_RESIDUAL:
            tight = f', because the {name} is at its limit' if share > LIMIT_SHARE - 0.02 else ''
            return f'{plan.residual_vibration:.2g} of the residual vibration would be left{tight}'
        return ''

    def _simulate(self, motion, duration, coarser=1.0):
        longest = duration / MIN_RIGID_STEPS
        if np.isfinite(self.first):
            longest = coarser * min(MAX_STEP_S, 1.0 / (STEPS_PER_PERIOD * self.first))
        steps = max(int(np.ceil(duration / longest - 1e-9)), MIN_STEPS)
        try:
            return MotionSimulator(self.arm, self._start_coordinates, duration / steps).run(
                motion, duration
            )
        except SimulationError as error:
            raise SettingError(
                f'a move in {duration:.3g} s tears the arm apart: {error}'
            ) from error

    def _residual(self, response):
        """Residual vibration (C27)."""
        offset = (response.path[-1] - self.rest.q)[self._undriven]
        return np.concatenate(
            [self._modes @ offset, self._modes @ response.rates[self._undriven] / self._rates]
        )

    def _limit_ratios(self, response):
        """Yield pairs of a name and shares of limits (t, joints) along a path."""
        jerk = np.gradient(response.sample[:, 2], response.times[1], axis=0)
        rows = {
            'effort': response.effort,
            'velocity': response.sample[:, 1],
            'acceleration': response.sample[:, 2],
            'jerk': jerk,
        }
        if 'deceleration' in self.limits:  # where acceleration and velocity have opposite signs
            slows = response.sample[:, 1] * response.sample[:, 2] < 0.0
            rows['deceleration'] = np.where(slows, response.sample[:, 2], 0.0)
            rows['acceleration'] = np.where(slows, 0.0, response.sample[:, 2])
        for name, row in rows.items():
            limit = self.limits[name]
            if np.isfinite(limit).any():
                yield name, row / limit

    def _limit_shares(self, response):
        """Largest signed shares of all limits in the segments of a path, flat."""
        shares = [_extremes(row) for _, row in self._limit_ratios(response)]
        return np.concatenate([*shares, [*self._deflection_shares(response).values()]])

    def _peaks(self, response):
        """Largest share of every limit, by name."""
        usage = {}
        for name, row in self._limit_ratios(response):
            for joint, peak in zip(self.arm.joint_names, np.abs(row).max(axis=0)):
                usage[f'{name} of "{joint}"'] = float(peak)
        usage.update(
            (f'deflection of "{link}"', float(share))
            for link, share in self._deflection_shares(response).items()
        )
        return usage

    def _deflection_shares(self, response):
        if not np.isfinite(self.deflection):
            return {}
        return {
            link: deflection / self.lengths[link] / self.deflection
            for link, deflection in response.max_deflections(self.arm).items()
        }

    def _slopes(self, weights, duration, scale):
        """Slopes of residual and limit shares with the weights."""
        step = WEIGHT_STEP * self.distance
        response = self._simulate(
            self.paths.motion(weights, duration), duration, SLOPE_STEP_FACTOR
        )
        residual, shares = self._residual(response) / scale, self._limit_shares(response)
        out = np.zeros((residual.size + shares.size, weights.size))
        for k in np.flatnonzero(np.repeat(self.goal != self.start, SPLINES_PER_JOINT)):
            changed = weights.copy()
            changed.flat[k] += step
            response = self._simulate(
                self.paths.motion(changed, duration), duration, SLOPE_STEP_FACTOR
            )
            out[: residual.size, k] = (self._residual(response) / scale - residual) / step
            out[residual.size :, k] = (self._limit_shares(response) - shares) / step
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
