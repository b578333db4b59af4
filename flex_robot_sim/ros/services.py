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
    'the arm is where it started, at rest and without efforts; time runs on, because '
    'a clock that jumps back breaks TF and controllers',
)
PAUSE = Service('dynamics/pause', SET_BOOL, 'true stops, false goes on')
STEP = Service(
    'dynamics/step',
    TRIGGER,
    'one `period`, while paused or in lockstep; it ends when the command that answers '
    'the new state has arrived',
)
HOLD = Service('controller/hold', TRIGGER, 'every motion ends, the arm is held where it is')
ENABLE = Service(
    'bridge/enable',
    SET_BOOL,
    'arm or disarm; off at the start; the answer names joints that are not homed',
)
ZERO = Service(
    'bridge/zero',
    TRIGGER,
    'the joints stand at `zero_pose`, which makes them homed; while disarmed, once '
    'they are at rest',
)
CLEAR = Service(
    'bridge/clear',
    TRIGGER,
    'forget latched faults whose cause is gone, or take the board back from '
    'another host; stays disarmed',
)
START_PROFILE = Service(
    'bridge/start_profile', TRIGGER, 'play the profile that was sent; while armed and homed'
)

SERVICES = tuple(item for item in [*globals().values()] if isinstance(item, Service))
"""All services, in the order of the tables."""
