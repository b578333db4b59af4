"""
Online shaper: shapes set points one by one, with delays that may follow the pose.

A step is one compiled call without allocation. The shaped set points stay in the range of the
received ones, and end exactly at the last one. They have no step where those have none. With
velocity limits, they keep these limits. A PoseDependentShaper does the same to a motion that is
known ahead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.analysis.pose_table import PoseTable
from flex_robot_sim.model.arguments import whole
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.shaping import online_shaper_kernel as kernel
from flex_robot_sim.shaping.impulses import NONE, Shaper
from flex_robot_sim.shaping.poles import check_mode, check_period
from flex_robot_sim.shaping.sampled_positions import checked_samples
from flex_robot_sim.shaping.shaper_stages import ShaperStage
from flex_robot_sim.shaping.velocity_limiter import LimiterState, limiter_for
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import Serializable, writable

GRID = 5e-3  # time between two samples of a known motion                    [s]
MAX_SET_POINT = 1e9  # larger set points are refused                           [rad, m]
SPARE_SAMPLES = 8  # of the ring buffer, beyond the longest delay
MAX_SAMPLES = 2**20  # length of the ring buffer


class OnlineShaper(Serializable):
    """
    Shaper for set points of n joints, one sample after another.

    Its initial history is constant, at the first sample or at the position of `reset`. To take
    control of an arm, reset it to the position of the arm.

    Example::

        shaper = frs.shaping.OnlineShaper(joints=2, period=1e-3, shaper=frs.shaping.zvd(2.7))
        shaper.reset([0.0, 0.0])
        for target in np.linspace([0.0, 0.0], [0.5, -0.8], 100):
            shaped = shaper.step(target)            # also shaper.velocity
    """

    def __init__(
        self,
        joints: int,
        period: float,
        *,
        shaper: Shaper = NONE,
        table: ModeTable | None = None,
        stages: Iterable[ShaperStage] = (),
        velocity_limits: ArrayLike | None = None,
    ) -> None:
        """
        Allocate the ring buffer and the tables.

        :param joints: number of joints; period: of the samples [s].
        :param shaper: Shaper with constant delays, before the stages.
        :param stages: [ShaperStage] of `shaper_stages.stages_of`, and their ModeTable.
        :param velocity_limits: (joints,) [rad/s, m/s]; where a joint would exceed its limit, all
            joints are delayed. Default: no limits.
        """
        check_period(period)
        joints = whole('joints', joints)
        if table is not None and max(table.joints, default=-1) >= joints:
            raise SettingError(
                f'joints = {joints} of a shaper are too few for its table, which '
                f'looks at joint {max(table.joints) + 1}: give the number of '
                'joints of the arm that the table is of'
            )
        self.period, self.joints = period, joints
        # fastest stage first: the following ones are slow in comparison
        stages = sorted(stages, key=lambda stage: -stage.frequencies.mean())
        delays = [
            shaper.duration,
            *(stage.cycles[-1] / stage.frequencies.min() for stage in stages),
        ]
        self.duration = sum(delays)  # at most [s]
        count = math.ceil(max(delays) / period) + SPARE_SAMPLES
        if count > MAX_SAMPLES:
            raise SettingError(
                f'a shaper of {count} samples is too long: send set points less '
                'often, or leave slow modes out'
            )
        for stage in stages:
            check_mode(float(stage.frequencies.max()), 0.0, period)
        delays, weights = shaper.fir(period)
        self.refused = 0  # count of invalid samples
        self.position, self.velocity = np.zeros((2, joints))  # shaped [rad, m, per s]
        s, max_impulses = len(stages), max([1, *(stage.cycles.size for stage in stages)])
        cycles, amplitude = np.zeros((2, s, max_impulses))
        for i, stage in enumerate(stages):
            cycles[i, : stage.cycles.size] = stage.cycles
            amplitude[i, : stage.cycles.size] = stage.amplitudes
        self._limiter = limiter_for(velocity_limits, joints, period, self.duration)
        if self._limiter is not None:
            self.position = self._limiter.position
        self._arrays = kernel.ShaperArrays(
            np.array([float(period)]),
            np.asarray(delays, int),
            np.asarray(weights, float),
            cycles,
            amplitude,
        )
        rows = np.zeros((1, 0))
        if stages:
            rows = np.column_stack([stage.frequencies for stage in stages])
        self._frequencies = PoseTable.of((), (), rows[0])
        if table is not None and stages:
            self._frequencies = table.pose_table(rows)
        self._state = kernel.ShaperState(
            np.full(1, kernel.EMPTY),
            np.zeros((count, joints)),
            np.zeros((s, count, joints)),
            np.zeros((s, count)),
            np.zeros((s, count)),
            np.zeros((s, max_impulses), int),
            self.position if self._limiter is None else np.zeros(joints),
            np.zeros((3, joints)),
            np.zeros(s),
        )
        self._sample, self._previous = np.zeros((2, joints))
        # compile or load now, not in the first step of a real-time loop
        kernel.shaper_tick(self._arrays, self._frequencies, self._state, self._sample)
        self._state.ticks[0] = kernel.EMPTY

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        self._arrays = kernel.ShaperArrays(*map(writable, self._arrays))
        self._frequencies = PoseTable(*map(writable, self._frequencies))
        self._state = kernel.ShaperState(*map(writable, self._state))
        # one array, written by each step
        limiter = self._limiter
        self.position = self._state.output if limiter is None else limiter.position

    @property
    def frequencies(self) -> np.ndarray:
        """Present damped frequencies of the stages, (stages,) [Hz]."""
        return self._state.now.copy()

    @property
    def tables(self) -> tuple[kernel.ShaperArrays, PoseTable, LimiterState | None]:
        """Constants of all delays, frequencies of the stages by pose [Hz], velocity limits."""
        limiter = None if self._limiter is None else self._limiter.state
        return self._arrays, self._frequencies, limiter

    @property
    def samples(self) -> int:
        """Length of its ring buffers."""
        return len(self._state.first)

    @property
    def is_settled(self) -> bool:
        """Whether the shaped set points have reached the newest one."""
        return bool((self.position == self._sample).all())

    def reset(self, position: np.ndarray) -> None:
        """Reset to a constant history at a position (joints,) [rad, m]."""
        position = np.asarray(position, float)
        if position.shape != (self.joints,) or not math.hypot(*position) < MAX_SET_POINT:
            raise SettingError(f'a shaper starts at {self.joints} finite positions, one per joint')
        self._state.ticks[0] = kernel.EMPTY
        kernel.shaper_tick(self._arrays, self._frequencies, self._state, position)
        if self._limiter is not None:
            self._limiter.reset(position)
        self._sample[:], self.velocity[:] = position, 0.0

    def step(self, target: Sequence[float] | np.ndarray) -> np.ndarray:
        """
        Shape one set point, (joints,) [rad, m]; the array returned is overwritten by the next.

        A set point that is not finite is counted and replaced by the previous one.
        """
        state = self._state
        try:
            count = len(target)
        except TypeError as error:
            raise SettingError(
                f'a set point of {target!r} goes to a shaper of {self.joints}: '
                'give a sequence, one number per joint'
            ) from error
        if count != self.joints:
            raise SettingError(
                f'a set point of {count} numbers goes to a shaper of '
                f'{self.joints}: give one per joint'
            )
        if math.hypot(*target) < MAX_SET_POINT:
            self._sample[:] = target
        else:
            self.refused += 1
            if state.ticks[0] == kernel.EMPTY:
                raise SettingError(
                    'the first set point of a shaper must be finite: reset it to where the arm is'
                )
        is_first = state.ticks[0] == kernel.EMPTY
        self._previous[:] = self.position
        kernel.shaper_tick(self._arrays, self._frequencies, state, self._sample)
        if self._limiter is not None:
            if is_first:
                self._limiter.reset(state.output)
            else:
                self._limiter.step(state.output)
        if not is_first:
            np.subtract(self.position, self._previous, out=self.velocity)
            self.velocity /= self.period
        return self.position

    def run(self, samples: ArrayLike) -> np.ndarray:
        """Shape set points (k, joints) [rad, m] until they arrive at the last one: (m, joints)."""
        samples = checked_samples(samples)
        count = len(samples) + math.ceil(self.duration / self.period)
        count += SPARE_SAMPLES * (1 + len(self._arrays.cycles))
        sizes = np.linalg.norm(samples, axis=1)
        if (
            self._limiter is None
            and samples.shape[1] == self.joints
            and sizes.max() < MAX_SET_POINT
        ):
            return self._run_compiled(samples, count)
        out = [self.step(sample).copy() for sample in samples]
        while not self.is_settled and (len(out) < count or self._is_delayed):
            out.append(self.step(samples[-1]).copy())
            if len(out) > count + MAX_SAMPLES:
                raise SettingError(
                    f'within the velocity limits, the set points take {MAX_SAMPLES} samples more: '
                    'give limits that suit them'
                )
        return np.array(out)

    def _run_compiled(self, samples, count):
        """Do the same as `run` in one call, for valid samples and without velocity limits."""
        shaped = np.empty((count, self.joints))
        before = None if self._state.ticks[0] == kernel.EMPTY else self.position.copy()
        rows = kernel.shape_samples(
            self._arrays, self._frequencies, self._state, np.ascontiguousarray(samples), shaped
        )
        self._sample[:] = samples[-1]
        if rows > 1:
            before = shaped[rows - 2]
        if before is not None:
            self._previous[:] = before
            self.velocity[:] = (self.position - before) / self.period
        return shaped[:rows]

    @property
    def _is_delayed(self):
        """Whether velocity limits delay the output."""
        return self._limiter is not None and self._limiter.delay > 0.0


class PoseDependentShaper:
    """
    Stored state of an OnlineShaper at a time of a motion that is known ahead.

    The motion is sampled every GRID seconds. Another motion that differs only from then on
    continues from exactly the same state.
    """

    def __init__(self, online: OnlineShaper, position: np.ndarray, time: float) -> None:
        """Begin with a constant history at a position (joints,) until a time [s]."""
        self._online, self.time = online, time
        self._online.reset(position)

    @property
    def duration(self) -> float:
        """Time that the shaper adds to a motion, at most [s]."""
        return self._online.duration

    def advanced(self, motion: Motion, time: float) -> PoseDependentShaper:
        """Return a shaper advanced to the last sample at or before a time [s]."""
        other = deepcopy(self)
        while other.time + GRID <= time:
            other.time += GRID
            other._online.step(motion.sample(other.time)[0])
        return other

    def run(self, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times (k,), positions and velocities (k, joints) of a Motion from the next sample on."""
        online, time = deepcopy(self._online), self.time
        times, rows = [time], [online.position.copy()]
        while len(rows) < 4 or time < motion.end or not online.is_settled:
            time += GRID
            times.append(time)
            rows.append(online.step(motion.sample(time)[0]).copy())
        rows = np.array(rows)
        speeds = np.gradient(rows, GRID, axis=0)
        speeds[-1] = 0.0
        return np.array(times)[1:], rows[1:], speeds[1:]
