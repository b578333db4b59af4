"""The drift watch as a node: whether an arm rings as its model says, in /diagnostics."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from flex_robot_sim.core.compiled import must_compile
from flex_robot_sim.identification.drift_settings import DriftSettings
from flex_robot_sim.identification.drift_watch import DriftWatch
from flex_robot_sim.nodes.drift_inputs import DriftInputs
from flex_robot_sim.nodes.parameters import Parameters
from flex_robot_sim.nodes.reporting import Reporter, log
from flex_robot_sim.nodes.robot import when_arm_is_known
from flex_robot_sim.nodes.run import run
from flex_robot_sim.nodes.settings import DRIFT_SETTINGS, RobotSettings

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

    from flex_robot_sim.core.model import ArmModel

SILENCE = 2.0           # without samples, after which nothing is known                     [s]
PER_PERIOD = 20         # looks for joint states in a period of the slowest mode
RATES = 20.0, 100.0     # least and most of them                                           [Hz]
SWITCH_INTERVAL = 5e-3  # as in nodes/view.py


class DriftNode(Node):
    """Watch an arm that somebody else simulates or drives."""

    _inputs: DriftInputs | None = None

    def __init__(self) -> None:
        """Wait for the robot, and listen."""
        super().__init__('drift')
        if must_compile():
            self.get_logger().info('compiling, once after an installation: about a minute')
        self.parameters = Parameters(self, *DRIFT_SETTINGS)
        when_arm_is_known(self, self.parameters[RobotSettings], self._start)

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """What an executor waits for: not what is asked for now and then."""
        polled = self._inputs.polled if self._inputs is not None else ()
        return (item for item in super().subscriptions if item not in polled)

    def _start(self, arm: ArmModel) -> None:
        """Watch `arm`."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._watch = DriftWatch(arm, self.parameters[DriftSettings])
        self._name, self._heard, self._level = arm.description.name, -SILENCE, ''
        self._inputs = DriftInputs(self, arm)
        rate = min(max(PER_PERIOD * self._watch.slowest, RATES[0]), RATES[1])
        self.create_timer(1.0 / rate, self._listen, clock=Clock(clock_type=ClockType.STEADY_TIME))
        Reporter(self, 'stiffness', self._look, self._figures)
        self.get_logger().info(f'{self._name}: slowest mode {self._watch.slowest:.4g} Hz')

    def _listen(self):
        for sample in self._inputs.samples():
            self._watch.take(*sample)
            self._heard = time.monotonic()

    def _look(self):
        self._watch.look()
        level, line = self._watch.verdict()
        if level != self._level and (level == 'warning' or self._level == 'warning'):
            log(self, 'warning' if level == 'warning' else 'info', line)
        self._level = level

    def _figures(self):
        level, line = self._watch.verdict()
        if time.monotonic() - self._heard > SILENCE:
            level, line = 'stale', 'no strain with joint states comes'
        return self._name, level, line, self._watch.figures()


def main(args: list[str] | None = None) -> None:
    """Run the node until a signal."""
    sys.exit(run('drift', lambda: [DriftNode()], args))
