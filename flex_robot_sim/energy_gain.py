"""
Whether an explicit scheme makes energy, as it does where some mode is too fast for its step (T42).

The bound that its step is held to looks at a few poses with straight links. Elsewhere the books
show what grows, long before a state is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flex_robot_sim.settings import SimulationSettings

EVERY = 100             # steps from one look to the next
SHARE = 0.05            # of what went through the arm, that may be too much of it
SMALL = 1e-6            # likewise of the energy of height, of which most may stand still


class EnergyGain:
    """Looks at the books now and then; two looks in a row make a line, once."""

    def __init__(self) -> None:
        """Begin with nothing seen and nothing told."""
        self.is_told = False
        self.forget()

    def forget(self) -> None:
        """Begin afresh with a new state."""
        self._steps, self._was_seen, self._most = 0, False, 0.0

    def is_due(self, steps: int) -> bool:
        """Count steps that were taken; return whether they ask for a look."""
        self._steps += steps
        return self._steps >= EVERY and not self.is_told

    def look(self, energies: np.ndarray, flow: np.ndarray, start: float, time: float,
             settings: SimulationSettings) -> list[str]:
        """
        Return a line about energy that there is too much, if it is to be told.

        :param energies: (3,) kinetic, in springs, of height [J]; flow: work and dissipated.
        :param start: energy at the start [J]; time: now [s].
        """
        kinetic, strain, height = energies
        done, taken = flow[:2]
        gain = kinetic + strain + height + taken - done - start
        # where a swing turns, nothing moves
        self._most = max(self._most, kinetic + strain + taken + abs(done))
        is_seen = bool(gain > SHARE * self._most + SMALL * (abs(height) + abs(start)))
        self.is_told = is_seen and self._was_seen
        self._steps, self._was_seen = 0, is_seen
        return self.is_told * [
            f'by {time:.4g} s {settings.scheme} has made {gain:.3g} J out of nothing: time_step = '
            f'{settings.time_step:g} s is too long for it here. Take a shorter one, or the scheme '
            'implicit_midpoint']
