"""A move of a simulated arm to a pose: shaped, damped by feedback, and what it leaves behind."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.control.feed_forward import FeedForward
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.integral import Integral, resting_pull
from flex_robot_sim.control.servo import Sampling, ServoFit
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.modal_damping import KINDS, design_damping
from flex_robot_sim.feedback.pose_model import Loop
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.motion.reference import Reference
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaped_reference import ShapedReference
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

FEEDBACKS = (*KINDS, 'lqg')
PERIOD = 2e-3           # of samples, or a time step that is longer                         [s]
PLACES = 3              # of a joint on its way, for which lqg has gains
MOST_CORNERS = 27       # of all joints; beyond that it has those of the goal
WATCHED = 1.0, 3.0      # periods after the set points stand, in which tips are looked at


class ClosedLoopMove:
    """Leads a Simulation to a pose, sample by sample."""

    def __init__(self, simulation: Simulation, goal: ArrayLike, servo: tuple[ArrayLike, ArrayLike],
                 duration: float = 0.0, shaper: OnlineShaper | None = None,
                 law: StrainFeedback | Lqg | None = None,
                 integral: np.ndarray | None = None) -> None:
        """
        Begin where the motors are.

        All is sampled with `sample_period`. The weight at the set points is fed forward.

        :param servo: (stiffness, damping), (joints,) each.
        :param duration: of a minimum-jerk motion; 0: the target is there at once [s].
        :param shaper: OnlineShaper of `design_shaper`; law: StrainFeedback, Lqg, or None.
        :param integral: rates of `integral_rates`, (joints,) [1/s]; None: no integral action.
        """
        arm = simulation.arm
        self.simulation, self._servo = simulation, servo
        self._feed = FeedForward(arm, 'gravity')
        self._law, self._sensors = law, flex_sensors(arm).matrix
        self.reference = reference = Reference(arm)
        reference.hold(simulation.motor_position)
        self._points, self._begin = ShapedReference(reference, rate_limits(arm)), simulation.time
        self._points.use(shaper)
        goal, n = np.asarray(goal, float), len(arm.joint_names)
        if duration > 0.0:
            reference.follow(reference.plan(
                Trajectory(arm.joint_names, [duration], [goal], [np.zeros(n)], [np.zeros(n)]),
                self._begin, self._begin), self._begin)
        else:
            reference.set(goal, None, None, np.inf)
        self._speed, self._count = np.zeros(n), 0
        self._integral, self._limits = None, effort_limits(arm)
        if integral is not None:
            self._integral = Integral(n)
            self._integral.set_rates(integral, resting_pull(arm, np.asarray(servo[0])))
        self._every = round(sample_period(simulation.settings.time_step)
                            / simulation.settings.time_step)
        self.period = self._every * simulation.settings.time_step
        self.arrival = self._begin + duration + self._points.duration
        if law is not None:
            measured = simulation.motor_position, simulation.motor_velocity, self._curvature()
            law.start(*measured, carrying_efforts(arm, simulation.motor_position))

    @property
    def target(self) -> np.ndarray:
        """Positions and velocities that the servo follows now, (2, joints) [rad, m; per s]."""
        points = self._points if self._points.is_shaped else self.reference
        return np.array([points.position, points.velocity])

    def advance(self, steps: int, watch: Callable[[Simulation], object] | None = None) -> None:
        """Take time steps; `watch` is called with the simulation at every sample."""
        while steps > 0:
            if self._count % self._every == 0:
                self._sample()
                if watch is not None:
                    watch(self.simulation)
            taken = min(steps, self._every - self._count % self._every)
            self.simulation.step(taken)
            self._count += taken
            steps -= taken

    def _sample(self):
        """Renew what the motors do."""
        simulation, points = self.simulation, self._points
        if points.is_shaped:
            points.update(simulation.time, self._move)
        else:
            self._move(simulation.time)
        if not points.is_shaped:
            points = self.reference
        self._feed.update(points.position)
        law, effort = self._law, self._feed.effort
        if law is None or law.adds_to_servo:
            simulation.hold(points.position, *self._servo, points.velocity)
        if law is not None:
            seen = simulation.motor_position, simulation.motor_velocity, self._curvature()
            change = (points.velocity - self._speed) / self.period
            self._speed = points.velocity.copy()
            wanted = law.update(*seen, np.array([points.position, self._speed, change]))
            effort = effort + wanted if law.adds_to_servo else wanted
        if self._integral is not None and (law is None or law.adds_to_servo):
            pull = self._servo[0] * (points.position - simulation.motor_position)
            brake = self._servo[1] * (points.velocity - simulation.motor_velocity)
            self._integral.update(simulation.time, pull, pull + brake + effort, self._limits)
            effort = effort + self._integral.effort
        simulation.effort = effort

    def _move(self, now):
        self.reference.move(now, self.simulation.motor_position)

    def _curvature(self):
        return self._sensors @ self.simulation.coordinates


def feedback_law(arm: ArmModel, kind: str, start: np.ndarray, goal: np.ndarray,
                 servo: tuple[ArrayLike, ArrayLike], step: float) -> StrainFeedback | Lqg:
    """
    Return the law of one of FEEDBACKS for a move; SettingError if there is none. Takes seconds.

    :param servo: (stiffness, damping) beside it; step: time step of the simulation [s].
    """
    loop = Loop(sample_period(step), 0.0)
    if kind in KINDS:
        return StrainFeedback(arm, design_damping(arm, goal, *servo, kind, loop))
    axes = [np.unique(np.linspace(min(ends), max(ends), PLACES)) for ends in zip(start, goal)]
    if np.prod([axis.size for axis in axes]) > MOST_CORNERS:
        axes = [np.array([place]) for place in goal]
    return Lqg(arm, design_lqg(arm, axes, loop))


def integral_rates(arm: ArmModel, servo: tuple[np.ndarray, np.ndarray], share: float,
                   step: float) -> np.ndarray:
    """
    Rates (joints,) [1/s] of integral action beside a servo; SettingError if the arm bears none.

    :param servo: (stiffness, damping), (joints,) each; share: as of `ServoFit.with_integral`.
    :param step: time step of the simulation [s].
    """
    fit = ServoFit(arm, Sampling(sample_period(step), False))
    found = fit.with_integral(fit.judged(*servo), share)
    if found.integral is None:
        raise SettingError(found.complaint)
    return found.integral


def sample_period(step: float) -> float:
    """Time between two samples of a move [s]: whole time steps."""
    return step * max(1, round(PERIOD / step))


class Residue:
    """How far tips of links still swing when a move is over; the tool, if no link bends."""

    def __init__(self, arm: ArmModel, goal: ArrayLike,
                 gains: tuple[ArrayLike, ArrayLike] | None) -> None:
        """Know the slowest of what rings at the goal, held by a servo of `gains`."""
        found = excited_modes(arm, np.asarray(goal, float), gains)
        self.period = 1.0 / found.frequencies[0] if found.frequencies.size else 1.0
        self._tool = arm.tool
        self._rows: list[list[float]] = []

    def watch(self, simulation: Simulation, arrival: float) -> None:
        """Look, if it is time, with set points that stand from `arrival` on [s]."""
        begin, end = (arrival + periods * self.period for periods in WATCHED)
        if begin <= simulation.time <= end:
            tips = [tip[:3] for tip in simulation.deflection.values()] or [
                simulation.pose(self._tool)[:3, 3]]
            self._rows.append([simulation.time, *np.concatenate(tips)])

    def size(self) -> float | None:
        """Half the range of the tip that swings most [m]; None if seen for less than a period."""
        rows = np.array(self._rows)
        if not len(rows) or np.ptp(rows[:, 0]) < self.period:
            return None
        ranges = np.ptp(rows[:, 1:], axis=0).reshape(-1, 3)
        return float(np.linalg.norm(ranges, axis=1).max()) / 2
