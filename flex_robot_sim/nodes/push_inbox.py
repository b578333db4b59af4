"""Pushes at links from messages; a push ends if its sender stops sending."""

import time
from functools import partial

from rclpy.node import Node

from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.ros.conversions import vector_of
from flex_robot_sim.ros.endpoints import make_timer
from flex_robot_sim.ros.message_limits import subscribe_short
from flex_robot_sim.ros.reporting import carry_out, log
from flex_robot_sim.ros.topics import PUSH

CHECK_PERIOD_S = 0.1  # period of checks of the age of pushes


class PushInbox:
    """Subscription of `push`."""

    def __init__(self, node: Node, loop: SimulationLoop) -> None:
        self._node, self._loop = node, loop
        self._last_push_at: dict[str, float] = {}  # time of the newest push by link    [s]
        subscribe_short(node, PUSH, self._on_push)
        make_timer(node, CHECK_PERIOD_S, self._end_old_pushes)

    def _on_push(self, message):
        link = message.header.frame_id
        force, moment = vector_of(message.wrench.force), vector_of(message.wrench.torque)

        def push():
            self._loop.call(lambda: self._loop.simulation.push(link, force, moment, follows=True))
            if any(force) or any(moment):
                self._last_push_at[link] = time.monotonic()
            else:
                self._last_push_at.pop(link, None)

        carry_out(self._node, push)

    def _end_old_pushes(self):
        timeout, now = self._loop.settings.push_timeout, time.monotonic()
        for link, received_at in [*self._last_push_at.items()]:
            if timeout > 0.0 and now - received_at > timeout:
                del self._last_push_at[link]
                carry_out(self._node, partial(self._end_push, link, timeout))

    def _end_push(self, link, timeout):
        def end_push():
            was_pushed = link in self._loop.simulation.pushed_links
            self._loop.simulation.push(link)
            return was_pushed

        if self._loop.call(end_push):
            log(
                self._node,
                'warning',
                f'no message on push for {timeout:g} s: "{link}" is no longer pushed',
            )
