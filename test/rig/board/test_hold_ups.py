"""An emulator that the computer holds up: its rig stands still, and nothing looks broken."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from project_files import ROOT
from waiting import PATIENCE

from flex_robot_sim.rig.board.emulated_rig import rig_of
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.board.emulator_process import EmulatorProcess
from flex_robot_sim.rig.host.link import LinkSettings, RigLink
from flex_robot_sim.rig.wire.frames import encode
from flex_robot_sim.rig.wire.protocol import Fault, Mode, Setpoint, State
from flex_robot_sim.rig.wire.vocabulary import EventKind

SETTINGS = LinkSettings(hello_timeout=PATIENCE, ack_timeout=0.5, validity=100)
SILENT = 0.085              # a host that was silent for longer has itself to blame             [s]
TRIALS = 20                 # until the test itself is not held up


class Host:
    """A host that drives as the bridge does: every third reading is answered by a set point."""

    def __init__(self, port):
        self.stamps, self.duty = [], 0.1
        self.sent, self.silence = time.monotonic(), 0.0
        self.is_driving, self._count, self.link = False, 0, None
        self.link = RigLink(port, SETTINGS, self._take)

    def _take(self, reading):
        self.stamps.append(reading.message.time)
        self._count += 1
        if self.is_driving and self._count % 3 == 0:
            self.send()

    def send(self):
        """Send a set point, and note how long there was none."""
        now = time.monotonic()
        self.silence = max(self.silence, now - self.sent)
        if self.link.drive(self.duty, 0.0):
            self.sent = now

    def until(self, condition):
        """Wait until something that the telemetry says holds."""
        assert self.link.wait_until(condition, PATIENCE), self.link.status()

    def after(self, microseconds):
        """Wait until so much time of the board has passed."""
        end = self.message.time + microseconds
        self.until(lambda: self.message.time >= end)

    @property
    def message(self):
        """The newest."""
        return self.link.reading.message

    def start(self):
        """Arm and drive; again where a busy computer has kept this host from it."""
        for _ in range(TRIALS):
            self.is_driving = False
            if self.message.state == State.FAULT:
                self.link.clear()
            self.link.arm()
            self.sent, self.silence, self.is_driving = time.monotonic(), 0.0, True
            self.after(30_000)
            if self.message.state == State.ARMED and self.message.duty == self.duty:
                return
        raise AssertionError(self.link.status())


@pytest.fixture(scope='module')
def process(tmp_path_factory):
    path = tmp_path_factory.mktemp('hold_ups') / 'rig'
    with subprocess.Popen(
            [sys.executable, '-m', 'flex_robot_sim', 'rig', 'emulate', '--link', str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=ROOT) as process:
        process.path = str(path)
        try:
            assert process.stdout.readline().startswith('The rig listens')
            yield process
        finally:
            process.kill()


@pytest.fixture
def host(process):
    host = Host(process.path)
    with host.link:
        host.until(lambda: host.link.reading and host.link.status().health)
        yield host


@contextlib.contextmanager
def held_up(process):
    """Stop the process of the emulator for the time of the block."""
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize('milliseconds', [5, 20, 100, 300])
def test_emulator_that_is_held_up_goes_on_as_if_nothing_had_been(process, host, milliseconds):
    for _ in range(TRIALS):
        host.start()
        host.after(50_000)
        first = len(host.stamps)
        before = host.link.status().health
        host.silence = 0.0
        with held_up(process):
            time.sleep(milliseconds * 1e-3)
            host.sent = max(host.sent, time.monotonic())    # nobody is heard meanwhile
        host.after(250_000)         # the watchdog, and a HEALTH
        host.is_driving = False
        if host.silence < SILENT:
            break
    assert (host.message.state, host.message.faults) == (State.ARMED, Fault(0))
    stamps = host.stamps[first - 1:]
    assert {b - a for a, b in zip(stamps, stamps[1:])} == {2000}
    status = host.link.status()
    assert (status.gaps, status.health.overruns) == (0, before.overruns)
    if milliseconds >= 20:
        assert status.health.late_steps > before.late_steps


def test_hold_up_takes_nothing_from_the_time_that_a_host_may_be_silent(process, host):
    for _ in range(TRIALS):
        host.start()
        host.after(50_000)
        host.is_driving = False
        with held_up(process):
            time.sleep(0.045)
            host.send()
        host.silence = 0.0
        # seventy of the hundred milliseconds in which the watchdog waits
        time.sleep(max(0.0, host.sent + 0.07 - time.monotonic()))
        host.send()
        if host.silence < SILENT:
            break
    host.is_driving = True
    host.after(30_000)
    assert (host.message.state, host.message.faults) == (State.ARMED, Fault(0))


def test_host_that_dies_during_a_hold_up_leaves_motors_off_100_ms_after_its_last_word(
        process, host):
    host.start()
    host.after(50_000)
    with held_up(process):
        host.is_driving = False
        time.sleep(0.3)
    heard, last = host.message.time, host.message.setpoint_sequence
    while host.message.state != State.FAULT:
        host.after(1)
        if host.message.setpoint_sequence != last:      # it has waited on the line
            heard, last = host.message.time, host.message.setpoint_sequence
    host.until(lambda: any(event.kind == EventKind.FAULT for event in host.link.events))
    event = [event for event in host.link.events if event.kind == EventKind.FAULT][-1]
    assert event.faults == Fault.WATCHDOG
    # telemetry shows a set point by up to 2 ms after it was taken
    assert event.time - heard <= 100_000
    assert host.message.duty == 0.0


def test_emulator_tells_that_it_was_held_up(process, host):
    with held_up(process):
        time.sleep(0.2)
    line = process.stderr.readline()
    assert line.startswith('this computer was busy: the rig stood still for ')


def test_an_emulated_bench_says_at_its_end_for_how_long_it_stood_still():
    bench = EmulatorProcess()
    try:
        with RigLink(bench.port, SETTINGS) as link:     # only a bench that runs can be held up
            assert link.wait_until(lambda: link.reading is not None, PATIENCE)
            before = link.reading.message.time
            os.kill(bench._process.pid, signal.SIGSTOP)
            time.sleep(0.4)
            os.kill(bench._process.pid, signal.SIGCONT)
            assert link.wait_until(lambda: link.reading.message.time > before + 100_000, PATIENCE)
    finally:
        bench.close()
    assert bench.lost_time > 0.3


def test_what_came_during_a_hold_up_waits_on_the_line_and_none_of_it_is_lost(tmp_path):
    rig = rig_of()
    emulator = Emulator(tmp_path / 'rig', rig)
    frame = encode(Setpoint(Mode.ALIVE, 0.0, 0.0, 50), 1, 1)
    count = 10_000 // len(frame)        # more than the receiver of the board holds, 4096 B
    port = os.open(emulator.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    sent, data = 0, frame * count
    for _ in range(30):                 # boot
        emulator.step()
    # 92 B in a step are 921600 baud; the terminal takes 4 kB at once
    for _ in range(2 * len(data) // 92):
        with contextlib.suppress(BlockingIOError):
            sent += os.write(port, data[sent:])
        emulator.step()
    os.close(port)
    emulator.close()
    assert sent == len(data)
    assert rig.board.reader.counts.frames == count
    assert rig.board.overruns == 0
