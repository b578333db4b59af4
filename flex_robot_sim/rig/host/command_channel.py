"""Acknowledged commands: repeated with the same sequence number until the board answers."""

import threading
import time
from collections.abc import Callable
from enum import IntEnum

from flex_robot_sim.rig.errors import CommandRefused, RigError
from flex_robot_sim.rig.wire.binary_layout import Message
from flex_robot_sim.rig.wire.protocol import FRAMES, Ack, frame_name
from flex_robot_sim.rig.wire.vocabulary import FAULTS, Fault, Result, State

REASONS = {
    Result.WRONG_SESSION: 'the board has another session. Connect again',
    Result.READ_ONLY: 'firmware and host speak different versions. Flash the firmware that '
    'belongs to this package',
    Result.NOT_ARMED: 'the board is not armed. Arm it first',
    Result.LATCHED: 'a fault is latched. Clear it, then arm',
    Result.BUSY: 'the board is homing or plays a profile. Wait, or disarm',
    Result.MUST_DISARM: 'that works with the outputs off only. Disarm first',
    Result.OUT_OF_RANGE: 'a value is out of range',
    Result.NOT_HOMED: 'both joints must be homed. Home them, or zero them in a known pose',
    Result.OLD: 'a later command has overtaken it. Send it again',
    Result.CAUSE_PERSISTS: 'the cause is still there',
    Result.NO_PROFILE: 'the board does not hold this profile. Load it first',
    Result.BAD_PROFILE: 'the profile arrived in pieces that do not fit. Load it again',
}


class CommandChannel:
    """Sends one acknowledged command at a time."""

    def __init__(
        self, send: Callable[[Message, int], bool], timeout: float, repetitions: int
    ) -> None:
        """
        Prepare a channel.

        :param send: sends (message, sequence number), returns whether the port took it.
        :param timeout: for an answer, before the command is repeated [s].
        """
        self.repeated = 0
        self._send, self._timeout, self._repetitions = send, timeout, repetitions
        self._call_lock = threading.Lock()
        self._changed = threading.Condition()
        self._sequence = 0
        self._pending: tuple[int, int] | None = None  # (id, sequence number) of the answer
        self._answer: Ack | None = None
        self._abort_reason = ''  # why no answer will come

    def call(self, message: Message) -> Ack:
        """Return the answer ACCEPTED; CommandRefused if it is another, RigError if none comes."""
        with self._call_lock:
            ack = self._ask(message)
        if ack.result != Result.ACCEPTED:
            raise CommandRefused(refusal(message, ack), ack)
        return ack

    def take(self, ack: Ack) -> None:
        """Pass an Ack to the waiting `call`, if it belongs to its command."""
        with self._changed:
            if self._pending == (ack.command, ack.command_sequence):
                self._answer = ack
                self._changed.notify_all()

    def abort(self, reason: str) -> None:
        """End a waiting `call` with RigError: no answer will come."""
        with self._changed:
            if self._pending is not None:
                self._abort_reason = reason
                self._changed.notify_all()

    def _ask(self, message):
        name = frame_name(type(message))
        with self._changed:
            self._sequence = (self._sequence + 1) % 65536
            self._pending, self._answer = (message.ID, self._sequence), None
            self._abort_reason = ''
        try:
            for attempt in range(1 + self._repetitions):
                self.repeated += attempt > 0
                self._send(message, self._sequence)
                if self._wait():
                    return self._answer
                if self._abort_reason:
                    raise RigError(f'{name} has no answer: {self._abort_reason}.')
        finally:
            with self._changed:
                self._pending = None
        raise RigError(
            f'{name} has no answer after {1 + self._repetitions} attempts. '
            'Look at the cable and at the power of the board.'
        )

    def _wait(self):
        deadline = time.monotonic() + self._timeout
        with self._changed:
            return (
                self._changed.wait_for(
                    lambda: self._answer or self._abort_reason, deadline - time.monotonic()
                )
                and not self._abort_reason
            )


def refusal(message: Message, ack: Ack) -> str:
    """Return the reason for a refusal, on one line."""
    name = frame_name(type(message))
    reason = REASONS.get(ack.result, f'result {int(ack.result)}, which this version does not know')
    if ack.result == Result.OUT_OF_RANGE:
        fields = list(FRAMES[ack.command].LAYOUT.fields)
        if 0 <= ack.value < len(fields):
            field = fields[ack.value]
            value = getattr(message, field)
            shown = '' if isinstance(value, tuple) else f' = {getattr(value, "name", value)}'
            reason = f'{field}{shown} is out of range'
    if ack.faults and ack.result in (Result.LATCHED, Result.CAUSE_PERSISTS):
        reason += f' ({describe_faults(ack.faults)})'
    return f'{name} was refused in {state_name(ack.state)}: {reason}.'


def describe_faults(faults: int) -> str:
    """Return names of latched faults, each with its remedy."""
    return '; '.join(f'{fault.name}: {FAULTS[fault].remedy}' for fault in Fault if fault & faults)


def state_name(state: State | int) -> str:
    """Name of a state of the board, or its number."""
    return name_of(State, state)


def name_of(enumeration: type[IntEnum], number: int) -> str:
    """Name of a member of an enumeration, or the number itself if it has no such member."""
    try:
        return enumeration(number).name
    except ValueError:
        return str(number)
