"""
Responses of the board to each command in each state.

The protocol page and the conformance suite use it; `docs/rig_protocol.md` has the further rules.
"""

from typing import NamedTuple

from flex_robot_sim.rig.wire.protocol import (
    Arm,
    Clear,
    Disarm,
    Estop,
    Home,
    Param,
    ProfileLoad,
    ProfileStart,
    Setpoint,
    Stream,
    Zero,
)
from flex_robot_sim.rig.wire.vocabulary import Result, State


class Answer(NamedTuple):
    """Result of a command, and the state after an accepted one; None: unchanged."""

    result: Result
    state: State | None = None
    conditions: tuple[Result, ...] = ()  # results instead, if their condition fails


def _accepted(state=None, *conditions):
    return Answer(Result.ACCEPTED, state, conditions)


OK = _accepted()
NOT_ARMED, LATCHED, BUSY, MUST_DISARM = (
    Answer(result)
    for result in (Result.NOT_ARMED, Result.LATCHED, Result.BUSY, Result.MUST_DISARM)
)
STATES = (State.DISARMED, State.ARMED, State.HOMING, State.PROFILE, State.FAULT)

WRITE, ALIVE, DRIVE = 'write', 'ALIVE', 'DRIVE'
"""Variants of PARAM and SETPOINT with different responses."""

_DISARMING = _accepted(State.DISARMED)
_CHECKED = _accepted(None, Result.OUT_OF_RANGE)
_CHUNK = _accepted(None, Result.OUT_OF_RANGE, Result.BAD_PROFILE)

# Columns as in STATES.
# fmt: off
_TABLE = {
    (Arm, ''): (_accepted(State.ARMED), OK, BUSY, BUSY, LATCHED),
    (Disarm, ''): (OK, _DISARMING, _DISARMING, _DISARMING, OK),
    (Clear, ''): (OK, MUST_DISARM, MUST_DISARM, MUST_DISARM,
                  _accepted(State.DISARMED, Result.CAUSE_PERSISTS)),
    (Home, ''): (NOT_ARMED, _accepted(State.HOMING, Result.OUT_OF_RANGE), BUSY, BUSY, LATCHED),
    (Zero, ''): (_CHECKED, MUST_DISARM, BUSY, BUSY, LATCHED),
    (Param, 'read'): (_CHECKED,) * 5,
    (Param, WRITE): (_CHECKED, MUST_DISARM, BUSY, BUSY, _CHECKED),
    (ProfileLoad, ''): (_CHUNK, _CHUNK, BUSY, BUSY, _CHUNK),
    (ProfileStart, ''): (NOT_ARMED,
                         _accepted(State.PROFILE, Result.NO_PROFILE, Result.NOT_HOMED),
                         BUSY, BUSY, LATCHED),
    (Stream, ''): (_CHECKED,) * 5,
    (Estop, ''): (_accepted(State.FAULT),) * 4 + (OK,),
    (Setpoint, ALIVE): (NOT_ARMED, _CHECKED, _CHECKED, _CHECKED, LATCHED),
    (Setpoint, DRIVE): (NOT_ARMED, _CHECKED, BUSY, BUSY, LATCHED),
}
# fmt: on

ANSWERS = {
    (message, variant): dict(zip(STATES, row)) for (message, variant), row in _TABLE.items()
}
"""{(message class, variant): {state: Answer}}."""

READ_ONLY_REFUSES = {*ANSWERS} - {(Disarm, ''), (Estop, ''), (Stream, ''), (Param, 'read')}
"""Commands rejected in a session whose HELLO had another major version or schema."""
