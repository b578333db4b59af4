"""Services of the dynamics node: pause, single steps, reset."""

from collections.abc import Callable

from rclpy.node import Node

from flex_robot_sim.realtime.loop import SimulationLoop
from flex_robot_sim.ros import services
from flex_robot_sim.ros.endpoints import offer
from flex_robot_sim.ros.reporting import answer


class DynamicsServices:
    """`~/reset`, `~/step` and `~/pause`."""

    def __init__(self, node: Node, loop: SimulationLoop,
                 poll: Callable[[], object] | None = None) -> None:
        """
        Offer the services of `node`; `loop` (SimulationLoop) executes them.

        :param poll: processes commands while a step waits for them.
        """
        self._loop, self._poll = loop, poll
        offer(node, services.RESET, self._on_reset)
        offer(node, services.STEP, self._on_step)
        offer(node, services.PAUSE, self._on_pause)

    def _on_reset(self, request, response):
        return self._carry_out(self._loop.reset, response)

    def _on_step(self, request, response):
        return self._carry_out(self._loop.step, response, self._poll)

    def _on_pause(self, request, response):
        return self._carry_out(self._loop.pause if request.data else self._loop.resume, response)

    def _carry_out(self, action, response, poll=None):
        def execute():
            self._loop.call(action, poll=poll)
            return f'{self._loop.state} at {self._loop.simulation.time:.6g} s'
        return answer(response, execute)
