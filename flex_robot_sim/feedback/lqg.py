"""
LQG controller, sample by sample: joints follow a reference, link vibration is damped.

A reference model of the arm follows the reference with separate gains. Its state is the target
for the time at which a present effort acts (C25). The Kalman filter, predicted with the pending
efforts, estimates the state of the arm at that time. The regulator removes the difference; the
slow efforts compensate unknown disturbances. Filter and model use the applied efforts, limits
included. While the law is off, its filter keeps running. At the start the model begins on the
reference, and the difference of the efforts fades out.

With gauges, the law also measures the frequency of the links (C31). `warning` reports a frequency
for which the gains were not designed, such as that of an unknown payload.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.feedback.frequency_monitor import FrequencyMonitor
from flex_robot_sim.feedback.gain_table import GainTable
from flex_robot_sim.feedback.lqg_design import LqgDesign
from flex_robot_sim.feedback.lqg_gains import LqgGains
from flex_robot_sim.feedback.measurement import Measurement, checked_curvature, checked_field
from flex_robot_sim.feedback.payload_estimate import frequency_warning, payload_of, redesigned
from flex_robot_sim.model.arguments import checked, expect_arm, expect_kind
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.joint_motion import Motion
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.motion.reference_function import ReferenceFunction
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import Serializable

FREQUENCY_MARGIN = 0.02  # beyond the range of the design, over the frequency of the model
STD_MARGIN = 3.0  # the same, over the standard deviation of the estimate
MAX_RELATIVE_STD = 0.1  # standard deviation of a known frequency, over it
BLOCKS_OUTSIDE = 10  # consecutive estimates outside the range before the warning
MAX_MEASUREMENT = 1e9  # larger measurements are refused         [rad, m, 1/m]

log = logging.getLogger(__name__)


class Lqg(Serializable):
    """
    Linear quadratic Gaussian controller (LQG); `effort` is its latest output, (joints,) [N m, N].

    Example::

        arm = frs.load('single_link')
        design = frs.feedback.design_lqg(arm, [0.0], period=5e-3, delay=5e-3)
        law = frs.feedback.Lqg(arm, design, reference=[0.1])
        measured = frs.feedback.Measurement(0.0, position=[0.0], curvature=[0.0, 0.0])
        effort = law.step(measured)                 # once in each design.loop.period
    """

    adds_to_servo = False

    def __init__(
        self,
        arm: ArmModel,
        design: LqgDesign,
        *,
        limits: ArrayLike | None = None,
        reference: ArrayLike | Motion | Callable[[float], ArrayLike] | None = None,
    ) -> None:
        """
        Prepare the law, switched off.

        :param limits: largest efforts, (joints,) [N m, N]; default: those of the motors.
        :param reference: for `step`: a pose (joints,) [rad, m], a Motion, or a function of time
            that returns positions, velocities and accelerations (3, joints); default: the first
            pose of the design.
        """
        expect_arm(arm)
        expect_kind('design', design, LqgDesign, 'an LqgDesign of design_lqg(arm, poses)')
        if design.warning:
            raise SettingError(design.warning)
        names = arm.joint_names
        if len(design.axes) != len(names):
            raise SettingError(f'this design is not for {arm.description.name}')
        limits = effort_limits(arm) if limits is None else checked('limits', limits, names)
        if not (limits > 0.0).all():
            raise SettingError('the limits of lqg must be > 0, one per joint')
        self.design, self.limits, self._lower_limits = design, limits, -limits
        entries = {
            index: {item.name: getattr(gains, item.name) for item in fields(LqgGains)}
            for index, gains in design.gains.items()
        }
        for index, entry in entries.items():  # offset of encoders from drives
            pose = np.array([axis[k] for axis, k in zip(design.axes, index)])
            entry['encoders_rest'] = entry['encoders_rest'].copy()
            entry['encoders_rest'][: pose.size] -= pose
        self._table = GainTable(design.axes, entries)
        v = self._table.values
        (s, m), y = v['B'].shape, len(v['C'])
        self._m, self._p = m, s // 2
        self.effort, self.saturated = np.zeros((2, m))
        self.is_on, self.refused = False, 0
        self._is_uninitialised = True  # no sample yet
        self._pending = np.zeros((design.delay_periods + 1, m))  # `_oldest` is overwritten
        self._oldest = 0
        self._state, self._predicted, self._model = np.zeros((3, s))
        self._centre, self._error, self._state_change = np.zeros((3, s))
        (
            self._slow_effort,
            self._transition_effort,
            self._model_effort,
            self._unlimited,
            self._term,
        ) = np.zeros((5, m))
        self._y, self._predicted_output = np.zeros((2, y))
        self._correction = np.zeros(s + m)
        self._pose = np.array([axis[0] for axis in design.axes])
        self._fade_factor = math.exp(-design.loop.period * 2 * math.pi * design.bandwidth)
        self._reference = np.zeros((3, m))
        self._is_starting = False
        self._monitor = self._monitor_of(entries, design, m)
        self._curvature_change = np.zeros(y - m)
        self._frequency_range = np.sqrt(design.stiffness_range)
        self._outside = 0  # consecutive estimates outside the range
        self.warning = ''  # about a frequency outside the range of the design
        self._arm = arm
        self.reference = ReferenceFunction(self._pose if reference is None else reference, names)

    @property
    def estimate(self) -> np.ndarray:
        """Filtered state: drives and modes, then rates, (s,)."""
        return self._state.copy()

    @property
    def frequency(self) -> float:
        """Measured frequency of the first mode with drives at rest; nan: not known yet [Hz]."""
        return self._monitor.frequency if self._is_measured else math.nan

    @property
    def _is_measured(self):
        monitor = self._monitor
        return monitor is not None and monitor.std < MAX_RELATIVE_STD * monitor.frequency

    def payload(self, link: str) -> float:
        """
        Additional mass at the origin of a link that explains the measured frequency [kg].

        It takes milliseconds, so call it outside of the control loop.
        """
        return payload_of(self._arm, self._pose, self.frequency, link)

    def redesigned(self, link: str) -> Lqg:
        """
        Return an Lqg with gains for the `payload` of a link, switched off.

        The design takes seconds or, over many poses, minutes: call it outside of the control loop.
        """
        arm, design = redesigned(self._arm, self.design, link, self.payload(link))
        return Lqg(arm, design, limits=self.limits, reference=self.reference)

    @property
    def disturbance(self) -> np.ndarray:
        """Estimated slow disturbance efforts (joints,) [N m, N]."""
        return self._slow_effort.copy()

    def start(
        self,
        position: np.ndarray,
        velocity: np.ndarray | None = None,
        curvature: np.ndarray | None = None,
        effort: ArrayLike | None = None,
    ) -> None:
        """Switch on at a sample, with the efforts (joints,) applied until now."""
        if self.is_on:
            return
        if self._is_uninitialised:
            self._begin(np.asarray(position, float), effort)
        self._transition_effort[:] = self.effort if effort is None else effort
        self.is_on = self._is_starting = True

    def stop(self) -> None:
        """Switch off: from now on call `watch`."""
        self.is_on = self._is_starting = False

    def step(self, measurement: Measurement) -> np.ndarray:
        """
        Efforts for a Measurement, (joints,) [N m, N]; the first call switches it on.

        It uses time, positions and, if the design has flex sensors, curvatures.
        """
        position = checked_field(measurement, 'position', self.reference.names)
        count = self._y.size - self._m
        curvature = checked_curvature(measurement, count) if count else self._y[:0]
        self.start(position, effort=None if self._is_uninitialised else self.effort)
        return self.update(position, None, curvature, self.reference(measurement.time)).copy()

    def reset(self) -> None:
        """Switch off and discard the state, after another controller has moved the arm."""
        self.stop()
        self._is_uninitialised = True
        self._transition_effort[:] = 0.0

    def watch(
        self, position: np.ndarray, velocity: np.ndarray, curvature: np.ndarray, effort: ArrayLike
    ) -> None:
        """Update the filter while off, with the applied efforts (joints,) of the last period."""
        if self._is_uninitialised:
            self._begin(np.asarray(position, float), effort)
        self._pose[:] = position
        self._update_filter(position, curvature)
        self.effort[:] = effort
        self._store_effort()

    def update(
        self,
        position: np.ndarray,
        velocity: np.ndarray | None,
        curvature: np.ndarray,
        reference: np.ndarray,
    ) -> np.ndarray:
        """
        Efforts at a sample, (joints,) [N m, N]; overwritten by the next call.

        :param position: of the joints, as measured in the design, (joints,) [rad, m].
        :param velocity: not used; the filter estimates it.
        :param curvature: of all flex sensors, (k,) [1/m]; not used by a design with encoders only.
        :param reference: positions, velocities and accelerations of the joints (3, joints).
        """
        if not self.is_on:
            raise SettingError('lqg is off: start it first')
        self._reference[:] = reference
        self._pose[:] = self._reference[0]
        self._update_filter(position, curvature)
        self._predict()
        if self._is_starting:  # start the model on the reference
            m, p = self._m, self._p
            self._model[:] = 0.0
            self._model[:m], self._model[p : p + m] = self._reference[:2]
        self._update_model_effort()
        v, unlimited = self._table.values, self._unlimited
        np.subtract(self._predicted, self._model, out=self._error)
        np.dot(v['regulator'], self._error, out=self._term)
        np.subtract(self._model_effort, self._term, out=unlimited)
        unlimited += v['effort']
        unlimited -= self._slow_effort
        if self._is_starting:  # bumpless transfer from the previous efforts
            self._transition_effort -= unlimited
            self._is_starting = False
        unlimited += self._transition_effort
        self._transition_effort *= self._fade_factor
        np.clip(unlimited, self._lower_limits, self.limits, out=self.effort)
        if (self.effort != unlimited).any():
            self.saturated += self.effort != unlimited
        self._store_effort()
        self._model_effort += v['effort']
        self._advance(self._model, self._model_effort)
        return self.effort

    @staticmethod
    def _monitor_of(entries, design, joints):
        """FrequencyMonitor of the first mode, or None without gauges or motor encoders."""
        lowest = min(float(entry['frequencies'][0]) for entry in entries.values())
        has_gauges = next(iter(entries.values()))['strain_weights'].size > 0
        if not has_gauges or design.feedback != 'motor' or not 0.0 < lowest < np.inf:
            return None
        return FrequencyMonitor(lowest, joints, design.loop.period)

    def _update_frequency(self, position, curvature):
        """Update the frequency estimate with a sample, and compare it with the model."""
        v, monitor = self._table.values, self._monitor
        np.subtract(curvature, v['encoders_rest'][self._m :], out=self._curvature_change)
        if not monitor.update(float(v['strain_weights'] @ self._curvature_change), position):
            return
        first = v['frequencies'][0]
        low, high = self._frequency_range * v['frequencies']
        margin = FREQUENCY_MARGIN * first + STD_MARGIN * monitor.std
        is_outside = not low - margin <= monitor.frequency <= high + margin
        self._outside = self._outside + 1 if is_outside and self._is_measured else 0
        if self._outside == BLOCKS_OUTSIDE and not self.warning:
            self.warning = frequency_warning(monitor.frequency, first, low, high)
            log.warning('%s', self.warning)

    def _begin(self, position, effort):
        """Initialise the filter at rest at the first sample."""
        self._pose[:] = position
        self._table.update(self._pose)
        for state in (self._state, self._predicted, self._model):
            state[:] = 0.0
            state[: self._m] = position
        self._slow_effort[:] = 0.0
        held = self._table.values['effort'] if effort is None else np.asarray(effort, float)
        self._pending[:] = held
        self.effort[:] = held
        self._is_uninitialised = False

    def _update_filter(self, position, curvature):
        """Update the filter with a sample."""
        self._table.update(self._pose)
        self._centre[: self._m] = self._pose
        v, m = self._table.values, self._m
        self._advance(self._state, self._pending[self._oldest] + self._slow_effort)
        y = self._y
        y[:m] = position
        if y.size > m:
            y[m:] = curvature
        if not math.hypot(*y) < MAX_MEASUREMENT:  # false for nan, too
            self.refused += 1  # the filter relies on the model
            if self._monitor is not None:
                self._monitor.reset()
            return
        if self._monitor is not None:
            self._update_frequency(position, curvature)
        np.subtract(self._state, self._centre, out=self._error)
        np.dot(v['C'], self._error, out=self._predicted_output)
        y[:m] -= self._pose
        y -= v['encoders_rest']
        y -= self._predicted_output
        np.dot(v['filter'], y, out=self._correction)
        self._state += self._correction[:-m]
        self._slow_effort += self._correction[-m:]

    def _predict(self):
        """Predict the state for the time at which a present effort acts."""
        self._predicted[:] = self._state
        count = len(self._pending)
        for k in range(1, count):
            self._advance(
                self._predicted, self._pending[(self._oldest + k) % count] + self._slow_effort
            )

    def _update_model_effort(self):
        """Update the efforts (joints,) that move the reference model."""
        v, m, error = self._table.values, self._m, self._error
        error[:] = self._model
        error[:m] -= self._reference[0]
        error[self._p : self._p + m] -= self._reference[1]
        np.dot(v['tracking'], error, out=self._term)
        np.dot(v['inertia'], self._reference[2], out=self._model_effort)
        self._model_effort -= self._term
        # the model has the effort limits of the arm
        self._model_effort += v['effort']
        np.clip(self._model_effort, self._lower_limits, self.limits, out=self._model_effort)
        self._model_effort -= v['effort']

    def _advance(self, state, effort):
        """Advance a state (s,) by a period with efforts (joints,)."""
        v = self._table.values
        np.subtract(state, self._centre, out=self._error)
        np.dot(v['A'], self._error, out=state)
        state += self._centre
        np.subtract(effort, v['effort'], out=self._term)
        np.dot(v['B'], self._term, out=self._state_change)
        state += self._state_change

    def _store_effort(self):
        """Put the newest effort into the ring buffer."""
        self._pending[self._oldest] = self.effort
        self._oldest = (self._oldest + 1) % len(self._pending)
