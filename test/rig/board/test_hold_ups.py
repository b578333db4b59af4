"""An emulator that the computer suspends: its rig pauses, and no fault appears."""

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

pytestmark = pytest.mark.slow

SETTINGS = LinkSettings(hello_timeout=PATIENCE, ack_timeout=0.5, validity=100)
SILENT = 0.085  # a longer silence is an error of the host                          [s]
TRIALS = 20  # until the test itself runs without delays


class Host:
    """A host that drives like the bridge: it answers every third reading with a set point."""

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
        """Send a set point, and record the time since the last one."""
        now = time.monotonic()
        self.silence = max(self.silence, now - self.sent)
        if self.link.drive(self.duty, 0.0):
            self.sent = now

    def until(self, condition):
        """Wait until the telemetry satisfies a condition."""
        assert self.link.wait_until(condition, PATIENCE), self.link.status()

    def after(self, microseconds):
        """Wait until this much board time has passed."""
        end = self.message.time + microseconds
        self.until(lambda: self.message.time >= end)

    @property
    def message(self):
        """Return the newest message."""
        return self.link.reading.message

    def start(self):
        """Arm and drive; retry if a busy computer delays this host."""
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
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout.readline().startswith('The rig listens')
            yield process
        finally:
            process.kill()


@pytest.fixture
def host(process):
    host = Host(process.args[-1])
    with host.link:
        host.until(lambda: host.link.reading and host.link.status().health)
        yield host


@contextlib.contextmanager
def suspend(process):
    """Stop the process of the emulator for the time of the block."""
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


@pytest.mark.parametrize('milliseconds', [5, 20, 100, 300])
def test_a_suspended_emulator_resumes_without_a_fault(process, host, milliseconds):
    for _ in range(TRIALS):
        host.start()
        host.after(50_000)
        first = len(host.stamps)
        before = host.link.status().health
        host.silence = 0.0
        with suspend(process):
            time.sleep(milliseconds * 1e-3)
            host.sent = max(host.sent, time.monotonic())  # it receives nothing in between
        host.after(250_000)  # the watchdog, and a HEALTH
        host.is_driving = False
        if host.silence < SILENT:
            break
    assert (host.message.state, host.message.faults) == (State.ARMED, Fault(0))
    stamps = host.stamps[first - 1 :]
    assert {b - a for a, b in zip(stamps, stamps[1:])} == {2000}
    status = host.link.status()
    assert (status.gaps, status.health.overruns) == (0, before.overruns)
    if milliseconds >= 20:
        assert status.health.late_steps > before.late_steps


def test_a_suspension_does_not_shorten_the_watchdog_time_of_the_host(process, host):
    for _ in range(TRIALS):
        host.start()
        host.after(50_000)
        host.is_driving = False
        with suspend(process):
            time.sleep(0.045)
            host.send()
        host.silence = 0.0
        # seventy of the hundred milliseconds of the watchdog
        time.sleep(max(0.0, host.sent + 0.07 - time.monotonic()))
        host.send()
        if host.silence < SILENT:
            break
    host.is_driving = True
    host.after(30_000)
    assert (host.message.state, host.message.faults) == (State.ARMED, Fault(0))


def test_a_host_that_dies_during_a_suspension_leaves_motors_off_in_100_ms(process, host):
    host.start()
    host.after(50_000)
    with suspend(process):
        host.is_driving = False
        time.sleep(0.3)
    heard, last = host.message.time, host.message.setpoint_sequence
    while host.message.state != State.FAULT:
        host.after(1)
        if host.message.setpoint_sequence != last:  # it was still on the line
            heard, last = host.message.time, host.message.setpoint_sequence
    host.until(lambda: any(event.kind == EventKind.FAULT for event in host.link.events))
    event = [event for event in host.link.events if event.kind == EventKind.FAULT][-1]
    assert event.faults == Fault.WATCHDOG
    # telemetry shows a set point up to 2 ms after its arrival
    assert event.time - heard <= 100_000
    assert host.message.duty == 0.0


def test_the_emulator_reports_its_suspension(process, host):
    with suspend(process):
        time.sleep(0.2)
    line = process.stderr.readline()
    assert line.startswith('this computer was busy: the rig stood still for ')


def test_an_emulated_bench_reports_its_total_pause_at_the_end():
    bench = EmulatorProcess()
    try:
        with RigLink(bench.port, SETTINGS) as link:  # only a running bench can be suspended
            assert link.wait_until(lambda: link.reading is not None, PATIENCE)
            before = link.reading.message.time
            os.kill(bench._process.pid, signal.SIGSTOP)
            time.sleep(0.4)
            os.kill(bench._process.pid, signal.SIGCONT)
            assert link.wait_until(lambda: link.reading.message.time > before + 100_000, PATIENCE)
    finally:
        bench.close()
    assert bench.lost_time > 0.3


def test_bytes_sent_during_a_suspension_are_not_lost(tmp_path):
    rig = rig_of()
    emulator = Emulator(tmp_path / 'rig', rig)
    frame = encode(Setpoint(Mode.ALIVE, 0.0, 0.0, 50), 1, 1)
    count = 10_000 // len(frame)  # more than the receive buffer of the board, 4096 B
    port = os.open(emulator.link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    sent, data = 0, frame * count
    for _ in range(30):  # boot
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
