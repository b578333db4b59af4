"""What the view asks of others: services, parameters, targets and pushes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from flex_robot_sim.control.settings import ControllerSettings
from flex_robot_sim.feedback.feedback_settings import VIBRATION_FEEDBACKS
from flex_robot_sim.nodes.conversions import set_vector
from flex_robot_sim.nodes.topics import COMMANDS
from flex_robot_sim.shaping.shaping_settings import CONTROLLER_SHAPERS
from flex_robot_sim.viewer.remote import (
    COMMAND_JOINT,
    DISARM,
    FEEDBACK,
    PAUSE,
    PAYLOAD,
    PUSH,
    RESET,
    SHAPER,
    STEP,
)

LOOK = 0.5              # between two looks at who is there                                  [s]
REFRESH = 3.0           # between two looks at parameters                                    [s]
ANSWER = 5.0            # after which who has not answered will not                          [s]
SERVICES = {PAUSE: (SetBool, 'dynamics/pause'), STEP: (Trigger, 'dynamics/step'),
            RESET: (Trigger, 'dynamics/reset'), DISARM: (SetBool, 'bridge/enable')}
PAYLOADS = 'payload_link', 'payload_mass', 'payload_centre'
GAINS = tuple(ControllerSettings.__dataclass_fields__)
READ = {'dynamics': (*PAYLOADS, 'period'), 'controller': (SHAPER, FEEDBACK, *PAYLOADS, *GAINS)}
CHOICES = {SHAPER: CONTROLLER_SHAPERS, FEEDBACK: VIBRATION_FEEDBACKS}


class ViewRemote:
    """A Remote by way of ROS."""

    def __init__(self, node: Node) -> None:
        """Make clients and publishers of `node`."""
        self._node = node
        self._clients = {what: node.create_client(kind, name)
                         for what, (kind, name) in SERVICES.items()}
        self._setters = {name: node.create_client(SetParameters, f'{name}/set_parameters')
                         for name in READ}
        self._getters = {name: node.create_client(GetParameters, f'{name}/get_parameters')
                         for name in READ}
        self._reference = node.create_publisher(JointState, 'controller/reference', COMMANDS)
        self._push = node.create_publisher(WrenchStamped, 'push', COMMANDS)
        self._pending: list[tuple[Client, Any, float, Callable[[Any], object], str]] = []
        self._news: deque[str] = deque(maxlen=3)
        self.parameters: dict[str, dict[str, Any]] = {}     # by node, as far as they are known
        self._looked = self._refreshed = -np.inf
        self._why: dict[str, str] = {}
        self._pushed: set[str] = set()
        self._look_around()

    def look(self, now: float) -> None:
        """See who is there by now [s], and who has answered."""
        self._take_answers(now)
        if now - self._looked >= LOOK:
            self._looked = now
            self._look_around()
            if now - self._refreshed >= REFRESH:
                self._refreshed = now
                for name in READ:
                    self._refresh(name)

    def close(self) -> None:
        """End what pushes."""
        for link in [*self._pushed]:
            self.push(link, np.zeros(3))

    # what a page asks: see viewer/remote.py

    def why_not(self, what: str) -> str:
        """Why something cannot be asked for now; '' if it can."""
        return self._why[what]

    def choices(self, what: str) -> tuple[str, ...]:
        """Return what SHAPER or FEEDBACK may be."""
        return CHOICES[what]

    def value(self, what: str) -> str:
        """Return what it is, or ''."""
        return self.parameters.get('controller', {}).get(what, '')

    def pause(self, is_paused: bool) -> None:
        """Let time stand still, or go on."""
        self._call(PAUSE, SetBool.Request(data=is_paused))

    def step(self) -> None:
        """Take one step."""
        self._call(STEP, Trigger.Request())

    def reset(self) -> None:
        """Put the arm back."""
        self._call(RESET, Trigger.Request())

    def disarm(self) -> None:
        """Let commands no longer move a bench."""
        self._call(DISARM, SetBool.Request(data=False))

    def command_joint(self, joint: str, position: float) -> None:
        """Lead a joint to a position [rad, m]."""
        self._reference.publish(JointState(name=[joint], position=[position]))

    def push(self, link: str, force: np.ndarray) -> None:
        """Push at a link with a force (3,) in its frame [N] until told otherwise."""
        message = WrenchStamped()
        message.header.frame_id = link
        message.header.stamp = self._node.get_clock().now().to_msg()
        set_vector(message.wrench.force, np.asarray(force, float))
        self._push.publish(message)
        (self._pushed.add if np.any(force) else self._pushed.discard)(link)

    def carry(self, link: str, mass: float, informs_controller: bool) -> None:
        """Hang a mass [kg] at a link."""
        self._set('dynamics', payload_link=link, payload_mass=mass)
        self._set('controller', payload_link=link,
                  payload_mass=mass if informs_controller else 0.0)

    def choose(self, what: str, value: str) -> None:
        """Set SHAPER or FEEDBACK."""
        self.parameters.setdefault('controller', {})[what] = value
        self._set('controller', **{what: value})

    def news(self) -> str:
        """Return a line about what was refused, or ''."""
        return self._news.popleft() if self._news else ''

    def _look_around(self):
        why = self._why
        has_bench = self._clients[DISARM].service_is_ready()
        for what in (PAUSE, STEP, RESET):
            why[what] = '' if self._clients[what].service_is_ready() else (
                'a bench cannot be stopped like a simulation' if has_bench else
                f'there is no service {SERVICES[what][1]}')
        why[DISARM] = '' if has_bench else 'there is no bench'
        why[COMMAND_JOINT] = '' if self._reference.get_subscription_count() else (
            'nobody listens to controller/reference')
        # we listen ourselves, to see the pushes of others
        why[PUSH] = '' if self._push.get_subscription_count() > 1 else 'nobody listens to push'
        why[PAYLOAD] = '' if self._setters['dynamics'].service_is_ready() else (
            'there are no parameters of dynamics')
        is_there = self._setters['controller'].service_is_ready()
        if not is_there:
            self.parameters.pop('controller', None)
        for what in (SHAPER, FEEDBACK):
            why[what] = ('there is no controller' if not is_there else
                         '' if self.value(what) else f'the controller has no parameter {what}')

    def _refresh(self, name):
        client = self._getters[name]
        if not client.service_is_ready():
            self.parameters.pop(name, None)
            return

        def take(response):
            if len(response.values) == len(READ[name]):
                self.parameters[name] = dict(zip(
                    READ[name], map(parameter_value_to_python, response.values)))
        self._ask(client, GetParameters.Request(names=READ[name]), take, '')

    def _set(self, name, **values):
        client = self._setters[name]
        if not client.service_is_ready():
            return

        def take(response):
            for result in response.results[:1]:
                if not result.successful:
                    self._news.append(f'{name}: {result.reason}')
            self._refresh(name)
        self._ask(client, SetParameters.Request(parameters=[
            Parameter(name=key, value=_parameter_value(value)) for key, value in values.items()]),
            take, name)

    def _call(self, what, request):
        def take(response):
            if not response.success:
                self._news.append(f'{what}: {response.message}')
        name = SERVICES[what][1]
        if not self._clients[what].service_is_ready():
            self._news.append(f'{what}: {self._why[what]}')
            return
        self._ask(self._clients[what], request, take, name)

    def _ask(self, client, request, take, name):
        self._pending.append((client, client.call_async(request), time.monotonic() + ANSWER, take,
                              name))

    def _take_answers(self, now):
        waiting, self._pending = self._pending, []
        for item in waiting:
            client, future, end, take, name = item
            if future.done():
                take(future.result())
            elif now < end:
                self._pending.append(item)
            else:
                client.remove_pending_request(future)
                if name:
                    self._news.append(f'{name} does not answer')


def _parameter_value(value):
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))
