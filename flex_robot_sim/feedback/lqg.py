"""
LQG at every sample of a loop: joints led along a reference, links without ringing.

A model of the arm goes ahead: it is led along the reference by gains of its own, and is where the
arm is to be when an effort of now arrives (C25). The Kalman filter, led ahead by the efforts under
way, says where the arm will be then. The regulator takes away the difference, and the slow part of
the efforts what pulls at the arm unknown to the model. Filter and model know the efforts that
were applied, limits included. While the law is off, its filter watches; where it takes over, the
model begins on the reference, and what the efforts differ by fades.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.feedback.gain_table import GainTable
from flex_robot_sim.feedback.lqg_design import LqgDesign
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.serialization import Serializable

LARGEST = 1e9           # measurement that is still believed                  [rad, m, 1/m]


class Lqg(Serializable):
    """Efforts of an LqgDesign; `effort` is the newest, (joints,) [N m, N]."""

    adds_to_servo = False

    def __init__(self, arm: ArmModel, design: LqgDesign, limits: ArrayLike | None = None) -> None:
        """
        Get ready, switched off.

        :param limits: of the efforts, (joints,) [N m, N]; default: those of the motors.
        """
        if design.complaint:
            raise SettingError(design.complaint)
        names = arm.joint_names
        if len(design.axes) != len(names):
            raise SettingError(f'this design is not for {arm.description.name}')
        limits = effort_limits(arm) if limits is None else checked('limits', limits, names)
        if not (limits > 0.0).all():
            raise SettingError('the limits of lqg must be > 0, one per joint')
        self.design, self.limits, self._lowest = design, limits, -limits
        entries = {index: {name: getattr(gains, name) for name in (
            'A', 'B', 'C', 'regulator', 'leading', 'filter', 'inertia', 'seen_rest', 'effort')}
            for index, gains in design.gains.items()}
        for index, entry in entries.items():    # how far encoders are from the drives at rest
            pose = np.array([axis[k] for axis, k in zip(design.axes, index)])
            entry['seen_rest'] = entry['seen_rest'].copy()
            entry['seen_rest'][:pose.size] -= pose
        self._table = GainTable(design.axes, entries)
        v = self._table.values
        (s, m), y = v['B'].shape, len(v['C'])
        self._m, self._p = m, s // 2
        self.effort, self.saturated = np.zeros((2, m))
        self.is_on, self.refused = False, 0
        self._is_new = True                     # nothing was seen yet
        self._under_way = np.zeros((design.late + 1, m))        # a ring; `_oldest` is overwritten
        self._oldest = 0
        self._state, self._ahead, self._model = np.zeros((3, s))
        self._centre, self._error, self._step = np.zeros((3, s))
        self._slow, self._bump, self._given, self._wanted, self._part = np.zeros((5, m))
        self._y, self._miss = np.zeros((2, y))
        self._correction = np.zeros(s + m)
        self._pose = np.array([axis[0] for axis in design.axes])
        self._fade = math.exp(-design.loop.period * 2 * math.pi * design.bandwidth)
        self._reference = np.zeros((3, m))
        self._starts = False

    @property
    def estimate(self) -> np.ndarray:
        """What the filter takes for the state: drives and modes, then rates, (s,)."""
        return self._state.copy()

    @property
    def disturbance(self) -> np.ndarray:
        """Efforts (joints,) that the filter finds beside those that it knows [N m, N]."""
        return self._slow.copy()

    def start(self, position: np.ndarray, velocity: np.ndarray | None = None,
              curvature: np.ndarray | None = None, effort: ArrayLike | None = None) -> None:
        """Switch on at a sample, with the efforts (joints,) that the arm had until now."""
        if self.is_on:
            return
        if self._is_new:
            self._begin(np.asarray(position, float), effort)
        if effort is not None:
            self._bump[:] = effort
        else:
            self._bump[:] = self.effort
        self.is_on = self._starts = True

    def stop(self) -> None:
        """Switch off: from now on only `watch`."""
        self.is_on = self._starts = False

    def reset(self) -> None:
        """Switch off, and forget what was seen: somebody else has led the arm."""
        self.stop()
        self._is_new = True
        self._bump[:] = 0.0

    def watch(self, position: np.ndarray, velocity: np.ndarray, curvature: np.ndarray,
              effort: ArrayLike) -> None:
        """See the arm while others drive it, with the efforts (joints,) of the last period."""
        if self._is_new:
            self._begin(np.asarray(position, float), effort)
        self._pose[:] = position
        self._follow(position, curvature)
        self.effort[:] = effort
        self._push()

    def update(self, position: np.ndarray, velocity: np.ndarray, curvature: np.ndarray,
               reference: np.ndarray) -> np.ndarray:
        """
        Efforts at a sample, (joints,) [N m, N]; overwritten by the next call.

        :param position: of the joints, as the design sees them, (joints,) [rad, m].
        :param velocity: is not needed: the filter has a better one.
        :param curvature: of all flex sensors, (k,) [1/m]; not read by a design of encoders alone.
        :param reference: positions, velocities and accelerations of the joints (3, joints).
        """
        if not self.is_on:
            raise SettingError('lqg is off: start it first')
        self._reference[:] = reference
        self._pose[:] = self._reference[0]
        self._follow(position, curvature)
        self._lead_ahead()
        if self._starts:                        # the regulator leads the arm to it, gently
            m, p = self._m, self._p
            self._model[:] = 0.0
            self._model[:m], self._model[p:p + m] = self._reference[:2]
        self._lead_model()
        v, wanted = self._table.values, self._wanted
        np.subtract(self._ahead, self._model, out=self._error)
        np.dot(v['regulator'], self._error, out=self._part)
        np.subtract(self._given, self._part, out=wanted)
        wanted += v['effort']
        wanted -= self._slow
        if self._starts:                        # what others gave goes over into what we give
            self._bump -= wanted
            self._starts = False
        wanted += self._bump
        self._bump *= self._fade
        np.clip(wanted, self._lowest, self.limits, out=self.effort)
        if (self.effort != wanted).any():
            self.saturated += self.effort != wanted
        self._push()
        self._given += v['effort']
        self._advance(self._model, self._given)
        return self.effort

    def _begin(self, position, effort):
        """Believe that the arm stands where it was first seen."""
        self._pose[:] = position
        self._table.update(self._pose)
        for state in (self._state, self._ahead, self._model):
            state[:] = 0.0
            state[:self._m] = position
        self._slow[:] = 0.0
        held = self._table.values['effort'] if effort is None else np.asarray(effort, float)
        self._under_way[:] = held
        self.effort[:] = held
        self._is_new = False

    def _follow(self, position, curvature):
        """Renew the filter by what is seen."""
        self._table.update(self._pose)
        self._centre[:self._m] = self._pose
        v, m = self._table.values, self._m
        self._advance(self._state, self._under_way[self._oldest] + self._slow)
        y = self._y
        y[:m] = position
        if y.size > m:
            y[m:] = curvature
        if not math.hypot(*y) < LARGEST:                    # nan is not less either
            self.refused += 1                               # and the filter goes by the model
            return
        np.subtract(self._state, self._centre, out=self._error)
        np.dot(v['C'], self._error, out=self._miss)
        y[:m] -= self._pose
        y -= v['seen_rest']
        y -= self._miss
        np.dot(v['filter'], y, out=self._correction)
        self._state += self._correction[:-m]
        self._slow += self._correction[-m:]

    def _lead_ahead(self):
        """Where the arm will be when an effort of now arrives."""
        self._ahead[:] = self._state
        count = len(self._under_way)
        for k in range(1, count):
            self._advance(self._ahead, self._under_way[(self._oldest + k) % count] + self._slow)

    def _lead_model(self):
        """Efforts `_given` (joints,) that lead the model along, and its next state."""
        v, m, error = self._table.values, self._m, self._error
        error[:] = self._model
        error[:m] -= self._reference[0]
        error[self._p:self._p + m] -= self._reference[1]
        np.dot(v['leading'], error, out=self._part)
        np.dot(v['inertia'], self._reference[2], out=self._given)
        self._given -= self._part
        # the model has the motors of the arm
        self._given += v['effort']
        np.clip(self._given, self._lowest, self.limits, out=self._given)
        self._given -= v['effort']

    def _advance(self, state, effort):
        """Lead a state (s,) on by a period with efforts (joints,)."""
        v = self._table.values
        np.subtract(state, self._centre, out=self._error)
        np.dot(v['A'], self._error, out=state)
        state += self._centre
        np.subtract(effort, v['effort'], out=self._part)
        np.dot(v['B'], self._part, out=self._step)
        state += self._step

    def _push(self):
        """Put the newest effort into the ring."""
        self._under_way[self._oldest] = self.effort
        self._oldest = (self._oldest + 1) % len(self._under_way)
