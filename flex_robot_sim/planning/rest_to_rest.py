"""
Rest to rest without ringing, within the limits of an arm: plans by the full nonlinear model.

The drives follow a SplinePaths motion, and the links do what the nonlinear model says. What is
left at the end is measured by the modes that would ring on while the drives stand: with the mass
matrix M, the shapes phi of unit modal mass and their rates w,

    r = (phi' M (e - e_rest), phi' M e' / w),                                                (C27)

and the weights of the splines are chosen so that r vanishes and nothing goes beyond its limit:
Gauss and Newton's method, whose slopes are differences of whole motions, with a penalty on what is
beyond a limit and a little of one on the weights, so that the path stays near minimum jerk. A path
of so many splines can be led to rest in any time that the limits allow; shortest of these is
searched for by halving. A joint that ends where it begins stands all the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import least_squares

from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.analysis.payload import with_payload
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import driven, tangent
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import (
    effort_limits,
    rate_limits,
    refuse_beyond_stops,
    refuse_curve_beyond_stops,
)
from flex_robot_sim.motion.motion import Motion
from flex_robot_sim.motion.spline_path import SplinePaths, plain_motion
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.planning.rollout import Roller
from flex_robot_sim.util.exceptions import SettingError, SimulationError
from flex_robot_sim.util.settings import Settings, setting
from flex_robot_sim.util.summary import summarized

SPLINES = 10                # per joint
STEP = 1e-3                 # of the simulation, at most                                    [s]
PERIOD_SHARE = 200          # steps in a period of the first mode, at least
RIGID_STEPS = 300           # of an arm in which nothing bends, in one motion
COARSER = 2.0               # steps of motions that only serve for slopes
LOOKS = 40                  # stretches of a path, in each of which the largest share counts
FEWEST = 2 * LOOKS          # steps in one motion, or a stretch would have none
SHORTEST = 1e-6             # duration of a plan                                            [s]
MARGIN = 0.97               # share of every limit that a plan takes
ROUNDS = 10                 # corrections of a plan
POOR, STUCK = 0.4, 0.9      # of a correction: what calls for new slopes, and what for an end
QUIET = 0.003               # what a plan leaves of the ringing, over minimum jerk
LOUDEST = 0.05              # with which a plan is still one
NUDGE = 0.02                # of a weight, for its slope, over the way of the longest joint
WEIGHTS = {'ringing': 300.0, 'beyond': 30.0, 'weights': 0.1}
CLOSE = 0.02                # to which the shortest duration is searched for
LONGEST = 64.0              # duration that is tried, over that of the first guess


@dataclass(frozen=True)
class PlanLimits(Settings):
    """What a plan keeps to; lists have one number per joint, none: the description, or free."""

    effort: tuple = setting((), 'largest effort of each motor', 'N m, N', above=0.0, of=float)
    velocity: tuple = setting((), 'of each joint', 'rad/s, m/s', above=0.0, of=float)
    acceleration: tuple = setting((), 'likewise', 'rad/s2, m/s2', above=0.0, of=float)
    jerk: tuple = setting((), 'likewise', 'rad/s3, m/s3', above=0.0, of=float)
    deflection: float = setting(
        0.0, 'of the tip of a link, over its length; 0: free', at_least=0.0)


@summarized
@dataclass(frozen=True, eq=False)
class Plan:
    """A motion that leaves the arm at rest."""

    motion: Motion              # of the drives, which begins at 0
    duration: float             # [s]
    ringing: float              # amplitude left at the end, over that of minimum jerk
    times: np.ndarray           # (t,)          of the efforts                              [s]
    efforts: np.ndarray         # (t, joints)   that it takes                           [N m, N]
    use: dict                   # 'effort of "elbow"' -> largest share of that limit
    joint_names: tuple

    def effort(self, t: float) -> np.ndarray:
        """Efforts at a time (joints,), for a feed forward [N m, N]."""
        return np.array([np.interp(t, self.times, row) for row in self.efforts.T])

    def trajectory(self) -> Trajectory:
        """Return the same motion as a Trajectory, whose points have accelerations."""
        knots = self.motion.knots[1:]
        rows = self.motion.samples(np.array(knots))
        rows[-1, 1:] = 0.0
        return Trajectory(self.joint_names, knots, rows[:, 0], rows[:, 1], rows[:, 2])


def plan_move(arm: ArmModel, start: ArrayLike, goal: ArrayLike, duration: float | None = None,
              limits: PlanLimits | None = None,
              payload: Mapping[str, float] | None = None) -> Plan:
    """
    Return a Plan from rest to rest; SettingError says which limit does not allow it.

    :param start: positions of the drives (joints,) [rad, m]; goal: likewise.
    :param duration: [s]; None: as short as the limits allow.
    :param limits: PlanLimits; payload: link -> mass at its origin [kg].
    """
    for link, mass in (payload or {}).items():
        arm = with_payload(arm, link, mass)
    start, goal = (checked(name, value, arm.joint_names)
                   for name, value in (('start', start), ('goal', goal)))
    every = np.arange(len(start))
    for pose in (start, goal):
        refuse_beyond_stops(arm, every, pose)
    if (start == goal).all():
        raise SettingError('start and goal are the same pose: there is nothing to plan')
    planner = _Planner(arm, start, goal, limits or PlanLimits())
    if duration is None:
        return planner.shortest()
    if not SHORTEST <= duration < np.inf:
        raise SettingError(f'duration = {duration!r} must be at least {SHORTEST:g} and finite [s]')
    plan = planner.plan(float(duration))
    complaint = planner.complaint(plan)
    if complaint:
        raise SettingError(f'a move in {duration:g} s is not possible: {complaint}. Take more '
                           'time, or leave the duration out for the shortest one')
    refuse_curve_beyond_stops(arm, plan.motion)
    return plan


class _Best(NamedTuple):
    """The best path so far."""

    cost: float
    weights: np.ndarray
    motion: object
    rolled: object
    left: np.ndarray
    used: np.ndarray


def _corrected_slopes(slopes, step, change):
    """Slopes that say of the last step what it did (Broyden, 1965)."""
    step = step.ravel()
    whole = np.vstack(slopes)
    whole = whole + np.outer(change - whole @ step, step) / max(step @ step, 1e-300)
    return whole[:len(slopes[0])], whole[len(slopes[0]):]


def _extremes(rows):
    """Entries of (t, joints) that are largest in each of LOOKS stretches, flat."""
    starts = [part[0] for part in np.array_split(np.arange(len(rows)), min(LOOKS, len(rows)))]
    highest, lowest = (extreme.reduceat(rows, starts) for extreme in (np.maximum, np.minimum))
    return np.where(highest >= -lowest, highest, lowest).ravel()


class _Planner:
    def __init__(self, arm, start, goal, limits):
        self.arm, self.start, self.goal = arm, start, goal
        n = len(arm.joint_names)

        def given(name, otherwise):
            values = getattr(limits, name)
            return checked(name, values, arm.joint_names) if values else otherwise
        free = np.full(n, np.inf)
        self.limits = {'effort': given('effort', effort_limits(arm)),
                       'velocity': given('velocity', rate_limits(arm)),
                       'acceleration': given('acceleration', free), 'jerk': given('jerk', free)}
        self.deflection = limits.deflection or np.inf
        self.lengths = {link: sum(arm.beams[body].length for body in arm.segments[link])
                        for link in arm.tips}
        self.paths = SplinePaths(start, goal, SPLINES)
        rest = equilibrium(arm, start).coordinates
        self.rest = equilibrium(arm, goal)
        others = np.setdiff1d(np.arange(arm.size), driven(arm))
        part = np.ix_(others, others)
        q, still = self.rest.coordinates, np.zeros(arm.size)
        K = tangent(arm, make_loads(arm), q, still, still)[1][part]
        self._others = others
        M = mass_matrix(arm.arrays, q)[part]
        # SciPy 1.8 refuses the matrices of an arm in which nothing gives
        squares, shapes = eigh((K + K.T) / 2, M) if others.size else (np.zeros(0), M)
        self._modes = shapes.T @ M
        self._rates = np.sqrt(np.maximum(squares, 1e-12))
        natural = frequencies(arm, goal)
        natural = natural[natural > 0.0]
        self.first = natural[0] if natural.size else np.inf
        self._begin, self._weights = rest, np.zeros((n, SPLINES))
        self.way = np.abs(goal - start).max()

    def shortest(self):
        """Return the Plan of the shortest duration that the limits allow."""
        if not np.isfinite(np.concatenate([*self.limits.values(), [self.deflection]])).any():
            raise SettingError('nothing limits this move: give a duration, or limits of effort, '
                               'velocity, acceleration, jerk or deflection')
        peaks = self._peaks(self._rolled(plain_motion(self.start, self.goal, 1.0), 1.0))
        known = {name: share for name, share in peaks.items() if name.startswith('velocity')}
        duration = max([*known.values(), 0.5 / self.first if np.isfinite(self.first) else 0.1])
        longest = LONGEST * duration
        low, plan = 0.0, self._tried(duration)
        while self.complaint(plan):
            if duration > longest:
                raise SettingError(f'no duration up to {longest:.3g} s is long enough: '
                                   f'{self.complaint(plan)}')
            low, duration = duration, 1.3 * duration
            plan = self._tried(duration)
        good = plan
        while low == 0.0:               # the first guess was too long
            plan = self._tried(good.duration / 1.3)
            if self.complaint(plan):
                low = plan.duration
            else:
                good = plan
        while good.duration > (1 + CLOSE) * low:
            plan = self._tried((low * good.duration)**0.5)
            if self.complaint(plan):
                low = plan.duration
            else:
                good = plan
        refuse_curve_beyond_stops(self.arm, good.motion)
        return good

    def _tried(self, duration):
        """Return a Plan that goes on from the last good one, or else begins with minimum jerk."""
        kept = self._weights
        plan = self.plan(duration)
        if self.complaint(plan) and kept.any():
            self._weights = np.zeros_like(kept)
            plan = self.plan(duration)
        if self.complaint(plan):
            self._weights = kept
        return plan

    def plan(self, duration):
        """Return the best Plan of a duration, whether it keeps to the limits or not."""
        plain = self._rolled(plain_motion(self.start, self.goal, duration), duration)
        loud = self._left(plain)
        size = np.linalg.norm(loud)
        scale = size if size > 0.0 else 1.0
        weights, slopes, best, fresh = self._weights.copy(), None, None, False
        for _ in range(ROUNDS):
            motion = self.paths.motion(weights, duration)
            rolled = self._rolled(motion, duration)
            left, used = self._left(rolled) / scale, self._used(rolled)
            ringing, beyond = np.linalg.norm(left), max(used.max(initial=0.0) - 1.0, 0.0)
            cost = ringing + 3 * beyond
            if slopes is not None:
                slopes = _corrected_slopes(slopes, weights - best.weights,
                                           np.concatenate([left, used])
                                           - np.concatenate([best.left, best.used]))
            gain = cost / best.cost if best is not None and best.cost > 0.0 else 0.0
            if best is None or gain < 1.0:
                best = _Best(cost, weights, motion, rolled, left, used)
            if cost < QUIET and used.max(initial=0.0) <= MARGIN + 0.01 or fresh and gain > STUCK:
                break
            fresh = slopes is None or gain > POOR
            if fresh:
                slopes = self._slopes(best.weights, duration, scale)
            weights = self._corrected(best.weights, best.left, best.used, slopes)
        motion, rolled, ringing, weights = (best.motion, best.rolled, np.linalg.norm(best.left),
                                            best.weights)
        self._weights = weights
        return Plan(motion, duration, float(ringing if size > 0.0 else 0.0), rolled.times,
                    rolled.effort, self._peaks(rolled), self.arm.joint_names)

    def complaint(self, plan):
        """Say what a Plan does not keep to, or nothing."""
        name, share = max(plan.use.items(), key=lambda item: item[1], default=('', 0.0))
        if share > 1.0:
            return f'the {name} would be {share:.3g} times its limit'
        if plan.ringing > LOUDEST:
            tight = f', because the {name} is at its limit' if share > MARGIN - 0.02 else ''
            return f'{plan.ringing:.2g} of the ringing would be left{tight}'
        return ''

    def _rolled(self, motion, duration, coarser=1.0):
        longest = duration / RIGID_STEPS
        if np.isfinite(self.first):
            longest = coarser * min(STEP, 1.0 / (PERIOD_SHARE * self.first))
        steps = max(int(np.ceil(duration / longest - 1e-9)), FEWEST)
        try:
            return Roller(self.arm, self._begin, duration / steps).roll(motion, duration)
        except SimulationError as error:
            raise SettingError(f'a move in {duration:.3g} s tears the arm apart: {error}'
                               ) from error

    def _left(self, rolled):
        """What rings on, (C27)."""
        away = (rolled.path[-1] - self.rest.coordinates)[self._others]
        return np.concatenate([self._modes @ away,
                               self._modes @ rolled.rates[self._others] / self._rates])

    def _limited(self, rolled):
        """Pairs of a name and shares of limits (t, joints) along a path."""
        jerk = np.gradient(rolled.sample[:, 2], rolled.times[1], axis=0)
        rows = {'effort': rolled.effort, 'velocity': rolled.sample[:, 1],
                'acceleration': rolled.sample[:, 2], 'jerk': jerk}
        for name, row in rows.items():
            limit = self.limits[name]
            if np.isfinite(limit).any():
                yield name, row / limit

    def _used(self, rolled):
        """Largest shares of all limits in the stretches of a path, with their signs, flat."""
        shares = [_extremes(row) for _, row in self._limited(rolled)]
        if np.isfinite(self.deflection):
            shares.append(np.array([bent / self.lengths[link] / self.deflection
                                    for link, bent in rolled.bent(self.arm).items()]))
        return np.concatenate(shares) if shares else np.zeros(0)

    def _peaks(self, rolled):
        """Largest share of every limit, by its name."""
        use = {}
        for name, row in self._limited(rolled):
            for joint, peak in zip(self.arm.joint_names, np.abs(row).max(axis=0)):
                use[f'{name} of "{joint}"'] = float(peak)
        if np.isfinite(self.deflection):
            for link, bent in rolled.bent(self.arm).items():
                use[f'deflection of "{link}"'] = float(bent / self.lengths[link]
                                                       / self.deflection)
        return use

    def _slopes(self, weights, duration, scale):
        """Slopes of what is left and of what is used with the weights."""
        nudge = NUDGE * self.way
        rolled = self._rolled(self.paths.motion(weights, duration), duration, COARSER)
        left, used = self._left(rolled) / scale, self._used(rolled)
        out = np.zeros((left.size + used.size, weights.size))
        for k in np.flatnonzero(np.repeat(self.goal != self.start, SPLINES)):
            moved = weights.copy()
            moved.flat[k] += nudge
            rolled = self._rolled(self.paths.motion(moved, duration), duration, COARSER)
            out[:left.size, k] = (self._left(rolled) / scale - left) / nudge
            out[left.size:, k] = (self._used(rolled) - used) / nudge
        return out[:left.size], out[left.size:]

    def _corrected(self, weights, left, used, slopes):
        """Weights with which the linear model has neither ringing nor anything beyond."""
        there, loud, beyond = weights.ravel(), WEIGHTS['ringing'], WEIGHTS['beyond']
        small = WEIGHTS['weights'] / self.way * np.eye(there.size)

        def rest(step):
            share = used + slopes[1] @ step
            excess = np.sign(share) * np.maximum(np.abs(share) - MARGIN, 0.0)
            return np.concatenate([loud * (left + slopes[0] @ step), beyond * excess,
                                   small @ (there + step)])

        def slope(step):
            over = np.abs(used + slopes[1] @ step) > MARGIN
            return np.vstack([loud * slopes[0], beyond * over[:, None] * slopes[1], small])

        answer = least_squares(rest, np.zeros(there.size), slope, method='trf', max_nfev=60)
        return weights + answer.x.reshape(weights.shape)
