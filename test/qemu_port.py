"""Firmware in QEMU as a serial port: in real time, behind a pseudo terminal."""

import contextlib
import threading
import time
from pathlib import Path

from flex_robot_sim.rig.board.pty_port import PtyPort
from flex_robot_sim.rig.board.qemu import QemuMachine
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.wire.line import BYTES_PER_SECOND

MAX_PIECE_SIZE = 256  # per write to the board                            [B]


class QemuPort:
    """
    Firmware in QEMU, in real time and behind a pseudo terminal; `with` starts and ends it.

    Unread bytes are discarded, because a full pipe would block QEMU.
    """

    def __init__(self, link: str | Path | None = None, image: str | Path | None = None) -> None:
        """Power up behind `link`; default: the name that `serial_port:=emulator` opens."""
        self.port = PtyPort(link)
        self._has_ended = threading.Event()
        try:
            self.machine = QemuMachine(image, False)
        except BaseException:
            self.port.close()
            raise
        self._threads = [
            threading.Thread(target=work, name=f'qemu {work.__name__}', daemon=True)
            for work in (self._to_host, self._to_board)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def link(self) -> str:
        """Path of the port."""
        return str(self.port.link)

    def close(self) -> None:
        """End QEMU and remove the port."""
        self._has_ended.set()
        self.machine.stop()
        for thread in self._threads:
            thread.join()
        self.machine.close()
        self.port.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _to_host(self):
        while data := self.machine.read_sent():
            self.port.write(data)

    def _to_board(self):
        """Pass bytes to the board, at most at the rate of its line."""
        with contextlib.suppress(RigError):  # QEMU has ended
            while not self._has_ended.is_set():
                if self.port.wait(0.05):
                    data = self.port.read()
                    for at in range(0, len(data), MAX_PIECE_SIZE):
                        piece = data[at : at + MAX_PIECE_SIZE]
                        self.machine.receive(piece)
                        time.sleep(len(piece) / BYTES_PER_SECOND)
