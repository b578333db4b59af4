"""The plant of a PlanarArm as an arm of this package, with more modes than a fit tries."""

import flex_robot_sim as frs
from benchmarks.identification.bench_log import SERVO_PERIOD
from flex_robot_sim.analysis.flex_sensors import flex_sensors

MODES = 6
STEP = 2.5e-4  # [s]


class OwnPlant:
    """A simulated arm with the interface of MujocoPlant."""

    def __init__(self, arm, pieces=24, presliding=None):
        """Build the model of a PlanarArm; `pieces` give the places of its gauges."""
        self.arm = arm
        self._model = arm.model(pieces=pieces, presliding=presliding, modes=MODES)
        self._simulation = frs.Simulation(self._model, frs.SimulationSettings(time_step=STEP))
        self._sensors = flex_sensors(self._model)
        self.gauges = self._sensors.names

    @property
    def motor_positions(self):
        """Positions of the motors (joints,) [rad]."""
        return self._simulation.q[self._model.motor_q]

    @property
    def motor_rates(self):
        """Velocities of the motors (joints,) [rad/s]."""
        return self._simulation.v[self._model.motor_q]

    @property
    def twists(self):
        """Twists of the gears (joints,) [rad]; positive where the link is ahead."""
        return self._simulation.position - self.motor_positions

    @property
    def curvatures(self):
        """Curvatures at the gauges (c,) [1/m]."""
        return self._sensors.matrix @ self._simulation.q

    def advance(self, effort):
        """Advance by one period of the servo under constant motor efforts (joints,)."""
        self._simulation.effort = effort
        self._simulation.step(round(SERVO_PERIOD / STEP))
