"""Ask the operating system not to make the simulation wait."""

import os


def use_realtime_priority(priority):
    """
    Put the calling thread before all ordinary ones; return a line that says why if refused.

    :param priority: of SCHED_FIFO, 1 to 99; zero asks for nothing.
    """
    if priority == 0:
        return None
    if not hasattr(os, 'sched_setscheduler'):
        return 'this system has no real-time scheduling: steps may be late under load'
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (OSError, ValueError) as error:
        return (f'no real-time priority ({getattr(error, "strerror", None) or error}): steps may '
                'be late under load. Allow it with `rtprio` in /etc/security/limits.conf')
    return None
