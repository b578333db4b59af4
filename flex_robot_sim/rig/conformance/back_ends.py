"""Back ends of the conformance suite: boards in lockstep, or behind a port."""

import threading
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.board.emulated_rig import near_wrap, rig_of
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.serial_port import Port


class Lockstep:
    """A board in lockstep, with a bench in which faults can be injected."""

    moves = True  # the motors may be switched on
    can_reboot = in_lockstep = True
    answer_time = 50  # time-out for the answer of a conforming board            [ms]

    def __init__(self, name: str, rig: Any) -> None:
        """Use `rig`: step(data) -> bytes, bench, reboot(), set_clock(us), close()."""
        self.name, self.rig = name, rig
        self.steps, self.seconds = 0, 0.0  # control steps, and their computing time

    @property
    def bench(self) -> Bench:
        """The Bench, for fault injection."""
        return self.rig.bench

    def exchange(self, data: bytes, milliseconds: int) -> bytes:
        """Send bytes and return those received within `milliseconds` control steps."""
        out, started = b'', time.perf_counter()
        for _ in range(milliseconds):
            out += self.rig.step(data)
            data = b''
        self.seconds += time.perf_counter() - started
        self.steps += milliseconds
        return out

    def reset(self, start: Sequence[float] = (0.15, 0.0)) -> None:
        """Restore the bench, and reboot the board."""
        self.bench.restore(start)
        self.exchange(b'', 1)  # updates the pins before the boot
        self.reboot()

    def reboot(self) -> None:
        """Reset the board, and wait until it is ready."""
        self.rig.reboot()
        self.exchange(b'', 40)

    def reboot_before_wrap(self, seconds: float) -> None:
        """Reset the board, with a clock that wraps after `seconds` [s]."""
        self.rig.set_clock(near_wrap(seconds))
        self.reboot()

    def close(self) -> None:
        """Release the resources of the rig."""
        self.rig.close()


def emulator() -> Lockstep:
    """Return the board in Python as a back end."""
    return Lockstep('emulator', rig_of())


def qemu() -> Lockstep:
    """Return the firmware in QEMU as a back end."""
    from flex_robot_sim.rig.board.qemu_rig import QemuRig  # only if needed

    return Lockstep('qemu', QemuRig())


class PortBackEnd:
    """A board behind a serial port, without fault injection."""

    bench = None
    can_reboot = in_lockstep = False
    answer_time = 500  # includes delays of host, port and adapter                [ms]

    def __init__(self, name: str, moves: bool = False) -> None:
        """
        Open a port; the message of RigError is one line with cause and remedy.

        :param moves: whether the motors may be switched on.
        """
        self.name, self.moves = name, moves
        self.held_up = 0.0  # longest delay of this computer since `reset`             [s]
        self._received, self._lock = bytearray(), threading.Lock()
        self._port = Port(name, self._take).start()

    def exchange(self, data: bytes, milliseconds: int) -> bytes:
        """Send bytes, and return those received within about `milliseconds`."""
        if data and not self._port.write(data):
            raise RigError(f'{self.name}: the port does not take bytes any more.')
        due = time.monotonic() + milliseconds * 1e-3
        time.sleep(milliseconds * 1e-3)
        self.held_up = max(self.held_up, time.monotonic() - due)
        with self._lock:
            received = bytes(self._received)
            self._received.clear()
        return received

    def reset(self) -> None:
        """Discard received bytes."""
        self.exchange(b'', 20)
        self.held_up = 0.0

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def _take(self, data):
        with self._lock:
            self._received += data


AnyBackEnd: TypeAlias = Any  # a Lockstep, a PortBackEnd, or an object with their attributes
