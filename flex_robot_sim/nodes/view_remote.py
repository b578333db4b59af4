"""Requests of the view to other nodes: services, parameters, targets and pushes."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.ros import services, topics
from flex_robot_sim.ros.conversions import set_vector
from flex_robot_sim.ros.endpoints import advertise, make_client
from flex_robot_sim.ros.robot_source import REDUCED_FILES
from flex_robot_sim.viewer.remote import Command

AVAILABILITY_PERIOD_S = 0.5  # period of the check for services and subscribers
REFRESH_PERIOD_S = 3.0  # period of reading parameters
ANSWER_TIMEOUT_S = 5.0  # of a service call
SERVICES = {
    Command.PAUSE: services.PAUSE,
    Command.STEP: services.STEP,
    Command.RESET: services.RESET,
    Command.DISARM: services.ENABLE,
}
PAYLOAD_PARAMETERS = 'payload_link', 'payload_mass', 'payload_centre'
GAINS = tuple(ControllerSettings.__dataclass_fields__)
READ_PARAMETERS = {
    'dynamics': (*PAYLOAD_PARAMETERS, 'period', REDUCED_FILES),
    'controller': (Command.SHAPER, Command.FEEDBACK, *PAYLOAD_PARAMETERS, *GAINS),
}


class ViewRemote:
    """Remote through ROS services, parameters and topics."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clients = {
            command: make_client(node, service) for command, service in SERVICES.items()
        }
        self._setters, self._getters = (
            {name: node.create_client(kind, f'{name}/{word}') for name in READ_PARAMETERS}
            for kind, word in (
                (SetParameters, 'set_parameters'),
                (GetParameters, 'get_parameters'),
            )
        )
        self._reference = advertise(node, topics.REFERENCE)
        self._push = advertise(node, topics.PUSH)
        self._pending: list[tuple[Client, Any, float, Callable[[Any], object], str]] = []
        self._news: deque[str] = deque(maxlen=3)
        self.parameters: dict[str, dict[str, Any]] = {}  # by node, as far as known
        self._last_check = self._last_refresh = -np.inf
        self._reasons: dict[str, str] = {}
        self._pushed_links: set[str] = set()
        self._check_availability()

    def poll(self, now: float) -> None:
        """Process answers, and check which services are available; `now` is the time [s]."""
        self._process_answers(now)
        if now - self._last_check >= AVAILABILITY_PERIOD_S:
            self._last_check = now
            self._check_availability()
            if now - self._last_refresh >= REFRESH_PERIOD_S:
                self._last_refresh = now
                for name in READ_PARAMETERS:
                    self._refresh(name)

    def close(self) -> None:
        """End all pushes."""
        for link in [*self._pushed_links]:
            self.push(link, np.zeros(3))

    # interface of the page: see viewer/remote.py

    def unavailable_reason(self, command: str) -> str:
        """Reason why a request is unavailable at present; '' if it is available."""
        return self._reasons[command]

    def value(self, command: str) -> str:
        """Return the value of a parameter of the controller, or ''."""
        return self.parameters.get('controller', {}).get(command, '')

    def call(self, command: str, is_on: bool | None = None) -> None:
        """Call the service of a command, with a value if it has one."""

        def on_response(response):
            if not response.success:
                self._news.append(f'{command}: {response.message}')

        client, name = self._clients[command], SERVICES[command].name
        if not client.service_is_ready():
            self._news.append(f'{command}: {self._reasons[command]}')
            return
        request = Trigger.Request() if is_on is None else SetBool.Request(data=is_on)
        self._request(client, request, on_response, name)

    def command_joint(self, joint: str, position: float) -> None:
        """Send a joint to a position [rad, m]."""
        self._reference.publish(JointState(name=[joint], position=[position]))

    def push(self, link: str, force: np.ndarray) -> None:
        """Push a link with a force (3,) in its frame [N] until the next push."""
        message = WrenchStamped()
        message.header.frame_id = link
        message.header.stamp = self._node.get_clock().now().to_msg()
        set_vector(message.wrench.force, np.asarray(force, float))
        self._push.publish(message)
        (self._pushed_links.add if np.any(force) else self._pushed_links.discard)(link)

    def attach_payload(self, link: str, mass: float, informs_controller: bool) -> None:
        """Set a payload mass [kg] at a link."""
        self._set('dynamics', payload_link=link, payload_mass=mass)
        self._set(
            'controller', payload_link=link, payload_mass=mass if informs_controller else 0.0
        )

    def choose(self, command: str, value: str) -> None:
        """Set SHAPER or FEEDBACK."""
        self.parameters.setdefault('controller', {})[command] = value
        self._set('controller', **{command: value})

    def pop_message(self) -> str:
        """Return a line about a refused request, or ''."""
        return self._news.popleft() if self._news else ''

    def _check_availability(self):
        def expect(command, is_available, problem):
            self._reasons[command] = '' if is_available else problem

        has_bench = self._clients[Command.DISARM].service_is_ready()
        for command in (Command.PAUSE, Command.STEP, Command.RESET):
            problem = f'there is no service {SERVICES[command].name}'
            if has_bench:
                problem = 'a bench cannot be stopped like a simulation'
            expect(command, self._clients[command].service_is_ready(), problem)
        expect(Command.DISARM, has_bench, 'there is no bench')
        has_reader = self._reference.get_subscription_count()
        expect(Command.JOINT, has_reader, f'{topics.REFERENCE.name} has no subscriber')
        # one of the subscribers is the view node itself
        has_reader = self._push.get_subscription_count() > 1
        expect(Command.PUSH, has_reader, f'{topics.PUSH.name} has no subscriber')
        has_parameters = self._setters['dynamics'].service_is_ready()
        expect(Command.PAYLOAD, has_parameters, 'there are no parameters of dynamics')
        has_controller = self._setters['controller'].service_is_ready()
        if not has_controller:
            self.parameters.pop('controller', None)
        for command in (Command.SHAPER, Command.FEEDBACK):
            problem = 'there is no controller'
            if has_controller:
                problem = f'the controller has no parameter {command}'
            expect(command, has_controller and self.value(command), problem)

    def _refresh(self, name):
        client = self._getters[name]
        if not client.service_is_ready():
            self.parameters.pop(name, None)
            return

        def on_response(response):
            if len(response.values) == len(READ_PARAMETERS[name]):
                self.parameters[name] = dict(
                    zip(READ_PARAMETERS[name], map(parameter_value_to_python, response.values))
                )

        self._request(client, GetParameters.Request(names=READ_PARAMETERS[name]), on_response, '')

    def _set(self, name, **values):
        client = self._setters[name]
        if not client.service_is_ready():
            return

        def on_response(response):
            for result in response.results[:1]:
                if not result.successful:
                    self._news.append(f'{name}: {result.reason}')
            self._refresh(name)

        self._request(
            client,
            SetParameters.Request(
                parameters=[
                    Parameter(key, value=value).to_parameter_msg() for key, value in values.items()
                ]
            ),
            on_response,
            name,
        )

    def _request(self, client, request, on_response, name):
        self._pending.append(
            (
                client,
                client.call_async(request),
                time.monotonic() + ANSWER_TIMEOUT_S,
                on_response,
                name,
            )
        )

    def _process_answers(self, now):
        pending, self._pending = self._pending, []
        for item in pending:
            client, future, deadline, on_response, name = item
            if future.done():
                on_response(future.result())
            elif now < deadline:
                self._pending.append(item)
            else:
                client.remove_pending_request(future)
                if name:
                    self._news.append(f'{name} does not answer')
