"""Programs that run as long as we do: started together, stopped together, never left behind."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from flex_robot_sim.demo import dies_with_parent

PATIENCE = 0.8      # from asking a program to stop until it is made to [s]


class Children:
    """Programs, and the lines that they print; at the end of a `with`, they have ended."""

    def __init__(self) -> None:
        """Begin without any."""
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._needed: set[str] = set()
        self._readers: list[threading.Thread] = []
        self.lines: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()    # (name, line)
        self._last_lines: dict[str, str] = {}
        self._deadline: float | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, name: str, words: Sequence[str], is_needed: bool = True) -> None:
        """
        Start a program by its command line, in a session of its own.

        What `is_needed` may not end by itself: see `obituary`. Ctrl-C of the terminal does not
        reach it: we stop it when we are ready. It must be the main thread that calls this, because
        with that thread the program ends.
        """
        guard = [sys.executable, '-I', '-S', str(Path(dies_with_parent.__file__).resolve()),
                 str(os.getpid())]
        process = subprocess.Popen(
            [*guard, *words], start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace',
            env={'RCUTILS_CONSOLE_OUTPUT_FORMAT': '[{severity}] {message}', **os.environ})
        self._processes[name] = process
        if is_needed:
            self._needed.add(name)
        reader = threading.Thread(target=self._read, args=(name, process.stdout), daemon=True)
        reader.start()
        self._readers.append(reader)

    def _read(self, name, stream):
        for line in stream:
            self._last_lines[name] = line.strip()
            self.lines.put((name, line.rstrip()))

    def obituary(self) -> str | None:
        """Return a line about a program that is needed and has ended by itself, or None."""
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None and name in self._needed:
                self._readers[list(self._processes).index(name)].join(PATIENCE)
                how = (f'was ended by {signal.Signals(-code).name}' if code < 0 else
                       f'ended with code {code}')
                last = self._last_lines.get(name) if code > 0 else None
                return f'{name} {how}: {last}' if last else f'{name} {how}'
        return None

    def interrupt(self) -> None:
        """Ask all programs to stop; it is enough to ask once."""
        if self._deadline is None:
            self._deadline = time.monotonic() + PATIENCE
            for process in self._processes.values():
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Ask all programs to stop, and make those that don't within PATIENCE."""
        self.interrupt()
        assert self._deadline is not None       # interrupt has set it
        for process in self._processes.values():
            try:
                process.wait(max(self._deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
