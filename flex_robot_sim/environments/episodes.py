"""
Episodes of a task with many arms; both kinds of environment wrap them.

An action adds efforts to those of a servo and of gravity feed-forward at the target. An agent with
zero actions is a PD controller; the agent learns to improve on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.deflection import small_tip_translations
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.loop_poses import followed_pose
from flex_robot_sim.analysis.mode_table import loaded
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.batch.batch import Batch
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot_parameters import near
from flex_robot_sim.environments import tasks
from flex_robot_sim.environments.laws import Laws
from flex_robot_sim.model.arguments import array_or_nan, is_known, refuse_free_base
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.body_kinds import has_spatial_bodies
from flex_robot_sim.model.start_pose import nearest_within_limits
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.settings import Settings, SimulationSettings, setting

MAX_OBSERVATION = 1e6  # larger ones are clipped: spaces of Gymnasium are bounded
ROUNDING_SHARE = 1e-9  # of a period in whole time steps, relative
LOST_ARM_REWARD = -1000.0  # reward if an arm diverges, which ends its episode
UNLIMITED_SERVO_ERROR = 1.0  # without <limit>, action 1 is the servo effort of this error  [rad]


@dataclass(frozen=True)
class EpisodeSettings(Settings):
    """Settings of the episodes."""

    seconds: float = setting(2.0, 'duration of an episode', 's', above=0.0)
    period: float = setting(0.01, 'of an action', 's', above=0.0)
    time_step: float = setting(1e-3, 'integration step', 's', above=0.0)
    servo: bool = setting(True, 'whether a servo and the efforts of the weight act as well')
    strength: float = setting(
        0.5, 'action 1, as a share of the limit of a motor', above=0.0, at_most=1.0
    )


def settings_of(named: Mapping[str, Any]) -> EpisodeSettings:
    """Return the settings of keyword arguments; UsageError for an unknown name."""
    known = [item.name for item in fields(EpisodeSettings)]
    for name in named:
        if name not in known:
            raise UsageError(f'no setting "{name}" of an environment. {near(name, known)}')
    return EpisodeSettings(**named)


class Episodes:
    """Arms at a task, each in its own episode."""

    def __init__(
        self,
        robot: str | Path,
        task: str | tasks.Task,
        count: int,
        settings: EpisodeSettings | None = None,
        vary: Mapping[str, str] | None = None,
        scale: Mapping[str, str] | None = None,
        reward: tasks.Reward | None = None,
        observation: tasks.Observation | None = None,
        threads: int | None = None,
    ) -> None:
        """
        Build the arms; call `begin` before the first step.

        :param robot: as of `load`; task: a name of TASKS, or a Task.
        :param vary: laws of numbers drawn for every episode, see `Laws`; scale: factors.
        :param threads: number of threads; default: one per processor.
        """
        if not isinstance(task, tasks.Task) and not is_known(task, tasks.TASKS):
            raise UsageError(f'no task "{task}". Known: {", ".join(tasks.TASKS)}.')
        self.settings = settings or EpisodeSettings()
        self.task = task if isinstance(task, tasks.Task) else tasks.TASKS[task]
        for name, function in (('reward', reward), ('observation', observation)):
            if function is not None and not callable(function):
                raise UsageError(
                    f'{name} = {function!r:.100} must be a function of ArmMeasurements.'
                )
        self.steps = round(self.settings.period / self.settings.time_step)
        if self.steps < 1:
            raise UsageError('period must be at least one time_step.')
        if abs(self.steps * self.settings.time_step - self.settings.period) > (
            ROUNDING_SHARE * self.settings.period
        ):
            raise UsageError(
                f'period = {self.settings.period!r} must be a whole number of '
                f'time_steps of {self.settings.time_step!r} s.'
            )
        description = read_description(robot)
        self.arm = build_arm(description)
        refuse_free_base(self.arm)
        if not self.arm.joint_names:
            raise UsageError(
                f'{description.name} has no joint that moves: there is nothing to learn.'
            )
        self._count, self._laws = count, Laws(description, vary, scale)
        self._reward = reward or self.task.reward
        self._observe = observation or tasks.bench_observation
        servo = design_servo(self.arm)
        limits = effort_limits(self.arm)
        # a task has a target for each motor
        self._rows = np.arange(limits.size)
        if self.arm.closed_loops:
            self._rows = np.flatnonzero(self.arm.actuated)
        self._efforts = self.settings.strength * np.where(
            np.isfinite(limits), limits, UNLIMITED_SERVO_ERROR * servo.stiffness
        )
        self._efforts = self._efforts[self._rows]
        self._tool, self.age = self.arm.tool, np.zeros(count)
        joints = self._rows.size
        start, goal, rate = np.zeros((3, count, joints))
        self._targets = tasks.EpisodeTargets(
            start, goal, rate, np.zeros((count, 3)), np.full(count, np.inf)
        )
        self._gravity_effort, self.action = np.zeros((2, count, joints))
        self._is_pushed = np.zeros(count, bool)
        self.batch = Batch(
            self.arm,
            count,
            SimulationSettings(time_step=self.settings.time_step, drive_limits=True),
            threads,
        )
        servo_factor = 1.0 if self.settings.servo else 0.0
        self.batch.hold(0.0, servo_factor * servo.stiffness, servo_factor * servo.damping)
        # outputs from coordinates: one matrix, or one per arm
        self._sensors, self._tips = flex_sensors(self.arm).matrix, _tip_rows(self.arm)
        if self._laws.vary_arms:
            self._sensors, self._tips = (
                np.repeat(matrix[None], count, axis=0) for matrix in (self._sensors, self._tips)
            )
        self._reach = np.array([_lengths(self.arm)] * count)
        self._observation_size: int | None = None
        self._observation_size = self.observe().shape[1]
        self._rewards()  # validate the reward function now

    def begin(self, rngs: Sequence[np.random.Generator], members: ArrayLike) -> None:
        """Begin new episodes of some arms at rest, each with its own generator."""
        rows = np.atleast_1d(members)
        if not rows.size:
            return
        arms, targets, masses, states = [self.arm] * rows.size, [], np.zeros(rows.size), []
        for i, k in enumerate(rows):
            if self._laws.vary_arms:
                arms[i] = self._laws.draw_arm(rngs[k])
            drawn = self.task.draw(rngs[k], self.task, self._rows.size)
            start, goal = (self._pose(arms[i], one) for one in (drawn.start, drawn.goal))
            targets.append(drawn._replace(start=start[self._rows], goal=goal[self._rows]))
            if self._laws.vary_payload:
                masses[i] = self._laws.draw_payload(rngs[k])
            loaded_arm = loaded(arms[i], (self._tool, masses[i]) if masses[i] else None)
            states.append(equilibrium(loaded_arm, start).q)
        for name in tasks.EpisodeTargets._fields:
            getattr(self._targets, name)[rows] = [getattr(drawn, name) for drawn in targets]
        if self._laws.vary_arms:
            self.batch.set_arms(arms, members=rows)
            self._sensors[rows] = [flex_sensors(arm).matrix for arm in arms]
            self._tips[rows] = [_tip_rows(arm) for arm in arms]
            self._reach[rows] = [_lengths(arm) for arm in arms]
        if self._laws.vary_payload:
            self.batch.set_payload(self._tool, masses, members=rows)
        self.batch.set_state(q=states, members=rows)
        self.age[rows] = self.action[rows] = 0.0
        if self._is_pushed[rows].any():
            self.batch.push(self._tool, members=rows[self._is_pushed[rows]])
            self._is_pushed[rows] = False
        if self.settings.servo:
            self._gravity_effort[rows] = [
                carrying_efforts(self.arm, self._pose(self.arm, goal))[self._rows]
                for goal in self._targets.goal[rows]
            ]

    def step(self, actions: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Apply actions (count, joints) clipped to 1; return rewards, lost and finished."""
        self.action[:] = np.clip(self._expected_actions(actions), -1.0, 1.0)
        batch, period = self.batch, self.settings.period
        target, rate = tasks.reference(self._targets, self.task.within, self.age)
        batch.target[:, self._rows], batch.target_rate[:, self._rows] = target, rate
        batch.effort[:, self._rows] = self._gravity_effort + self._efforts * self.action
        self._update_pushes()
        batch.step(self.steps)
        self.age += period
        rewards, lost = period * self._rewards(), batch.is_lost
        return (
            np.where(lost, LOST_ARM_REWARD, rewards),
            lost,
            self.age > self.settings.seconds - period / 2,
        )

    @property
    def action_size(self) -> int:
        """Number of motors, each with an action."""
        return self._rows.size

    def _pose(self, arm, position):
        """Joint positions (joints,) within limits that are nearest to those of the motors."""
        pose = np.zeros(len(arm.joint_names))
        pose[self._rows] = position
        pose = nearest_within_limits(arm, pose)
        return followed_pose(arm, pose)[0] if arm.closed_loops else pose

    def observe(self) -> np.ndarray:
        """Return the observations, (count, numbers)."""
        values = array_or_nan(self._observe(self.measure()))
        if (
            values.ndim != 2
            or len(values) != self._count
            or self._observation_size not in (None, values.shape[1])
        ):
            raise UsageError(
                f'observation returned {_shape_of(values)}: it must be {self._count} x '
                f'{self._observation_size or "some"} numbers, a row for each arm.'
            )
        return np.clip(values, -MAX_OBSERVATION, MAX_OBSERVATION)

    def measure(self) -> tasks.ArmMeasurements:
        """Return all measurements."""
        batch = self.batch
        q, qd = batch.q, batch.v
        target, rate = tasks.reference(self._targets, self.task.within, self.age)
        tips = (*self._reach.shape, 3)
        return tasks.ArmMeasurements(
            self.age.copy(),
            target,
            rate,
            batch.motor_position[:, self._rows],
            batch.motor_velocity[:, self._rows],
            _product(self._sensors, q),
            _product(self._tips, q).reshape(tips),
            _product(self._tips, qd).reshape(tips),
            self._reach.copy(),
            self.action.copy(),
        )

    def _rewards(self):
        rewards = array_or_nan(self._reward(self.measure()))
        if rewards.shape != (self._count,):
            raise UsageError(
                f'reward returned {_shape_of(rewards)}: it must be {self._count} '
                'numbers, one for each arm.'
            )
        return rewards

    def _expected_actions(self, actions):
        values, shape = array_or_nan(actions), self.action.shape
        if values.shape != shape:
            raise UsageError(
                f'actions are {_shape_of(values)}: they must be '
                f'{shape[0]} x {shape[1]} numbers, a row for each arm.'
            )
        if np.isnan(values).any():
            raise UsageError(
                f'the action of arm {np.argwhere(np.isnan(values))[0][0]} must be numbers.'
            )
        return values

    def _update_pushes(self):
        """Start and end the pushes at the tools."""
        since = self.age - self._targets.pushed_at
        is_pushed = (since > -self.settings.period / 2) & (
            since < tasks.PUSH_DURATION_S - self.settings.period / 2
        )
        changed = np.flatnonzero(is_pushed != self._is_pushed)
        if changed.size:
            self.batch.push(
                self._tool,
                np.where(is_pushed[changed, None], self._targets.push[changed], 0.0),
                members=changed,
            )
            self._is_pushed[:] = is_pushed


def _shape_of(array):
    """Shape of an array, for messages."""
    return f'{" x ".join(map(str, array.shape))} numbers' if array.ndim else 'no array of numbers'


def _product(matrix, rows):
    """Product of one matrix (m, n) or one for each row (c, m, n) with rows (c, n): (c, m)."""
    # fixed order of sums: a row has the same bits for any number of rows
    return np.einsum('cmn,cn->cm' if matrix.ndim == 3 else 'mn,cn->cm', matrix, rows)


def _lengths(arm):
    """Lengths (links,) of the flexible links of an arm [m]."""
    return [arm.length(link) for link in arm.segments]


def _tip_rows(arm):
    """Matrix (3 links, n) from coordinates to tip deflections, linear."""
    out = []
    for link in arm.segments:
        if has_spatial_bodies(arm, link):
            out.append(small_tip_translations(arm, link))
            continue
        rows, lever = np.zeros((3, arm.size)), 0.0
        for beam, columns in reversed(arm.beams_of(link)):
            end = beam.at_end
            rows[:, columns] = end.shape
            rows[1, columns] += lever * end.turn[2]
            rows[2, columns] -= lever * end.turn[1]
            lever += beam.length
        out.append(rows)
    return np.concatenate(out) if out else np.zeros((0, arm.size))
