"""Warnings about steps: too long ones, and states outside the validity of the model."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from flex_robot_sim.dynamics.arm_state import ArmState
from flex_robot_sim.dynamics.monitors import count_events, report_lines
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.guide_range import outside_guide
from flex_robot_sim.simulation.explicit_schemes import (
    ENERGY_CHECK_STEPS,
    EXPLICIT_SCHEMES,
    EnergyGain,
    StepLimits,
)
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.util.exceptions import SimulationError

MAX_STEPS_PER_CALL = 10000  # between two checks for Ctrl-C
DEFAULT_REMEDY = 'Take a shorter time_step or smaller efforts'


class StepMonitor:
    """Finds what has to be reported about the steps of a SimulatedArm, each thing once."""

    def __init__(self, simulated: SimulatedArm) -> None:
        """Start without reports."""
        self._simulated = simulated
        self.limits = StepLimits(simulated.arrays, simulated.settings)
        self._watch, self.gain = simulated.watch, EnergyGain()
        self.reported: set[object] = set()  # events
        self._is_explicit = simulated.settings.scheme in EXPLICIT_SCHEMES
        self.steps_per_check = ENERGY_CHECK_STEPS if self._is_explicit else MAX_STEPS_PER_CALL

    def saved(self) -> tuple[Any, ...]:
        """Return what the next report depends on."""
        return {*self.reported}, copy(self.gain), self.limits.is_reported

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Restore what `saved` returned."""
        reported, gain, self.limits.is_reported = saved
        self.reported, self.gain = {*reported}, copy(gain)

    def reset(self) -> None:
        """Forget all events, so that they can be reported again."""
        self._simulated.forget_events()
        self.reported.clear()
        self.gain = EnergyGain()
        self.limits.forget()

    def lines(
        self, completed: int, events: int | None, time: float, end_time: Callable[[int], float]
    ) -> Iterator[str]:
        """
        Yield a line for each new event of the completed steps.

        :param events: number of events so far; None: count them.
        :param time: after the steps [s]; end_time: function from one of them to its end [s].
        """
        simulated = self._simulated
        if events is None:
            events = count_events(self._watch)
        if events != len(self.reported):
            yield from report_lines(
                simulated.arm, simulated.settings, self._watch, self.reported, end_time
            )
        if (self._is_explicit or simulated.formulation) and self.gain.is_due(completed):
            corrected = simulated.work.step[3] if simulated.formulation else 0.0
            yield from self.gain.report(
                simulated.energies_between_steps(),
                simulated.state.flow,
                simulated.start_energy - corrected,
                time,
                simulated.settings,
            )


def unusable_state_error(
    arm: ArmModel, state: ArmState, time: float, remedy: str = ''
) -> SimulationError:
    """
    Return the error for a state that is not finite, or outside a guide, after a time [s].

    :param state: the last good one, with the refused coordinates in `stage[2]`.
    """
    phrase = outside_guide(arm, state.stage[2]) or outside_guide(arm, state.q)
    if phrase:
        return SimulationError(
            f'after {time:.6g} s, {phrase}; the last good state is kept. Keep the joint '
            'within its limits'
        )
    return SimulationError(
        f'the state is not finite after {time:.6g} s; the last good one is '
        f'kept. {remedy or DEFAULT_REMEDY}'
    )
