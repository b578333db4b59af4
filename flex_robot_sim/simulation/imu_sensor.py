"""A simulated IMU with noise, bias, range and word length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.imu_kinematics import imu_mount
from flex_robot_sim.model.arguments import checked_seed, expect_kind, whole
from flex_robot_sim.simulation.sensor_errors import IndexedNoise, limited
from flex_robot_sim.simulation.simulation import Simulation

KINDS = 'gyroscope', 'accelerometer'


class ImuSample(NamedTuple):
    """One sample of an IMU, in its axes, as in sensor_msgs/Imu."""

    time: float  # [s]
    angular_velocity: np.ndarray  # (3,)  [rad/s]
    linear_acceleration: np.ndarray  # (3,)  minus gravity: +9.8 upwards at rest   [m/s2]


class ImuSensor:
    """
    An IMU of a simulated arm, with the errors that its `<imu>` states.

    The noise of a sample depends on the seed, the name of the IMU and the time step only, so that
    two runs with one seed have equal samples. Give another seed for independent noise.

    Example::

        builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
        builder.add_joint('hinge', parent='base', child='arm', axis='y')
        sim = frs.Simulation(builder.add_imu('arm', 'imu', accelerometer_noise=2e-3).build())
        sensor = frs.ImuSensor(sim, 'imu', seed=1)
        acceleration = sensor.sample(sim).linear_acceleration
    """

    def __init__(
        self,
        simulation: Simulation,
        name: str | None = None,
        *,
        seed: int = 0,
        steps_per_sample: int | None = None,
    ) -> None:
        """
        Prepare an IMU of the arm of a simulation.

        :param name: of the IMU; default: the only one of the arm.
        :param seed: of its noise, >= 0.
        :param steps_per_sample: time steps between two samples; default: by its rate.
        """
        expect_kind('simulation', simulation, Simulation, 'a Simulation(arm)')
        mount, step = imu_mount(simulation.arm, name), simulation.settings.time_step
        self.name, self.frame = mount.imu.name, mount.frame
        self.steps_per_sample = (
            max(1, round(1.0 / max(mount.imu.rate * step, 1e-9)))
            if steps_per_sample is None
            else whole('steps_per_sample', steps_per_sample)
        )
        period = self.steps_per_sample * step
        self._bits, self._step = mount.imu.bits, step
        # a density n over the band up to half of the rate: n^2 / (2 period) is the variance
        self._deviation = _of_axes(mount.imu, 'noise') / np.sqrt(2.0 * period)
        self._bias, self._range = _of_axes(mount.imu, 'bias'), _of_axes(mount.imu, 'range')
        self._noise = IndexedNoise(checked_seed(seed), self.name, 6)

    @property
    def period(self) -> float:
        """Time between two samples [s]."""
        return self.steps_per_sample * self._step

    @property
    def variances(self) -> tuple[float, float]:
        """Variance of noise and steps of an axis: gyroscope [rad2/s2], accelerometer [m2/s4]."""
        steps = 0.0 if self._bits is None else 2 * self._range / 2**self._bits
        variance = self._deviation**2 + steps**2 / 12
        return float(variance[0]), float(variance[3])

    def sample(self, simulation: Simulation) -> ImuSample:
        """Return the sample of the present state of a simulation of this arm."""
        exact = np.concatenate(simulation.imu(self.name))
        noise = self._noise.at(round(simulation.time / self._step))
        values = limited(exact + self._bias + self._deviation * noise, self._range, self._bits)
        return ImuSample(simulation.time, values[:3], values[3:])


def _of_axes(imu, word):
    """Numbers (6,) of the axes of gyroscope and accelerometer."""
    return np.concatenate([np.broadcast_to(getattr(imu, f'{kind}_{word}'), 3) for kind in KINDS])
