"""The drift node: compares the vibration of an arm with its model."""

import time

from flex_robot_sim.identification.drift_settings import DriftSettings
from flex_robot_sim.identification.drift_watch import DriftWatch
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.drift_inputs import DriftInputs
from flex_robot_sim.nodes.settings import DRIFT_SETTINGS, KNOWN_PARAMETERS
from flex_robot_sim.ros.endpoints import make_timer
from flex_robot_sim.ros.polling_node import PollingNode
from flex_robot_sim.ros.reporting import Reporter, log
from flex_robot_sim.util.exceptions import plain

SAMPLE_TIMEOUT_S = 2.0  # after which the state of the arm is unknown
POLLS_PER_PERIOD = 20  # of joint states, per period of the slowest mode
POLL_RATE_LIMITS_HZ = 20.0, 100.0  # minimum and maximum


class DriftNode(PollingNode):
    """Monitors an arm that other nodes simulate or drive."""

    def __init__(self) -> None:
        super().__init__('drift', DRIFT_SETTINGS, KNOWN_PARAMETERS)

    def begin(self, arm: ArmModel) -> None:
        """Monitor `arm`."""
        self._watch = DriftWatch(arm, self.parameters[DriftSettings])
        self._name, self._last_sample, self._level = arm.description.name, -SAMPLE_TIMEOUT_S, ''
        self._inputs = DriftInputs(self, arm)
        self.polled = self._inputs.polled
        rate = min(
            max(POLLS_PER_PERIOD * self._watch.slowest, POLL_RATE_LIMITS_HZ[0]),
            POLL_RATE_LIMITS_HZ[1],
        )
        make_timer(self, 1.0 / rate, self._listen)
        Reporter(self, 'stiffness', self._check_stop, self._figures)
        self.get_logger().info(f'{plain(self._name)}: slowest mode {self._watch.slowest:.4g} Hz')

    def _listen(self):
        for sample in self._inputs.samples():
            self._watch.take(*sample)
            self._last_sample = time.monotonic()

    def _check_stop(self):
        self._watch.look()
        level, line = self._watch.verdict()
        if level != self._level and (level == 'warning' or self._level == 'warning'):
            log(self, 'warning' if level == 'warning' else 'info', line)
        self._level = level

    def _figures(self):
        level, line = self._watch.verdict()
        if time.monotonic() - self._last_sample > SAMPLE_TIMEOUT_S:
            level, line = 'stale', 'no strain with joint states arrives'
        return self._name, level, line, self._watch.figures()
