"""State of a simulation at an instant, for restoring, copies and pickles."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.serialization import STAMP, make_tuple
from flex_robot_sim.util.settings import SimulationSettings
from flex_robot_sim.util.summary import SummaryRows, counted, quantities, summarized


@summarized
class SimulationState(NamedTuple):
    """Everything that the next step of a Simulation depends on; `save_state` returns it."""

    time: float  # [s]
    arm: ArmModel
    settings: SimulationSettings
    reports: list[str]
    parts: dict[str, Any]  # state of each part of the simulation

    def __reduce__(self) -> Any:
        return make_tuple, (STAMP, type(self), *self)

    def __copy__(self) -> SimulationState:
        return deepcopy(self)

    def _summary(self) -> tuple[str, SummaryRows]:
        names, q = self.arm.joint_names, self.parts['_simulated']['state']['q']
        return f'SimulationState of "{self.arm.description.name}" at {self.time:.6g} s', [
            ('position', quantities(names, q[self.arm.joint_q], self.arm.units)),
            ('reports', counted(len(self.reports), 'line')),
        ]


def expect_state(state: object, arm: ArmModel, settings: SimulationSettings) -> None:
    """Raise SettingError for anything but a SimulationState of this arm with these settings."""
    if not isinstance(state, SimulationState):
        raise SettingError(
            f'state = {shortened(repr(state), 60)} must be a SimulationState, as '
            'Simulation.save_state() returns it'
        )
    if not _is_same(state.arm, arm):
        raise SettingError(
            f'state is of another arm, "{state.arm.description.name}", or of one '
            'with other numbers: restore it to a Simulation of state.arm'
        )
    if state.settings != settings:
        raise SettingError(
            'state is of a simulation with other settings: make the Simulation with state.settings'
        )


def _is_same(arm, other):
    """Whether two arms are one, or equal in every number."""
    return arm is other or (
        (arm.coordinate_names, arm.coupling, [*arm.frames])
        == (other.coordinate_names, other.coupling, [*other.frames])
        and all(np.array_equal(a, b) for a, b in zip(arm.arrays, other.arrays))
        and all(
            np.array_equal(a, b)
            for name, frame in arm.frames.items()
            for a, b in zip(frame, other.frames[name])
        )
    )
