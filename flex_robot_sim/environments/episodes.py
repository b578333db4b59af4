"""
Episodes of a task with many arms at once, in numpy alone: what both kinds of environment wrap.

An action adds efforts to those of a servo that pulls to the target, and to those that carry the
weight there. So an agent that does nothing is PD, and what it learns is what PD lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.batch.batch import Batch
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.limits import effort_limits
from flex_robot_sim.control.mode_table import loaded, tool_of
from flex_robot_sim.control.servo import fitting_servo
from flex_robot_sim.core.assembly import build_arm
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.description import read_description
from flex_robot_sim.description.parameters import near, parameters_of, with_parameters
from flex_robot_sim.environments.tasks import (
    PUSH_SECONDS,
    TASKS,
    Drawn,
    Look,
    Observation,
    Reward,
    Task,
    reference,
    what_a_bench_sees,
)
from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.settings import Settings, SimulationSettings, setting
from flex_robot_sim.sweeps.forms import Form, form_of

LARGEST = 1e6               # that an agent sees: spaces of Gymnasium want an end
LOST = -1000.0              # reward of an arm that is lost: its episode ends
UNLIMITED = 1.0             # action 1 is the effort of a servo so far away, without <limit>  [rad]


@dataclass(frozen=True)
class EpisodeSettings(Settings):
    """How episodes go on."""

    seconds: float = setting(2.0, 'duration of an episode', 's', above=0.0)
    period: float = setting(0.01, 'of an action', 's', above=0.0)
    time_step: float = setting(1e-3, 'integration step', 's', above=0.0)
    servo: bool = setting(True, 'whether a servo and the efforts of the weight act as well')
    strength: float = setting(0.5, 'action 1, as a share of the limit of a motor', above=0.0,
                              at_most=1.0)


class Episodes:
    """Arms at a task, each in an episode of its own."""

    def __init__(self, robot: str | Path, task: str | Task, count: int,
                 settings: EpisodeSettings | None = None,
                 vary: Mapping[str, str] | None = None, scale: Mapping[str, str] | None = None,
                 reward: Reward | None = None, observation: Observation | None = None,
                 threads: int | None = None) -> None:
        """
        Know the arm and the task; `draw_arms` and `begin` come before the first step.

        :param robot: as of `load`; task: a name of TASKS, or a Task of one's own.
        :param vary: name -> words of `sweeps/forms.py`, numbers of the URDF and `payload`, drawn
            at random; scale: likewise, in multiples of what the URDF says.
        :param threads: that step the arms; default: as many as there are processors.
        """
        if isinstance(task, str) and task not in TASKS:
            raise UsageError(f'no task "{task}". Known: {", ".join(TASKS)}.')
        self.settings = settings or EpisodeSettings()
        self.task = TASKS[task] if isinstance(task, str) else task
        self.steps = round(self.settings.period / self.settings.time_step)
        if self.steps < 1:
            raise UsageError('period must be at least one time_step.')
        self._description = read_description(robot)
        self.arm = build_arm(self._description)
        if not self.arm.joint_names:
            raise UsageError(f'{self._description.name} has no joint that moves: there is nothing '
                             'to learn.')
        self._threads, self._count = threads, count
        self._reward = reward or self.task.reward
        self._observe = observation or what_a_bench_sees
        self._forms = _forms(self._description, vary or {}, scale or {})
        servo = fitting_servo(self.arm)
        on = 1.0 if self.settings.servo else 0.0
        self._gains = on * servo.stiffness, on * servo.damping
        limits = effort_limits(self.arm)
        self._efforts = self.settings.strength * np.where(
            np.isfinite(limits), limits, UNLIMITED * servo.stiffness)
        self._tool, self.age = tool_of(self.arm), np.zeros(count)
        joints = len(self.arm.joint_names)
        start, goal, rate = np.zeros((3, count, joints))
        self._drawn = Drawn(start, goal, rate, np.zeros((count, 3)), np.full(count, np.inf))
        self._carried, self.action = np.zeros((2, count, joints))
        self._pushed = np.zeros(count, bool)
        self._use([self.arm] * count)

    def draw_arms(self, rngs: Sequence[np.random.Generator]) -> None:
        """Give each arm numbers of its own; all begin at rest, in no episode yet."""
        if not any(name != 'payload' for name in self._forms):
            return
        self._use([self._drawn_arm(rng) for rng in rngs])

    def begin(self, rngs: Sequence[np.random.Generator], members: ArrayLike) -> None:
        """Begin new episodes of some arms at rest, each drawn by its own generator."""
        rows = np.atleast_1d(members)
        if not rows.size:
            return
        drawn, masses, states = [], np.zeros(rows.size), []
        for i, k in enumerate(rows):
            drawn.append(self.task.draw(rngs[k], self.task, len(self.arm.joint_names)))
            if 'payload' in self._forms:
                masses[i] = max(_one(self._forms['payload'], rngs[k]), 0.0)
            laden = loaded(self.batch.arms[k], (self._tool, masses[i]) if masses[i] else None)
            states.append(equilibrium(laden, drawn[-1].start).coordinates)
        for name in Drawn._fields:
            getattr(self._drawn, name)[rows] = [getattr(one, name) for one in drawn]
        if 'payload' in self._forms:
            self.batch.set_payload(self._tool, masses, members=rows)
        self.batch.set_state(coordinates=states, members=rows)
        self.age[rows] = self.action[rows] = 0.0
        if self._pushed[rows].any():
            self.batch.push(self._tool, members=rows[self._pushed[rows]])
            self._pushed[rows] = False
        if self.settings.servo:
            self._carried[rows] = [carrying_efforts(self.arm, goal)
                                   for goal in self._drawn.goal[rows]]

    def step(self, actions: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Take actions (count, joints) for a period; return rewards, and who is lost, who is through.

        What is beyond -1 and 1 is cut off.
        """
        self.action[:] = np.clip(np.reshape(actions, self.action.shape), -1.0, 1.0)
        batch, period = self.batch, self.settings.period
        target, rate = reference(self._drawn, self.task.within, self.age)
        batch.target[:], batch.target_rate[:] = target, rate
        batch.effort[:] = self._carried + self._efforts * self.action
        self._push()
        batch.step(self.steps)
        self.age += period
        rewards, lost = period * self._reward(self.look()), batch.is_lost
        return (np.where(lost, LOST, rewards), lost,
                self.age > self.settings.seconds - period / 2)

    def observe(self) -> np.ndarray:
        """Return what agents see, (count, numbers)."""
        return np.clip(np.asarray(self._observe(self.look()), float), -LARGEST, LARGEST)

    def look(self) -> Look:
        """Return all that can be seen."""
        batch = self.batch
        q, qd = batch.coordinates, batch.rates
        target, rate = reference(self._drawn, self.task.within, self.age)
        tips = (self._count, len(self._reach), 3)
        return Look(self.age.copy(), target, rate, batch.motor_position, batch.motor_velocity,
                    _product(self._sensors, q), _product(self._tips, q).reshape(tips),
                    _product(self._tips, qd).reshape(tips), self._reach, self.action.copy())

    def _use(self, arms):
        """Make the Batch of these arms."""
        self.batch = Batch(arms, settings=SimulationSettings(
            time_step=self.settings.time_step, drive_limits=True), threads=self._threads)
        self.batch.hold(0.0, *self._gains)
        self._sensors = _alike([flex_sensors(arm).matrix for arm in arms])
        self._tips = _alike([_tip_rows(arm) for arm in arms])
        self._reach = np.array([sum(self.arm.beams[body].length for body in rows)
                                for rows in self.arm.segments.values()])
        self._pushed[:] = False

    def _drawn_arm(self, rng) -> ArmModel:
        values = {name: _one(form, rng) for name, form in self._forms.items()
                  if name != 'payload'}
        return build_arm(with_parameters(self._description, values))

    def _push(self):
        """Push at the tools of those whose time has come, and let go of the others."""
        since = self.age - self._drawn.pushed_at
        now = (since > -self.settings.period / 2) & (
            since < PUSH_SECONDS - self.settings.period / 2)
        changed = np.flatnonzero(now != self._pushed)
        if changed.size:
            self.batch.push(self._tool, np.where(now[changed, None], self._drawn.push[changed],
                                                 0.0), members=changed)
            self._pushed[:] = now


def _forms(description, vary, scale) -> dict[str, Form]:
    """Return the Form of every number that varies, in its own unit."""
    known, out = parameters_of(description), {}
    for name, words in [*vary.items(), *scale.items()]:
        if name in out:
            raise UsageError(f'{name} varies twice. Vary it or scale it.')
        if name not in known and (name != 'payload' or name in scale):
            raise UsageError(f'no parameter "{name}". {near(name, ["payload", *known])}')
        form, lowest = form_of(name, words), known[name].lower if name in known else 0.0
        if name in scale:
            factor = known[name].value
            form = Form(form.kind, tuple(factor * number for number in form.numbers))
        if form.kind != 'normal' and (min(form.numbers) < 0.0 or min(form.numbers) == 0 < lowest):
            raise UsageError(f'{name} = {min(form.numbers):g} cannot be: it must be '
                             f'{"above" if lowest > 0.0 else "at least"} 0.')
        out[name] = form
    return out


def _one(form, rng):
    """Draw one value of a Form."""
    return float(form.quantile(rng.uniform(size=1))[0])


def _alike(matrices):
    """Stack matrices, or keep one where they are all the same."""
    first = matrices[0]
    return first if all((one == first).all() for one in matrices) else np.stack(matrices)


def _product(matrix, rows):
    """Product of one matrix (m, n) or one for each row (c, m, n) with rows (c, n): (c, m)."""
    # sums in a fixed order: a row comes to the same bits however many there are
    return np.einsum('cmn,cn->cm' if matrix.ndim == 3 else 'mn,cn->cm', matrix, rows)


def _tip_rows(arm):
    """Matrix (3 links, n) from coordinates to how far tips are off straight links, linear."""
    out = []
    for bodies in arm.segments.values():
        rows, beyond = np.zeros((3, arm.size)), 0.0
        for body in reversed(bodies):
            beam, first = arm.beams[body], arm.arrays.first[body]
            part = slice(first, first + beam.size)
            end = beam.at_end
            rows[:, part] = end.shape
            rows[1, part] += beyond * end.turn[2]
            rows[2, part] -= beyond * end.turn[1]
            beyond += beam.length
        out.append(rows)
    return np.concatenate(out) if out else np.zeros((0, arm.size))
