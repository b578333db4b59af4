"""A simulated arm as a driver of `flexsim tune`, for rehearsals without hardware."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.tuning.driver import ArmState, log_lines
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.files import open_atomic
from flex_robot_sim.util.settings import SimulationSettings

STEP_S = 1e-3
LOG_PERIOD_STEPS = 4  # steps between two samples
STOP_TIME_S = 0.1
NOISE = 0.02  # of the accelerometer, standard deviation                       [m/s2]
COLUMNS = tuple(f'acceleration/{axis}' for axis in 'xyz')


class SimulatedDriver:
    """Drives that follow their set points exactly, and an accelerometer at the tool."""

    def __init__(self, arm: ArmModel, position: np.ndarray, seed: int = 0) -> None:
        """Begin at rest at joint positions (n,) [rad, m]; `seed` of the noise."""
        self.joints = tuple(arm.joint_names)
        self._arm, self._random = arm, np.random.default_rng(seed)
        self._simulation = Simulation(arm, SimulationSettings(time_step=STEP_S))
        self._simulation.set_state(q=equilibrium(arm, position).q)
        self._rows: list[list[float]] = []
        self._begin, self._velocity = 0.0, np.zeros(3)
        self._is_recording = False
        self.is_mute = False  # whether states stop arriving, for tests
        self._row = 0  # of the set points, at the present step
        self._positions = np.array([position], float)  # (k, n), one row for each step
        self._velocities = np.zeros((1, len(self.joints)))
        self._state = ArmState(0.0, np.array(position, float))

    def now(self) -> float:
        """Time of the simulation [s]."""
        return self._simulation.time

    def state(self) -> ArmState:
        """Return the positions of the drives."""
        if not self.is_mute:
            self._state = ArmState(self.now(), self._simulation.motor_position.copy())
        return self._state

    def move(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Follow a spline through positions from now on."""
        spline = CubicSpline(times, positions, bc_type='clamped')
        steps = STEP_S * np.arange(int(np.ceil(times[-1] / STEP_S)) + 1)
        steps[-1] = times[-1]
        self._use(spline(steps), spline(steps, 1))

    def wait(self, seconds: float) -> None:
        """Simulate; during a log, in blocks of LOG_PERIOD_STEPS."""
        end = self.now() + seconds - 0.5 * STEP_S
        block = LOG_PERIOD_STEPS if self._is_recording else max(round(seconds / STEP_S), 1)
        while self.now() < end:
            rows = self._row + np.arange(block + 1)
            rows = np.minimum(rows, len(self._positions) - 1)
            self._simulation.follow(self._positions[rows], self._velocities[rows])
            self._row = int(rows[-1])
            if self._is_recording:
                self._record()

    def stop(self) -> None:
        """Decelerate all drives evenly."""
        velocity = self._velocities[self._row]
        t = STEP_S * np.arange(round(STOP_TIME_S / STEP_S) + 1)[:, None]
        self._use(
            self._positions[self._row] + velocity * t * (1 - 0.5 * t / STOP_TIME_S),
            velocity * (1 - t / STOP_TIME_S),
        )

    def begin_log(self) -> None:
        """Record from now on."""
        self._rows, self._is_recording, self._begin = [], True, self.now()
        self._velocity = self._tool_velocity()

    def write_log(self, path: Path) -> None:
        """Write the samples since `begin_log`."""
        self._is_recording = False
        with open_atomic(path, 'w', encoding='utf-8') as file:
            file.write(log_lines(self.joints, COLUMNS, self._rows))

    def close(self) -> None:
        """Do nothing."""

    def _use(self, positions, velocities):
        """Follow set points (k, n) and their rates, one row for each step; the last one rests."""
        self._row, self._positions, self._velocities = 0, positions, velocities
        self._velocities[-1] = 0.0

    def _record(self):
        """Add a sample: mean acceleration of the tool since the last one, in base axes, noise."""
        before, self._velocity = self._velocity, self._tool_velocity()
        acceleration = (self._velocity - before) / (LOG_PERIOD_STEPS * STEP_S)
        acceleration += self._random.normal(0.0, NOISE, 3)
        self._rows.append(
            [self.now() - self._begin, *self._simulation.motor_position, *acceleration]
        )

    def _tool_velocity(self):
        return self._simulation.twist(self._arm.tool, representation='mixed')[3:].copy()
