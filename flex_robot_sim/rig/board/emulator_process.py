"""
Emulated bench in a child process, which ends with its parent.

The child holds the read end of a pipe. When the parent ends, even by kill -9, the system closes
the pipe; the child then stops and removes its port.
"""

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from flex_robot_sim.realtime.priority import use_emulator_priority
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.start import run_module
from flex_robot_sim.util.exceptions import FlexRobotSimError

READY_PREFIX = 'port '  # before the name of the port, on standard output
LOST_TIME_PREFIX = 'lost '  # before the lost time, at the end


class EmulatorProcess:
    """An emulated bench; `port` is its name."""

    def __init__(self, faults: Iterable[str] = (), robot: str = 'rig') -> None:
        """
        Start the process; this takes a minute if the arm must be compiled first.

        :param faults: as in `emulator_faults`; robot: file of the bench, or a shipped one.
        """
        self._process = cast(
            Any,
            subprocess.Popen(  # pipes are not None
                run_module(__name__, robot, *faults),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            ),
        )
        self.port = ''
        self.lost_time = 0.0
        """Total time of pauses on a busy computer, available after `close` [s]."""
        try:
            line = self._process.stdout.readline()
        except BaseException:
            self.close()
            raise
        if not line.startswith(READY_PREFIX):
            _, stderr_text = self._process.communicate()
            last = stderr_text.strip().splitlines()[-1:] or [f'code {self._process.returncode}']
            raise RigError(f'the emulator has not started: {last[0]}')
        self.port = line[len(READY_PREFIX) :].strip()

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """Stop the process; may be called twice."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:  # on an overloaded computer
            self._process.kill()
            self._process.wait()
        if self.port:  # the process removes its files itself, unless it was killed
            with contextlib.suppress(OSError):  # remove these files only
                Path(self.port).unlink(missing_ok=True)
                Path(f'{self.port}.lock').unlink(missing_ok=True)
                Path(self.port).parent.rmdir()
        if not self._process.stdout.closed:
            for line in self._process.stdout:
                if line.startswith(LOST_TIME_PREFIX):
                    self.lost_time = float(line[len(LOST_TIME_PREFIX) :])
        self._process.stdout.close()
        self._process.stderr.close()


def main(words: Sequence[str]) -> int:
    """Emulate until standard input is closed; words: robot, then faults."""
    from flex_robot_sim.rig.board.emulated_rig import rig_of
    from flex_robot_sim.rig.board.emulator import Emulator

    robot, *faults = words
    # signals to the whole session are for the parent, which stops this process itself
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix='flex_robot_sim-') as folder:
        try:
            rig = rig_of(robot)
            rig.step()  # compiles before a host connects
            emulator = Emulator(Path(folder) / 'rig', rig, faults)
        except FlexRobotSimError as error:
            print(error, file=sys.stderr)
            return 2
        threading.Thread(target=_wait_for_end, args=(emulator,), daemon=True).start()
        print(f'{READY_PREFIX}{emulator.link}', flush=True)
        use_emulator_priority()
        try:
            emulator.run()
        finally:
            emulator.close()
        print(f'{LOST_TIME_PREFIX}{emulator.lost_time:.3f}', flush=True)
    return 0


def _wait_for_end(emulator):
    sys.stdin.read()
    emulator.stop()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
