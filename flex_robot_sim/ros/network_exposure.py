"""Addresses at which other machines reach this process, and the callers of a service."""

from __future__ import annotations

import ipaddress
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # `open_addresses` works without ROS
    from rclpy.node import Node

TCP_LISTENING, UDP_UNCONNECTED = '0A', '07'  # socket states in /proc/net
GID_HOST = slice(0, 4)  # of a DDS GID: vendor and host; process and entity follow


def open_addresses() -> list[str]:
    """
    Return sorted non-loopback addresses at which sockets of this process receive.

    The source is /proc/self/net of Linux; on other systems the list is empty.
    """
    own_sockets, addresses = _own_sockets(), set()
    for table, state in (
        ('udp', UDP_UNCONNECTED),
        ('udp6', UDP_UNCONNECTED),
        ('tcp', TCP_LISTENING),
        ('tcp6', TCP_LISTENING),
    ):
        for fields in _rows(table):
            if fields[9] in own_sockets and fields[3] == state:
                address, port = fields[1].split(':')
                address = _address(address)
                if not address.is_loopback:
                    addresses.add(f'{address}:{int(port, 16)}')
    return sorted(addresses)


class Caller(NamedTuple):
    """A node that may have called a service."""

    name: str
    is_local: bool  # it runs on this machine


def callers_of(node: Node, service: str) -> list[Caller]:
    """
    Return possible callers of a service of `node`: all nodes with a client of it.

    ROS does not report which client has sent a request. A node with a forged identity is not
    detected. If all sockets are bound to this machine, all callers are local.
    """
    topic = f'rq{node.resolve_service_name(service)}Request'  # in DDS
    servers = node.get_subscriptions_info_by_topic(topic, no_mangle=True)
    clients = node.get_publishers_info_by_topic(topic, no_mangle=True)
    is_bound_to_loopback = not open_addresses()
    local_hosts = {_host(server) for server in servers if server.node_name == node.get_name()}
    return [
        Caller(_name(client), is_bound_to_loopback or {_host(client)} == local_hosts)
        for client in clients
    ]


def _host(endpoint):
    return bytes(endpoint.endpoint_gid[GID_HOST])


def _name(endpoint):
    identity = bytes(endpoint.endpoint_gid[:12]).hex()
    if 'UNKNOWN' in endpoint.node_name:  # a request may arrive before the name is discovered
        return f'an unknown node ({identity})'
    return f'{endpoint.node_namespace.rstrip("/")}/{endpoint.node_name} ({identity})'


def _own_sockets():
    """Return the inode numbers of the sockets of this process."""
    numbers = set()
    for entry in Path('/proc/self/fd').glob('*'):
        try:
            target = os.readlink(entry)
        except OSError:  # closed meanwhile
            continue
        if target.startswith('socket:['):
            numbers.add(target[len('socket:[') : -1])
    return numbers


def _rows(table):
    path = Path('/proc/self/net', table)
    return [line.split() for line in path.read_text().splitlines()[1:]] if path.exists() else []


def _address(text):
    """Return the address for hexadecimal words of the kernel, each in native byte order."""
    fields = [int(text[k : k + 8], 16) for k in range(0, len(text), 8)]
    address = ipaddress.ip_address(struct.pack(f'={len(fields)}I', *fields))
    return getattr(address, 'ipv4_mapped', None) or address
