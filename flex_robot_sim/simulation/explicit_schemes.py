"""
What explicit schemes cannot do with an arm, and when they make energy (T42).

Their bound looks at a few poses with straight links. Elsewhere the books show what grows, long
before a state is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.dynamics.stability import longest_step, longest_steps, rounded_down
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmArrays
    from flex_robot_sim.util.settings import SimulationSettings

EXPLICIT = ('rk4', 'semi_implicit_euler', 'forward_euler')
STOP_SHARES = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024, 1 / 4096)
EVERY = 100             # steps from one look to the next
SHARE = 0.05            # of what went through the arm, that may be too much of it
SMALL = 1e-6            # likewise of the energy of height, of which most may stand still


class StepLimits:
    """How long the steps of a scheme may be with an arm, in its stops and out of them."""

    def __init__(self, arrays: ArmArrays, settings: SimulationSettings) -> None:
        """Begin with stops as damped as they are described; `arrays` get less where that helps."""
        self._arrays, self._full = arrays, arrays.stop_damping.copy()
        self._step, self._scheme = settings.time_step, settings.scheme
        self.is_reported = False

    def forget(self) -> None:
        """Tell again what is to be told."""
        self.is_reported = False

    def fit(self, stiffness: np.ndarray | float, damping: np.ndarray | float) -> list[str]:
        """
        Raise SettingError if the scheme cannot follow the arm with a servo; else fit its stops.

        :returns: a line, if there are stops that it cannot follow.
        """
        if self._scheme not in EXPLICIT:
            return []
        # less damping of stops is easier to follow, and they throw back more
        steps = longest_steps(self._arrays, self._scheme, stiffness, damping, (
            share * self._full for share in STOP_SHARES))
        longest = next(steps)
        if self._step > longest:
            remedy = (f'with straight links, in the poses looked at, the longest step that works '
                      f'is {rounded_down(longest):.3g} s' if longest
                      else 'no step works, because some mode is undamped')
            raise SettingError(f'time_step = {self._step:g} s is too long for {self._scheme}: '
                               f'{remedy}')
        return self._soften_stops(steps)

    def remedy(self, position: np.ndarray, stiffness: np.ndarray, damping: np.ndarray) -> str:
        """Return what helps against a state that was lost at a position (joints,), or ''."""
        lower, upper = self._arrays.lower, self._arrays.upper
        if self._scheme in EXPLICIT and ((position > upper) | (position < lower)).any():
            longest = longest_step(self._arrays, self._scheme, stiffness, damping, in_stops=True)
            if longest < self._step:
                return (f'A joint leans on its stop, where {self._scheme} takes steps of '
                        f'{rounded_down(longest):.3g} s at most')
        return ''

    def _soften_stops(self, steps):
        """Give stops as much damping as the scheme can follow; `steps` it takes with each."""
        for share, longest in zip(STOP_SHARES, steps):
            self._arrays.stop_damping[:] = share * self._full
            if self._step <= longest:
                return []
        if self.is_reported:
            return []
        self.is_reported = True
        return [f'time_step = {self._step:g} s is too long for {self._scheme} where joints lean '
                f'on their stops, even without damping: it takes {rounded_down(longest):.3g} s at '
                'most there']


class EnergyGain:
    """Looks at the books now and then; two looks in a row make a line, once."""

    def __init__(self) -> None:
        """Begin with nothing seen and nothing told."""
        self.is_reported = False
        self.forget()

    def forget(self) -> None:
        """Begin afresh with a new state."""
        self._steps, self._was_seen, self._most = 0, False, 0.0

    def is_due(self, steps: int) -> bool:
        """Count steps that were taken; return whether they ask for a look."""
        self._steps += steps
        return self._steps >= EVERY and not self.is_reported

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
        self.is_reported = is_seen and self._was_seen
        self._steps, self._was_seen = 0, is_seen
        is_explicit = settings.scheme in EXPLICIT
        name, remedy = ((settings.scheme, 'the scheme implicit_midpoint') if is_explicit else
                        (settings.formulation, 'the formulation recursion'))
        return self.is_reported * [
            f'by {time:.4g} s {name} has made {gain:.3g} J out of nothing: time_step = '
            f'{settings.time_step:g} s is too long for it here'
            f'{"" if is_explicit else ", or the arm bends too far"}. Take a shorter one, or '
            f'{remedy}']
