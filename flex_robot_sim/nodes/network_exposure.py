"""Addresses at which other machines reach this process, and the callers of a service."""

from __future__ import annotations

import ipaddress
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:               # who asks for addresses needs no ROS
    from rclpy.node import Node

LISTENING, UNCONNECTED = '0A', '07'     # states of TCP and UDP sockets, as the kernel writes them
HOST = slice(0, 4)          # of a DDS identity: vendor and host; the process and others follow


def open_addresses() -> list[str]:
    """
    Sorted addresses beyond this machine at which sockets of this process take what comes.

    It is the kernel that tells; an empty list where it does not, that is elsewhere than on Linux.
    """
    own, found = _own_sockets(), set()
    for table, state in (('udp', UNCONNECTED), ('udp6', UNCONNECTED), ('tcp', LISTENING),
                         ('tcp6', LISTENING)):
        for words in _rows(table):
            if words[9] in own and words[3] == state:
                address, port = words[1].split(':')
                address = _address(address)
                if not address.is_loopback:
                    found.add(f'{address}:{int(port, 16)}')
    return sorted(found)


class Caller(NamedTuple):
    """A node that may have called a service."""

    name: str
    is_near: bool           # it runs on this machine


def callers_of(node: Node, service: str) -> list[Caller]:
    """
    Callers of a service of `node`: all who have a client of it, because ROS does not tell more.

    A stranger who lies about its identity is not recognised; sockets that are bound to this
    machine let nobody lie, so there all are near.
    """
    topic = f'rq{node.resolve_service_name(service)}Request'        # as DDS knows it
    servers = node.get_subscriptions_info_by_topic(topic, no_mangle=True)
    clients = node.get_publishers_info_by_topic(topic, no_mangle=True)
    is_shut_in = not open_addresses()
    here = {_host(server) for server in servers if server.node_name == node.get_name()}
    return [Caller(_name(client), is_shut_in or {_host(client)} == here) for client in clients]


def _host(endpoint):
    return bytes(endpoint.endpoint_gid[HOST])


def _name(endpoint):
    identity = bytes(endpoint.endpoint_gid[:12]).hex()
    if 'UNKNOWN' in endpoint.node_name:     # a request may come before the name of who sends it
        return f'somebody ({identity})'
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name} ({identity})'


def _own_sockets():
    """Numbers of the sockets of this process."""
    numbers = set()
    for entry in _listed('/proc/self/fd'):
        try:
            target = os.readlink(entry)
        except OSError:             # closed meanwhile
            continue
        if target.startswith('socket:['):
            numbers.add(target[len('socket:['):-1])
    return numbers


def _listed(folder):
    return [entry.path for entry in os.scandir(folder)] if os.path.isdir(folder) else []


def _rows(table):
    path = Path('/proc/self/net', table)
    return [line.split() for line in path.read_text().splitlines()[1:]] if path.exists() else []


def _address(text):
    """Address of the hexadecimal words of the kernel, each in the byte order of the machine."""
    words = [int(text[k:k + 8], 16) for k in range(0, len(text), 8)]
    address = ipaddress.ip_address(struct.pack(f'={len(words)}I', *words))
    return getattr(address, 'ipv4_mapped', None) or address
