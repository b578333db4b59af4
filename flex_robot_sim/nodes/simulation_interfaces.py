"""
Services of the package simulation_interfaces, which other simulators offer too.

The package is part of newer distributions only. Where it cannot be imported, nothing is offered:
`~/pause`, `~/step` and `~/reset` do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from rclpy.node import Node

from flex_robot_sim.realtime.loop import FAILED, RUNNING, SimulationLoop
from flex_robot_sim.util.exceptions import FlexRobotSimError

AT_ONCE = 100       # steps between two looks of the simulation at other requests
FEATURES = ('SIMULATION_RESET', 'SIMULATION_RESET_STATE', 'SIMULATION_STATE_GETTING',
            'SIMULATION_STATE_SETTING', 'SIMULATION_STATE_PAUSE', 'STEP_SIMULATION_SINGLE',
            'STEP_SIMULATION_MULTIPLE')


def offer_simulation_interfaces(
        node: Node, loop: SimulationLoop,
        poll: Callable[[], object] | None = None) -> SimulationInterfaces | None:
    """
    Offer the services for a SimulationLoop; return None where their types are unknown.

    :param poll: takes commands while steps wait for them.
    """
    try:
        kinds, services = (import_module(f'simulation_interfaces.{part}')
                           for part in ('msg', 'srv'))
    except ImportError:
        return None
    return SimulationInterfaces(node, loop, kinds, services, poll)


class SimulationInterfaces:
    """What a SimulationLoop can do of it."""

    def __init__(self, node: Node, loop: SimulationLoop, kinds: ModuleType,
                 services: ModuleType, poll: Callable[[], object] | None = None) -> None:
        """
        Offer the services of `node`.

        :param kinds: module simulation_interfaces.msg; services: module simulation_interfaces.srv.
        """
        self._loop, self._kinds, self._services, self._poll = loop, kinds, services, poll
        self._stopped_after: int | None = None      # periods of the loop; None: not stopped
        for name, handler in (('GetSimulatorFeatures', self.get_features),
                              ('GetSimulationState', self.get_state),
                              ('SetSimulationState', self.set_state),
                              ('StepSimulation', self.step),
                              ('ResetSimulation', self.reset)):
            topic = ''.join(f'_{c.lower()}' if c.isupper() else c for c in name).strip('_')
            node.create_service(getattr(services, name), topic, handler)

    def get_features(self, request: Any, response: Any) -> Any:
        """Return the supported features."""
        known = self._kinds.SimulatorFeatures
        # older versions of the package lack some
        response.features.features = [getattr(known, name) for name in FEATURES
                                      if hasattr(known, name)]
        return response

    def get_state(self, request: Any, response: Any) -> Any:
        """Say whether it plays, is paused, or is stopped, as it is after it has lost its state."""
        response.state.state = self._state()
        response.result.result = self._kinds.Result.RESULT_OK
        return response

    def set_state(self, request: Any, response: Any) -> Any:
        """Play, pause, or stop, which is to reset and pause."""
        kind, wanted = self._kinds.SimulationState, request.state.state
        actions = {kind.STATE_PLAYING: self._loop.resume, kind.STATE_PAUSED: self._pause,
                   kind.STATE_STOPPED: self._stop}
        if wanted not in actions:
            response.result.result = self._kinds.Result.RESULT_FEATURE_UNSUPPORTED
            response.result.error_message = 'it can be stopped, paused and played'
            return response
        if self._state() == wanted and self._loop.state != FAILED:
            known = self._services.SetSimulationState.Response
            response.result.result = known.ALREADY_IN_TARGET_STATE
            return response
        return self._carry_out(actions[wanted], response)

    def step(self, request: Any, response: Any) -> Any:
        """Take steps while paused."""
        def some(count):
            for _ in range(count):
                self._loop.step()

        for first in range(0, request.steps, AT_ONCE):
            count = min(AT_ONCE, request.steps - first)
            self._carry_out(lambda count=count: some(count), response, self._poll)
            if response.result.result != self._kinds.Result.RESULT_OK:
                return response
        response.result.result = self._kinds.Result.RESULT_OK
        return response

    def reset(self, request: Any, response: Any) -> Any:
        """Put the state back; time runs on, because a clock that jumps back breaks listeners."""
        scopes = self._services.ResetSimulation.Request
        if request.scope not in (scopes.SCOPE_DEFAULT, scopes.SCOPE_STATE):
            response.result.result = self._kinds.Result.RESULT_FEATURE_UNSUPPORTED
            response.result.error_message = (
                'nothing was reset: time always runs on, and no entity is ever spawned. Take '
                'SCOPE_STATE or SCOPE_DEFAULT, which reset the state')
            return response
        return self._carry_out(self._loop.reset, response)

    def _state(self):
        """Return the state; it is stopped until it plays, is paused or takes a step."""
        kind = self._kinds.SimulationState
        if self._loop.state == RUNNING:
            return kind.STATE_PLAYING
        is_stopped = self._loop.state == FAILED or self._stopped_after == self._loop.periods
        return kind.STATE_STOPPED if is_stopped else kind.STATE_PAUSED

    def _pause(self):
        self._loop.pause()
        self._stopped_after = None

    def _stop(self):
        self._loop.reset()
        self._loop.pause()
        self._stopped_after = self._loop.periods

    def _carry_out(self, action, response, poll=None):
        result = self._kinds.Result
        try:
            self._loop.call(action, poll=poll)
            response.result.result = result.RESULT_OK
        except FlexRobotSimError as error:
            response.result.result = result.RESULT_OPERATION_FAILED
            response.result.error_message = str(error)
        return response
