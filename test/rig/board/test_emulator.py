"""The emulator behind its port, in real time and with faults, tested with the host's link."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from project_files import ROOT
from refusals import refusal
from waiting import PATIENCE, eventually

from flex_robot_sim.rig.board.emulated_rig import EmulatedRig, rig_of
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.board.emulator_faults import EMULATOR_FAULTS, parse
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.link import LinkSettings, LinkState, RigLink
from flex_robot_sim.rig.wire.faults import BadWire, WireFaults
from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.protocol import (
    MAJOR,
    SCHEMA_CRC,
    Fault,
    Hello,
    Mode,
    ResetCause,
    Setpoint,
    State,
    Stream,
)
from flex_robot_sim.rig.wire.vocabulary import EventKind
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow

CALM = LinkSettings(stale_after=1.0, ack_timeout=0.5, hello_timeout=PATIENCE)
FLEXSIM = [sys.executable, '-m', 'flex_robot_sim']


@pytest.fixture
def link(emulator):
    with connected(emulator.link) as link:
        yield link


@contextlib.contextmanager
def connected(port, settings=CALM):
    with RigLink(port, settings) as link:
        assert eventually(lambda: link.reading is not None)
        yield link


def drive_until(link, condition, duty=0.3, step_rate=0.0):
    """Send set points every 10 ms until a condition holds."""

    def ready():
        link.drive(duty, step_rate)
        time.sleep(0.01)
        return condition()

    return eventually(ready)


def test_link_greets_arms_drives_and_reads(emulator, link):
    link.arm()
    assert drive_until(link, lambda: link.reading.message.slide_counts > 300)
    truth = emulator.call(lambda rig: rig.bench.simulation.position[0])
    # later telemetry covers less than 0.1 s at 0.08 m/s
    assert link.reading.message.slide_counts / 300e3 == pytest.approx(truth - 0.15, abs=8e-3)
    link.disarm()
    assert eventually(lambda: link.reading.message.state == State.DISARMED)


def test_telemetry_comes_without_gaps_at_500_per_second_of_the_board(emulator, tmp_path):
    stamps = []
    with RigLink(emulator.link, CALM, on_reading=lambda r: stamps.append(r.message.time)) as link:
        assert eventually(lambda: len(stamps) > 1500)
        assert link.status().gaps == 0
        assert link.status().frames.crc_errors == 0
    assert {b - a for a, b in zip(stamps, stamps[1:])} == {2000}


@pytest.mark.long
def test_30_000_noisy_frames_contain_no_undetected_error():
    """In lockstep: every received frame is identical to a sent one."""
    rig, reader, undamaged = rig_of(), FrameReader(from_board=True), FrameReader(from_board=True)
    wires = BadWire(1), BadWire(2)
    for wire in wires:
        wire.faults = WireFaults(noise=1e-3, drop=1e-4, insert=1e-4, half=1e-4)
    sent_by_board, sent_by_host, stream, session, wrong = set(), set(), b'', 0, 0
    # noise damages bytes, so each step has the maximum number of bytes that the board sends
    for k in range(30_000):
        data = b''
        if k % 50 == 15 and session == 0:
            data = encode(Hello(MAJOR, 0, SCHEMA_CRC, 7))
        elif k % 50 == 30:
            data = encode(Stream(1000), session, k // 50)
        elif k % 5 == 0:
            data = encode(Setpoint(Mode.ALIVE, 0.0, 0.0, 50), session, k // 5 % 65536)
        sent_by_host.add(data.strip(b'\0'))
        arrived = wires[0].transmit(data)
        stream += arrived
        pieces = rig.step(arrived)
        sent_by_board.update(undamaged.feed(b'\0' + pieces + b'\0'))
        for frame in reader.feed(wires[1].transmit(pieces)):
            session = frame.session
            # the frame counter identifies frames that left the board in two pieces
            wrong += frame not in sent_by_board and frame.sequence > rig.board.outbox.sequence
    right = sum(chunk in sent_by_host for chunk in stream.split(b'\0') if chunk)
    assert wires[0].damaged > 50 and wires[1].damaged > 1000
    assert wrong == 0
    assert rig.board.reader.counts.frames <= right
    assert rig.board.reader.counts.unknown_ids + rig.board.reader.counts.length_errors == 0
    assert rig.board.state == State.DISARMED


def test_noise_on_the_line_loses_frames_but_not_the_link(emulator, link):
    link.arm()
    emulator.inject('noise=1e-3')
    assert drive_until(link, lambda: link.status().frames.crc_errors > 20, duty=0.1)
    emulator.inject('clean')
    before = link.status().gaps
    assert drive_until(link, lambda: link.state == LinkState.READY, duty=0.0)
    assert link.status().gaps >= before > 0


def test_an_unplugged_board_is_back_within_a_second_and_disarmed(emulator, link):
    link.arm()
    assert drive_until(link, lambda: link.reading.message.state == State.ARMED)
    emulator.inject('unplug=0.3')
    assert eventually(lambda: link.state != LinkState.READY)
    emulator.inject('plug')
    plugged = time.monotonic()
    assert eventually(lambda: link.state == LinkState.READY)
    assert time.monotonic() - plugged < 1.0
    link.drive(0.3, 0.0)  # the session may reject it, and the board does
    before = link.reading.message.time
    assert eventually(lambda: link.reading.message.time != before)
    assert link.reading.message.state in (State.DISARMED, State.FAULT)
    assert link.reading.message.duty == 0.0


def test_a_permanently_lost_port_is_reported(emulator, link):
    emulator.inject('vanish')
    assert eventually(lambda: link.state == LinkState.NO_PORT)
    with pytest.raises(RigError, match='the port is gone'):
        link.arm()
    assert not link.drive(0.1, 0.0)


def test_a_stalled_board_is_stale_and_stops_its_motors_on_resuming(emulator):
    with connected(emulator.link, replace(CALM, stale_after=0.1)) as link:
        link.arm()
        assert drive_until(link, lambda: link.reading.message.duty == 0.3)
        emulator.inject('stall=0.3')
        assert eventually(lambda: link.state != LinkState.READY)
        # the slide has moved in between, which looks like an encoder jump
        assert eventually(lambda: link.reading.message.state == State.FAULT)
        assert link.reading.message.faults in (Fault.WATCHDOG, Fault.ENCODER_SLIDE)
        assert link.reading.message.duty == 0.0


def test_hanging_firmware_is_reset_and_its_motors_stop(emulator, link):
    link.arm()
    assert drive_until(link, lambda: link.reading.message.duty == 0.3)
    emulator.inject('hang')
    assert eventually(lambda: link.status().boots == 2 and link.state == LinkState.READY)
    assert link.board.reset_cause == ResetCause.INDEPENDENT_WATCHDOG
    assert eventually(lambda: link.reading.message.state == State.DISARMED)


def test_a_flood_of_bytes_overflows_and_the_board_continues(emulator, link):
    emulator.inject('flood=500e3')
    assert eventually(lambda: emulator.call(lambda rig: rig.board.overruns) > 50_000)
    emulator.inject('flood=0')
    assert eventually(lambda: link.state == LinkState.READY)
    link.command(Stream(100))
    assert link.reading.message.state == State.DISARMED


@pytest.mark.parametrize(
    'words, fault, duty, rate',
    [
        ('jam', Fault.STALL, 0.6, 0.0),
        ('limit=slide+', Fault.LIMIT_SLIDE, 0.3, 0.0),
        ('limit=turn-', Fault.LIMIT_TURN, 0.0, -100.0),
        ('dead=slide', Fault.STALL, 0.6, 0.0),
        ('dead=turn', Fault.LOST_STEPS, 0.0, 200.0),
        ('weak=0.001', Fault.LOST_STEPS, 0.0, 400.0),
        ('late=0.0051', Fault.LATE, 0.3, 0.0),
    ],
)
def test_broken_bench_stops_the_motion(emulator, link, words, fault, duty, rate):
    link.arm()
    assert drive_until(link, lambda: link.reading.message.state == State.ARMED, duty, rate)
    emulator.inject(words)
    assert drive_until(link, lambda: link.reading.message.faults == fault, duty, rate)
    assert link.reading.message.duty == 0.0


def test_after_a_killed_host_the_motors_are_off_within_100_ms(emulator):
    code = (
        'import sys, time\n'
        'from flex_robot_sim.rig.host.link import LinkSettings, RigLink\n'
        'link = RigLink(sys.argv[1], LinkSettings(hello_timeout=20.0))\n'
        'link.arm()\n'
        'while True:\n'
        '    link.drive(0.3, 0.0)\n'
        '    time.sleep(0.01)\n'
        '    if link.reading:\n'
        '        print(link.reading.message.duty, flush=True)\n'
    )
    with subprocess.Popen(
        [sys.executable, '-c', code, emulator.link], stdout=subprocess.PIPE, text=True
    ) as host:
        while host.stdout.readline().strip() != '0.3':
            assert host.poll() is None
        host.send_signal(signal.SIGKILL)
    assert eventually(lambda: emulator.call(lambda rig: rig.board.state) == State.FAULT)
    fed, faults, current = emulator.call(
        lambda rig: (rig.board.watchdog_fed_at, rig.board.faults, rig.bench.current)
    )
    assert (faults, current) == (Fault.WATCHDOG, 0.0)
    with connected(emulator.link) as link:
        assert eventually(lambda: any(event.kind == EventKind.FAULT for event in link.events))
        latched = next(event for event in link.events if event.kind == EventKind.FAULT)
        assert latched.time - fed <= 100_000
        assert eventually(lambda: link.reading.message.state == State.FAULT)


def test_a_scheduled_fault_occurs_on_time(rig, tmp_path):
    rig.bench.restore((0.15, 0.0))
    emulator = Emulator(tmp_path / 'rig', EmulatedRig(rig.bench), ['stop@0.05', 'release@0.08'])
    seen = []
    for _ in range(100):
        emulator.step()
        seen.append(rig.bench.faults.stop_button)
    emulator.close()
    assert seen.index(True) == 50  # the control step that starts at 0.05 s
    assert seen.index(False, 50) == 80


@pytest.mark.parametrize(
    'words, message',
    [
        ('earthquake', 'no fault "earthquake". Known: noise, drop'),
        ('noise', 'fault "noise" needs a value: write noise=VALUE, a number'),
        ('open', 'fault "open" needs a value: write open=VALUE, one of root, tip'),
        ('open=middle', '"middle" of fault "open" must be one of root, tip'),
        ('noise=much', 'value of "noise=much" must be a number'),
        ('reboot=3', 'fault "reboot" takes no value'),
        ('jam@soon', 'time of "jam@soon" must be a number'),
        ('jam@-1', 'time of "jam@-1" must be >= 0'),
        ('push=1e9', 'value of "push=1e9" must be a number below 1e+09'),
        ('noise=nan', 'value of "noise=nan" must be a number'),
        ('noise=1.5', 'value of "noise=1.5" must be >= 0 and <= 1'),
        ('unplug=-1', 'value of "unplug=-1" must be >= 0'),
    ],
)
def test_an_invalid_option_is_one_line(words, message):
    assert refusal(UsageError, parse, words).startswith(message)


def test_every_fault_has_an_option(rig, tmp_path):
    rig.bench.restore((0.15, 0.0))
    emulator = Emulator(tmp_path / 'rig', EmulatedRig(rig.bench))
    for name, fault in EMULATOR_FAULTS.items():
        value = '0.01' if fault.kind is float else fault.kind and next(iter(fault.kind))
        emulator.inject(f'{name}={value}' if value else name)
        emulator.step()
    emulator.close()


@contextlib.contextmanager
def start(*words, link=None):
    """Start the command; it serves the port `link` at the beginning."""
    words = *words, *(('--link', str(link)) if link else ())
    process = subprocess.Popen(
        [*FLEXSIM, 'rig', 'emulate', *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with process:
        try:
            if link:
                assert process.stdout.readline() == f'The rig listens at {link}\n'
            yield process
        finally:
            process.kill()  # no effect on a process that has ended


@pytest.mark.parametrize('end', [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_a_port_and_cleans_up(tmp_path, end):
    path = tmp_path / 'rig'
    with start('--fault', 'stop', link=path) as process:
        with connected(str(path)) as link:
            assert eventually(lambda: link.reading.message.faults == Fault.ESTOP_INPUT)
            process.stdin.write('nonsense\nrelease\n')
            process.stdin.flush()
            assert eventually(lambda: not link.reading.message.inputs)
        process.send_signal(end)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert 'no fault "nonsense"' in err
    assert 'board fault' in out
    assert not os.path.lexists(path)


def test_ctrl_c_can_be_repeated_during_shutdown(tmp_path):
    path = tmp_path / 'rig'
    with start(link=path) as process:
        for _ in range(4):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, '') and 'board boot' in out
    assert not os.path.lexists(path)


def test_the_command_emulates_the_parts_of_another_bench(tmp_path):
    path, file = tmp_path / 'rig', tmp_path / 'bench.yaml'
    file.write_text('parts: {flat_resistance: 20e3, adc_noise: 0}')
    with start('--parts', str(file), link=path), connected(str(path)) as link:
        message = link.reading.message
    # 20 kohm of the straight sensor over 10 kohm: two thirds of 16 conversions of 4095
    assert (message.adc_root, message.adc_tip) == pytest.approx((43680, 43680), abs=16)


def error_line(*words):
    """Return the only line of a command that fails."""
    with start(*words) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count('\n')) == (2, '', 1)
    return err


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    'text, message',
    [
        ('parts: {resistence: 7.1}', 'parts: no setting "resistence". Known: supply'),
        ('resistance: 7.1', '"parts" is missing'),
        ('parts: {resistance: -7.1}', 'resistance = -7.1 must be > 0'),
    ],
)
def test_invalid_parts_are_one_line(tmp_path, text, message):
    file = tmp_path / 'bench.yaml'
    file.write_text(text)
    err = error_line('--parts', str(file))
    assert f'{file}: ' in err and message in err


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    'words, message',
    [
        (['--fault', 'fire'], 'no fault "fire"'),
        (['--parts', 'none.yaml'], 'none.yaml: cannot be'),
        (['--robot', 'two_link'], 'is no bench'),
        (['--link', '/proc/none/rig'], 'cannot be made'),
        (['--seconds', '-1'], '--seconds must be'),
        (['--seed', '-1'], '--seed must be 0 or more'),
    ],
)
def test_wrong_arguments_are_one_line(words, message):
    assert message in error_line(*words)
