"""Services: names, types, and their meaning; the tables of the pages are written from here."""

from __future__ import annotations

from typing import NamedTuple

TRIGGER, SET_BOOL = 'std_srvs/srv/Trigger', 'std_srvs/srv/SetBool'


class Service(NamedTuple):
    """A service; its name begins with that of the node that offers it."""

    name: str
    kind: str
    meaning: str

    @property
    def node(self) -> str:
        """Node that offers it."""
        return self.name.partition('/')[0]

    @property
    def private(self) -> Service:
        """The same service under the private name of its node."""
        return self._replace(name=f'~/{self.name.partition("/")[2]}')


RESET = Service(
    'dynamics/reset',
    TRIGGER,
    'return the arm to its initial state, at rest and without efforts; time '
    'continues, because TF and controllers need a monotonic clock',
)
PAUSE = Service('dynamics/pause', SET_BOOL, 'true pauses, false continues')
STEP = Service(
    'dynamics/step',
    TRIGGER,
    'advance by one `period`, while paused or in lockstep; the call returns after the'
    ' command that responds to the new state',
)
HOLD = Service('controller/hold', TRIGGER, 'end every motion, and hold the present position')
ENABLE = Service(
    'bridge/enable',
    SET_BOOL,
    'arm or disarm; initially disarmed; the response names joints that are not homed',
)
ZERO = Service(
    'bridge/zero',
    TRIGGER,
    'set the present position to `zero_pose`, which homes the joints; only while '
    'disarmed, as soon as they are at rest',
)
CLEAR = Service(
    'bridge/clear',
    TRIGGER,
    'clear latched faults whose cause is gone, or take over the board from another '
    'host; the board stays disarmed',
)
START_PROFILE = Service(
    'bridge/start_profile', TRIGGER, 'play the received profile; only while armed and homed'
)

SERVICES = tuple(item for item in [*globals().values()] if isinstance(item, Service))
"""All services, in the order of the tables."""
