"""Child processes that start together, stop together, and end with the parent process."""

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

STOP_TIMEOUT_S = 0.8  # from SIGINT to SIGKILL
EXTRA_TIME_S = 2.0  # more for an optional process, which may have to close a file


class Children:
    """Child processes and the lines that they print; the context ends when all have stopped."""

    def __init__(self) -> None:
        """Start without child processes."""
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._readers: list[threading.Thread] = []
        self.lines: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()  # (name, line)
        self._last_lines: dict[str, str] = {}
        self._optional: set[str] = set()  # processes that no other depends on
        self._deadline: float | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, name: str, words: Sequence[str], is_needed: bool = True) -> None:
        """
        Start a program by its command line, in a new session.

        :param is_needed: whether the other processes depend on it.

        Ctrl-C of the terminal does not reach it; call `stop`. Call this from the main thread,
        because the program ends with the thread that started it.
        """
        guard = [
            sys.executable,
            '-I',
            '-S',
            str(Path(dies_with_parent.__file__).resolve()),
            str(os.getpid()),
        ]
        process = subprocess.Popen(
            [*guard, *words],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env={'RCUTILS_CONSOLE_OUTPUT_FORMAT': '[{severity}] {message}', **os.environ},
        )
        self._processes[name] = process
        if not is_needed:
            self._optional.add(name)
        reader = threading.Thread(target=self._read, args=(name, process.stdout), daemon=True)
        reader.start()
        self._readers.append(reader)

    def _read(self, name, stream):
        for line in stream:
            self._last_lines[name] = line.strip()
            self.lines.put((name, line.rstrip()))

    def exit_report(self) -> str | None:
        """Return a line about a needed program that has ended by itself, or None."""
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None and name not in self._optional:
                self._readers[list(self._processes).index(name)].join(STOP_TIMEOUT_S)
                ending = f'ended with code {code}'
                if code < 0:
                    ending = f'was ended by {signal.Signals(-code).name}'
                last_line = self._last_lines.get(name) if code > 0 else None
                return f'{name} {ending}: {last_line}' if last_line else f'{name} {ending}'
        return None

    def is_running(self, name: str) -> bool:
        """Whether a program of this name was started and has not ended."""
        return name in self._processes and self._processes[name].poll() is None

    def interrupt(self) -> None:
        """Send SIGINT to all programs; further calls have no effect."""
        if self._deadline is None:
            self._deadline = time.monotonic() + STOP_TIMEOUT_S
            for process in self._processes.values():
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Interrupt all programs, and kill those that run longer than STOP_TIMEOUT_S."""
        self.interrupt()
        assert self._deadline is not None  # interrupt has set it
        for name, process in self._processes.items():
            remaining = (
                self._deadline
                + (EXTRA_TIME_S if name in self._optional else 0.0)
                - time.monotonic()
            )
            try:
                process.wait(max(remaining, 0.0))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for reader in self._readers:
            reader.join(STOP_TIMEOUT_S)
