"""
Positions and velocities that the encoders of a simulated arm measure.

A joint with an elastic gear has one encoder on its link side and one on its motor side. The
velocity is the difference of two measured positions over the time between them, as in a driver.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arguments import expect_kind
from flex_robot_sim.simulation.sensor_errors import IndexedNoise, checked_seed, in_steps
from flex_robot_sim.simulation.simulation import Simulation

MIN_PERIOD_RATIO = 0.5  # shortest time between two samples, in time steps


class _State(NamedTuple):
    """Exact motion of the measured coordinates (m,)."""

    time: float
    position: np.ndarray
    velocity: np.ndarray


class Encoders:
    """
    The encoders of a simulated arm, with the errors that their `<encoder>` elements state.

    Joints without `<encoder>` are measured exactly. The noise of a sample depends on the seed and
    the time step only.
    """

    def __init__(self, simulation: Simulation, *, seed: int = 0) -> None:
        """
        Prepare the encoders of the arm of a simulation.

        :param seed: of their noise, >= 0.
        """
        expect_kind('simulation', simulation, Simulation, 'a Simulation(arm)')
        arm = simulation.arm
        joints = [joint for joint in arm.description.joints if joint.moves]
        rows = [
            (coordinate, joint.encoder)
            for k, joint in enumerate(joints)
            if joint.encoder is not None
            for coordinate in dict.fromkeys((k, int(arm.motor_q[k])))
        ]
        self._coordinates = np.array([coordinate for coordinate, _ in rows], int)
        self._resolution, self._deviation, self._delay = (
            np.array([getattr(encoder, name) for _, encoder in rows], float)
            for name in ('resolution', 'noise', 'delay')
        )
        self._links, self._motors = arm.joint_q, arm.motor_q
        self._step = float(simulation.settings.time_step)
        self._noise = IndexedNoise(checked_seed(seed), 'encoders', len(rows))
        self._history: deque[_State] = deque()
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None  # time, position, velocity

    @property
    def is_exact(self) -> bool:
        """Whether no joint has an `<encoder>`."""
        return not self._coordinates.size

    @property
    def has_delay(self) -> bool:
        """Whether an encoder has a delay, so that `observe` is useful between samples."""
        return bool(self._delay.any())

    def forget(self) -> None:
        """Forget the past, after the state was set anew."""
        self._history.clear()
        self._last = None

    def observe(self, simulation: Simulation) -> None:
        """Remember the present state, from which later samples interpolate a delay."""
        history, now = self._history, simulation.time
        if history and now < history[-1].time:
            self.forget()  # an earlier state was restored
        state = _State(now, simulation.q[self._coordinates], simulation.v[self._coordinates])
        if history and now - history[-1].time < MIN_PERIOD_RATIO * self._step:
            history[-1] = state
        else:
            history.append(state)
        oldest = now - self._delay.max(initial=0.0)
        while len(history) > 2 and history[1].time <= oldest:
            history.popleft()

    def sample(self, simulation: Simulation) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (nq,) and rates (nv,), those with an encoder as measured."""
        q, v = simulation.q, simulation.v
        if self.is_exact:
            return q, v
        self.observe(simulation)
        now, rows = simulation.time, self._coordinates
        noise = self._deviation * self._noise.at(round(now / self._step))
        position = in_steps(self._delayed(now) + noise, self._resolution)
        if self._last is None:
            self._last = now, position, v[rows]
        elif now - self._last[0] > MIN_PERIOD_RATIO * self._step:
            velocity = (position - self._last[1]) / (now - self._last[0])
            self._last = now, position, velocity
        q[rows], v[rows] = position, self._last[2]
        return q, v

    def joints(
        self, simulation: Simulation
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity, motor_position and motor_velocity as measured, (joints,)."""
        q, v = self.sample(simulation)
        links, motors = self._links, self._motors
        return q[links], v[links], q[motors], v[motors]

    def _delayed(self, now):
        """Exact positions (m,) at the delay of each encoder before now."""
        history = self._history
        newest = history[-1].position
        if len(history) == 1 or not self._delay.any():
            return newest
        times = np.array([state.time for state in history])
        wanted = np.maximum(now - self._delay, times[0])
        after = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
        return np.array(
            [
                _interpolated(history[k - 1], history[k], row, time)
                for row, (k, time) in enumerate(zip(after.tolist(), wanted.tolist()))
            ]
        )


def _interpolated(before, after, row, time):
    """Position at a time between two states, by the cubic with their positions and velocities."""
    span = after.time - before.time
    s = (time - before.time) / span
    p0, p1 = before.position[row], after.position[row]
    v0, v1 = span * before.velocity[row], span * after.velocity[row]
    return p0 + s * v0 + s**2 * (3 * (p1 - p0) - 2 * v0 - v1) + s**3 * (2 * (p0 - p1) + v0 + v1)
