"""
The board in Python and the firmware in QEMU behave equally under the same random hosts.

They share no code. If they differ, one of them does not implement the page correctly.
"""

import random
from contextlib import suppress

import pytest

from flex_robot_sim.rig.board.firmware import TOOLS, missing_tools
from flex_robot_sim.rig.board.qemu import PACKAGES
from flex_robot_sim.rig.board.qemu_rig import QemuRig
from flex_robot_sim.rig.conformance import back_ends
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.profile import profile_crc
from flex_robot_sim.rig.wire.protocol import (
    MAJOR,
    SCHEMA_CRC,
    Ack,
    Arm,
    Clear,
    Disarm,
    Estop,
    Event,
    EventAck,
    Hello,
    Home,
    Param,
    ProfileLoad,
    ProfileStart,
    Segment,
    Setpoint,
    Stream,
    Telemetry,
    Zero,
)
from flex_robot_sim.rig.wire.vocabulary import EventKind, State
from flex_robot_sim.util.exceptions import UsageError

NO_QEMU = missing_tools({**TOOLS, **PACKAGES})
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(NO_QEMU), reason=NO_QEMU)]
STEPS = 3000
# a zero current limit depends on rounding: the firmware measures whole milliamperes
WRITTEN = [number for number in PARAMETERS if number != Parameter.CURRENT_MAX]


class RandomHost:
    """Sends valid and invalid messages, in and out of order."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.session = 0
        self._command = self._setpoint = 0
        self._rows = self._segments(3)
        self._plan = []  # the next messages of a correct host

    def _segments(self, count):
        choice = self.random.choice
        return tuple(
            Segment(
                choice([1000, 1500, 5000, 20_000]),
                choice([0.0, 0.1, -0.3, 0.6]),
                choice([0.0, 100.0, -300.0]),
            )
            for _ in range(count)
        )

    def bytes(self):
        """Return the bytes of one control step: mostly none."""
        if self.random.random() < 0.01:
            self._plan = self._sensible()
        if self._plan:
            self._command += 1
            return encode(self._plan.pop(0), self.session, self._command % 65536)
        if self.random.random() > 0.35:
            return b''
        message, sequence = self._message()
        with suppress(UsageError):  # 1.5 exceeds the range of some fields
            return encode(
                message, self.session if self.random.random() < 0.97 else 9, sequence % 65536
            )
        return b''

    def _sensible(self):
        crc = profile_crc(self._rows)
        either: list[list] = [
            [Arm(), Home(self.random.choice([0, 1]))],
            [
                Zero(0, 45_000),
                Zero(1, 0),
                ProfileLoad(0, 3, crc, self._rows),
                Arm(),
                ProfileStart(crc),
            ],
        ]
        return [Disarm(), Clear(), Stream(1000), *self.random.choice(either)]

    def _message(self):
        choice, dice = self.random.choice, self.random.random()
        if dice < 0.45:
            self._setpoint += choice([1, 1, 1, 1, 2, 0, -1])
            return Setpoint(
                choice([0, 1, 1, 1, 1, 2]),
                choice([0.0, 0.1, 0.3, -0.3, 0.6, 1.5]),
                choice([0.0, 100.0, -200.0, 7000.0]),
                choice([50, 100, 20, 0, 101]),
            ), self._setpoint
        if dice < 0.47:
            return Hello(
                choice([MAJOR] * 9 + [2]), 0, choice([SCHEMA_CRC] * 9 + [1]), choice([1, 2, 3])
            ), 0
        if dice < 0.49:
            return Estop(), self.random.randrange(65536)
        if dice < 0.51:
            return EventAck(self.random.randrange(30)), 0
        self._command += choice([1, 1, 1, 1, 1, 1, 2, 0, -1])
        first, total = choice([(0, 3), (0, 9), (8, 9), (8, 12)])
        rows = self._rows if total == 3 else self._segments(8)
        return choice(
            [
                Arm(),
                Arm(),
                Arm(),
                Clear(),
                Clear(),
                Clear(),
                Disarm(),
                Home(choice([0, 1, 1, 2])),
                Zero(choice([0, 1, 2]), choice([0, 45_000, -500, 88_600])),
                Param(
                    choice([0, 1, 2]),
                    choice([*WRITTEN, 26, 200]),
                    choice([0, 1, 50, 100, 300, 1000, 5000, 1_000_000]),
                ),
                ProfileLoad(first, total, profile_crc(rows), rows),
                ProfileStart(profile_crc(self._rows)),
                ProfileStart(5),
                Stream(choice([1000, 500, 3, 0, 1000, 1000])),
            ]
        ), self._command

    def breaks(self):
        """Return a function that occasionally breaks or repairs a bench."""
        choice = self.random.choice
        if self.random.random() > 0.01:
            return None
        joint, truth = choice([0, 1]), choice([True, False])
        return choice(
            [
                lambda bench: setattr(bench.faults, 'stop_button', truth),
                lambda bench: setattr(bench.faults, 'jammed', truth),
                lambda bench: bench.faults.closed_upper.add(joint),
                lambda bench: bench.faults.closed_lower.add(joint),
                lambda bench: bench.faults.open_sensors.add(joint),
                lambda bench: bench.faults.shorted_sensors.add(joint),
                lambda bench: bench.faults.encoder_jump.__setitem__(
                    joint, bench.faults.encoder_jump[joint] + 1000
                ),
                *[lambda bench: bench.clear_faults()] * 5,
            ]
        )


class Shadow:
    """A bench that repeats the last pins of another bench."""

    def __init__(self, bench):
        self._read, self._pins = bench.read, bench.read()
        bench.read = self._show

    def _show(self):
        self._pins = self._read()
        return self._pins

    def read(self):
        """Return the pins of the other bench."""
        return self._pins

    def advance(self, *_):
        """Nothing moves here."""

    def restore(self, _):
        """Nothing is broken here."""


@pytest.fixture(scope='module')
def boards():
    """Return both boards; both read the pins of the bench that the first one drives."""
    python = back_ends.emulator()
    boards = python, back_ends.Lockstep('qemu', QemuRig(Shadow(python.bench)))
    yield boards
    for board in boards:
        board.close()


def identical_fields(message):
    """Return the fields that must be identical; pulses are rounded at different points."""
    if isinstance(message, Telemetry):
        return message._replace(step_position=0, step_rate=round(message.step_rate))
    # the duration of a self test varies
    is_boot = isinstance(message, Event) and message.kind == EventKind.BOOT
    return message._replace(time=0) if is_boot else message


@pytest.mark.long(after=2)
@pytest.mark.parametrize('seed', range(6))
def test_both_boards_answer_a_random_host_identically(boards, seed):
    host = RandomHost(seed)
    said: list[list] = [[] for _ in boards]
    for board in boards:
        board.rig._boot_id = 1000 + seed
        board.reset()
    readers = [FrameReader(from_board=True) for _ in boards]
    data = encode(Hello(MAJOR, 0, SCHEMA_CRC, 1))
    for _ in range(STEPS):
        breaks = host.breaks()
        if breaks is not None:
            breaks(boards[0].bench)
        for board, reader, messages_of_board in zip(boards, readers, said):
            messages_of_board += reader.feed(board.exchange(data, 1))
        data = host.bytes()
        if said[0]:
            host.session = said[0][-1].session
    states = {f.message.state for f in said[0] if isinstance(f.message, (Ack, Telemetry))}
    assert states == {*State} - {State.BOOT}
    for kind in (Ack, Event, Telemetry):
        python, firmware = (
            [
                (f.session, identical_fields(f.message))
                for f in frames
                if isinstance(f.message, kind)
            ]
            for frames in said
        )
        # one further frame may still be on the line
        count = min(len(python), len(firmware))
        assert max(len(python), len(firmware)) - count <= 2
        assert python[:count] == firmware[:count]
