"""Readings of the IMUs and encoders during `flexsim simulate`, for its CSV file and recording."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.imu_kinematics import imu_mounts
from flex_robot_sim.simulation.encoders import Encoders
from flex_robot_sim.simulation.imu_sensor import ImuSensor
from flex_robot_sim.simulation.simulation import Simulation

if TYPE_CHECKING:
    from flex_robot_sim.recording.simulated import SimulationRecording  # needs mcap

KINDS = 'gyro', 'acceleration'  # of signals, as `flexsim identify` reads them


class SensorReadings:
    """Samples the sensors of a simulation while it takes steps."""

    def __init__(
        self, simulation: Simulation, seed: int, recording: 'SimulationRecording | None'
    ) -> None:
        """Prepare all sensors of the arm; IMU samples go into the recording, if there is one."""
        self._simulation, self._recording = simulation, recording
        self._imus = [
            ImuSensor(simulation, name, seed=seed) for name in imu_mounts(simulation.arm)
        ]
        self._encoders = Encoders(simulation, seed=seed)
        self._samples: dict[str, np.ndarray] = {}  # newest one of each IMU, (6,)
        self._steps = 0
        self.rows: list[np.ndarray] = []  # readings of IMUs and encoders by row of the table

    @property
    def has_sensors(self) -> bool:
        """Whether the arm has an IMU or an encoder."""
        return bool(self._imus) or not self._encoders.is_exact

    def sampling(self, take_steps: Callable[[int], None]) -> Callable[[int], None]:
        """Return a function that takes steps and samples the sensors between them."""

        def take_and_sample(steps: int) -> None:
            for _ in range(steps):
                take_steps(1)
                self._steps += 1
                self._sample()

        return take_and_sample

    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates and rates by the encoders, and add a row of all readings."""
        if not self._steps:
            self._sample()
        arm = self._simulation.arm
        q, v = self._encoders.sample(self._simulation)
        parts = q[arm.joint_q], v[arm.joint_q], q[arm.motor_q], *self._samples.values()
        self.rows.append(np.concatenate(parts))
        return q, v

    def header(self) -> list[str]:
        """Return the names of the columns of the IMUs, each by its frame if no other has it."""
        frames = [sensor.frame for sensor in self._imus]
        places = [
            sensor.frame if frames.index(sensor.frame) == k else sensor.name
            for k, sensor in enumerate(self._imus)
        ]
        return [f'{kind}/{place}/{axis}' for place in places for kind in KINDS for axis in 'xyz']

    def _sample(self):
        if self._encoders.has_delay:
            self._encoders.observe(self._simulation)
        for sensor in self._imus:
            if self._steps % sensor.steps_per_sample == 0:
                sample = sensor.sample(self._simulation)
                self._samples[sensor.name] = np.concatenate(sample[1:])
                if self._recording:
                    self._recording.add_imu(sensor, sample)
