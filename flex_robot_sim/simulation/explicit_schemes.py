"""
Limits of the explicit schemes: the longest stable step, and detection of energy gain (T42).

The stability bound covers a few poses with straight links. Elsewhere, the energy balance reveals
an instability long before the state becomes non-finite.
"""

import numpy as np

from flex_robot_sim.dynamics.stability import longest_step, longest_steps, rounded_down
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

EXPLICIT_SCHEMES = ('rk4', 'semi_implicit_euler', 'forward_euler')
STOP_DAMPING_FACTORS = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024, 1 / 4096)
ENERGY_CHECK_STEPS = 100  # between two checks of the energy balance
MAX_RELATIVE_ENERGY_GAIN = 0.05  # gain over the energy that has flowed through the arm
MAX_RELATIVE_POTENTIAL_GAIN = 1e-6  # gain over the potential energy, most of which may be constant


class StepLimits:
    """Step limits of a scheme with an arm, with and without contact at the joint stops."""

    def __init__(self, arrays: ArmArrays, settings: SimulationSettings) -> None:
        """Start from the described stop damping; `fit` reduces it in `arrays` where needed."""
        self._arrays, self._full_stop_damping = arrays, arrays.stop_damping.copy()
        self._time_step, self._scheme = settings.time_step, settings.scheme
        self.is_reported = False

    def forget(self) -> None:
        """Allow the warning to be reported again."""
        self.is_reported = False

    def fit(self, stiffness: np.ndarray | float, damping: np.ndarray | float) -> list[str]:
        """Soften the stops for a servo, return warnings; SettingError if it is unstable."""
        if self._scheme not in EXPLICIT_SCHEMES:
            return []
        # less stop damping permits longer steps, but the stops rebound more
        steps = longest_steps(
            self._arrays,
            self._scheme,
            stiffness,
            damping,
            (factor * self._full_stop_damping for factor in STOP_DAMPING_FACTORS),
        )
        longest = next(steps)
        if self._time_step > longest:
            remedy = 'no step works, because some mode is undamped'
            if longest:
                remedy = (
                    f'with straight links, in the poses looked at, the longest step that works '
                    f'is {rounded_down(longest):.3g} s'
                )
            raise SettingError(
                f'time_step = {self._time_step:g} s is too long for {self._scheme}: {remedy}'
            )
        return self._soften_stops(steps)

    def remedy(self, position: np.ndarray, stiffness: np.ndarray, damping: np.ndarray) -> str:
        """Return the remedy for a non-finite state at a position (joints,), or ''."""
        lower, upper = self._arrays.lower, self._arrays.upper
        if self._scheme in EXPLICIT_SCHEMES and ((position > upper) | (position < lower)).any():
            longest = longest_step(self._arrays, self._scheme, stiffness, damping, in_stops=True)
            if longest < self._time_step:
                return (
                    f'A joint leans on its stop, where {self._scheme} takes steps of '
                    f'{rounded_down(longest):.3g} s at most'
                )
        return ''

    def _soften_stops(self, steps):
        """Set the largest stable stop damping; `steps` are the longest steps for each factor."""
        for factor, longest in zip(STOP_DAMPING_FACTORS, steps):
            self._arrays.stop_damping[:] = factor * self._full_stop_damping
            if self._time_step <= longest:
                return []
        if self.is_reported:
            return []
        self.is_reported = True
        return [
            f'time_step = {self._time_step:g} s is too long for {self._scheme} where joints '
            'lean on their stops, even without damping: it takes '
            f'{rounded_down(longest):.3g} s at most there'
        ]


class EnergyGain:
    """Periodic check of the energy balance; two excesses in a row are reported, once."""

    def __init__(self) -> None:
        """Start without observations and reports."""
        self.is_reported = False
        self.forget()

    def forget(self) -> None:
        """Restart the observation for a new state."""
        self._steps, self._was_seen, self._most = 0, False, 0.0

    def is_due(self, steps: int) -> bool:
        """Count completed steps; return whether a check is due."""
        self._steps += steps
        return self._steps >= ENERGY_CHECK_STEPS and not self.is_reported

    def report(
        self,
        energies: np.ndarray,
        flow: np.ndarray,
        start: float,
        time: float,
        settings: SimulationSettings,
    ) -> list[str]:
        """Line about excess (kinetic, strain, potential) energy [J] at a time [s], if any."""
        kinetic, strain, potential = energies
        work, dissipated = flow[:2]
        gain = kinetic + strain + potential + dissipated - work - start
        # at a turning point the kinetic energy is zero
        self._most = max(self._most, kinetic + strain + dissipated + abs(work))
        is_excessive = bool(
            gain
            > MAX_RELATIVE_ENERGY_GAIN * self._most
            + MAX_RELATIVE_POTENTIAL_GAIN * (abs(potential) + abs(start))
        )
        self.is_reported = is_excessive and self._was_seen
        self._steps, self._was_seen = 0, is_excessive
        is_explicit = settings.scheme in EXPLICIT_SCHEMES
        name, remedy = (settings.formulation, 'the formulation recursion')
        if is_explicit:
            name, remedy = (settings.scheme, 'the scheme implicit_midpoint')
        return self.is_reported * [
            f'by {time:.4g} s {name} has made {gain:.3g} J out of nothing: time_step = '
            f'{settings.time_step:g} s is too long for it here'
            f'{"" if is_explicit else ", or the arm bends too far"}. Take a shorter one, or '
            f'{remedy}'
        ]
