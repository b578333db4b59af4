"""
Arms in MuJoCo with hidden joint stiffness, as drivers of `flexsim tune`.

The motors follow their set points; springs and dampers lie between motors and links. An
accelerometer with noise and few bits is at the tool. Moves outside a log are not simulated: the
arm is put to rest at their end.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from benchmarks.stop_logs import BITS, NOISE, RANGE, Plant, equilibrium, true_modes
from flex_robot_sim.shaping.tuning.driver import ArmState, log_lines

STEP = 2.5e-4  # of MuJoCo                                                      [s]
SAMPLE = 16  # steps between two samples of the log: 250 Hz
COLUMNS = 'ax', 'ay', 'az'
WINDOW = 0.8  # after the set points, for the true vibration of the tool         [s]


class HiddenArm:
    """A Driver of `shaping.tuning.driver` for a plant in MuJoCo."""

    def __init__(self, root, tool, joints, stiffness, corners, payload, seed):
        """
        Build the plant of the URDF `root` with an accelerometer at the link `tool`.

        :param stiffness: of the joints (n,) [N m/rad]; corners: frequencies at which their
            damping ratio is 1 to 2 % (n,) [Hz]; payload: mass at the tool [kg].
        """
        self._random = np.random.default_rng(seed)
        spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, 'unicode'))
        body = spec.body(tool)
        load = body.add_body(name='load', mass=payload, inertia=3 * [payload * 0.12**2 / 6])
        load.explicitinertial = True
        load.add_site(name='imu')
        spec.add_sensor(
            name='imu',
            type=mujoco.mjtSensor.mjSENS_ACCELEROMETER,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            objname='imu',
        )
        spec.compiler.fusestatic = False
        spec.option.timestep = STEP
        spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        model = spec.compile()
        ratios = self._random.uniform(0.01, 0.02, len(stiffness))
        damping = 2 * ratios * stiffness / (2 * np.pi * np.array(corners))
        model.jnt_stiffness[:], model.dof_damping[:] = stiffness, damping
        model.qpos_spring[:] = 0.0
        self.plant = Plant(model, np.array(stiffness), damping)
        self.joints, self._site = tuple(joints), model.site('imu').id
        self._data, self._time = mujoco.MjData(model), 0.0
        self._motor = np.zeros(model.nv)
        self._times, self._path, self._begin = np.zeros(2), np.zeros((2, model.nv)), 0.0
        self._rows, self._is_recording, self._steps = [], False, 0
        self.put(self._motor)

    def put(self, position):
        """Put the arm to rest with the motors at a position (n,) [rad]."""
        self._motor = np.array(position, float)
        self._data.qpos[:] = equilibrium(self.plant, self._motor)
        self._data.qvel[:] = 0.0
        self._times, self._path = np.array([0.0, 1.0]), np.array(2 * [self._motor])

    def now(self):
        """Time of the simulation [s]."""
        return self._time

    def state(self):
        """Positions of the motors."""
        return ArmState(self._time, self._motor.copy())

    def move(self, times, positions):
        """Follow positions from now on."""
        self._times, self._path, self._begin = times, positions, self._time

    def wait(self, seconds):
        """Simulate during a log; otherwise move the motors only."""
        count = max(round(seconds / STEP), 1)
        if not self._is_recording:
            self._time += count * STEP
            self._motor, _ = self._set_point()
            return
        for _ in range(count):
            self._step()
            if self._steps % SAMPLE == 0:
                reading = self._data.sensordata + self._random.normal(
                    0.0, NOISE * np.sqrt(0.5 / (SAMPLE * STEP)), 3
                )
                lsb = 2 * RANGE / 2**BITS
                reading = np.clip(lsb * np.round(reading / lsb), -RANGE, RANGE)
                self._rows.append([self._time, *self._motor, *reading])

    def _set_point(self):
        """Return present positions and rates of the motors."""
        elapsed = self._time - self._begin
        row = min(int(np.searchsorted(self._times, elapsed, side='right')), len(self._times) - 1)
        low, high = self._times[row - 1], self._times[row]
        share = min((elapsed - low) / (high - low), 1.0)
        change = self._path[row] - self._path[row - 1]
        rate = change / (high - low) if share < 1.0 else 0.0 * change
        return self._path[row - 1] + share * change, rate

    def _step(self):
        self._motor, rate = self._set_point()
        plant = self.plant
        self._data.qfrc_applied[:] = plant.stiffness * self._motor + plant.damping * rate
        mujoco.mj_step(plant.model, self._data)
        self._time += STEP
        self._steps += 1

    def stop(self):
        """Hold the motors."""
        self._times, self._path = np.array([0.0, 1.0]), np.array(2 * [self._motor])

    def begin_log(self):
        """Put the arm to rest, and record from now on."""
        self.put(self._motor)
        self._rows, self._is_recording = [], True

    def write_log(self, path):
        """Write the samples since `begin_log`."""
        self._is_recording = False
        Path(path).write_text(log_lines(self.joints, COLUMNS, self._rows), encoding='utf-8')

    def close(self):
        """Do nothing."""

    def true_frequencies(self, position):
        """Return natural frequencies [Hz] with the motors at a position, by MuJoCo."""
        return np.sort(true_modes(self.plant, np.asarray(position, float))[0])

    def tool_vibration(self, times, positions):
        """Return the largest distance of the tool from its rest after set points [m]."""
        self.put(positions[-1])
        mujoco.mj_forward(self.plant.model, self._data)
        rest = self._data.site_xpos[self._site].copy()
        self.put(positions[0])
        self._times, self._path, self._begin = np.asarray(times), np.asarray(positions), self._time
        for _ in range(int(times[-1] / STEP)):
            self._step()
        distances = []
        for _ in range(int(WINDOW / STEP)):
            self._step()
            distances.append(np.linalg.norm(self._data.site_xpos[self._site] - rest))
        return float(max(distances))
