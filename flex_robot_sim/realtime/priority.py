"""Ask the operating system not to make the simulation wait."""

import contextlib
import os

BEFORE_ORDINARY = 1  # the lowest real-time priority: for what stands in for hardware
SHARED = 'FLEX_ROBOT_SIM_SHARED'  # in the environment: others need the processors as much


def stand_in_for_hardware() -> None:
    """Put the calling thread before ordinary ones, where it may and has them for itself."""
    if not os.environ.get(SHARED):
        use_realtime_priority(BEFORE_ORDINARY)


def use_realtime_priority(priority: int) -> str | None:
    """
    Put the calling thread before all ordinary ones; return a line that says why if refused.

    :param priority: of SCHED_FIFO, 1 to 99; zero: behind those that wait for something.
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
    Put the calling thread just behind the threads that started it, if they have a priority.

    A thread of ordinary priority would keep Python's lock while it waits for its turn.
    """
    with contextlib.suppress(AttributeError, OSError):
        priority = os.sched_getparam(0).sched_priority
        if os.sched_getscheduler(0) == os.SCHED_FIFO and priority > BEFORE_ORDINARY:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority - 1))


def raise_ordinary_threads(priority: int) -> None:
    """
    Put all threads of this process before those of others, but for threads that chose otherwise.

    A thread that waits for a lock waits for who holds it, Python's own lock included, and who has
    an ordinary priority may wait for its turn for long on a busy machine.

    :param priority: of SCHED_FIFO, below that of threads that must not wait; zero: none.
    """
    if priority == 0 or not os.path.isdir('/proc/self/task'):
        return
    for thread in map(int, os.listdir('/proc/self/task')):
        with contextlib.suppress(OSError):  # it has ended, or we may not
            if os.sched_getscheduler(thread) == os.SCHED_OTHER:
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
