"""
An experiment simulated with all formulations, compared with the recursion.

All formulations use the same scheme and the same steps. So two trajectories differ only by their
equations and by the discretisation error.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from flex_robot_sim.formulations import FORMULATIONS, make
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.simulated_motion import (
    Force,
    Progress,
    Run,
    acceleration_errors,
    subprogress,
)
from flex_robot_sim.util.exceptions import SettingError

PAPER_FORMULATIONS = tuple(name for name in FORMULATIONS if name != 'recursion')
LINEARISED = ('dual_screw',)  # linearised in the elastic coordinates; they differ by design
ROUNDING_TOLERANCE = 1e-9  # ranges and times below it count as zero   [rad, m, s]
COMPLETED, STOPPED, UNSUPPORTED = 'through', 'until', 'cannot'

Motion = Callable[[str, float, Progress], Run]  # of a formulation, seconds and progress


class FormulationResult(NamedTuple):
    """Completed part of an experiment by a formulation, and its difference from the recursion."""

    status: str  # COMPLETED, STOPPED or UNSUPPORTED
    end_time: float | None  # end of its motion                             [s]
    remark: str  # why it ended there, or its settings
    trajectory_error: float | None  # largest difference over the range of its kind
    worst_coordinate: str  # coordinate with this difference
    acceleration_error: float | None  # the same of accelerations, at states of the recursion


def run_formulations(
    arm: ArmModel,
    motion: Motion,
    force: Force,
    seconds: float,
    progress: Progress = lambda fraction: None,
    remarks: Mapping[str, str] | None = None,
) -> dict[str, FormulationResult]:
    """
    Run `motion` with every formulation; return a FormulationResult for each.

    :param force: on the coordinates, function of q, qd and time; to compare accelerations.
    :param remarks: {formulation: its settings in words}.
    """
    reference = motion('recursion', seconds, subprogress(progress, 0.0, 0.05))
    errors = acceleration_errors(arm, reference, force)
    results = {}
    for k, name in enumerate(PAPER_FORMULATIONS):
        reason = _unsupported_reason(name, arm)
        if reason:
            results[name] = FormulationResult(UNSUPPORTED, None, reason, None, '', None)
            continue
        run = motion(
            name,
            seconds,
            subprogress(
                progress,
                0.05 + 0.95 * k / len(PAPER_FORMULATIONS),
                0.05 + 0.95 * (k + 1) / len(PAPER_FORMULATIONS),
            ),
        )
        end_time, is_complete = float(run.time[-1]), len(run.time) >= len(reference.time)
        notes = [remarks[name]] if remarks and name in remarks else []
        if not is_complete:
            notes.append('its state is lost there')
        acceleration_error = errors[name]
        results[name] = FormulationResult(
            COMPLETED if is_complete else STOPPED,
            end_time,
            '; '.join(notes),
            *error_by_kind(arm, reference, run),
            None if isinstance(acceleration_error, str) else float(acceleration_error),
        )
    return results


def worst_results(rows: Sequence[Mapping[str, FormulationResult]]) -> dict[str, FormulationResult]:
    """Return the worst FormulationResult of each formulation over several runs."""
    results = {}
    for name in rows[0]:
        runs = [row[name] for row in rows]
        if any(result.status == UNSUPPORTED for result in runs):
            results[name] = next(result for result in runs if result.status == UNSUPPORTED)
            continue
        shortest = min(runs, key=lambda result: result.end_time or 0.0)
        least_accurate = max(runs, key=lambda result: result.trajectory_error or 0.0)
        results[name] = shortest._replace(
            trajectory_error=least_accurate.trajectory_error,
            worst_coordinate=least_accurate.worst_coordinate,
            acceleration_error=max(result.acceleration_error or 0.0 for result in runs),
        )
    return results


def max_error(results: Mapping[str, FormulationResult], linearised: bool = False) -> float:
    """
    Return the largest trajectory error of the formulations that should equal the recursion.

    :param linearised: True: include formulations linearised in the elastic coordinates.
    """
    return max(
        (
            result.trajectory_error
            for name, result in results.items()
            if result.trajectory_error is not None and (linearised or name not in LINEARISED)
        ),
        default=0.0,
    )


def error_by_kind(arm: ArmModel, run: Run, other: Run) -> tuple[float, str]:
    """
    Return the largest difference of two motions over the range of its kind, and its coordinate.

    Kinds are turning and sliding joints with their motors, and each kind of elastic coordinate.
    """
    size, worst = min(len(run.q), len(other.q)), (0.0, '')
    kinds: dict[str, list[int]] = {}
    for k, name in enumerate(arm.coordinate_names):
        kinds.setdefault(_kind(arm, name, k), []).append(k)
    for columns in kinds.values():
        before, after = run.q[:size, columns], other.q[:size, columns]
        span = np.ptp(run.q[:, columns], axis=0).max()
        if span < ROUNDING_TOLERANCE:
            continue
        errors = np.abs(before - after).max(axis=0) / span
        worst = max(worst, (float(errors.max()), arm.coordinate_names[columns[errors.argmax()]]))
    return worst


def _kind(arm, name, k):
    joint_row = k
    if k >= len(arm.joint_names):
        joint_row = next((j for j, motor in enumerate(arm.arrays.motor) if motor == k), None)
    if joint_row is not None:
        body = int(np.flatnonzero(arm.arrays.joint == joint_row)[0])
        return 'turning' if arm.arrays.screw[body, :3].any() else 'sliding'
    return name.split('/')[-1].rsplit('_', 1)[0]


def _unsupported_reason(name, arm):
    try:
        make(name, arm)
    except SettingError as error:
        return str(error)
    return ''
