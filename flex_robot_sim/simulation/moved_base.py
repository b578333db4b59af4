"""The moved base of a simulated arm: its motion, and steps along it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import starmap
from typing import Any

import numpy as np

from flex_robot_sim.dynamics.moved_base import RATE, TWIST, first_jump, place_base
from flex_robot_sim.dynamics.moved_run import advance_moved
from flex_robot_sim.jit.compiled import bind
from flex_robot_sim.motion.base_motion import (
    BaseMotion,
    FunctionBaseMotion,
    SampledBaseMotion,
    StandingBase,
    as_base_motion,
)
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.spatial.turns import angle_between
from flex_robot_sim.util.exceptions import SettingError

JUMP_TOLERANCE = 1e-6  # larger jumps of the base are reported                  [rad, m]
_ORIGIN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class MovedBase:
    """The base of a SimulatedArm, whose motion may be prescribed."""

    def __init__(self, simulated: SimulatedArm) -> None:
        """Begin with a base that does not move, or that moves as described, at time zero."""
        self._simulated = simulated
        self.motion: StandingBase | SampledBaseMotion | FunctionBaseMotion | None = None
        self._sample: np.ndarray | None = None  # (19,) of the present
        # bound to the tables of the steps
        self._advance: Callable[..., tuple[int, int]] | None = None
        self._place_queries: Callable[..., None] | None = None
        self._reported: set[str] = set()
        described = simulated.arm.description.base_motion
        if described is not None:
            self._refuse()
            self.motion = SampledBaseMotion(described.times, described.poses)
            self._place(self.motion.samples(np.zeros(1))[0])

    @property
    def is_moved(self) -> bool:
        """Whether the motion of the base is prescribed."""
        return self._sample is not None

    @property
    def pose(self) -> np.ndarray:
        """Pose (7,) of the base: position [m] and quaternion x y z w."""
        return (_ORIGIN if self._sample is None else self._sample[:TWIST]).copy()

    @property
    def twist(self) -> np.ndarray:
        """Twist (6,) of the base in its axes [rad/s, m/s], angular first."""
        return np.zeros(6) if self._sample is None else self._sample[TWIST:RATE].copy()

    def saved(self) -> tuple[Any, ...]:
        """Return what the next step depends on."""
        sample = None if self._sample is None else self._sample.copy()
        return self.motion, sample, {*self._reported}

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Restore what `saved` returned."""
        self.motion, sample, reported = saved
        self._reported = {*reported}
        if sample is None:
            self._simulated.work.base_moves[0] = self._simulated.query_work.base_moves[0] = 0.0
            self._sample = None
        else:
            self._place(sample.copy())

    def move(self, motion: BaseMotion | None, time: float) -> Iterator[str]:
        """Prescribe the motion of the base from a time [s] on; None: it stays where it is."""
        self._refuse()
        checked = StandingBase(self.pose) if motion is None else as_base_motion(motion)
        sample = checked.samples(np.array([time]))[0]
        distance = float(np.abs(sample[:3] - self.pose[:3]).max())
        turn = angle_between(sample[3:TWIST], self.pose[3:])
        if max(distance, turn) > JUMP_TOLERANCE and (self.is_moved or time > 0.0):
            yield (
                f'the motion of the base is {distance:.3g} m and {turn:.3g} rad from the base at '
                f'{time:.6g} s: the base jumps. Prescribe a motion that goes on from there'
            )
        simulated = self._simulated
        energy_before = simulated.energies_between_steps().sum()
        self.motion, self._reported = checked, set()
        self._place(sample)
        simulated.work.step[:] = 0.0
        simulated.state.flow[0] += simulated.energies_between_steps().sum() - energy_before

    def samples(self, steps: int, time: float) -> np.ndarray:
        """Samples (steps + 1, 19) of the motion, a time step apart, from the present one on."""
        assert self.motion is not None and self._sample is not None
        h = self._simulated.time_step
        ends = self.motion.samples(time + h * np.arange(1, steps + 1))
        return np.concatenate([self._sample[None], ends])

    def take_steps(self, samples: np.ndarray) -> Iterator[tuple[int, int]]:
        """Return an iterator that takes steps from each sample to the next when it is read."""
        simulated = self._simulated
        arguments = (
            simulated.arrays,
            simulated.loads,
            simulated.step_settings,
            simulated.state,
            len(samples) - 1,
            simulated.watch,
            simulated.work,
            samples,
        )
        if self._advance is None:
            self._advance = bind(advance_moved, *arguments)
        return starmap(self._advance, (arguments,))

    def end_steps(self, samples: np.ndarray, completed: int, time: float) -> Iterator[str]:
        """Note that the base has arrived at a sample at a time [s]; yield lines to report."""
        self._sample = samples[completed].copy()
        simulated, h = self._simulated, self._simulated.time_step
        if self._place_queries is None:
            self._place_queries = bind(place_base, self._sample, simulated.query_work)
        self._place_queries(self._sample, simulated.query_work)
        assert self.motion is not None
        if time > self.motion.end and 'end' not in self._reported:
            self._reported.add('end')
            yield (
                f'the motion of the base ends at {self.motion.end:.6g} s, while the base moves: '
                'it stands still from there. Let it end at rest, or give more samples'
            )
        if 'jump' not in self._reported:
            k, error = first_jump(samples[: completed + 1], h, JUMP_TOLERANCE)
            if k >= 0:
                self._reported.add('jump')
                yield (
                    f'the motion of the base jumps by {error:.3g} m or rad before '
                    f'{time - (completed - 1 - k) * h:.6g} s. Prescribe a motion without jumps, '
                    'whose twist is its rate'
                )

    def _place(self, sample):
        self._sample, simulated = sample, self._simulated
        simulated.last_call = object(), *simulated.last_call[1:]  # steps follow the motion
        for work in (simulated.work, simulated.query_work):
            place_base(sample, work)

    def _refuse(self):
        """Raise SettingError if the base of this arm cannot be moved."""
        simulated = self._simulated
        name, settings = simulated.arm.description.name, simulated.settings
        if simulated.arm.has_free_base:
            raise SettingError(
                f'the base of "{name}" is free, so that its motion cannot be prescribed: push it, '
                'or make its joint fixed'
            )
        if settings.scheme != 'implicit_midpoint' or settings.formulation != 'recursion':
            raise SettingError(
                f'the moved base of "{name}" needs the scheme implicit_midpoint and the '
                'formulation recursion: use these settings'
            )
