"""
Firmware in QEMU: an emulated processor, with its peripherals replaced by a mailbox in memory.

In lockstep, time advances only in `step`, and its result depends on its arguments only. Requests
and answers pass through two pipes, which the firmware opens as files of the host. The processor
waits in a read, so a step costs two context switches. In real time (test/qemu_port.py) the host
accesses the mailbox over QEMU's qtest socket.
"""

import contextlib
import fcntl
import os
import select
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from flex_robot_sim.realtime.priority import LOWEST_REALTIME_PRIORITY, use_realtime_priority
from flex_robot_sim.rig.board.firmware import build, missing_tools, symbol_address
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.wire.ticks import WRAP
from flex_robot_sim.rig.wire.vocabulary import ResetCause
from flex_robot_sim.util.exceptions import UsageError

PROGRAM = 'qemu-system-arm'
PACKAGES = {PROGRAM: 'qemu-system-arm'}
MACHINE = 'netduinoplus2'  # an STM32F405
ANSWER_TIMEOUT = 20.0  # for one step, or for a boot                       [s]
BOOT_FAILURE = 'does not boot'

# firmware/hal/emulation/mailbox.h; test/rig/board/test_qemu.py compares the two
START = 0x5354524D
REAL_TIME, LOCKSTEP = 0, 1
REBOOT, HANG, CRASH, OVERFLOW = 1, 2, 4, 8
HEAD = struct.Struct('<4xI24s24s')  # mode, pipes
# time, bytes, faults, cause, boot; encoders, ADC, current, inputs
WORLD = struct.Struct('<5I2i2IiI')
WORD = struct.Struct('<I')
OUT = struct.Struct('<4I3i')  # bytes, boots, cause, enabled; duty, step rate, steps
TO_HOST, FROM_HOST = 2048, 4096  # bytes that one step can move
WORLD_AT = HEAD.size
RECEIVED_AT = WORLD_AT + 4
PINS_AT = WORLD_AT + 20
OUT_AT = WORLD_AT + WORLD.size
TO_HOST_AT = OUT_AT + OUT.size
FROM_HOST_AT = TO_HOST_AT + TO_HOST
SIZE = FROM_HOST_AT + FROM_HOST

# Kills QEMU when the standard input closes, however the parent process has ended, and ends when
# QEMU ends. Descriptor 3 is free: those for QEMU start at FIRST_DESCRIPTOR.
SUPERVISOR = """
exec 3<&0
"$@" </dev/null 3<&- & child=$!
{ read -r _ <&3; kill -9 "$child"; } 2>/dev/null & watcher=$!
wait "$child"
kill "$watcher" 2>/dev/null
"""
FIRST_DESCRIPTOR = 10


@contextlib.contextmanager
def _realtime_priority():
    """Start child processes with a real-time priority, if permitted."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    refused = use_realtime_priority(LOWEST_REALTIME_PRIORITY)
    try:
        yield
    finally:
        if not refused:
            os.sched_setscheduler(0, policy, parameter)


class World(NamedTuple):
    """Inputs at the pins of the processor."""

    encoders: tuple[int, int] = (0, 0)  # since power-up                        [counts]
    adc: tuple[int, int] = (32760, 32760)  # sums of ADC_CONVERSIONS conversions   [counts]
    current: float = 0.0  # of the DC motor                               [A]
    inputs: int = 0  # protocol.Input: switches and button


class Outputs(NamedTuple):
    """Outputs of the firmware at its pins."""

    duty: int  # of the bridge                                 [1/DUTY_ONE]
    step_rate: int  # of the pulses                                 [1e-3 steps/s]
    steps: int  # pulses sent since boot
    bridge: bool  # on: motor voltage by duty; off: no current
    stepper: bool  # the driver holds the rotor


def _ring_pieces(at, data):
    """Split bytes for the ring buffer at offset `at` into (offset, piece)."""
    first = FROM_HOST - at
    return ((at, data[:first]), (0, data[first:])) if len(data) > first else ((at, data),)


class QemuMachine:
    """
    A QEMU process that runs the firmware. Call `close`, or use it in a `with`.

    QEMU ends with this process, however that ends.
    """

    def __init__(
        self,
        image: str | Path | None = None,
        lockstep: bool = True,
        clock: int = 0,
        world: World | None = None,
    ) -> None:
        """
        Power up.

        :param image: ELF file of the firmware; default: built from the sources.
        :param clock: of the board at power-up [us].
        """
        problem = missing_tools(PACKAGES)
        if problem:
            raise RigError(problem)
        image = build() if image is None else image
        self._mailbox = symbol_address(image, 'mailbox')
        self.outputs: Any = None  # Outputs, after the first step
        self.boots = 0
        self._boot_id, self._world = 1, world or World()
        self._received, self._qtest_lock = 0, threading.Lock()
        with contextlib.nullcontext() if lockstep else _realtime_priority():
            self._start(str(image))
        try:
            head = HEAD.pack(LOCKSTEP if lockstep else REAL_TIME, *self._pipes)
            self._ask(
                self._writing(0, head + self._packed_world(clock) + bytes(OUT.size))
                + self._writing(0, WORD.pack(START))
            )
            if lockstep:
                self._answer(BOOT_FAILURE)
            else:
                self._wait_for_boot()
        except BaseException:
            self.close()
            raise

    def step(
        self, world: World, clock: int, data: bytes = b'', faults: int = 0, cause: int = 0
    ) -> bytes:
        """
        Send bytes and advance to a board time [us]; return the bytes that the firmware has sent.

        The firmware runs at most one control step, however long the interval.

        :param faults: REBOOT with a protocol.ResetCause as `cause`, HANG, CRASH or OVERFLOW.
        """
        if len(data) > FROM_HOST:
            raise UsageError(f'data = {len(data)} bytes must be at most {FROM_HOST} in a step')
        self._world = world
        with self._named_errors():
            self._requests.write(self._packed_world(clock, len(data), faults, cause) + data)
        return self._answer('does not finish its step')

    def reboot(self, clock: int, boot_id: int, cause: ResetCause) -> None:
        """Reset the processor for a protocol.ResetCause; its clock then stands at `clock` [us]."""
        self._boot_id = boot_id
        self.step(self._world, clock, faults=REBOOT, cause=int(cause))

    def hang(self, clock: int) -> None:
        """Hang the firmware until its watchdog resets the processor."""
        self.step(self._world, clock, faults=HANG)

    def crash(self, clock: int) -> None:
        """Make the firmware execute an undefined instruction."""
        self.step(self._world, clock, faults=CRASH)

    def overflow(self, clock: int) -> None:
        """Make the stack of the firmware overflow the memory."""
        self.step(self._world, clock, faults=OVERFLOW)

    def set_world(self, world: World) -> None:
        """Set the inputs at the pins; real time only."""
        self._world = world
        self._ask(self._writing(PINS_AT, self._packed_world(0)[PINS_AT - WORLD_AT :]))

    def read_outputs(self) -> Outputs:
        """Return the present Outputs; real time only (in lockstep, see `outputs`)."""
        self._take(self._ask(self._reading(OUT_AT, OUT.size))[0])
        return self.outputs

    def receive(self, data: bytes) -> None:
        """Send bytes to the serial port, at most FROM_HOST at once; real time only."""
        lines = ''
        for byte_at, piece in _ring_pieces(self._received % FROM_HOST, data):
            lines += self._writing(FROM_HOST_AT + byte_at, piece)
        self._received = (self._received + len(data)) % 2**32
        self._ask(lines + self._writing(RECEIVED_AT, WORD.pack(self._received)))

    def read_sent(self) -> bytes:
        """Wait for bytes of the firmware; b'' when QEMU has ended. Real time only."""
        return self._answers.read(4096)

    def stop(self) -> None:
        """End QEMU; a pending `read_sent` returns."""
        self._stdin.close()
        self._process.wait()

    def close(self) -> None:
        """End QEMU and release all resources."""
        self.stop()
        for end in (self._stderr, self._qtest, self._requests, self._answers):
            end.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _start(self, image):
        self._qtest, qtest = socket.socketpair()
        self._qtest.settimeout(ANSWER_TIMEOUT)
        (to_read, requests), (answers, to_write) = os.pipe(), os.pipe()
        self._requests, self._answers = os.fdopen(requests, 'wb', 0), os.fdopen(answers, 'rb', 0)
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)
        child_ends = [qtest.detach(), to_read, to_write]
        numbers = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR) for end in child_ends]
        self._pipes = [f'/dev/fd/{number}'.encode() for number in numbers[1:]]
        options = (
            f'-M {MACHINE} -accel tcg -display none -monitor none -serial none -no-user-config '
            f'-chardev socket,id=qtest,fd={numbers[0]} -qtest chardev:qtest -qtest-log none '
            '-semihosting-config enable=on,target=native'
        )
        # own process session: Ctrl-C goes to the host only, which disarms before it ends
        self._process = subprocess.Popen(
            ['sh', '-c', SUPERVISOR, 'sh', PROGRAM, '-kernel', image, *options.split()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=numbers,
        )
        for end in (*child_ends, *numbers):
            os.close(end)
        assert self._process.stdin is not None and self._process.stderr is not None
        self._stdin, self._stderr = self._process.stdin, self._process.stderr

    def _packed_world(self, clock, received=0, faults=0, cause=0):
        world = self._world
        return WORLD.pack(
            clock % WRAP,
            received,
            faults,
            cause,
            self._boot_id,
            *world.encoders,
            *world.adc,
            round(world.current * 1000),
            world.inputs,
        )

    def _answer(self, problem):
        """Wait for the answer, update the outputs and return the bytes to the host."""
        data, size = b'', OUT.size
        with self._named_errors():
            while len(data) < size:
                if not self._poll.poll(ANSWER_TIMEOUT * 1000):
                    raise RigError(f'the firmware in QEMU {problem} within {ANSWER_TIMEOUT:g} s')
                piece = self._answers.read(OUT.size + TO_HOST)
                if not piece:
                    raise ConnectionError
                data += piece
                if len(data) >= OUT.size:
                    size = OUT.size + self._take(data[: OUT.size])
        return data[OUT.size :]

    def _take(self, out):
        """Update outputs and boot count; return the number of bytes to the host."""
        sent, self.boots, _, enabled, duty, step_rate, steps = OUT.unpack(out)
        self.outputs = Outputs(duty, step_rate, steps, bool(enabled & 1), bool(enabled & 2))
        return sent

    def _wait_for_boot(self):
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while not (self.read_outputs() and self.boots):
            if time.monotonic() > deadline:
                raise RigError(f'the firmware in QEMU {BOOT_FAILURE} within {ANSWER_TIMEOUT:g} s')

    def _reading(self, at, size):
        """Return a qtest line that reads a block at an offset in the mailbox."""
        return f'read {self._mailbox + at:#x} {size:#x}\n'

    def _writing(self, at, data):
        """Return a qtest line that writes a block at an offset in the mailbox."""
        return f'write {self._mailbox + at:#x} {len(data):#x} 0x{data.hex()}\n'

    def _ask(self, lines):
        """Send lines of the qtest protocol, and return the bytes in each answer."""
        count, data = lines.count('\n'), b''
        with self._qtest_lock, self._named_errors():
            self._qtest.sendall(lines.encode())
            while data.count(b'\n') < count:
                piece = self._qtest.recv(4096)
                if not piece:
                    raise ConnectionError
                data += piece
        answers = data.split(b'\n')[:-1]
        assert len(answers) == count and all(answer.startswith(b'OK') for answer in answers)
        return [bytes.fromhex(answer[5:].decode()) for answer in answers]  # OK 0x...

    @contextlib.contextmanager
    def _named_errors(self):
        try:
            yield
        except OSError as error:
            error_output = ''
            if not isinstance(error, TimeoutError):
                # QEMU has ended: end the supervisor, too, so that its output is complete
                with contextlib.suppress(OSError):
                    self._stdin.close()
                error_output = self._stderr.read().decode(errors='replace').strip()
            reason = error_output.splitlines()[0] if error_output else 'it does not answer'
            raise RigError(f'QEMU has failed: {reason}') from error
