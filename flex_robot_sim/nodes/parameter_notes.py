"""Parameters of running nodes, read once, as JSON texts."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

MAX_VALUE_LENGTH = 1000  # [characters]; robot descriptions are recorded as topics
MAX_ATTEMPTS = 10  # per node without an answer


class ParameterNotes:
    """Reads the parameters of every node of a namespace in the background."""

    def __init__(self, node: Node, note: Callable[[str, Mapping[str, str]], None]) -> None:
        """Call note('parameters /dynamics', {name: JSON}), once for each node."""
        self._node, self._note = node, note
        self._attempts: dict[str, int] = {}  # per node; MAX_ATTEMPTS and more: done
        self._clients: dict[str, tuple[Any, Any]] = {}

    def poll(self) -> None:
        """
        Request the parameters of nodes that have not answered yet; call it once a second.

        The first call creates the clients, and the next one sends the requests. The clients
        persist: a service without its client logs a warning that it cannot send the response.
        """
        namespace = self._node.get_namespace().rstrip('/')
        own_name = f'{namespace}/{self._node.get_name()}'
        for name, node_namespace in self._node.get_node_names_and_namespaces():
            full_name = f'{node_namespace.rstrip("/")}/{name}'
            if full_name == own_name or not full_name.startswith(f'{namespace}/'):
                continue
            if full_name not in self._clients:
                self._attempts[full_name] = 0
                self._clients[full_name] = (
                    self._node.create_client(ListParameters, f'{full_name}/list_parameters'),
                    self._node.create_client(GetParameters, f'{full_name}/get_parameters'),
                )
            elif self._attempts[full_name] < MAX_ATTEMPTS:
                self._attempts[full_name] += 1
                self._request(full_name)

    def _request(self, full_name):
        lister, getter = self._clients[full_name]
        if not (lister.service_is_ready() and getter.service_is_ready()):
            return

        def on_names(future):
            names = future.result().result.names
            answer = getter.call_async(GetParameters.Request(names=names))
            answer.add_done_callback(lambda future: self._on_values(full_name, names, future))

        lister.call_async(ListParameters.Request()).add_done_callback(on_names)

    def _on_values(self, full_name, names, future):
        if self._attempts[full_name] >= 2 * MAX_ATTEMPTS:
            return
        self._attempts[full_name] = 2 * MAX_ATTEMPTS
        texts = {
            name: json.dumps(_json_value(parameter_value_to_python(value)))
            for name, value in zip(names, future.result().values)
        }
        self._note(
            f'parameters {full_name}',
            {name: text for name, text in sorted(texts.items()) if len(text) < MAX_VALUE_LENGTH},
        )


def _json_value(value):
    """Return a value as a type that JSON supports."""
    if isinstance(value, (bytes, list, tuple)) or hasattr(value, 'tolist'):
        return [_json_value(item) for item in value]
    return value
