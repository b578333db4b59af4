"""
Network access of ROS: restricted to this machine unless the environment requests the network.

The discovery range LOCALHOST of ROS is not a protection: with Fast DDS all sockets stay open to
the network, and any machine that addresses them takes part. So Fast DDS gets a profile whose only
transport is bound to 127.0.0.1. The range must then be SYSTEM_DEFAULT, because with LOCALHOST
rmw_fastrtps adds transports to those of the profile.

Shared memory is disabled in both cases: when a subscriber starts or ends, Fast DDS may block
publishers for a third of a second while it waits for a shared-memory port.

Call this before the first node of a process is made.
"""

import os
import socket
from collections.abc import Mapping, MutableMapping

from flex_robot_sim.util.share import share_folder

RANGE_VARIABLE, PEERS_VARIABLE = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS'
# of Fast DDS 2.x and 3.x
PROFILE_VARIABLES = 'FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'
MAX_DOMAIN_ID = 101  # largest domain id that is safe on every system
FIRST_DOMAIN_PORT, PORTS_PER_DOMAIN = 7410, 250  # the RTPS specification, 9.6.2.3
FIRST_RESERVATION_PORT = 7409  # of domain 0; DDS does not use this port


def prepare_network(environment: MutableMapping[str, str] = os.environ) -> None:
    """Restrict ROS to this machine, unless the environment requests or already defines access."""
    if asks_for_network(environment):
        if not any(environment.get(name) for name in PROFILE_VARIABLES):
            environment.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    elif environment.get('ROS_DISTRO') == 'humble':
        # Humble has no discovery ranges; this variable binds it to this machine
        environment.setdefault('ROS_LOCALHOST_ONLY', '1')
    elif _uses_own_profile(environment):
        for name in PROFILE_VARIABLES:
            environment[name] = loopback_profile()
        environment.setdefault('SKIP_DEFAULT_XML_FILE', '1')  # in the current folder
        environment.pop('ROS_LOCALHOST_ONLY', None)  # equivalent to LOCALHOST
        if environment.get(RANGE_VARIABLE) != 'OFF':
            environment[RANGE_VARIABLE] = 'SYSTEM_DEFAULT'
    else:
        environment.setdefault(RANGE_VARIABLE, 'LOCALHOST')


def use_network(environment: MutableMapping[str, str] = os.environ) -> None:
    """Open ROS to the network: other machines may subscribe and command."""
    if any(environment.get(name) == loopback_profile() for name in PROFILE_VARIABLES):
        for name in (*PROFILE_VARIABLES, RANGE_VARIABLE):
            environment.pop(name, None)
    environment.pop('ROS_LOCALHOST_ONLY', None)
    if not asks_for_network(environment):
        environment[RANGE_VARIABLE] = 'SUBNET'
    prepare_network(environment)


def asks_for_network(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment sets a range beyond this machine, or peers."""
    if any(environment.get(name) == loopback_profile() for name in PROFILE_VARIABLES):
        return False
    return environment.get(RANGE_VARIABLE) in ('SUBNET', 'SYSTEM_DEFAULT') or bool(
        environment.get(PEERS_VARIABLE)
    )


def loopback_profile() -> str:
    """Path of the profile that binds Fast DDS to this machine."""
    return str(share_folder() / 'config' / 'loopback.xml')


def choose_domain(environment: MutableMapping[str, str] = os.environ) -> str:
    """Set, and reserve, an unused domain unless the environment sets one; return its id."""
    if not environment.get('ROS_DOMAIN_ID'):
        environment['ROS_DOMAIN_ID'] = str(free_domain())
    return environment['ROS_DOMAIN_ID']


def free_domain() -> int:
    """Return a domain id above 0 that no process of this machine uses or has reserved."""
    first = os.getpid()
    for candidate in range(first, first + MAX_DOMAIN_ID):
        domain = 1 + candidate % MAX_DOMAIN_ID
        # the first participant of a domain uses its first port
        probe = _bind(FIRST_DOMAIN_PORT + PORTS_PER_DOMAIN * domain)
        reservation = probe and _bind(FIRST_RESERVATION_PORT + PORTS_PER_DOMAIN * domain)
        if probe:
            probe.close()
        if reservation:
            reservation.detach()  # the port stays bound until this process ends
            return domain
    return 1 + first % MAX_DOMAIN_ID


def _uses_own_profile(environment):
    """Whether the middleware is Fast DDS (the usual default) without a profile of the user."""
    own_profile = loopback_profile()
    return environment.get('RMW_IMPLEMENTATION', 'rmw_fastrtps').startswith(
        'rmw_fastrtps'
    ) and all(environment.get(name) in (None, '', own_profile) for name in PROFILE_VARIABLES)


def _bind(port):
    """Return a socket bound to a UDP port of this machine; None if the port is taken."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        bound.bind(('127.0.0.1', port))  # fails for sockets bound to all addresses, too
    except OSError:
        bound.close()
        return None
    return bound
