"""What the suite can speak to, in lockstep or through a port."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from flex_robot_sim.rig.board.emulated_rig import near_wrap
from flex_robot_sim.rig.board.rig_of import rig_of
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.port import Port

if TYPE_CHECKING:
    from flex_robot_sim.rig.bench.bench import Bench


class Lockstep:
    """A board whose time goes on only when it is told to; its bench can be broken at will."""

    moves = True                # the motors may be switched on
    can_reboot = in_lockstep = True
    answer_time = 50            # in which a board that keeps to the page answers          [ms]

    def __init__(self, name: str, rig: Any) -> None:
        """Speak to `rig`: step(data) -> bytes, bench, reboot(), set_clock(us), close()."""
        self.name, self.rig = name, rig
        self.steps, self.seconds = 0, 0.0       # made, and what they took

    @property
    def bench(self) -> Bench:
        """The Bench, to break it."""
        return self.rig.bench

    def exchange(self, data: bytes, milliseconds: int) -> bytes:
        """Send bytes and return what comes in so many control steps."""
        out, started = b'', time.perf_counter()
        for _ in range(milliseconds):
            out += self.rig.step(data)
            data = b''
        self.seconds += time.perf_counter() - started
        self.steps += milliseconds
        return out

    def reset(self, start: Sequence[float] = (0.15, 0.0)) -> None:
        """Put a new bench in the place of the old one, and reboot."""
        self.bench.restore(start)
        self.exchange(b'', 1)           # the pins are those of the new bench before the boot
        self.reboot()

    def reboot(self) -> None:
        """Reset the board, and wait until it listens."""
        self.rig.reboot()
        self.exchange(b'', 40)

    def reboot_before_wrap(self, seconds: float) -> None:
        """Reset the board, its clock wraps after this time [s]."""
        self.rig.set_clock(near_wrap(seconds))
        self.reboot()

    def close(self) -> None:
        """Let go of what the rig holds."""
        self.rig.close()


def emulator() -> Lockstep:
    """Return the board in Python as a back end."""
    return Lockstep('emulator', rig_of())


def qemu() -> Lockstep:
    """Return the firmware in QEMU as a back end."""
    from flex_robot_sim.rig.board.qemu_rig import QemuRig  # only where it is asked for

    return Lockstep('qemu', QemuRig())


class PortBackEnd:
    """A board behind a serial port; nothing of it can be broken from here."""

    bench = None
    can_reboot = in_lockstep = False
    answer_time = 500           # the computer may hold host, port and adapter up          [ms]

    def __init__(self, name: str, moves: bool = False) -> None:
        """
        Open a port; RigError says what is in the way.

        :param moves: whether the motors may be switched on.
        """
        self.name, self.moves = name, moves
        self.held_up = 0.0          # longest time that this computer has lost since `reset`   [s]
        self._received, self._lock = bytearray(), threading.Lock()
        self._port = Port(name, self._take).start()

    def exchange(self, data: bytes, milliseconds: int) -> bytes:
        """Send bytes, and return what comes within about so many milliseconds."""
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
        """Throw away what waits."""
        self.exchange(b'', 20)
        self.held_up = 0.0

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def _take(self, data):
        with self._lock:
            self._received += data


AnyBackEnd: TypeAlias = Any     # a Lockstep, a PortBackEnd, or what has their attributes
