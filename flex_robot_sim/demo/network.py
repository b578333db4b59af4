"""ROS that stays on this machine and out of the way of other robots on it."""

import os
import socket

DOMAINS = 101               # those that are safe on every system
PORT_OF_DOMAIN, PORTS_PER_DOMAIN = 7410, 250    # the RTPS specification, 9.6.2.3


def keep_to_this_machine(environment=os.environ):
    """
    Set what the user has not set: discovery on this machine only, a domain that nobody uses.

    Return the domain id.
    """
    if environment.get('ROS_DISTRO') == 'humble':       # which does not know the other variable
        environment.setdefault('ROS_LOCALHOST_ONLY', '1')
    else:
        environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    if not environment.get('ROS_DOMAIN_ID'):
        environment['ROS_DOMAIN_ID'] = str(free_domain())
    return environment['ROS_DOMAIN_ID']


def free_domain():
    """Domain id above 0 in which no process of this machine takes part."""
    first = os.getpid()
    for candidate in range(first, first + DOMAINS):
        domain = 1 + candidate % DOMAINS
        if _is_free(PORT_OF_DOMAIN + PORTS_PER_DOMAIN * domain):
            return domain
    return 1 + first % DOMAINS


def _is_free(port):
    """Whether nobody listens to a UDP port, as the first participant of a domain does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True
