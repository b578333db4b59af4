"""Planned motions: limits of a plan, and the plan with its sensitivity to the frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.util.settings import Settings, setting
from flex_robot_sim.util.summary import summarized


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
    worst_residual: float = 0.0  # the same over all payloads and frequencies of the design
    worst_usage: float = 0.0  # largest share of an effort or deflection limit over these arms
    sensitivity: np.ndarray | None = None  # (f, 2) factor on the frequencies, residual vibration
    warning: str = ''  # what it lacks for other payloads or frequencies of the design
    passive_joints: tuple = ()  # of closed loops, which follow

    def sensitivity_table(self) -> str:
        """
        Residual vibration with other frequencies, as text of two columns.

        Example::

            plan = frs.planning.plan_move(frs.load('single_link'), [0.0], [0.3], duration=1.0)
            print(plan.sensitivity_table())
        """
        if self.sensitivity is None:
            return 'nothing vibrates'
        rows = [f'{factor:9.3g}{100 * left:12.1f} %' for factor, left in self.sensitivity]
        return '\n'.join(['frequency  residual vibration', *rows])

    def effort(self, t: float) -> np.ndarray:
        """Efforts (joints,) at a time, for feed-forward [N m, N]."""
        return np.array([np.interp(t, self.times, row) for row in self.efforts.T])

    def trajectory(self) -> Trajectory:
        """Return the same motion of the motors as a Trajectory, with accelerations."""
        knots = self.motion.knots[1:]
        rows = self.motion.samples(np.array(knots))
        rows[-1, 1:] = 0.0
        names = [name for name in self.joint_names if name not in self.passive_joints]
        rows = rows[..., [self.joint_names.index(name) for name in names]]
        return Trajectory(names, knots, rows[:, 0], rows[:, 1], rows[:, 2])
