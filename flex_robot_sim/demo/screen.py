"""What a person sees while a program works: lines that stay, and one that is written over."""

import shutil
import sys
from typing import TextIO

from flex_robot_sim.util.exceptions import plain


class Screen:
    """Standard error, so that standard output has nothing but the result."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`; only a terminal gets the line that is written over."""
        self._stream = stream or sys.stderr
        self._is_terminal, self._shown = self._stream.isatty(), ''

    @property
    def width(self) -> int:
        """Letters that fit into the line."""
        return shutil.get_terminal_size().columns - 1

    def show(self, line: str) -> None:
        """Write over the line that is shown; '' takes it away."""
        if self._is_terminal and line != self._shown:
            self._write(f'\r{plain(line)[:self.width]}\x1b[K')
            self._shown = line

    def say(self, line: str) -> None:
        """Write a line that stays, above the one that is shown."""
        shown = self._shown
        self.show('')
        self._write(f'{plain(line)}\n')
        self.show(shown)

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()
