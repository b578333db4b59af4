"""
An emulated bench in a process of its own, which ends with the one that started it.

The child holds the read end of a pipe. Whatever becomes of the parent, kill -9 included, the pipe
is closed then, and the child stops and takes its port away.
"""

import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from flex_robot_sim.exceptions import FlexRobotSimError
from flex_robot_sim.rig.errors import RigError

READY = 'port '             # before the name of the port, on standard output


class EmulatorProcess:
    """An emulated bench; `port` is its name."""

    def __init__(self, faults=(), robot='rig'):
        """
        Start it; this takes half a minute where the arm has to be compiled first.

        :param faults: words as in `emulator_faults`; robot: file of the bench, or a shipped one.
        """
        self._process = subprocess.Popen(
            [sys.executable, '-m', __name__, robot, *faults], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            line = self._process.stdout.readline()
        except BaseException:
            self.close()
            raise
        if not line.startswith(READY):
            _, said = self._process.communicate()
            last = said.strip().splitlines()[-1:] or [f'code {self._process.returncode}']
            raise RigError(f'the emulator has not started: {last[0]}')
        self.port = line[len(READY):].strip()

    @property
    def is_running(self):
        """Whether it still runs."""
        return self._process.poll() is None

    def close(self):
        """Stop it; may be called twice."""
        if not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()


def main(words):
    """Emulate until standard input is closed; words: robot, then faults."""
    from flex_robot_sim.rig.emulator import Emulator
    from flex_robot_sim.rig.rig_of import rig_of

    robot, *faults = words
    # signals to all of a session are for the parent, which ends this one when it is ready to
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix='flex_robot_sim-') as folder:
        try:
            rig = rig_of(robot)
            rig.step()                  # compiles, before anybody waits for an answer
            emulator = Emulator(Path(folder) / 'rig', rig, faults)
        except FlexRobotSimError as error:
            print(error, file=sys.stderr)
            return 2
        threading.Thread(target=_wait_for_end, args=(emulator,), daemon=True).start()
        print(f'{READY}{emulator.link}', flush=True)
        try:
            emulator.run()
        finally:
            emulator.close()
    return 0


def _wait_for_end(emulator):
    sys.stdin.read()
    emulator.stop()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
