"""
Experiment design: Fisher information of a motion, and the motion with the most information.

Sensitivities are those of the fit, for the full nonlinear arm; the noise of sensors is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.loop_poses import followed_pose, full_pose
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.identification.excitation_trajectories import (
    KINDS,
    ExcitationTrajectory,
    excitation_trajectory,
    line_frequencies,
    motion_duration,
    multisine_coefficients,
)
from flex_robot_sim.identification.fit import Problem
from flex_robot_sim.identification.log_file import Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup, soft_servo
from flex_robot_sim.identification.sequences import DataSet
from flex_robot_sim.identification.simulated_experiment import (
    SimulatedExperiment,
    available_channels,
    scaled_to_limits,
    simulate_experiment,
)
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.model.arguments import (
    expect_arm,
    expect_one_of,
    number_or_nan,
    refuse_moved_base,
    whole,
)
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import FlexRobotSimError, SettingError, UsageError, shortened
from flex_robot_sim.util.summary import summarized

NOISE_STD = {
    'position': 1e-4,
    'motor': 1e-4,
    'tip': 1e-4,
    'gauge': 5e-4,  # [rad, m; 1/m]
    'gyro': 2e-3,
    'acceleration': 2e-2,
}  # [rad/s, m/s2]
MIN_SINGULAR_VALUE_RATIO = 1e-10  # smaller ones carry no information
COMPARISON_DURATION_S = 6.0  # duration of the motions that compare poses
FINALISTS = 2  # sets of phases whose information is computed
SHARE_ITERATIONS = 600  # iterations of the shares of lines
VARIANCE_POWER = 4  # the design minimizes the sum of these powers of variances
MIN_EIGENVALUE_RATIO = 1e-9  # of the information of all lines together
MIN_FREQUENCY_HZ = 0.2  # of a motion
MAX_MODES = 4  # modes of the arm within the band of a motion
BAND_RATIO = 1.3  # highest frequency of a motion, over that of the last mode
MAX_SAMPLING_RATIO = 0.1  # highest frequency of a motion, over the sampling rate


def with_noise(log: Log, seed: int) -> Log:
    """Return a Log with the assumed noise of its sensors."""
    rng = np.random.default_rng(seed)
    return log._replace(
        columns={
            name: column
            if name.startswith('effort/')
            else column._replace(
                values=column.values + _noise_std(name) * rng.standard_normal(column.values.size)
            )
            for name, column in log.columns.items()
        }
    )


def _noise_std(channel):
    """Return the standard deviation of a sensor; other names are flex sensors of links."""
    return NOISE_STD.get(channel.partition('/')[0], NOISE_STD['gauge'])


@summarized
class Information(NamedTuple):
    """Fisher information of an experiment about the unknowns."""

    unknowns: list[Unknown]
    deviations: np.ndarray  # (p,)  standard deviations of z, for white noise
    matrix: np.ndarray  # (p, p)    information matrix (I16)

    @property
    def size(self) -> float:
        """Logarithm of the determinant."""
        return float(np.log(_regularized_eigen(self.matrix)[0]).sum())

    @property
    def worst(self) -> tuple[str, float]:
        """The least determined parameter, and its standard deviation."""
        k = int(np.argmax(self.deviations))
        return self.unknowns[k].path, float(self.deviations[k])


def information(
    arm: ArmModel, trial: SimulatedExperiment, free: Iterable[str] = ()
) -> Information:
    """Return the Information of an experiment about free parameters, see `unknowns_of`."""
    unknowns, J = sensitivities(arm, trial, free)
    J = J.reshape(-1, len(unknowns))
    parameters = [k for k, unknown in enumerate(unknowns) if unknown.kind != 'offset']
    nuisance = [k for k in range(len(unknowns)) if k not in parameters]
    F = J.T @ J
    if nuisance:  # offsets of gauges are estimated as well
        F = (
            F[np.ix_(parameters, parameters)]
            - F[np.ix_(parameters, nuisance)]
            @ np.linalg.pinv(F[np.ix_(nuisance, nuisance)])
            @ F[np.ix_(nuisance, parameters)]
        )
    values, vectors = _regularized_eigen(F)
    variances = (vectors**2 / values).sum(axis=1)
    return Information([unknowns[k] for k in parameters], np.sqrt(variances), F)


def sensitivities(
    arm: ArmModel, trial: SimulatedExperiment, free: Iterable[str] = ()
) -> tuple[list[Unknown], np.ndarray]:
    """Return the unknowns, and output sensitivities to them, over the noise, (k, c, p)."""
    channels, sides = trial.channels, available_channels(arm)[1]
    data = DataSet([trial.sequence], channels, sides, True, [])
    setup = Setup(
        arm.description,
        data,
        arm.coupling,
        tuple(-arm.arrays.base_acceleration[3:]),
        finer=0,
        time_step=2e-3,
    )
    unknowns = unknowns_of(arm, data, free)
    problem = Problem(setup, unknowns, soft_servo(setup), starts=[np.zeros((2 * arm.size, 0))])
    noise = np.array([_noise_std(name) for name in channels])
    J = problem.slopes(problem.initial_point()) / noise[:, None]
    if not np.isfinite(J).all():
        raise UsageError('the arm is lost on the way of this motion. Give another --pose.')
    return unknowns, J


def information_by_line(
    arm: ArmModel,
    trial: SimulatedExperiment,
    joint: int,
    frequencies: np.ndarray,
    free: Iterable[str] = (),
    for_energy: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the information of each line of a series per unit cost, and its amplitude at unit cost.

    An arm is nearly linear about a pose: it responds to a line at the same frequency. So one
    experiment with all lines yields the information of each line.

    :param joint: moving joint; frequencies: of its lines (m,) [Hz].
    :param for_energy: whether the cost consists of efforts only, instead of the usage of limits.
    :returns: information matrices (m, p, p); acceleration amplitudes (m,).
    """
    unknowns, J = sensitivities(arm, trial, free)
    time = trial.trajectory.time
    J = J[:, :, [k for k, unknown in enumerate(unknowns) if unknown.kind != 'offset']]
    windowed_phasors = np.hanning(len(time)) * np.exp(-2j * np.pi * np.outer(frequencies, time))
    line_sensitivities = np.tensordot(windowed_phasors, J, 1)
    matrices = np.real(np.einsum('mcp,mcq->mpq', line_sensitivities.conj(), line_sensitivities))
    usage = trial.limit_usage[:, -len(arm.joint_names) :] if for_energy else trial.limit_usage
    cost = np.sum(np.abs(windowed_phasors @ usage) ** 2, axis=1) * (time[1] - time[0])
    amplitude = np.abs(
        windowed_phasors @ (trial.trajectory.position[:, joint] - trial.trajectory.pose[joint])
    )
    root_cost = np.sqrt(np.maximum(cost, 1e-300))
    return (
        matrices / root_cost[:, None, None] ** 2,
        amplitude * (2 * np.pi * frequencies) ** 2 / root_cost,
    )


def _regularized_eigen(F):
    """Return eigenvalues, limited to positive values, and eigenvectors."""
    values, vectors = np.linalg.eigh(F)
    return np.maximum(
        values, MIN_SINGULAR_VALUE_RATIO * max(values.max(initial=0.0), 1e-300)
    ), vectors


class ExperimentDesign(NamedTuple):
    """
    A designed experiment.

    Example::

        # found = frs.identification.design_experiment(arm, duration=6.0, period=5e-3)
        # found.information.worst, found.experiment.trajectory.position
    """

    experiment: SimulatedExperiment
    information: Information
    candidate_count: int  # number of compared motions

    def rank(self, for_energy: bool = False) -> tuple[int, float]:
        """
        Return the cost: number of undetermined parameters, then the variances of the others.

        :param for_energy: whether to scale the motion to unit energy.
        """
        scale = self.experiment.energy**0.5 if for_energy else 1.0
        deviations = scale * self.information.deviations
        determined = deviations[deviations < 1.0]
        return len(deviations) - len(determined), float(np.sum(determined ** (2 * VARIANCE_POWER)))


def candidate_poses(arm: ArmModel, pose: np.ndarray | None) -> list[np.ndarray]:
    """Return candidate poses: the given one, or some over the range of the joints."""
    if pose is not None:
        return [full_pose(arm, 'pose', pose)]
    lower = np.where(np.isfinite(arm.arrays.lower), arm.arrays.lower, -1.0)
    upper = np.where(np.isfinite(arm.arrays.upper), arm.arrays.upper, 1.0)
    middle, half = 0.5 * (lower + upper), np.minimum(0.5 * (upper - lower), 1.0)
    signs = np.where(np.arange(len(middle)) % 2, -1.0, 1.0)
    poses = [middle, middle + 0.5 * half * signs, middle - 0.5 * half]
    return [followed_pose(arm, one)[0] for one in poses] if arm.closed_loops else poses


def locked_frequencies(arm: ArmModel, pose: np.ndarray) -> np.ndarray:
    """Return natural frequencies of the arm with locked drives [Hz]."""
    if arm.size == len(arm.joint_names):
        return np.zeros(0)
    frequencies = modes(arm, pose, joints='locked').frequencies
    return frequencies[frequencies > 0.0]


def frequency_band(arm: ArmModel, pose: np.ndarray, period: float) -> tuple[float, float]:
    """Return the lowest and the highest excitation frequency of an arm [Hz]."""
    frequencies = locked_frequencies(arm, pose)
    high = BAND_RATIO * frequencies[:MAX_MODES].max(initial=2.0 * MIN_FREQUENCY_HZ)
    return MIN_FREQUENCY_HZ, float(
        min(max(high, 5 * MIN_FREQUENCY_HZ), MAX_SAMPLING_RATIO / period)
    )


def optimal_shares(matrices: np.ndarray, power: int = VARIANCE_POWER) -> np.ndarray:
    """
    Return the shares (m,) of m motions in the cost with the smallest largest variance (I17).

    :param matrices: information of each motion at unit cost (m, p, p); it is additive.
    :param power: of the variances in the minimized sum.
    """
    shares = np.full(len(matrices), 1 / len(matrices))
    scale = np.sqrt(np.maximum(np.einsum('mpp->p', matrices), 1e-300))
    values, vectors = np.linalg.eigh(np.mean(matrices / np.outer(scale, scale), axis=0))
    # determined directions only
    vectors = vectors[:, values > MIN_EIGENVALUE_RATIO * values.max()]
    rows = vectors / scale[:, None]
    matrices = np.einsum('pa,mpq,qb->mab', rows, matrices, rows)
    for _ in range(SHARE_ITERATIONS):
        solution = rows @ np.linalg.pinv(np.tensordot(shares, matrices, 1), hermitian=True)
        variances = np.einsum('pa,pa->p', solution, rows)
        weights = (variances / variances.max()) ** (power - 1)
        gains = np.einsum('pa,p,pb,mab->m', solution, weights, solution, matrices, optimize=True)
        shares = shares * np.maximum(gains, 0.0) ** (1 / (power + 1))
        shares /= shares.sum()
    return shares


def design_experiment(  # noqa: C901
    arm: ArmModel,
    *,
    duration: float,
    period: float,
    kind: str = 'fourier',
    free: Iterable[str] = (),
    pose: np.ndarray | None = None,
    phase_sets: int = 8,
    seed: int = 0,
    for_energy: bool = False,
    signals: Iterable[str] = (),
) -> ExperimentDesign:
    """
    Return the ExperimentDesign of a kind with the most information about free parameters.

    It takes minutes.

    :param duration: of the motion [s]; period: between two samples [s].
    :param kind: 'fourier', 'decay', 'sweep', 'chirp' or 'multisine'.
    :param free: paths of parameters, as of `identify_parameters`.
    :param pose: about which the arm moves, (joints,) [rad, m]; None: the best of several.
    :param phase_sets: number of sets of phases to compare for 'fourier'; seed: of the phases.
    :param for_energy: whether to maximize information per energy instead of within limits.
    :param signals: additional signals, see `available_channels`.

    Example::

        # arm = frs.load('single_link')
        # found = frs.identification.design_experiment(arm, duration=6.0, period=5e-3)
        # found.experiment.trajectory.position, found.experiment.log
    """
    expect_arm(arm, closed_loops=True)
    refuse_moved_base(arm)
    for name, value in (('duration', duration), ('period', period)):
        if not 0.0 < number_or_nan(value) < np.inf:
            raise SettingError(f'{name} = {shortened(repr(value), 60)} must be > 0 and finite [s]')
    expect_one_of('kind', kind, KINDS)
    phase_sets, signals = whole('phase_sets', phase_sets), [*signals]
    free, attempts, best = [*free], 0, None
    last_error: FlexRobotSimError | None = None

    def attempt(trajectory: ExcitationTrajectory) -> SimulatedExperiment | None:
        nonlocal attempts, last_error
        attempts += 1
        try:
            return scaled_to_limits(arm, trajectory, signals=signals)
        except FlexRobotSimError as error:
            last_error = error
            return None

    def evaluate(trial: SimulatedExperiment | None) -> ExperimentDesign | None:
        nonlocal last_error
        if trial is None:
            return None
        try:
            return ExperimentDesign(trial, information(arm, trial, free), attempts)
        except FlexRobotSimError as error:
            last_error = error
            return None

    def better(
        first: ExperimentDesign | None, second: ExperimentDesign | None
    ) -> ExperimentDesign | None:
        if first is None or second is None:
            return first or second
        return second if second.rank(for_energy) < first.rank(for_energy) else first

    def trajectory_at(
        center: np.ndarray, length: float, coefficients: np.ndarray | None = None
    ) -> ExcitationTrajectory:
        return excitation_trajectory(
            kind,
            center,
            length,
            frequency_band(arm, center, period),
            period,
            coefficients,
            locked_frequencies(arm, center),
            arm.actuated if arm.closed_loops else None,
        )

    centers = candidate_poses(arm, pose)
    if len(centers) > 1 and duration > COMPARISON_DURATION_S:
        # compare poses by shorter motions
        for center in centers:
            best = better(best, evaluate(attempt(trajectory_at(center, COMPARISON_DURATION_S))))
        centers, best = [best.experiment.trajectory.pose] if best else centers, None
    for center in centers:
        best = better(best, evaluate(attempt(trajectory_at(center, duration))))
    if best is None:
        raise last_error or UsageError('there is nothing to move.')
    if kind == 'fourier':
        center, joints = best.experiment.trajectory.pose, len(arm.joint_names)
        frequencies = line_frequencies(
            motion_duration(duration),
            frequency_band(arm, center, period),
            locked_frequencies(arm, center),
        )
        sizes, matrices = np.zeros((joints, len(frequencies))), []
        p = len(best.information.unknowns)
        for j in range(joints):
            single_joint = np.zeros((joints, len(frequencies), 2))
            single_joint[j] = multisine_coefficients(frequencies, joints)[j]
            is_passive = arm.closed_loops and not arm.actuated[j]
            trial = None if is_passive else attempt(trajectory_at(center, duration, single_joint))
            line_matrices, sizes[j] = (
                (np.zeros((len(frequencies), p, p)), 0.0)
                if trial is None
                else (information_by_line(arm, trial, j, frequencies, free, for_energy))
            )
            matrices.append(line_matrices)
        shares = optimal_shares(np.concatenate(matrices)).reshape(sizes.shape)
        generator = np.random.default_rng(seed)
        coefficients = multisine_coefficients(frequencies, joints)
        coefficients = coefficients * (sizes * np.sqrt(shares))[..., None]
        trials = []
        for _ in range(phase_sets):  # phases: how much fits between the limits
            trials.append(attempt(trajectory_at(center, duration, coefficients)))
            phases = generator.uniform(0, 2 * np.pi, sizes.shape)
            amplitudes = np.hypot(*np.moveaxis(coefficients, -1, 0))
            coefficients = np.stack(
                [amplitudes * np.cos(phases), amplitudes * np.sin(phases)], axis=-1
            )
        # at equal shares, more energy yields more information
        by_energy = sorted([trial for trial in trials if trial], key=lambda trial: -trial.energy)
        for trial in by_energy[:FINALISTS]:
            best = better(best, evaluate(trial))
    assert best is not None
    return best._replace(candidate_count=attempts)


def scaled_design(
    arm: ArmModel, design: ExperimentDesign, size: float, free: Iterable[str] = ()
) -> ExperimentDesign:
    """Return the design with displacements scaled by a factor."""
    trial = simulate_experiment(
        arm, design.experiment.trajectory.scaled(size), signals=design.experiment.channels
    )
    return ExperimentDesign(trial, information(arm, trial, free), design.candidate_count)
