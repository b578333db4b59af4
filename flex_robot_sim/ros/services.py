"""Services: names, types, and their meaning; source of the tables in the documentation."""

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
    'returns the arm to its initial state, at rest and without efforts; time continues, '
    'because a clock that jumps back breaks TF and controllers',
)
PAUSE = Service('dynamics/pause', SET_BOOL, 'true pauses the simulation, false resumes it')
STEP = Service(
    'dynamics/step',
    TRIGGER,
    'runs one `period`, while paused or in lockstep; returns when the command that answers '
    'the new state has arrived',
)
HOLD = Service(
    'controller/hold', TRIGGER, 'ends every motion and holds the arm at its present position'
)
ENABLE = Service(
    'bridge/enable',
    SET_BOOL,
    'arms or disarms the bench, which is disarmed at the start; the response names joints '
    'that are not homed',
)
ZERO = Service(
    'bridge/zero',
    TRIGGER,
    'sets the present joint positions to `zero_pose`, which homes the joints; only while '
    'disarmed and at rest',
)
CLEAR = Service(
    'bridge/clear',
    TRIGGER,
    'clears latched faults whose cause is gone, or takes the board back from another host; '
    'the bench stays disarmed',
)
START_PROFILE = Service(
    'bridge/start_profile', TRIGGER, 'plays the loaded profile; only while armed and homed'
)

SERVICES = tuple(item for item in [*globals().values()] if isinstance(item, Service))
"""All services, in the order of the tables."""
