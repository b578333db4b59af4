"""Simulated trials of a move with a servo, and the errors of the tip."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from flex_robot_sim.analysis.drive_conditions import Gains, servo_gains
from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.analysis.loop_poses import followed_poses
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arguments import (
    array_or_nan,
    expect_arm,
    expect_kind,
    number_or_nan,
    whole,
)
from flex_robot_sim.model.arm_model import ArmModel, with_stiffness
from flex_robot_sim.model.free_base import with_base_at_rest
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.simulation.loop_timing import LoopTiming, checked_timing
from flex_robot_sim.simulation.rollout import rollout
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, shortened

STIFFNESS_FACTORS = (0.8, 1.2)  # of the arms that bound the change per trial

Reference = Callable[[float], np.ndarray]


class SimulatedTrials:
    """
    Simulated trials of a move with a servo, for RepeatedMove.

    Example::

        arm = frs.load('single_link')
        motion = frs.planning.minimum_jerk_motion([0.0], [0.5], duration=0.2)
        trials = frs.planning.SimulatedTrials(arm, motion, duration=0.3, gains=(60.0, 0.6))
        errors = trials.run(arm, motion.sample)     # of the tip, (t, 3) [m]
        runs = trials.runs(arm)                     # of this arm, and with other stiffness
    """

    def __init__(
        self,
        arm: ArmModel,
        motion: Motion,
        *,
        duration: float,
        gains: Gains,
        link: str | None = None,
        period: float = 1e-3,
        delay: float = 1e-3,
        every: int = 10,
    ) -> None:
        """
        Compute the targets of the tip: its positions for a quasi-static motion.

        :param motion: of the drives, from 0 on; duration: of a trial [s].
        :param gains: (stiffness, damping) of the servo, numbers or (joints,) each
            [N m/rad, N m s/rad; N/m, N s/m].
        :param link: its origin is the tip; default: the tool.
        :param period: of the servo [s]; delay: from a sample to the resulting effort [s].
        :param every: periods between two samples of the tip.
        """
        expect_arm(arm, closed_loops=True)
        expect_kind('motion', motion, Motion, 'a Motion, such as one of minimum_jerk_motion')
        loop, every = checked_timing(LoopTiming(period, delay)), whole('every', every)
        if not 2 * every * loop.period <= number_or_nan(duration) < np.inf:
            raise SettingError(
                f'duration = {shortened(repr(duration), 60)} of a trial must be '
                f'finite and at least two samples of {every * loop.period:g} s'
            )
        link = arm.tool if link is None else link
        self.link, self.loop, self.every, self.duration = link, loop, every, duration
        self.servo = servo_gains(arm, gains)
        times = np.arange(0.0, duration, every * loop.period)
        poses = np.array([motion.sample(t)[0] for t in times])
        if arm.closed_loops:
            poses = followed_poses(arm, poses)
        equilibria = [equilibrium(arm, one) for one in poses]
        self.target = np.array([pose(arm, state.q, link=link)[:3, 3] for state in equilibria])
        self._times = times.tolist()
        self._gravity_effort = np.array([state.effort for state in equilibria])
        self._gravity_effort_rate = np.diff(self._gravity_effort, axis=0) / np.diff(times)[:, None]
        self._start = poses[0]

    def runs(
        self, arm: ArmModel, stiffness: Sequence[float] = STIFFNESS_FACTORS
    ) -> list[Callable[[Reference], np.ndarray]]:
        """
        Trials of the arm as described, and with other stiffness, for `RepeatedMove.model`.

        :param stiffness: factors on the stiffness of links and gears.
        :returns: functions from a reference to errors, the arm as described first.
        """
        factors = array_or_nan(stiffness)
        if factors.ndim != 1 or not ((factors > 0.0) & (factors < np.inf)).all():
            raise SettingError(
                f'stiffness = {shortened(repr(stiffness), 60)} must be factors > 0, such as '
                '(0.8, 1.2)'
            )
        arms = [arm, *(with_stiffness(arm, factor) for factor in factors.tolist())]
        return [partial(self.run, each) for each in arms]

    def run(
        self, arm: ArmModel, reference: Reference, damping: StrainFeedback | None = None
    ) -> np.ndarray:
        """Position errors (t, 3) [m] of the tip along a reference, with a new law or none."""
        simulation = Simulation(with_base_at_rest(arm))
        simulation.set_state(q=equilibrium(arm, self._start).q)
        stiffness, damping_gain = self.servo

        def law(measured):
            position, velocity = reference(measured.time)[:2]
            effort = (
                self._feed_forward(measured.time)
                + stiffness * (position - measured.position)
                + damping_gain * (velocity - measured.velocity)
            )
            if damping is not None:
                effort += damping.update(measured.position, measured.velocity, measured.curvature)
            return effort

        log = rollout(
            simulation,
            duration=self.duration,
            controller=sensor_feedback(arm, law),
            record={'tip': lambda simulation: simulation.pose(self.link)[:3, 3]},
            record_period=self.every * self.loop.period,
            **self.loop._asdict(),
        )
        return log.tip[: len(self.target)] - self.target

    def _feed_forward(self, time):
        """Gravity efforts (joints,), interpolated linearly between the equilibria."""
        row = bisect_right(self._times, time) - 1
        if row >= len(self._gravity_effort_rate):
            return self._gravity_effort[-1]
        return (
            self._gravity_effort_rate[row] * (time - self._times[row]) + self._gravity_effort[row]
        )
