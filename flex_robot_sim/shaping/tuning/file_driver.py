"""Moves by hand: a driver that prints what to do, and waits for the files of your recorder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from flex_robot_sim.shaping.tuning.driver import ArmState
from flex_robot_sim.util.exceptions import plain
from flex_robot_sim.util.files import open_atomic

POLL_PERIOD_S = 0.5  # of the folder
SETTLED_POLLS = 2  # with the same size, after which a file is complete


class FileDriver:
    """
    Prints each move, writes its set points as CSV, and waits for its log.

    Its clock advances with `wait` only, and its states are the set points.
    """

    def __init__(
        self,
        joints: Sequence[str],
        position: np.ndarray,
        say: Callable[[str], object],
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Begin at joint positions (n,) [rad, m]; `say` prints a line."""
        self.joints = tuple(joints)
        self._say, self._sleep, self._time, self._begin = say, sleep, 0.0, 0.0
        self._times, self._positions = np.zeros(1), np.array([position], float)

    def now(self) -> float:
        """Sum of all waits [s]."""
        return self._time

    def state(self) -> ArmState:
        """Return the present set point."""
        elapsed = self._time - self._begin
        position = [np.interp(elapsed, self._times, column) for column in self._positions.T]
        return ArmState(self._time, np.array(position))

    def move(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Store the move; `write_log` prints it."""
        self._times, self._positions = np.array(times), np.array(positions)
        self._begin = self._time

    def wait(self, seconds: float) -> None:
        """Let the clock of this driver advance."""
        self._time += seconds

    def stop(self) -> None:
        """Print that the arm has to stop."""
        self._say('stop the arm')

    def begin_log(self) -> None:
        """Do nothing: you start the recorder."""

    def write_log(self, path: Path) -> None:
        """Print the move, write its set points next to the log, and wait for the log."""
        moves_file = path.with_name(f'{path.stem}_set_points.csv')
        with open_atomic(moves_file, 'w', encoding='utf-8') as file:
            file.write(','.join(['time', *self.joints]) + '\n')
            for row in np.column_stack([self._times, self._positions]):
                file.write(','.join(f'{x:.6g}' for x in row) + '\n')
        rest = self._time - self._begin - self._times[-1]
        self._say(
            f'move the arm to {self._text(self._positions[0])} and let it rest. Start the '
            f'recorder, wait a second, move to {self._text(self._positions[-1])} in '
            f'{self._times[-1]:.3g} s ({moves_file.name}), and record {rest:.3g} s more. Save '
            f'the log as {path}'
        )
        self._await_file(path)

    def close(self) -> None:
        """Do nothing."""

    def _text(self, position):
        return ', '.join(f'{plain(name)} {x:.4g}' for name, x in zip(self.joints, position))

    def _await_file(self, path):
        """Wait until a file is there and no longer grows."""
        size, count = -1, 0
        while count < SETTLED_POLLS:
            found = path.stat().st_size if path.is_file() else -1
            count = count + 1 if found > 0 and found == size else 0
            size = found
            self._sleep(POLL_PERIOD_S)
