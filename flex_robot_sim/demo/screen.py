"""Terminal output: permanent lines and one status line."""

import shutil
import sys
from typing import TextIO

from flex_robot_sim.util.exceptions import plain


class Screen:
    """Writes to standard error, so that standard output has only the result."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`; only a terminal gets the status line."""
        self._stream = stream or sys.stderr
        self._is_terminal, self._shown = self._stream.isatty(), ''

    @property
    def width(self) -> int:
        """Number of characters of the status line."""
        return shutil.get_terminal_size().columns - 1

    def show(self, line: str) -> None:
        """Replace the status line; '' removes it."""
        if self._is_terminal and line != self._shown:
            self._write(f'\r{plain(line)[: self.width]}\x1b[K')
            self._shown = line

    def say(self, line: str) -> None:
        """Write a permanent line above the status line."""
        shown = self._shown
        self.show('')
        self._write(f'{plain(line)}\n')
        self.show(shown)

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()
