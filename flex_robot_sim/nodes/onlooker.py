"""
A node that looks on: it asks for messages when it wants them, and nobody is called when one comes.

Five hundred calls a second would take longer than what it does with the messages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from rclpy.node import Node

from flex_robot_sim.core.compiled import must_compile
from flex_robot_sim.nodes.parameters import Parameters
from flex_robot_sim.nodes.robot import when_arm_is_known
from flex_robot_sim.nodes.settings import RobotSettings

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

    from flex_robot_sim.core.model import ArmModel
    from flex_robot_sim.settings import Settings

SWITCH_INTERVAL = 5e-3      # how long one thread may keep the others waiting, as in Python   [s]


class Inputs(Protocol):
    """What has subscriptions that are asked, and not waited for."""

    @property
    def polled(self) -> Sequence[Subscription]:
        """Return the subscriptions."""


class Onlooker(Node):
    """Wait for the robot, and look on from then."""

    _inputs: Inputs | None = None

    def __init__(self, name: str, kinds: Sequence[type[Settings]]) -> None:
        """Begin as node `name` with parameters of `kinds`; `begin` is called with the robot."""
        super().__init__(name)
        if must_compile():
            self.get_logger().info('compiling, once after an installation: about a minute')
        self.parameters = Parameters(self, *kinds)
        when_arm_is_known(self, self.parameters[RobotSettings], self._start)

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """What an executor waits for: not what is asked for now and then."""
        polled = self._inputs.polled if self._inputs is not None else ()
        return (item for item in super().subscriptions if item not in polled)

    def _start(self, arm):
        # nothing here is in a hurry, and threads that take turns less often take less time
        sys.setswitchinterval(SWITCH_INTERVAL)
        self.begin(arm)

    def begin(self, arm: ArmModel) -> None:
        """Look on at `arm`; set `_inputs`."""
        raise NotImplementedError
