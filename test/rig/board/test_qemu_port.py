"""The firmware in QEMU as a port: in real time, and at the full rate of the line."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import serial
from firmware_in_qemu import HELLO, WRAP, needs_qemu
from qemu_port import QemuPort

from flex_robot_sim.rig.board import qemu
from flex_robot_sim.rig.board.firmware import build
from flex_robot_sim.rig.board.qemu import World
from flex_robot_sim.rig.host.link import LinkSettings, LinkState, RigLink
from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.protocol import (
    Ack,
    EventAck,
    Fault,
    Health,
    HelloAck,
    Input,
    State,
    Stream,
    Telemetry,
    Time,
    TimeReply,
)

pytestmark = [pytest.mark.slow, needs_qemu]


@pytest.fixture(scope='module')
def image():
    return build()


def wait_for(port, reader, kind, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for frame in reader.feed(port.read(max(1, port.in_waiting))):
            if isinstance(frame.message, kind):
                return frame
    raise AssertionError(f'no {kind.__name__} came')


def test_a_real_time_port_answers_and_follows_the_host_clock(image, tmp_path):
    with QemuPort(tmp_path / 'rig', image) as rig, serial.Serial(rig.link, timeout=0.1) as port:
        reader = FrameReader(from_board=True)
        port.write(HELLO)
        session = wait_for(port, reader, HelloAck).session
        stamps = []
        for token in (1, 2):
            before = time.monotonic()
            port.write(encode(Time(token), session))
            reply = wait_for(port, reader, TimeReply).message
            stamps.append((before, time.monotonic(), reply.received * 1e-6))
            if token == 1:
                port.write(encode(Stream(1000), session, 1))
                for _ in range(200):
                    wait_for(port, reader, Telemetry)
        (sent_1, came_1, board_1), (sent_2, came_2, board_2) = stamps
        # the answer is between request and reply; host and QEMU share one clock
        assert sent_2 - came_1 - 1e-3 <= board_2 - board_1 <= came_2 - sent_1 + 1e-3


def test_an_unread_port_does_not_block_the_board(image, tmp_path):
    with QemuPort(tmp_path / 'rig', image) as rig, serial.Serial(rig.link, timeout=0.1) as port:
        reader = FrameReader(from_board=True)
        port.write(HELLO)
        session = wait_for(port, reader, HelloAck).session
        port.write(encode(Stream(1000), session, 1))
        first = wait_for(port, reader, Telemetry).message.time
        deadline = time.monotonic() + 20
        while not rig.port.overflows:  # the terminal is full
            assert time.monotonic() < deadline
            time.sleep(0.01)
        port.reset_input_buffer()
        assert (wait_for(port, FrameReader(True), Telemetry).message.time - first) % WRAP > 50_000


def test_a_port_transfers_more_bytes_than_the_board_buffer_in_order(image, tmp_path):
    with QemuPort(tmp_path / 'rig', image) as rig, serial.Serial(rig.link, timeout=0.1) as port:
        reader = FrameReader(from_board=True)
        port.write(HELLO)
        session = wait_for(port, reader, HelloAck).session
        before = wait_for(port, reader, Health).message
        # four times the ring in the mailbox, at the speed of the line
        acknowledgements = b''.join(encode(EventAck(1000), session, k) for k in range(1500))
        assert len(acknowledgements) > 4 * qemu.FROM_HOST
        port.write(acknowledgements + encode(Stream(0), session, 1))
        wait_for(port, reader, Ack)
        after = wait_for(port, reader, Health).message
        assert after.frames - before.frames == 1501
        assert (after.crc_errors, after.overruns) == (before.crc_errors, before.overruns)


def test_a_real_time_port_shows_the_pin_inputs(image, tmp_path):
    with QemuPort(tmp_path / 'rig', image) as rig, serial.Serial(rig.link, timeout=0.1) as port:
        reader = FrameReader(from_board=True)
        port.write(HELLO)
        session = wait_for(port, reader, HelloAck).session
        port.write(encode(Stream(500), session, 1))
        rig.machine.set_world(World((100, -50), (33000, 32000), 0.417, int(Input.TURN_UPPER)))
        deadline = time.monotonic() + 20
        # the inputs are written last
        while not wait_for(port, reader, Telemetry).message.inputs:
            assert time.monotonic() < deadline
        seen = wait_for(port, reader, Telemetry).message
        assert (seen.slide_counts, seen.turn_counts) == (100, -50)
        assert (seen.adc_root, seen.adc_tip) == (33000, 32000)
        assert seen.inputs == Input.TURN_UPPER
        assert rig.machine.read_outputs() == (0, 0, 0, False, False)


def test_a_closed_port_leaves_neither_link_nor_thread(image, tmp_path):
    with QemuPort(tmp_path / 'rig', image) as rig:
        threads = rig._threads
        assert Path(rig.link).exists()
    assert not Path(rig.link).exists()
    assert not any(thread.is_alive() for thread in threads)


def test_after_a_killed_host_the_motors_are_off_within_100_ms(image, tmp_path):
    code = (
        'import sys, time\n'
        'from flex_robot_sim.rig.host.link import LinkSettings, RigLink\n'
        'link = RigLink(sys.argv[1], LinkSettings(telemetry_rate=1000, hello_timeout=20.0))\n'
        'while True:\n'
        '    if link.reading:\n'
        '        if link.reading.message.state != 2:\n'  # for example, a late step
        '            link.clear(), link.arm()\n'
        '        print(link.reading.message.duty, flush=True)\n'
        '    link.drive(0.3, 0.0)\n'
        '    time.sleep(0.01)\n'
    )
    with QemuPort(tmp_path / 'rig', image) as rig:
        heard, write = bytearray(), rig.port.write

        def heard_and_written(data):
            heard.extend(data)
            write(data)

        rig.port.write = heard_and_written
        with subprocess.Popen(
            [sys.executable, '-c', code, rig.link], stdout=subprocess.PIPE, text=True
        ) as host:
            while host.stdout.readline().strip() != '0.3':
                assert host.poll() is None
            host.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 20
        while rig.machine.read_outputs().bridge:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        telemetry: list[Telemetry] = []
        while not telemetry or telemetry[-1].state != State.FAULT:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            telemetry = [
                frame.message
                for frame in FrameReader(from_board=True).feed(bytes(heard))
                if isinstance(frame.message, Telemetry)
            ]
    armed = max(k for k, seen in enumerate(telemetry) if seen.state == State.ARMED)
    first = armed
    while (telemetry[first - 1].state, telemetry[first - 1].setpoint_sequence) == (
        State.ARMED,
        telemetry[armed].setpoint_sequence,
    ):
        first -= 1
    off = telemetry[armed + 1]
    assert any(seen.duty == 0.3 for seen in telemetry) and off.duty == 0.0
    # a busy computer delays QEMU, and a late step in motion is also a fault
    assert off.faults in (Fault.WATCHDOG, Fault.LATE, Fault.WATCHDOG | Fault.LATE)
    # no step that starts 99 ms or more after the last set point leaves them on
    assert (telemetry[armed].time - telemetry[first].time) % WRAP < 99_000


def test_a_board_unplugged_in_motion_is_at_rest_after_replugging(image, tmp_path):
    settings = LinkSettings(stale_after=1.0, ack_timeout=0.5, hello_timeout=20.0)
    with QemuPort(tmp_path / 'rig', image) as rig, RigLink(rig.link, settings) as link:
        deadline = time.monotonic() + 20
        while rig.machine.read_outputs().duty != 3000:
            assert time.monotonic() < deadline
            if link.reading and link.reading.message.state != State.ARMED:
                link.clear()  # a busy computer may have delayed a step
                link.arm()
            link.drive(0.3, 0.0)
            time.sleep(0.01)
        rig.port.unplug()
        assert link.wait_until(lambda: link.state == LinkState.NO_PORT, 20)
        rig.port.plug()
        plugged = time.monotonic()
        assert link.wait_until(lambda: link.state == LinkState.READY, 20)
        assert time.monotonic() - plugged < 1.0
        seen = link.reading
        assert link.wait_until(lambda: link.reading not in (None, seen), 20)
        # disarmed by the new session, the watchdog, or a late step of QEMU
        assert link.reading.message.state in (State.DISARMED, State.FAULT)
        assert not rig.machine.read_outputs().bridge
