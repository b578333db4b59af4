"""
Positions and velocities that the encoders of a simulated arm measure.

A joint with an elastic gear has one encoder on its link side and one on its motor side. The
velocity is the difference of two measured positions over the time between them, as in a driver.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arguments import checked_seed, expect_kind
from flex_robot_sim.simulation.sensor_errors import IndexedNoise, in_steps
from flex_robot_sim.simulation.simulation import Simulation

MIN_PERIOD_RATIO = 0.5  # shortest time between two samples, in time steps


class _State(NamedTuple):
    """Exact motion of the measured coordinates (m,)."""

    position: np.ndarray
    velocity: np.ndarray


class Encoders:
    """
    The encoders of a simulated arm, with the errors that their `<encoder>` elements state.

    Joints without `<encoder>` are measured exactly. The noise of a sample depends on the seed and
    the time step only.

    Example::

        sim = frs.Simulation(frs.load('single_link'))
        encoders = frs.Encoders(sim, seed=1)
        q, v = encoders.sample(sim)             # with `<encoder>`, as measured
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
        delays = dict.fromkeys(self._delay.tolist())
        # rows of the encoders with each delay
        self._groups = [(delay, np.flatnonzero(self._delay == delay)) for delay in delays]
        self._longest_delay = max(delays, default=0.0)
        self._times: list[float] = []
        self._states: list[_State] = []
        self._last: tuple[float, np.ndarray, np.ndarray] | None = None  # time, position, velocity

    @property
    def is_exact(self) -> bool:
        """Whether no joint has an `<encoder>`."""
        return not self._coordinates.size

    @property
    def has_delay(self) -> bool:
        """Whether an encoder has a delay, so that `observe` is useful between samples."""
        return self._longest_delay > 0.0

    def forget(self) -> None:
        """Forget the past, after a reset of the state."""
        self._times.clear()
        self._states.clear()
        self._last = None

    def observe(self, simulation: Simulation) -> None:
        """Remember the present state, from which later samples interpolate a delay."""
        self._observe(simulation.time, simulation.q, simulation.v)

    def sample(self, simulation: Simulation) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (nq,) and rates (nv,), those with an encoder as measured."""
        q, v, now = simulation.q, simulation.v, simulation.time
        if self.is_exact:
            return q, v
        self._observe(now, q, v)
        noise = self._deviation * self._noise.at(round(now / self._step))
        position = in_steps(self._delayed(now) + noise, self._resolution)
        rows = self._coordinates
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

    def _observe(self, now, q, v):
        times, states, rows = self._times, self._states, self._coordinates
        if times and now < times[-1]:
            self.forget()  # an earlier state was restored
        if times and now - times[-1] < MIN_PERIOD_RATIO * self._step:
            times.pop()
            states.pop()
        times.append(now)
        states.append(_State(q[rows], v[rows]))
        excess = bisect_right(times, now - self._longest_delay) - 1
        if excess > 0:
            del times[:excess], states[:excess]

    def _delayed(self, now):
        """Exact positions (m,) at the delay of each encoder before now."""
        times, states = self._times, self._states
        newest = states[-1].position
        if len(times) == 1 or not self.has_delay:
            return newest
        position = newest.copy()
        for delay, rows in self._groups:
            time = max(now - delay, times[0])
            k = min(max(bisect_right(times, time), 1), len(times) - 1)
            before, after = states[k - 1], states[k]
            span = times[k] - times[k - 1]
            position[rows] = _interpolated(before, after, rows, (time - times[k - 1]) / span, span)
        return position


def _interpolated(before, after, rows, s, span):
    """Positions at a share s of the span [s] between two states, by the cubic of Hermite."""
    p0, p1 = before.position[rows], after.position[rows]
    v0, v1 = span * before.velocity[rows], span * after.velocity[rows]
    return p0 + s * v0 + s**2 * (3 * (p1 - p0) - 2 * v0 - v1) + s**3 * (2 * (p0 - p1) + v0 + v1)
