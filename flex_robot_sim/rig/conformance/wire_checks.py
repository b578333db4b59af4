"""Checks of the protocol: sessions, sequence numbers, acknowledgements, noise, clock."""

import zlib

from flex_robot_sim.rig.conformance.check_registry import check
from flex_robot_sim.rig.conformance.host import CheckFailure, Host, expect, expect_equal
from flex_robot_sim.rig.conformance.safety_checks import answer_of
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.behaviour import READ_ONLY_REFUSES
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.cobs import stuff
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.profile import profile_crc
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.rig.wire.vocabulary import (
    CONSTANTS,
    CONTROL_RATE,
    Access,
    EventKind,
    Fault,
    Mode,
    Result,
    State,
)

EVENT_REPEAT_MS = CONSTANTS['EVENT_REPEAT_MS'][0]
NOISE_SECONDS = 10


@check()
def says_who_it_is(host: Host) -> None:
    identity = host.identity
    expect_equal(
        (identity.major, identity.schema_crc), (wire.MAJOR, wire.SCHEMA_CRC), 'version and schema'
    )
    expect_equal(identity.control_rate, CONTROL_RATE, 'control rate')
    expect(host.session != 0, 'session 0 is none')
    expect(identity.counts_per_turn > 0 and identity.steps_per_turn > 0, 'scales must be above 0')


@check()
def same_nonce_keeps_the_session_and_another_one_begins_the_next(host: Host) -> None:
    first, session = host.hello(nonce=1), host.session
    expect_equal(host.hello(nonce=1), first, 'answer to the same HELLO')
    expect_equal(host.session, session, 'session after the same HELLO')
    host.hello(nonce=2)
    expect_equal(host.session, session % 255 + 1, 'session after another HELLO')


@check()
def command_of_another_session_is_refused(host: Host) -> None:
    for session in (0, host.session % 255 + 1):
        ack = host.command(wire.Stream(0), session=session)
        expect_equal(ack.result, Result.WRONG_SESSION, f'STREAM in session {session}')


@check()
def repeated_command_is_answered_alike_and_carried_out_once(host: Host) -> None:
    rows = (wire.Segment(1000, 0.0, 0.0),) * 16
    chunks = [wire.ProfileLoad(first, 16, profile_crc(rows), rows[:8]) for first in (0, 8)]
    host.accepted(chunks[0])
    expect_equal(host.accepted(chunks[1]).value, 16, 'segments held')
    # executed twice, the second chunk would be refused: it does not continue the profile
    ack = host.command(chunks[1], sequence=host.last_command)
    expect_equal((ack.result, ack.value), (Result.ACCEPTED, 16), 'repetition')


@check()
def overtaken_command_is_old(host: Host) -> None:
    host.accepted(wire.Stream(0))
    ack = host.command(wire.Stream(100), sequence=(host.last_command - 1) % 65536)
    expect_equal(ack.result, Result.OLD, 'STREAM with the number before')
    ack = host.command(wire.Stream(100), sequence=(host.last_command - 32768) % 65536)
    expect_equal(ack.result, Result.OLD, 'STREAM half the numbers away')
    host.wait(30)
    expect(not host.telemetry, 'an old STREAM was carried out')


@check()
def other_version_may_look_and_not_touch(host: Host) -> None:
    for other in ({'major': wire.MAJOR + 1}, {'schema_crc': wire.SCHEMA_CRC ^ 1}):
        host.hello(**other)
        host.stream()
        for kind, variant in READ_ONLY_REFUSES:
            expect_equal(
                answer_of(host, kind, variant), Result.READ_ONLY, f'{kind.__name__} {variant}'
            )
        for message in (
            wire.Stream(0),
            wire.Disarm(),
            wire.Param(Access.READ, Parameter.HOME_RATE, 0),
        ):
            host.accepted(message)


@check()
def parameters_are_read_written_and_kept_in_range(host: Host) -> None:
    for number, text in PARAMETERS.items():
        value = host.accepted(wire.Param(Access.READ, number, 0)).value
        expect(text.least <= value <= text.most, f'{text.name} = {value} is out of its range')
        for wrong in (text.least - 1, text.most + 1):
            ack = host.command(wire.Param(Access.WRITE, number, wrong))
            expect_equal((ack.result, ack.value), (Result.OUT_OF_RANGE, 2), f'write {text.name}')
        expect_equal(host.accepted(wire.Param(Access.READ, number, 0)).value, value, text.name)
    before = host.accepted(wire.Param(Access.READ, Parameter.HOME_RATE, 0)).value
    for access, value in ((Access.WRITE, 123), (Access.READ, 0)):
        expect_equal(
            host.accepted(wire.Param(access, Parameter.HOME_RATE, value)).value, 123, 'HOME_RATE'
        )
    host.accepted(wire.Param(Access.WRITE, Parameter.HOME_RATE, before))
    for place, (access, parameter) in enumerate(((7, Parameter.HOME_RATE), (Access.READ, 200))):
        wrong = wire.Param(access, parameter, 0)  # type: ignore[arg-type]
        expect_equal(host.command(wrong).value, place, 'place of what is wrong')


@check()
def telemetry_comes_at_the_rate_that_was_asked_for(host: Host) -> None:
    for rate in (1000, 500, 100):
        host.stream(rate)
        host.telemetry.clear()
        host.wait(1000)
        steps = [elapsed(b.time, a.time) for a, b in zip(host.telemetry, host.telemetry[1:])]
        expect(len(steps) > 50, f'{len(steps)} frames at {rate} Hz')
        mean = sum(steps) / len(steps)
        # by the clock of the board; single late steps are tolerated
        expect(abs(mean * rate * 1e-6 - 1) < 0.01, f'{mean:.1f} us between frames at {rate} Hz')
        late = sum(abs(step - 1e6 / rate) > 500 for step in steps)
        expect(late <= len(steps) // 100 + 1, f'{late} of {len(steps)} frames off by 0.5 ms')
    for rate in (3, 999, 1001, 65535):
        expect_equal(host.command(wire.Stream(rate)).result, Result.OUT_OF_RANGE, f'STREAM {rate}')
    host.accepted(wire.Stream(0))
    host.wait(10)
    host.telemetry.clear()
    host.wait(50)
    expect(not host.telemetry, 'telemetry after STREAM 0')


@check()
def frames_of_the_board_are_numbered_without_gaps(host: Host) -> None:
    host.stream(500)
    host.frames.clear()
    host.wait(1000)
    numbers = [frame.sequence for frame in host.frames]
    gaps = sum((b - a) % 65536 != 1 for a, b in zip(numbers, numbers[1:]))
    expect_equal(gaps, 0, f'gaps in {len(numbers)} frames')


@check()
def clock_is_told_and_does_not_run_backwards(host: Host) -> None:
    host.stream()
    for token in (0, 1 << 31, 0xFFFFFFFF):
        host.replies.clear()
        host.wait(20, host.encode(wire.Time(token), 0))
        expect_equal([reply.token for reply in host.replies], [token], 'TIME_REPLY')
        reply = host.replies[0]
        expect(elapsed(reply.sent, reply.received) < 2000, 'sent long after it was received')
        distance = min(
            min(elapsed(reply.sent, t.time), elapsed(t.time, reply.sent))
            for t in host.telemetry[-40:]
        )
        expect(distance < 5000, f'{distance} us between TIME_REPLY and the next TELEMETRY')
    host.replies.clear()
    host.wait(20, encode(wire.Time(5), host.session % 255 + 1, 0))
    expect(not host.replies, 'TIME of another session was answered')


@check()
def event_comes_again_until_it_is_acknowledged(host: Host) -> None:
    host.wait(500)
    host.events.clear()
    host.acknowledges_events = False
    host.frames.clear()
    host.hello()
    host.wait(3 * EVENT_REPEAT_MS + 50)
    copies = [f.message for f in host.frames if getattr(f.message, 'kind', None) is not None]
    expect(len(copies) >= 3, f'{len(copies)} copies in {3 * EVENT_REPEAT_MS + 50} ms')
    expect(len({event.number for event in copies}) == 1, 'the next event did not wait')
    host.wait(1, host.encode(wire.EventAck((copies[0].number + 5) % 65536), 0))
    host.acknowledges_events = True
    host.wait(3 * EVENT_REPEAT_MS)
    expect(host.has_event(EventKind.SESSION, host.session), 'no event reports the session')
    host.frames.clear()
    host.wait(3 * EVENT_REPEAT_MS)
    expect(
        not any(getattr(f.message, 'kind', None) is not None for f in host.frames),
        'an acknowledged event came again',
    )


@check()
def half_frame_costs_one_frame_and_noise_between_frames_none(host: Host) -> None:
    before = host.health()
    whole = host.encode(wire.Time(1), 0)
    host.wait(5, whole[:9])
    expect_equal(host.command(wire.Stream(0)).result, Result.ACCEPTED, 'STREAM after half a frame')
    host.wait(5, b'\x55\xaa\x11')
    expect_equal(host.command(wire.Stream(0)).result, Result.ACCEPTED, 'STREAM after noise')
    host.wait(5, whole[1:-1])  # without its zeros; the next frame has its own
    expect_equal(host.command(wire.Stream(0)).result, Result.ACCEPTED, 'STREAM after a bare frame')
    after = host.health()
    wrong = after.crc_errors - before.crc_errors
    expect_equal(wrong, 2, 'chunks that were no frame')


@check()
def frame_of_another_layout_or_of_a_board_is_counted_and_not_taken(host: Host) -> None:
    before = host.health()
    host.sent.clear()
    number = next(number for number, kind in wire.FRAMES.items() if kind is wire.Arm)
    longer = whole_frame(number, host.session, b'\1')
    unknown = whole_frame(0x7F, host.session)
    echo = encode(wire.Ack(number, Result.ACCEPTED, 0, State.ARMED, Fault(0), 0), host.session)
    assert whole_frame(number, host.session) == encode(wire.Arm(), host.session)
    for data in (longer, unknown, echo):
        host.acks.clear()
        host.wait(5, data)
        expect(not host.acks, 'it was answered')
    after = host.health()
    expect_equal(
        (
            after.length_errors - before.length_errors,
            after.unknown_ids - before.unknown_ids,
            after.frames - before.frames - host.valid_frames_sent(),
        ),
        (1, 2, 0),
        'wrong lengths, unknown ids, frames taken',
    )
    host.stream()
    expect_equal(host.now.state, State.DISARMED, 'state')


def whole_frame(number: int, session: int, fields: bytes = b'') -> bytes:
    """Return a frame with a valid CRC and any id and length."""
    body = bytes([number, session, 0, 0]) + fields
    return b'\0' + stuff(body + zlib.crc32(body).to_bytes(4, 'little')) + b'\0'


@check()
def endless_frame_is_dropped(host: Host) -> None:
    host.wait(60, b'\x01' * 3000)
    expect_equal(host.command(wire.Stream(0)).result, Result.ACCEPTED, 'STREAM after 3000 bytes')


@check()
def no_damaged_frame_is_taken(host: Host) -> None:
    """Noise on the wire: the board accepts undamaged frames only."""
    host.wait(200)
    before = host.health()
    host.sent.clear()
    for k in range(NOISE_SECONDS * 100):
        bad = bytearray(host.encode(wire.Setpoint(Mode.DRIVE, 0.9, 3000.0, 100), k))
        for _ in range(host.random.choice((1, 1, 2, 3, 8))):
            kind, place = host.random.randrange(3), host.random.randrange(len(bad))
            if kind == 0:
                bad[place] ^= host.random.randrange(1, 256)
            elif kind == 1:
                del bad[place]
            else:
                bad.insert(place, host.random.randrange(256))
        host.wait(10, bytes(bad))
        if k % 10 == 0:
            host.wait(1, host.alive())
    host.wait(20, b'\0')
    after = host.health()
    wrong = after.frames - before.frames - host.valid_frames_sent()
    wrong += after.unknown_ids - before.unknown_ids + after.length_errors - before.length_errors
    host.metrics['wrong_frames_accepted'] = wrong
    expect_equal(wrong, 0, 'damaged frames taken')
    host.stream()
    expect_equal(host.now.state, State.DISARMED, 'state after noise')


@check()
def random_bytes_are_no_frame(host: Host) -> None:
    host.wait(200)
    before = host.health()
    host.sent.clear()
    for _ in range(200):
        host.wait(5, host.random.randbytes(400))
    host.wait(50, b'\0')
    after = host.health()
    taken = after.frames - before.frames - host.valid_frames_sent()
    expect_equal(taken, 0, 'frames in 80,000 random bytes')
    expect(after.crc_errors > before.crc_errors, 'nothing was counted')


@check()
def estop_is_taken_in_every_session(host: Host) -> None:
    session = host.session % 255 + 7
    host.command(wire.Estop(), session=session)
    host.stream()
    expect_equal(host.now.state, State.FAULT, 'state')
    host.accepted(wire.Clear())
    expect_equal(host.fresh().state, State.DISARMED, 'state after CLEAR')


@check()
def second_host_takes_over_and_the_first_is_told(host: Host) -> None:
    first = host.session
    host.stream()
    host.hello()  # another nonce: another host
    ack = host.command(wire.Stream(0), session=first)
    expect_equal(ack.result, Result.WRONG_SESSION, 'command of the first host')
    expect(host.frames[-1].session == host.session != first, 'session in the header')
    host.telemetry.clear()
    host.wait(50)
    expect(not host.telemetry, 'telemetry that the second host did not ask for')


@check(reboot=True)
def nothing_is_sent_before_hello(host: Host) -> None:
    host.back_end.reboot()
    host.frames.clear()
    host.wait(500)
    expect(not host.frames, f'{len(host.frames)} frames before HELLO')


@check(reboot=True)
def clock_wraps_without_a_trace(host: Host) -> None:
    host.back_end.reboot_before_wrap(1.0)
    host.hello()
    host.stream()
    first = host.now.time
    host.telemetry.clear()
    host.wait(2000)
    times = [t.time for t in host.telemetry]
    expect(first > times[-1], 'the clock has not wrapped')
    steps = {elapsed(b, a) for a, b in zip(times, times[1:])}
    expect_equal(steps, {1000}, 'us between frames')


@check(reboot=True)
def reboot_has_another_boot_id_and_forgets_everything(host: Host) -> None:
    boot, session = host.identity.boot_id, host.session
    host.accepted(wire.Param(Access.WRITE, Parameter.HOME_RATE, 77))
    host.back_end.reboot()
    ack = host.command(wire.Stream(0), session=session)
    expect_equal(ack.result, Result.WRONG_SESSION, 'command of the session before')
    host.hello()
    expect(host.identity.boot_id != boot, 'the boot id is the same')
    value = host.accepted(wire.Param(Access.READ, Parameter.HOME_RATE, 0)).value
    expect_equal(value, PARAMETERS[Parameter.HOME_RATE].default, 'HOME_RATE')
    host.wait(300)
    expect(host.has_event(EventKind.BOOT), 'no event reports the boot')


@check()
def replayed_session_is_refused(host: Host) -> None:
    recorded = [host.encode(wire.Arm(), 1), host.setpoint(0.5), host.encode(wire.Disarm(), 2)]
    host.hello()
    before = host.health()
    host.stream()
    host.acks.clear()
    for data in recorded:
        host.wait(5, data)
    expect_equal([f.message.result for f in host.acks], [Result.WRONG_SESSION] * 2, 'answers')
    expect_equal(host.fresh().state, State.DISARMED, 'state')
    after = host.health()
    expect_equal(
        (after.refused - before.refused, after.last_refusal),
        (1, Result.WRONG_SESSION),
        'set points refused',
    )


@check()
def flood_of_hellos_is_answered_and_leaves_the_board_alive(host: Host) -> None:
    data = 400 * encode(wire.Hello(wire.MAJOR, 0, wire.SCHEMA_CRC, 42), 0, 0)
    host.wait(30, data)
    try:
        host.hello()
    except CheckFailure:
        host.wait(200)
        host.hello()
    host.accepted(wire.Stream(0))
