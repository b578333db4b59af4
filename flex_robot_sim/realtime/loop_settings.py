"""Settings of the simulation loop and of the payload."""

from dataclasses import dataclass

from flex_robot_sim.dynamics.loads import MAX_PUSH_DURATION
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import Settings, setting

PACINGS = ('real_time', 'fast', 'lockstep')


@dataclass(frozen=True)
class LoopSettings(Settings):
    """Pacing of the simulation, timeouts of its inputs, and its initial position."""

    pacing: str = setting(
        'real_time',
        'real_time: synchronous with the clock; fast: as fast as possible; lockstep: '
        'one period per command',
        choices=PACINGS,
    )
    period: float = setting(
        1e-3, 'simulated time between two reads of the commands', 's', above=0.0
    )
    real_time_factor: float = setting(
        1.0, 'ratio of simulated time to real time', at_least=1e-6, at_most=1e6, live=True
    )
    max_lag: float = setting(
        0.05, 'lag above which the simulation drops time', 's', at_least=0.0, live=True
    )
    command_timeout: float = setting(
        0.5,
        'age above which the commanded effort of a joint is set to zero',
        's',
        above=0.0,
        live=True,
    )
    push_timeout: float = setting(
        2.0,
        'age above which a push ends; 0: a push acts until the next message',
        's',
        at_least=0.0,
        at_most=MAX_PUSH_DURATION,
        live=True,
    )
    realtime_priority: int = setting(
        20,
        'SCHED_FIFO priority of the simulation thread, if permitted; 0: normal scheduling',
        at_least=0,
    )
    wait_for_command: bool = setting(
        False, 'keep the arm still, as if paused, until the first command'
    )
    initial_position: tuple = setting(
        (),
        'joint positions at the start and after a reset; empty: zero, or the nearest '
        'position within limits',
        'rad, m',
        of=float,
    )


@dataclass(frozen=True)
class PayloadSettings(Settings):
    """A payload fixed to a link; it replaces an earlier one."""

    payload_link: str = setting('', 'link with the payload; empty: none', live=True)
    payload_mass: float = setting(0.0, 'mass of the payload', 'kg', at_least=0.0, live=True)
    payload_centre: tuple = setting(
        (0.0, 0.0, 0.0), 'centre of mass of the payload in the frame of its link', 'm', live=True
    )


def payload_of(settings: PayloadSettings) -> tuple[str, float, tuple] | None:
    """Return (link, mass, centre) or None; SettingError if there is a mass but no link."""
    if settings.payload_link:
        return settings.payload_link, settings.payload_mass, settings.payload_centre
    if settings.payload_mass:
        raise SettingError(f'payload_mass = {settings.payload_mass:g} kg needs a payload_link')
    return None
