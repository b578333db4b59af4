"""
Services of the package simulation_interfaces, the common interface of ROS simulators.

The package is part of newer distributions only. If it cannot be imported, no service is offered:
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

MAX_STEPS_PER_CALL = 100  # steps until the simulation processes other requests
FEATURES = (
    'SIMULATION_RESET',
    'SIMULATION_RESET_STATE',
    'SIMULATION_STATE_GETTING',
    'SIMULATION_STATE_SETTING',
    'SIMULATION_STATE_PAUSE',
    'STEP_SIMULATION_SINGLE',
    'STEP_SIMULATION_MULTIPLE',
)


def offer_simulation_interfaces(
    node: Node, loop: SimulationLoop, poll: Callable[[], object] | None = None
) -> SimulationInterfaces | None:
    """Offer the services, or None without their types; waiting steps call `poll`."""
    try:
        kinds, services = (
            import_module(f'simulation_interfaces.{part}') for part in ('msg', 'srv')
        )
    except ImportError:
        return None
    return SimulationInterfaces(node, loop, kinds, services, poll)


class SimulationInterfaces:
    """The services that a SimulationLoop supports."""

    def __init__(
        self,
        node: Node,
        loop: SimulationLoop,
        kinds: ModuleType,
        services: ModuleType,
        poll: Callable[[], object] | None = None,
    ) -> None:
        """Offer the services by `msg` and `srv` of simulation_interfaces."""
        self._loop, self._kinds, self._services, self._poll = loop, kinds, services, poll
        self._stopped_after: int | None = None  # periods of the loop; None: not stopped
        for name, handler in (
            ('GetSimulatorFeatures', self.get_features),
            ('GetSimulationState', self.get_state),
            ('SetSimulationState', self.set_state),
            ('StepSimulation', self.step),
            ('ResetSimulation', self.reset),
        ):
            topic = ''.join(f'_{c.lower()}' if c.isupper() else c for c in name).strip('_')
            node.create_service(getattr(services, name), topic, handler)

    def get_features(self, _request: Any, response: Any) -> Any:
        """Return the supported features."""
        constants = self._kinds.SimulatorFeatures
        # older versions of the package lack some of them
        response.features.features = [
            getattr(constants, name) for name in FEATURES if hasattr(constants, name)
        ]
        return response

    def get_state(self, _request: Any, response: Any) -> Any:
        """Return the state: playing, paused, or stopped, which includes a failed simulation."""
        response.state.state = self._state()
        response.result.result = self._kinds.Result.RESULT_OK
        return response

    def set_state(self, request: Any, response: Any) -> Any:
        """Play, pause, or stop (reset and pause)."""
        kind, target_state = self._kinds.SimulationState, request.state.state
        actions = {
            kind.STATE_PLAYING: self._loop.resume,
            kind.STATE_PAUSED: self._pause,
            kind.STATE_STOPPED: self._stop,
        }
        if target_state not in actions:
            response.result.result = self._kinds.Result.RESULT_FEATURE_UNSUPPORTED
            response.result.error_message = 'it can be stopped, paused and played'
            return response
        if self._state() == target_state and self._loop.state != FAILED:
            constants = self._services.SetSimulationState.Response
            response.result.result = constants.ALREADY_IN_TARGET_STATE
            return response
        return self._carry_out(actions[target_state], response)

    def step(self, request: Any, response: Any) -> Any:
        """Take steps while paused."""

        def take_steps(count):
            for _ in range(count):
                self._loop.step()

        for start in range(0, request.steps, MAX_STEPS_PER_CALL):
            count = min(MAX_STEPS_PER_CALL, request.steps - start)
            self._carry_out(lambda count=count: take_steps(count), response, self._poll)
            if response.result.result != self._kinds.Result.RESULT_OK:
                return response
        response.result.result = self._kinds.Result.RESULT_OK
        return response

    def reset(self, request: Any, response: Any) -> Any:
        """Reset the state; time continues, because a clock that jumps back breaks subscribers."""
        scopes = self._services.ResetSimulation.Request
        if request.scope not in (scopes.SCOPE_DEFAULT, scopes.SCOPE_STATE):
            response.result.result = self._kinds.Result.RESULT_FEATURE_UNSUPPORTED
            response.result.error_message = (
                'nothing was reset: time always runs on, and no entity is ever spawned. Take '
                'SCOPE_STATE or SCOPE_DEFAULT, which reset the state'
            )
            return response
        return self._carry_out(self._loop.reset, response)

    def _state(self):
        """Return the state; after a stop it remains stopped until playing, pausing or a step."""
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
