"""The parameters of running nodes, read once, as texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python

LONGEST = 1000              # letters of a value: descriptions are recorded as topics
TRIES = 10                  # to ask a node that does not answer


class ParameterNotes:
    """Reads the parameters of every node of a namespace in the background."""

    def __init__(self, node: Node, note: Callable[[str, Mapping[str, str]], None]) -> None:
        """Tell note('parameters /dynamics', {name: JSON}), once for each node."""
        self._node, self._note = node, note
        self._attempts: dict[str, int] = {}        # how often; TRIES and more: done
        self._clients: dict[str, tuple[Any, Any]] = {}

    def look(self) -> None:
        """
        Ask nodes that have not answered yet; call it once a second.

        A node is asked one look after its clients are made, and they stay: a service that has not
        found a client yet, or finds it gone, warns that its response cannot be sent.
        """
        space = self._node.get_namespace().rstrip('/')
        own = f'{space}/{self._node.get_name()}'
        for name, place in self._node.get_node_names_and_namespaces():
            full = f'{place.rstrip("/")}/{name}'
            if full == own or not full.startswith(f'{space}/'):
                continue
            if full not in self._clients:
                self._attempts[full] = 0
                self._clients[full] = (
                    self._node.create_client(ListParameters, f'{full}/list_parameters'),
                    self._node.create_client(GetParameters, f'{full}/get_parameters'))
            elif self._attempts[full] < TRIES:
                self._attempts[full] += 1
                self._ask(full)

    def _ask(self, full):
        lister, getter = self._clients[full]
        if not (lister.service_is_ready() and getter.service_is_ready()):
            return

        def on_names(future):
            names = future.result().result.names
            answer = getter.call_async(GetParameters.Request(names=names))
            answer.add_done_callback(lambda future: self._take(full, names, future))
        lister.call_async(ListParameters.Request()).add_done_callback(on_names)

    def _take(self, full, names, future):
        if self._attempts[full] >= 2 * TRIES:
            return
        self._attempts[full] = 2 * TRIES
        texts = {name: json.dumps(_plain(parameter_value_to_python(value)))
                 for name, value in zip(names, future.result().values)}
        self._note(f'parameters {full}', {
            name: text for name, text in sorted(texts.items()) if len(text) < LONGEST})


def _plain(value):
    """Return a value as JSON knows it."""
    if isinstance(value, (bytes, list, tuple)) or hasattr(value, 'tolist'):
        return [_plain(item) for item in value]
    return value
