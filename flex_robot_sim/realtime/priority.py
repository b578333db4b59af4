"""Scheduling of threads by the operating system: real-time and ordinary priorities."""

import contextlib
import os

LOWEST_REALTIME_PRIORITY = 1  # for emulated hardware
SHARED_MACHINE = 'FLEX_ROBOT_SIM_SHARED'  # if set: the emulator keeps its ordinary priority


def use_emulator_priority() -> None:
    """Give the calling thread the lowest real-time priority, unless the machine is shared."""
    if not os.environ.get(SHARED_MACHINE):
        use_realtime_priority(LOWEST_REALTIME_PRIORITY)


def use_realtime_priority(priority: int) -> str | None:
    """
    Schedule the calling thread before all ordinary ones; if refused, return a reason.

    :param priority: of SCHED_FIFO, 1 to 99; zero: SCHED_BATCH, behind interactive threads.
    """
    if priority == 0:
        with contextlib.suppress(AttributeError, OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        return None
    if not hasattr(os, 'sched_setscheduler'):
        return 'this system has no real-time scheduling: steps may be late under load'
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (OSError, ValueError) as error:
        return (
            f'no real-time priority ({getattr(error, "strerror", None) or error}): steps may '
            'be late under load. Allow it with `rtprio` in /etc/security/limits.conf'
        )
    return None


def use_planning_priority() -> None:
    """
    Give the calling thread a priority just below that of the thread that started it.

    A thread with an ordinary priority might be preempted while it holds the interpreter lock.
    """
    with contextlib.suppress(AttributeError, OSError):
        priority = os.sched_getparam(0).sched_priority
        if os.sched_getscheduler(0) == os.SCHED_FIFO and priority > LOWEST_REALTIME_PRIORITY:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority - 1))


def raise_ordinary_threads(priority: int) -> None:
    """
    Give all threads of this process that have an ordinary priority a real-time priority.

    A real-time thread waits for locks that ordinary threads hold, including the interpreter lock.
    On a busy machine such a thread may be preempted for long meanwhile.

    :param priority: of SCHED_FIFO, below that of the control loop; zero: none.
    """
    if priority == 0 or not os.path.isdir('/proc/self/task'):
        return
    for thread in map(int, os.listdir('/proc/self/task')):
        with contextlib.suppress(OSError):  # the thread has ended, or this is not permitted
            if os.sched_getscheduler(thread) == os.SCHED_OTHER:
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
