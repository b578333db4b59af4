"""
Protocol schema: all frames with sender, fields and units, and the protocol version.

This is the only schema. It generates the C header and the tables of `docs/rig_protocol.md`.
`SCHEMA_CRC` changes with every frame, field, unit, word or parameter. The module does no I/O.
"""

import zlib
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from flex_robot_sim.rig.wire import vocabulary
from flex_robot_sim.rig.wire.binary_layout import (
    AnyClass,
    MessageClass,
    i16,
    i32,
    layout_of,
    raw,
    records,
    u8,
    u16,
    u32,
    with_layout,
)
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.vocabulary import (
    Access,
    BackEnd,
    EventKind,
    Fault,
    Input,
    Joint,
    Mode,
    ResetCause,
    Result,
    State,
)

MAJOR, MINOR = 1, 0
NO_SESSION = 0
FROM_BOARD = 0x80  # bit of the ids that the board sends
FRAMES: dict[int, MessageClass] = {}  # id: class


def frame(number: int) -> Callable[[AnyClass], AnyClass]:
    """Make a NamedTuple a frame with this id."""

    def register(tuple_class: Any) -> Any:
        assert number not in FRAMES
        tuple_class.ID = number
        FRAMES[number] = with_layout(tuple_class)
        return tuple_class

    return register


def is_from_board(number: int) -> bool:
    """Whether the board sends frames with this id."""
    return bool(number & FROM_BOARD)


def frame_name(tuple_class: MessageClass) -> str:
    """Name of a frame as the documentation and C write it: ProfileLoad -> PROFILE_LOAD."""
    name = tuple_class.__name__
    return ''.join(
        f'_{letter}' if k and letter.isupper() else letter for k, letter in enumerate(name)
    ).upper()


@with_layout
class Header(NamedTuple):
    """First bytes of every frame."""

    id: Annotated[int, u8('', 'id of the frame; bit 7: sent by the board')]
    session: Annotated[int, u8('', 'session of the last HELLO_ACK; 0: none')]
    sequence: Annotated[int, u16('', 'counter of the sender, see Sequence numbers')]


@frame(0x01)
class Hello(NamedTuple):
    """Host: identify the board, and start a new session. Layout fixed for all versions."""

    major: Annotated[
        int, u8('', 'protocol version of the host; a different one makes the session read only')
    ]
    minor: Annotated[int, u8('', 'increases with compatible additions')]
    schema_crc: Annotated[
        int, u32('', 'SCHEMA_CRC of the host; a different one makes the session read only')
    ]
    nonce: Annotated[
        int, u32('', 'random number; a repeated one requests the same HELLO_ACK again')
    ]


@frame(0x02)
class Time(NamedTuple):
    """Host, 5-10 Hz: request the clock of the board."""

    token: Annotated[int, u32('', 'returned in TIME_REPLY')]


@frame(0x03)
class EventAck(NamedTuple):
    """Host: acknowledge an EVENT."""

    number: Annotated[int, u16('', 'number of the EVENT')]


@frame(0x10)
class Setpoint(NamedTuple):
    """Host, 100-200 Hz: set point of the motors; without acknowledgement."""

    mode: Annotated[Mode, u8('', 'kind of set point', choices=Mode)]
    duty: Annotated[
        float, i16('1', 'duty of the DC motor: -1 to 1 of the supply', per_unit=10_000)
    ]
    step_rate: Annotated[float, i32('steps/s', 'pulse rate of the stepper', per_unit=1000)]
    validity: Annotated[int, u16('ms', 'time after which the motors stop; 1 to VALIDITY_MAX_MS')]


@frame(0x20)
class Arm(NamedTuple):
    """Host: switch the outputs on."""


@frame(0x21)
class Disarm(NamedTuple):
    """Host: switch the outputs off. Layout fixed for all versions."""


@frame(0x22)
class Clear(NamedTuple):
    """Host: clear the latched faults whose cause is gone."""


@frame(0x23)
class Home(NamedTuple):
    """Host: move to the lower limit switch and set the origin of the counts there."""

    joint: Annotated[Joint, u8('', 'joint', choices=Joint)]


@frame(0x24)
class Zero(NamedTuple):
    """Host: set the counts of the joint at its present position."""

    joint: Annotated[Joint, u8('', 'joint', choices=Joint)]
    counts: Annotated[int, i32('counts', 'new counts at the present position')]


@frame(0x25)
class Param(NamedTuple):
    """Host: read or write a parameter; `value` of the ACK is the value in force."""

    access: Annotated[Access, u8('', 'read or write', choices=Access)]
    parameter: Annotated[Parameter, u8('', 'parameter', choices=Parameter)]
    value: Annotated[int, i32('', 'new value, in the unit of the parameter; read: 0')]


@with_layout
class Segment(NamedTuple):
    """Segment of a profile: constant inputs."""

    duration: Annotated[int, u32('us', 'SEGMENT_MIN_US to SEGMENT_MAX_US')]
    duty: Annotated[
        float, i16('1', 'duty of the DC motor: -1 to 1 of the supply', per_unit=10_000)
    ]
    step_rate: Annotated[float, i32('steps/s', 'pulse rate of the stepper', per_unit=1000)]


@frame(0x26)
class ProfileLoad(NamedTuple):
    """Host: a chunk of a profile; `first` = 0 begins a new profile."""

    first: Annotated[int, u16('', 'index of the first segment of this chunk')]
    total: Annotated[int, u16('', 'number of segments of the profile, 1 to PROFILE_CAPACITY')]
    crc: Annotated[int, u32('', 'CRC-32 over the bytes of all segments of the profile')]
    segments: Annotated[
        tuple,
        records(
            Segment,
            vocabulary.CONSTANTS['SEGMENTS_PER_CHUNK'][0],
            'segments from `first` up to `total`; unused ones are zero',
        ),
    ]


@frame(0x27)
class ProfileStart(NamedTuple):
    """Host: play the profile."""

    crc: Annotated[int, u32('', 'CRC of the profile')]


@frame(0x28)
class Stream(NamedTuple):
    """Host: set the rate of TELEMETRY; `value` of the ACK is the rate in force."""

    rate: Annotated[int, u16('Hz', '0: none; otherwise a divisor of CONTROL_RATE_HZ')]


@frame(0x2F)
class Estop(NamedTuple):
    """Host, three times: outputs off now, in every state and session. Fixed for all versions."""


@frame(0x81)
class HelloAck(NamedTuple):
    """Board: its identity; the header has the new session. Layout fixed for all versions."""

    major: Annotated[int, u8('', 'protocol version of the board')]
    minor: Annotated[int, u8('', 'increases with compatible additions')]
    schema_crc: Annotated[int, u32('', 'SCHEMA_CRC of the board')]
    nonce: Annotated[int, u32('', 'nonce of the HELLO')]
    boot_id: Annotated[int, u32('', 'different after each boot')]
    uid: Annotated[bytes, raw(12, 'unique number of the processor')]
    firmware: Annotated[int, u32('', 'version: major * 65536 + minor * 256 + patch')]
    back_end: Annotated[BackEnd, u8('', 'implementation of the board', choices=BackEnd)]
    reset_cause: Annotated[ResetCause, u8('', 'cause of this boot', choices=ResetCause)]
    counts_per_turn: Annotated[int, u16('counts', 'counts per turn of both encoders')]
    steps_per_turn: Annotated[int, u16('steps', 'pulses per turn of the stepper')]
    control_rate: Annotated[int, u16('Hz', 'rate of the control steps')]


@frame(0x82)
class Ack(NamedTuple):
    """Board: response to a command."""

    command: Annotated[int, u8('', 'id of the command')]
    result: Annotated[Result, u8('', 'result of the command', choices=Result)]
    command_sequence: Annotated[int, u16('', 'sequence number of the command')]
    state: Annotated[State, u8('', 'state after it', choices=State)]
    faults: Annotated[Fault, u16('bits', 'latched faults after it', choices=Fault)]
    value: Annotated[int, i32('', 'depends on command and result, see Acknowledgements')]


@frame(0x83)
class TimeReply(NamedTuple):
    """Board: its clock at the reception of TIME and at this transmission."""

    token: Annotated[int, u32('', 'token of the TIME')]
    received: Annotated[int, u32('us', 'board clock, wraps at 2^32')]
    sent: Annotated[int, u32('us', 'board clock, wraps at 2^32')]


@frame(0x90)
class Telemetry(NamedTuple):
    """Board, at the rate of STREAM: one control step."""

    time: Annotated[int, u32('us', 'board clock at the start of the step, wraps at 2^32')]
    slide_counts: Annotated[int, i32('counts', 'encoder of the slide; positive duty increases it')]
    turn_counts: Annotated[
        int, i32('counts', 'encoder of the turn; a positive step rate increases it')
    ]
    adc_root: Annotated[int, u16('counts', 'root flex sensor, sum of ADC_CONVERSIONS')]
    adc_tip: Annotated[int, u16('counts', 'tip flex sensor, sum of ADC_CONVERSIONS')]
    duty: Annotated[float, i16('1', 'duty applied to the DC motor', per_unit=10_000)]
    step_position: Annotated[int, i32('steps', 'sum of the pulses since boot, with sign')]
    step_rate: Annotated[float, i32('steps/s', 'present pulse rate, on the ramp', per_unit=1000)]
    state: Annotated[State, u8('', 'state of the board', choices=State)]
    inputs: Annotated[Input, u8('bits', 'switches, button, homed joints', choices=Input)]
    faults: Annotated[Fault, u16('bits', 'latched faults', choices=Fault)]
    setpoint_sequence: Annotated[int, u16('', 'sequence number of the last accepted SETPOINT')]
    current: Annotated[float, i16('A', 'current of the DC motor', per_unit=1000)]


@frame(0x91)
class Health(NamedTuple):
    """Board, 10 Hz: counters since boot; they wrap at 2^32."""

    uptime: Annotated[int, u32('ms', 'time since boot')]
    frames: Annotated[int, u32('', 'accepted frames')]
    crc_errors: Annotated[int, u32('', 'byte groups between zeros with a wrong CRC or stuffing')]
    length_errors: Annotated[int, u32('', 'frames with a correct CRC and a wrong length')]
    unknown_ids: Annotated[int, u32('', 'frames with a correct CRC and an unknown id')]
    framing_errors: Annotated[
        int, u32('', 'bytes with a framing, parity or noise error of the port')
    ]
    overruns: Annotated[int, u32('', 'bytes lost because reading was too slow')]
    refused: Annotated[int, u32('', 'rejected set points')]
    last_refusal: Annotated[Result, u8('', 'reason of the last rejection', choices=Result)]
    late_steps: Annotated[int, u32('', 'control steps that started more than 1 ms late')]
    longest_step: Annotated[int, u32('us', 'longest control step')]
    dropped_frames: Annotated[int, u32('', 'frames dropped because the port was busy')]
    lost_events: Annotated[int, u32('', 'events lost because the queue was full')]


@frame(0x92)
class Event(NamedTuple):
    """Board: an event; repeated until EVENT_ACK."""

    number: Annotated[int, u16('', 'number of the event since boot')]
    time: Annotated[int, u32('us', 'board clock at the event, wraps at 2^32')]
    kind: Annotated[EventKind, u8('', 'kind of event', choices=EventKind)]
    state: Annotated[State, u8('', 'state after it', choices=State)]
    faults: Annotated[Fault, u16('bits', 'latched faults after it', choices=Fault)]
    detail: Annotated[int, i32('', 'depends on kind, see Events')]


ENUMERATIONS = (
    State,
    Fault,
    Input,
    Result,
    Mode,
    Joint,
    EventKind,
    ResetCause,
    BackEnd,
    Access,
    Parameter,
)


def schema_text() -> str:
    """Everything that two sides must agree on, one line each."""
    lines = [f'{name} = {value}' for name, (value, _) in vocabulary.CONSTANTS.items()]
    for words in ENUMERATIONS:
        lines.append(f'{words.__name__}: ' + ' '.join(f'{w.name}={int(w)}' for w in words))
    lines += [f'{p.name}: {p.unit} {p.default} {p.least} {p.most}' for p in PARAMETERS.values()]
    for layout in (Header, Segment):
        lines.append(f'{layout.__name__}: {layout_of(layout).describe()}')
    for number, layout in FRAMES.items():
        lines.append(f'{number:#04x} {frame_name(layout)}: {layout_of(layout).describe()}')
    return '\n'.join(lines)


SCHEMA_CRC = zlib.crc32(schema_text().encode())
