"""Closed-loop move of a simulated arm, with shaping and feedback, and its residual vibration."""

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.control.feed_forward import make_feed_forward
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.integral import Integral, rest_spring_effort
from flex_robot_sim.control.servo import ServoFit
from flex_robot_sim.feedback.damping_search import KINDS
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_reference import ShapedReference
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

FEEDBACKS = (*KINDS, 'lqg')
SAMPLE_PERIOD_S = 2e-3  # of the samples, unless the time step is longer      [s]
POSES_PER_JOINT = 3  # grid positions of a moving joint, with LQG gains for each
MAX_POSES = 27  # size of the LQG grid; a larger one is replaced by the goal alone
WINDOW_PERIODS = 1.0, 3.0  # after the set points stop, in which tips are sampled


class ClosedLoopMove:
    """Controller for a rollout that moves a Simulation to a pose."""

    def __init__(
        self,
        simulation: Simulation,
        goal: ArrayLike,
        servo: tuple[ArrayLike, ArrayLike],
        duration: float = 0.0,
        shaper: OnlineShaper | None = None,
        law: StrainFeedback | Lqg | None = None,
        integral: np.ndarray | None = None,
    ) -> None:
        """
        Begin at the present motor positions.

        The loop has a `timing` of `sample_period`. Gravity at the set points is fed forward.

        :param servo: (stiffness, damping), (joints,) each.
        :param duration: of a minimum-jerk motion; 0: the target steps to the goal [s].
        :param shaper: OnlineShaper of `design_shaper`; law: StrainFeedback, Lqg, or None.
        :param integral: rates of `integral_rates`, (joints,) [1/s]; None: no integral action.
        """
        arm = simulation.arm
        self.simulation, self._servo = simulation, servo
        self._feed = make_feed_forward(arm, 'gravity')
        self._law, self._sensors = law, flex_sensors(arm).matrix
        self.reference = reference = Reference(arm)
        reference.hold(simulation.motor_position)
        self._shaped, self._start = ShapedReference(reference, rate_limits(arm)), simulation.time
        self._shaped.use(shaper)
        goal, n = np.asarray(goal, float), len(arm.joint_names)
        if duration > 0.0:
            motors = [name for name, driven in zip(arm.joint_names, arm.actuated) if driven]
            rest = [np.zeros(len(motors))]
            reference.follow(
                reference.plan(
                    Trajectory(motors, [duration], [goal[arm.actuated]], rest, rest),
                    self._start,
                    self._start,
                ),
                self._start,
            )
        else:
            reference.set(goal, None, None, np.inf)
        self._target_velocity = np.zeros(n)
        self._integral, self._limits = None, effort_limits(arm)
        if integral is not None:
            self._integral = Integral(n)
            self._integral.set_rates(integral, rest_spring_effort(arm, np.asarray(servo[0])))
        self.timing = LoopTiming(sample_period(simulation.settings.time_step), 0.0)
        self.arrival = self._start + duration + self._shaped.duration
        # the first sample of a recording precedes the first update
        simulation.effort = carrying_efforts(arm, simulation.motor_position)
        if law is not None:
            measured = simulation.motor_position, simulation.motor_velocity, self._curvature()
            law.start(*measured, simulation.effort.copy())

    @property
    def target(self) -> np.ndarray:
        """Set points of the servo now: positions, velocities (2, joints) [rad, m; per s]."""
        points = self._shaped if self._shaped.is_shaped else self.reference
        return np.array([points.position, points.velocity])

    def __call__(self, time: float, simulation: Simulation) -> np.ndarray:
        """Update the servo; return the efforts of the motors (joints,) [N m, N]."""
        if self._shaped.is_shaped:
            self._shaped.update(time, self._move)
        else:
            self._move(time)
        target = self._shaped if self._shaped.is_shaped else self.reference
        self._feed.update(target.position)
        law, effort = self._law, self._feed.effort
        if law is None or law.adds_to_servo:
            simulation.hold(target.position, *self._servo, target.velocity)
        if law is not None:
            measured = simulation.motor_position, simulation.motor_velocity, self._curvature()
            acceleration = (target.velocity - self._target_velocity) / self.timing.period
            self._target_velocity = target.velocity.copy()
            correction = law.update(
                *measured, np.array([target.position, self._target_velocity, acceleration])
            )
            effort = effort + correction if law.adds_to_servo else correction
        if self._integral is not None and (law is None or law.adds_to_servo):
            spring_effort = self._servo[0] * (target.position - simulation.motor_position)
            damper_effort = self._servo[1] * (target.velocity - simulation.motor_velocity)
            self._integral.update(
                time, spring_effort, spring_effort + damper_effort + effort, self._limits
            )
            effort = effort + self._integral.effort
        return effort

    def _move(self, now):
        self.reference.move(now, self.simulation.motor_position)

    def _curvature(self):
        return self._sensors @ self.simulation.q


def feedback_law(
    arm: ArmModel,
    kind: str,
    start: np.ndarray,
    goal: np.ndarray,
    servo: tuple[ArrayLike, ArrayLike],
    step: float,
) -> StrainFeedback | Lqg:
    """Law of one of FEEDBACKS parallel to a servo, at a step [s]; slow. SettingError if none."""
    loop = LoopTiming(sample_period(step), 0.0)
    if kind in KINDS:
        return StrainFeedback(
            arm, design_damping(arm, goal, gains=servo, kind=kind, **loop._asdict())
        )
    axes = [
        np.unique(np.linspace(min(ends), max(ends), POSES_PER_JOINT)) for ends in zip(start, goal)
    ]
    if np.prod([axis.size for axis in axes]) > MAX_POSES:
        axes = [np.array([position]) for position in goal]
    return Lqg(arm, design_lqg(arm, axes, **loop._asdict()))


def integral_rates(
    arm: ArmModel, servo: tuple[np.ndarray, np.ndarray], share: float, step: float
) -> np.ndarray:
    """Rates (joints,) [1/s] of `ServoFit.with_integral`; SettingError if all are unstable."""
    fit = ServoFit(arm, LoopTiming(sample_period(step), 0.0))
    found = fit.with_integral(fit.evaluate(*servo), share)
    if found.integral is None:
        raise SettingError(found.warning)
    return found.integral


def sample_period(step: float) -> float:
    """Time between two samples of a move [s]: whole time steps."""
    return step * max(1, round(SAMPLE_PERIOD_S / step))


class ResidualVibration:
    """Amplitude of the link tips after a move; of the tool, if no link is flexible."""

    def __init__(
        self, arm: ArmModel, goal: ArrayLike, gains: tuple[ArrayLike, ArrayLike] | None
    ) -> None:
        """Find the slowest mode at the goal, with a servo of `gains`."""
        found = excited_modes(arm, np.asarray(goal, float), gains)
        self.period = 1.0 / found.frequencies[0] if found.frequencies.size else 1.0
        self._tool = arm.tool
        self._rows: list[list[float]] = []

    def sample(self, simulation: Simulation, arrival: float) -> None:
        """Take a sample in the window after `arrival`, when the set points have stopped [s]."""
        begin, end = (arrival + periods * self.period for periods in WINDOW_PERIODS)
        if begin <= simulation.time <= end:
            tips = [tip[:3] for tip in simulation.deflection.values()] or [
                simulation.pose(self._tool)[:3, 3]
            ]
            self._rows.append([simulation.time, *np.concatenate(tips)])

    def amplitude(self) -> float | None:
        """Half the largest range of a tip [m]; None if sampled for less than a period."""
        rows = np.array(self._rows)
        if not len(rows) or np.ptp(rows[:, 0]) < self.period:
            return None
        ranges = np.ptp(rows[:, 1:], axis=0).reshape(-1, 3)
        return float(np.linalg.norm(ranges, axis=1).max()) / 2
