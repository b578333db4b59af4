"""
ROS that keeps to this machine, unless somebody asks for the network.

ROS's own discovery range LOCALHOST is no lock: with Fast DDS all sockets stay open to the network,
and whoever names our address takes part. So Fast DDS is given a profile whose only transport is
bound to 127.0.0.1. The range must be SYSTEM_DEFAULT with it, because rmw_fastrtps adds transports
of its own to those of a profile when it is LOCALHOST.

Shared memory is left out, here and in the network: Fast DDS may wait a third of a second for one
of its ports when a listener comes or goes, and hold up who publishes meanwhile.

Call this before the first node of a process is made.
"""

import os
import socket
from collections.abc import Mapping, MutableMapping

from flex_robot_sim.util.share import share_folder

RANGE, PEERS = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_STATIC_PEERS'
PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'     # 2.x and 3.x
DOMAINS = 101               # those that are safe on every system
PORT_OF_DOMAIN, PORTS_PER_DOMAIN = 7410, 250    # the RTPS specification, 9.6.2.3
RESERVED = 7409             # of domain 0, likewise: a port that DDS leaves alone
_reservations: list[socket.socket] = []     # they say which domains this process has chosen


def prepare_network(environment: MutableMapping[str, str] = os.environ) -> None:
    """Keep ROS to this machine, as far as the environment neither asks for more nor knows how."""
    if asks_for_network(environment):
        if not any(environment.get(name) for name in PROFILES):
            environment.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    elif environment.get('ROS_DISTRO') == 'humble':
        # which knows no ranges, and binds to this machine by itself
        environment.setdefault('ROS_LOCALHOST_ONLY', '1')
    elif _takes_our_profile(environment):
        for name in PROFILES:
            environment[name] = loopback_profile()
        environment.setdefault('SKIP_DEFAULT_XML_FILE', '1')    # of the current folder
        environment.pop('ROS_LOCALHOST_ONLY', None)             # another word for LOCALHOST
        if environment.get(RANGE) != 'OFF':
            environment[RANGE] = 'SYSTEM_DEFAULT'
    else:
        environment.setdefault(RANGE, 'LOCALHOST')


def use_network(environment: MutableMapping[str, str] = os.environ) -> None:
    """Ask for the network: other machines may listen and command."""
    if any(environment.get(name) == loopback_profile() for name in PROFILES):
        for name in (*PROFILES, RANGE):
            environment.pop(name, None)
    environment.pop('ROS_LOCALHOST_ONLY', None)
    if not asks_for_network(environment):
        environment[RANGE] = 'SUBNET'
    prepare_network(environment)


def asks_for_network(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names a range beyond this machine, or peers."""
    if any(environment.get(name) == loopback_profile() for name in PROFILES):
        return False
    return environment.get(RANGE) in ('SUBNET', 'SYSTEM_DEFAULT') or bool(environment.get(PEERS))


def loopback_profile() -> str:
    """Path of the profile that binds Fast DDS to this machine."""
    return str(share_folder() / 'config' / 'loopback.xml')


def choose_domain(environment: MutableMapping[str, str] = os.environ) -> str:
    """
    Set a domain that nobody uses where the user has set none; return its id.

    Nobody else who asks here is given it as long as this process lives.
    """
    if not environment.get('ROS_DOMAIN_ID'):
        environment['ROS_DOMAIN_ID'] = str(free_domain())
    return environment['ROS_DOMAIN_ID']


def free_domain() -> int:
    """Domain id above 0 in which no process of this machine takes part, or is about to."""
    first = os.getpid()
    for candidate in range(first, first + DOMAINS):
        domain = 1 + candidate % DOMAINS
        if _is_free(PORT_OF_DOMAIN + PORTS_PER_DOMAIN * domain) and _reserve(domain):
            return domain
    return 1 + first % DOMAINS


def _takes_our_profile(environment):
    """Whether it is Fast DDS that runs, as in most distributions, with no profile of the user."""
    own = loopback_profile()
    return (environment.get('RMW_IMPLEMENTATION', 'rmw_fastrtps').startswith('rmw_fastrtps')
            and all(environment.get(name) in (None, '', own) for name in PROFILES))


def _is_free(port):
    """Whether nobody listens to a UDP port, as the first participant of a domain does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('127.0.0.1', port))     # taken by who listens to all addresses, too
        except OSError:
            return False
    return True


def _reserve(domain):
    """Whether nobody has chosen the domain before; it is ours from now on."""
    mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        mark.bind(('127.0.0.1', RESERVED + PORTS_PER_DOMAIN * domain))
    except OSError:
        mark.close()
        return False
    _reservations.append(mark)
    return True
