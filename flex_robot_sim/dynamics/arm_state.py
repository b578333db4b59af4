"""The state of an arm, and the settings of its steps, as tables of the compiled functions."""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.jit.array_table import pass_by_pointer, zeros
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.settings import SCHEMES, SimulationSettings

STAGE_ROWS = 10  # vectors of coordinates that a step needs at the same time
IMPLICIT_MIDPOINT, RK4, SEMI_IMPLICIT_EULER, FORWARD_EULER, REFERENCE = range(len(SCHEMES))


@pass_by_pointer
class ArmState(NamedTuple):
    """Quantities that change in every step; in a batch, the first axis is the arm."""

    q: np.ndarray  # (n,)      coordinates                                    [rad, m]
    qd: np.ndarray  # (n,)      their rates
    qdd: np.ndarray  # (n,)      the latest accelerations
    effort: np.ndarray  # (j,)      of the motors                                  [N m, N]
    flow: np.ndarray  # (3,)      work, dissipated and corrected energy               [J]
    stage: np.ndarray  # (10, n)   work array of a step


@pass_by_pointer
class StepSettings(NamedTuple):
    """Settings of a step; one number each."""

    time_step: np.ndarray  # (1,)      [s]
    iterations: np.ndarray  # (1,)      minimum number of the implicit midpoint rule
    scheme: np.ndarray  # (1,)      its number in SCHEMES


def make_state(arm: ArmModel) -> ArmState:
    """Return the ArmState of an arm at zero and at rest."""
    n, joints = arm.size, len(arm.joint_names)
    return zeros(ArmState, ((n,), (n,), (n,), (joints,), (3,), (STAGE_ROWS, n)))


def make_step_settings(
    settings: SimulationSettings, time_step: float | None = None
) -> StepSettings:
    """Return the StepSettings of SimulationSettings; `time_step` [s] replaces theirs."""
    return StepSettings(
        np.array([settings.time_step if time_step is None else time_step], float),
        np.array([settings.iterations]),
        np.array([SCHEMES.index(settings.scheme)]),
    )
