"""Programs as processes of their own, and what they print."""

import os
import signal
import subprocess
import sys
import threading
import time

PATIENCE = 150.0  # for what takes a second or two once its machine code is made             [s]


class Process:
    """A process and its lines."""

    def __init__(self, words, environment=os.environ, **options):
        """Start the program that `words` name, with options of Popen."""
        self.lines, self._news, self._has_ended = [], threading.Condition(), False
        self.process = subprocess.Popen(
            words,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            **options,
            env={**environment, 'PYTHONUNBUFFERED': '1', 'RCUTILS_COLORIZED_OUTPUT': '0'},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._news:
                self.lines.append(line.rstrip())
                self._news.notify_all()
            print(line, end='')  # pytest shows it if the test fails
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    def wait_for_line(self, part, timeout=PATIENCE):
        """Return the first line that contains `part`, as soon as it or the last one is printed."""
        with self._news:
            self._news.wait_for(lambda: self.count(part) or self._has_ended, timeout)
            assert self.count(part), self.lines
        return next(line for line in self.lines if part in line)

    def forget_lines(self):
        """Forget what was printed."""
        with self._news:
            self.lines.clear()

    def count(self, part):
        """How many lines contain `part`."""
        return sum(part in line for line in self.lines)

    def send(self, number):
        """Send a signal."""
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE):
        """Return the exit code when it has ended."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def stop(self, number=signal.SIGINT, timeout=PATIENCE):
        """Send a signal; return the exit code and how long it took [s]."""
        start = time.monotonic()
        self.send(number)
        return self.wait(timeout), time.monotonic() - start

    def close(self):
        """Make sure that it is gone."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class NodeProcess(Process):
    """A node of the package in a process of its own."""

    def __init__(self, name, *ros_arguments, prefix=(), environment=os.environ, **parameters):
        """
        Start the node `name` with ROS arguments and parameters.

        :param prefix: words before those of Python.
        """
        words = list(ros_arguments)
        for key, value in parameters.items():
            words += ['-p', f'{key}:={value}']
        super().__init__(
            [*prefix, sys.executable, '-m', 'flex_robot_sim.nodes', name, '--ros-args', *words],
            environment,
        )
