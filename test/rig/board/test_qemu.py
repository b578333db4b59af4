"""The firmware in QEMU: boot, answers, bitwise reproducibility, and clean-up."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from firmware_in_qemu import HELLO, needs_qemu

from flex_robot_sim.rig.board import qemu
from flex_robot_sim.rig.board.firmware import build
from flex_robot_sim.rig.board.qemu import QemuMachine, World
from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.protocol import (
    MAJOR,
    SCHEMA_CRC,
    Ack,
    Arm,
    BackEnd,
    Event,
    EventKind,
    Fault,
    Health,
    HelloAck,
    Input,
    Mode,
    ResetCause,
    Result,
    Setpoint,
    State,
    Stream,
    Telemetry,
)
from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.util.share import share_folder

pytestmark = [pytest.mark.slow, needs_qemu]


@pytest.fixture(scope='module')
def image():
    return build()


class Bench:
    """A host that stores received messages, and a board with a clock in milliseconds."""

    def __init__(self, machine, clock=0):
        self.machine, self.clock, self.world = machine, clock, World()
        self.reader = FrameReader(from_board=True)
        self.frames, self.heard = [], b''
        self.session = self.sequence = 0

    def step(self, data=b'', milliseconds=1):
        """Send bytes and advance the time; return the outputs."""
        for _ in range(milliseconds):
            self.clock += 1000
            out = self.machine.step(self.world, self.clock, data)
            data = b''
            self.heard += out
            self.frames += self.reader.feed(out)
        return self.machine.outputs

    def last(self, kind):
        """Return the newest message of a kind."""
        return next(f.message for f in reversed(self.frames) if isinstance(f.message, kind))

    def hello(self):
        """Begin a session and return the answer."""
        self.step(HELLO, 2)
        self.session = self.frames[-1].session
        return self.last(HelloAck)

    def start_motion(self):
        """Begin a session, arm, and send one set point for the DC motor."""
        self.hello()
        self.command(Stream(1000))
        self.command(Arm())
        self.send(Setpoint(Mode.DRIVE, 0.2, 0.0, 100))

    def send(self, message, milliseconds=1):
        """Send a frame and return the outputs after it."""
        self.sequence += 1
        return self.step(encode(message, self.session, self.sequence), milliseconds)

    def command(self, message):
        """Send a command and return the result."""
        self.send(message)
        return self.last(Ack).result


@pytest.fixture
def bench(image):
    with QemuMachine(image) as machine:
        yield Bench(machine)


def test_mailbox_has_the_layout_that_the_firmware_compiles(tmp_path):
    words = {
        'START': 'MAILBOX_START',
        'REAL_TIME': 'MAILBOX_REAL_TIME',
        'LOCKSTEP': 'MAILBOX_LOCKSTEP',
        'REBOOT': 'MAILBOX_REBOOT',
        'HANG': 'MAILBOX_HANG',
        'CRASH': 'MAILBOX_CRASH',
        'OVERFLOW': 'MAILBOX_OVERFLOW',
        'WORLD_AT': 'offsetof(struct mailbox, world)',
        'RECEIVED_AT': 'offsetof(struct mailbox, world.received)',
        'PINS_AT': 'offsetof(struct mailbox, world.encoder)',
        'OUT_AT': 'offsetof(struct mailbox, out)',
        'SIZE': 'sizeof(struct mailbox)',
        'TO_HOST_AT': 'offsetof(struct mailbox, to_host)',
        'FROM_HOST_AT': 'offsetof(struct mailbox, from_host)',
    }
    # the offsets become array lengths, which the symbol table contains
    source = tmp_path / 'layout.c'
    source.write_text(
        '#include <stddef.h>\n#include "hal/emulation/mailbox.h"\n'
        + ''.join(
            f'const char {name}[1 + {value}] = {{0}};\n'
            for name, value in words.items()
            if name != 'START'
        )
        + 'const unsigned START = MAILBOX_START;\n'
    )
    program = tmp_path / 'layout.o'
    subprocess.run(
        ['arm-none-eabi-gcc', '-c', '-I', share_folder() / 'firmware', '-o', program, source],
        check=True,
    )
    said = subprocess.run(
        ['arm-none-eabi-nm', '-S', program], capture_output=True, text=True, check=True
    ).stdout
    sizes = {line.split()[3]: int(line.split()[1], 16) - 1 for line in said.splitlines()}
    del sizes['START']
    assert sizes == {name: getattr(qemu, name) for name in sizes}
    header = (share_folder() / 'firmware/hal/emulation/mailbox.h').read_text()
    assert int(re.findall(r'MAILBOX_START (0x\w+)u', header)[0], 16) == qemu.START


def test_the_firmware_boots_and_identifies_itself(bench):
    answer = bench.hello()
    assert answer.back_end == BackEnd.EMULATED_BOARD
    assert (answer.major, answer.schema_crc, answer.nonce) == (MAJOR, SCHEMA_CRC, 1234)
    assert answer.reset_cause == ResetCause.POWER
    boot = next(f.message for f in bench.frames if isinstance(f.message, Event))
    assert (boot.kind, boot.state, boot.detail) == (
        EventKind.BOOT,
        State.DISARMED,
        ResetCause.POWER,
    )


def test_pin_inputs_appear_in_telemetry(bench):
    bench.hello()
    bench.world = World((70000, -70000), (33000, 32000), -0.417, int(Input.SLIDE_LOWER))
    for part in range(8):  # 16-bit counters, so a count must not jump
        bench.world = bench.world._replace(encoders=(150 * part, -150 * part))
        bench.step()
    assert bench.command(Stream(1000)) == Result.ACCEPTED
    bench.step()
    seen = bench.last(Telemetry)
    assert (seen.slide_counts, seen.turn_counts) == (1050, -1050)
    assert (seen.adc_root, seen.adc_tip) == (33000, 32000)
    assert seen.inputs == Input.SLIDE_LOWER
    assert seen.current == pytest.approx(-0.417)
    assert seen.time == bench.clock


def drive_for_half_a_second(image):
    with QemuMachine(image) as machine:
        bench = Bench(machine)
        bench.hello()
        bench.command(Stream(500))
        bench.command(Arm())
        outputs = []
        for k in range(50):
            steps = machine.outputs.steps
            bench.world = World((40 * k, steps * 3 // 4), (32000 + k, 33000))
            outputs.append(bench.send(Setpoint(Mode.DRIVE, 0.3, 1600.0, 100), 10))
        return bench.heard, outputs


def test_two_runs_are_equal_bit_by_bit(image):
    assert drive_for_half_a_second(image) == drive_for_half_a_second(image)


def test_outputs_follow_set_points_and_the_ramp(image):
    _, outputs = drive_for_half_a_second(image)
    assert all(out.duty == 3000 and out.bridge and out.stepper for out in outputs)
    # 32,000 steps/s2 reach 1600 steps/s in 50 ms, after 0.5 * 1600 * 0.05 steps
    assert [out.step_rate for out in outputs[:6]] == [
        320_000,
        640_000,
        960_000,
        1_280_000,
        1_600_000,
        1_600_000,
    ]
    # each rate holds until the next step: half a millisecond ahead of the ramp
    assert outputs[4].steps == pytest.approx(40, abs=2)
    assert outputs[-1].steps - outputs[9].steps == 1600 * 0.4


@pytest.mark.parametrize(
    'fault, cause',
    [
        ('reboot', ResetCause.PIN),
        ('hang', ResetCause.INDEPENDENT_WATCHDOG),
        ('crash', ResetCause.SOFTWARE),
        ('overflow', ResetCause.SOFTWARE),
    ],
)
def test_a_reset_in_motion_ends_disarmed_with_its_cause(bench, fault, cause):
    bench.hello()
    bench.command(Arm())
    assert bench.send(Setpoint(Mode.DRIVE, 0.3, 1600.0, 100), 5).bridge
    if fault == 'reboot':
        bench.machine.reboot(bench.clock, 2, cause)
    else:
        getattr(bench.machine, fault)(bench.clock)
    out = bench.machine.outputs
    assert (out.bridge, out.stepper, out.duty, out.step_rate, out.steps) == (False, False, 0, 0, 0)
    assert bench.hello().reset_cause == cause
    assert bench.last(Event).state == State.DISARMED
    # the previous session is invalid
    bench.session = (bench.session + 1) % 256
    assert bench.command(Arm()) == Result.WRONG_SESSION


def test_a_time_jump_beyond_the_watchdog_resets_the_processor(bench):
    bench.hello()
    bench.clock += 60_000
    bench.step()
    assert bench.machine.boots == 2
    assert bench.hello().reset_cause == ResetCause.INDEPENDENT_WATCHDOG


@pytest.mark.parametrize('late, faults', [(4900, Fault(0)), (5100, Fault.LATE)])
def test_a_late_control_step_stops_the_motors(bench, late, faults):
    bench.start_motion()
    bench.clock += late  # the delay of the next step [us]
    bench.step()
    assert bench.machine.outputs.bridge == (not faults)
    assert bench.last(Telemetry).faults == faults


def test_the_watchdog_uses_the_clock_and_does_not_count_steps(bench):
    bench.start_motion()
    taken = bench.clock
    while bench.step().bridge:
        bench.clock += 3000  # three of four steps are missed [us]
        assert bench.clock - taken < 200_000
    # steps start 1, 5, 9 ... ms after the set point: the first of them beyond 99 ms
    assert bench.clock - taken == 101_000
    assert bench.last(Telemetry).faults == Fault.WATCHDOG


def test_a_late_step_without_motion_is_not_a_fault(bench):
    bench.hello()
    bench.command(Stream(1000))
    bench.clock += 20_000
    bench.step()
    bench.step(milliseconds=100)
    assert bench.last(Telemetry).faults == Fault(0)
    assert bench.last(Health).late_steps == 1


def test_bytes_beyond_the_buffer_are_dropped_and_counted(bench):
    bench.hello()
    refused = encode(Arm(), bench.session, 7)  # the board handles 16 per step
    count = 4096 // len(refused)
    for _ in range(2):
        bench.step(refused * count)
    bench.step(milliseconds=100)
    handled = 3 * 16 * len(refused)
    lost = bench.last(Health).overruns
    assert 2 * count * len(refused) - 4096 - handled <= lost <= 2 * count * len(refused) - 4096


def test_more_bytes_than_the_limit_of_a_step_are_rejected(bench):
    with pytest.raises(FlexRobotSimError) as raised:
        bench.step(bytes(5000))
    assert str(raised.value) == 'data = 5000 bytes must be at most 4096 in a step'


def still_runs(process_id):
    # a zombie process counts as ended
    with contextlib.suppress(OSError):
        state = Path(f'/proc/{process_id}/stat').read_text().rpartition(')')[2].split()[0]
        return state != 'Z'
    return False


def children_of(process_id):
    path = Path(f'/proc/{process_id}/task/{process_id}/children')
    return [int(word) for word in path.read_text().split()]


def test_a_killed_host_leaves_no_qemu_process(image):
    code = (
        'import sys\nfrom flex_robot_sim.rig.board.qemu import QemuMachine\n'
        'machine = QemuMachine(sys.argv[1])\nprint(machine._process.pid, flush=True)\n'
        'sys.stdin.read()'
    )
    host = subprocess.Popen(
        [sys.executable, '-c', code, str(image)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    supervisor = int(host.stdout.readline())
    family = [supervisor, *children_of(supervisor)]
    assert len(family) == 3  # the supervisor, QEMU, and the host monitor
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdin.close()
    host.stdout.close()
    deadline = time.monotonic() + 10
    while any(map(still_runs, family)):
        assert time.monotonic() < deadline, 'QEMU outlives its host'
        time.sleep(0.01)


def test_the_death_of_qemu_is_one_line(bench):
    qemu_id = next(
        child
        for child in children_of(bench.machine._process.pid)
        if 'qemu' in Path(f'/proc/{child}/cmdline').read_text().split('\0')[0]
    )
    os.kill(qemu_id, signal.SIGKILL)
    with pytest.raises(FlexRobotSimError, match='^QEMU has failed: [^\n]+$'):
        bench.step(milliseconds=5)


def test_an_image_that_qemu_cannot_load_is_one_line(image, tmp_path):
    broken = tmp_path / 'broken.elf'
    # valid for this reader, but for another processor in QEMU
    data = bytearray(Path(image).read_bytes())
    data[18:20] = b'\x03\x00'
    broken.write_bytes(data)
    with pytest.raises(FlexRobotSimError, match='^QEMU has failed: [^\n]+$'):
        QemuMachine(broken)


def test_missing_qemu_is_one_line_with_the_package_to_install(monkeypatch):
    monkeypatch.setenv('PATH', '')
    with pytest.raises(FlexRobotSimError) as raised:
        QemuMachine()
    assert str(raised.value) == (
        'qemu-system-arm cannot be found. Install it (Debian, Ubuntu: sudo apt install '
        '--no-install-recommends qemu-system-arm).'
    )
