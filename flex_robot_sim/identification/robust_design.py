"""
The best experiment of all kinds for an arm whose parameters are uncertain.

Each kind of motion uses the limits of the arm fully; the optimised series is also designed for
each guess. The motion with the most information in the worst of these guesses wins. A description
rarely has friction, a real drive always does: most guesses have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.identification.excitation_trajectories import KINDS
from flex_robot_sim.identification.experiment_design import (
    ExperimentDesign,
    Information,
    design_experiment,
    information,
)
from flex_robot_sim.identification.simulated_experiment import (
    scaled_to_limits,
    simulate_experiment,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.util.exceptions import FlexRobotSimError, UsageError

POSE_KIND = 'sweep'  # the kind that chooses among poses
STIFFNESS_FACTORS = 0.8, 1.25  # of the guesses
FRICTION_RATIO = 0.03  # dry friction of a drive without a described one, over its largest effort
SLIDING_RATE = 1.0  # at which the viscous friction of a guess equals its dry friction [rad/s, m/s]
PRESLIDING = 1e-3  # [rad, m]


def best_experiment(
    arm: ArmModel,
    *,
    duration: float,
    period: float,
    free: Iterable[str] = (),
    pose: np.ndarray | None = None,
    phase_sets: int = 8,
    seed: int = 0,
    signals: Iterable[str] = (),
) -> ExperimentDesign:
    """
    Return the ExperimentDesign of any kind with the most information in the worst guess.

    Its standard deviations are the largest of all guesses. It takes minutes.

    :param duration: of the motion [s]; period: between two samples [s].
    :param free: paths of parameters, as of `identify_parameters`.
    :param pose: about which the arm moves, (joints,) [rad, m]; None: the best of several.
    :param phase_sets: number of sets of phases to compare for 'fourier'; seed: of the phases.
    :param signals: additional signals, see `design_experiment`.

    Example::

        # arm = frs.load('single_link')
        # found = frs.identification.best_experiment(arm, duration=6.0, period=5e-3)
        # found.experiment.trajectory.kind, found.information.worst
    """
    free, signals = [*free], [*signals]
    guesses, count = guesses_of(arm), 0
    best: tuple[tuple[int, float], ExperimentDesign] | None = None
    last_error: FlexRobotSimError | None = None
    kinds = [(kind, arm) for kind in sorted(KINDS, key=lambda kind: kind != POSE_KIND)]
    kinds += [('fourier', guess) for guess in guesses[1:]]
    for kind, designed_for in kinds:
        try:
            design = design_experiment(
                designed_for,
                duration=duration,
                period=period,
                kind=kind,
                free=free,
                pose=pose,
                phase_sets=phase_sets,
                seed=seed,
                signals=signals,
            )
            if designed_for is not arm:
                experiment = scaled_to_limits(arm, design.experiment.trajectory, signals)
                design = design._replace(experiment=experiment)
            found = [_information(guess, design, free, signals) for guess in guesses]
        except FlexRobotSimError as error:
            last_error = error
            continue
        pose = design.experiment.trajectory.pose
        count += design.candidate_count
        rank = max(design._replace(information=one).rank() for one in found)
        if best is None or rank < best[0]:
            best = rank, design._replace(information=_worst(found))
    if best is None:
        raise last_error or UsageError('there is nothing to move.')
    return best[1]._replace(candidate_count=count)


def guesses_of(arm: ArmModel) -> list[ArmModel]:
    """Return arms with other stiffnesses, with friction in all drives, and the described one."""
    parameters = parameters_of(arm.description)
    stiffnesses = {
        path: parameter.value
        for path, parameter in parameters.items()
        if parameter.group == 'stiffness' and path.endswith('.stiffness') and parameter.value > 0.0
    }
    limits = np.where(np.isfinite(effort_limits(arm)), effort_limits(arm), 1.0)
    friction: dict[str, float] = {}
    for name, limit in zip(arm.joint_names, limits):
        if limit > 0.0 and parameters[f'{name}.coulomb'].value == 0.0:
            coulomb = FRICTION_RATIO * float(limit)
            friction |= {
                f'{name}.coulomb': coulomb,
                f'{name}.viscous': parameters[f'{name}.viscous'].value + coulomb / SLIDING_RATE,
                f'{name}.presliding': PRESLIDING,
            }
    guesses = [
        friction | {path: factor * value for path, value in stiffnesses.items()}
        for factor in STIFFNESS_FACTORS
    ]
    return [arm, *(_changed(arm, guess) for guess in guesses)]


def _changed(arm, values):
    gravity = -arm.arrays.base_acceleration[3:]
    return build_arm(with_parameters(arm.description, values), arm.coupling, gravity)


def _information(guess, design, free, signals):
    """Return the Information of a design about a guess."""
    trial = simulate_experiment(guess, design.experiment.trajectory, signals=signals)
    return information(guess, trial, free)


def _worst(found: Sequence[Information]) -> Information:
    """Return the first Information with the largest standard deviations of all."""
    return found[0]._replace(deviations=np.max([one.deviations for one in found], axis=0))
