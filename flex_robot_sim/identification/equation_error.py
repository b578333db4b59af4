"""
Equation error: torque constants, friction and cables by regression on the measured motion (I26).

A joint that sticks in the simulation has no slope with its friction. The regression uses only
samples in which the drive moves, so that stiction does not trap it. One simulation with prescribed
motion yields the bending of the links. The result is the start of the fit.
"""

from collections.abc import Sequence as Rows
from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_erosion, gaussian_filter1d

from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.equations import mass_matrix, nonlinear_effects
from flex_robot_sim.analysis.loop_forces import constraint_forces
from flex_robot_sim.identification.drive_terms import CABLE_STIFFNESS, CABLE_TORQUE
from flex_robot_sim.identification.log_simulation import move
from flex_robot_sim.identification.prediction import Setup, soft_servo
from flex_robot_sim.identification.sequences import Sequence, noise_of
from flex_robot_sim.identification.unknown import Unknown
from flex_robot_sim.model.arm_model import ArmModel

SMOOTHING_S = 0.02  # standard deviation of the low-pass filter
MIN_RATE_STDS = 5.0  # of a drive that moves, over the noise of its rate
MIN_RATE_RATIO = 0.02  # the same, over its largest rate
MAX_ROWS = 2000  # samples of a sequence with inverse dynamics
MIN_ROWS_PER_COLUMN = 20
HUBER = 1.5  # residuals above so many standard deviations lose weight
ITERATIONS = 20
COULOMB, VISCOUS, CONSTANT = 'coulomb', 'viscous', 'torque_constant'


def regression_start(
    setup: Setup, arm: ArmModel, unknowns: Rows[Unknown], sequences: Rows[Sequence]
) -> dict[str, float]:
    """Return start values by path of the friction, cables and torque constants in `unknowns`."""
    if setup.has_prescribed_motion:
        return {}
    free = {unknown.path: unknown for unknown in unknowns}
    words = COULOMB, VISCOUS, CABLE_TORQUE, CABLE_STIFFNESS, CONSTANT
    if not any(path.endswith(tuple(f'.{word}' for word in words)) for path in free):
        return {}
    by_motion = replace(setup, data=setup.data._replace(has_efforts=False))
    rows = [_smoothed(by_motion, arm, sequence) for sequence in sequences]
    found: dict[str, float] = {}
    for j, name in enumerate(arm.joint_names):
        paths = [path for word in words if (path := f'{name}.{word}') in free]
        if paths and setup.data.sides[j]:
            friction = arm.description.joint(name).friction
            known = {COULOMB: friction.coulomb_friction, VISCOUS: friction.viscous_friction}
            table = np.concatenate([joint_rows[j] for joint_rows in rows])
            values = joint_regression(table, paths, known)
            # one impossible value shows that the others are wrong as well
            if all(_is_inside(free[path], value) for path, value in values.items()):
                found.update(values)
    return found


def joint_regression(
    table: np.ndarray, paths: Rows[str], known: dict[str, float]
) -> dict[str, float]:
    """
    Return least squares values of (I26) of one joint, robust against outliers.

    :param table: columns effort, required torque, its rate, position, rate and sign of rate.
    :param known: coulomb and viscous, for those that are not in `paths`.
    """
    effort, torque, torque_rate, position, rate, sign = table.T
    columns = {COULOMB: sign, VISCOUS: rate, CABLE_TORQUE: np.ones_like(rate)}
    columns |= {CABLE_STIFFNESS: position, CONSTANT: -effort}
    words = [path.rpartition('.')[2] for path in paths]
    right = -torque if CONSTANT in words else effort - torque
    for word, value in known.items():
        if word not in words:
            right = right - value * columns[word]
    # the last column is the delay of the measured motion
    matrix = np.column_stack([*(columns[word] for word in words), torque_rate])
    if len(matrix) < MIN_ROWS_PER_COLUMN * matrix.shape[1]:
        return {}
    values = robust_regression(matrix, right)
    return {path: float(value) for path, value in zip(paths, values)}


def robust_regression(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution (p,) of matrix (k, p) x = right with Huber's weights."""
    scale = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    matrix, weight = matrix / scale, np.ones_like(right)
    for _ in range(ITERATIONS):
        root = np.sqrt(weight)
        x = np.linalg.lstsq(matrix * root[:, None], right * root, rcond=1e-8)[0]
        error = np.abs(right - matrix @ x)
        deviation = 1.4826 * np.median(error)
        if deviation <= 0.0:
            break
        weight = np.minimum(1.0, HUBER * deviation / np.maximum(error, 1e-300))
    return x / scale


def _smoothed(setup, arm, sequence):
    """Return the table of `joint_regression` of each joint, where its drive moves."""
    period, width = sequence.period, SMOOTHING_S / sequence.period
    motion = move(setup, soft_servo(setup), arm, sequence)
    every = max(1, len(sequence.time) // MAX_ROWS)
    q, v = (
        gaussian_filter1d(part, width, axis=0, mode='nearest')
        for part in (motion.coordinates, motion.velocities)
    )
    a = gaussian_filter1d(motion.velocities, width, axis=0, order=1, mode='nearest') / period
    torque = _required_torque(arm, *(part[::every] for part in (q, v, a)))
    position, rate = q[:, arm.motor_q], v[:, arm.motor_q]
    effort = gaussian_filter1d(sequence.efforts, width, axis=0, mode='nearest')
    # each side of a stop is within the filter for so long
    margin = max(1, round(3 * width))
    tables = []
    for j in range(rate.shape[1]):
        speed = np.abs(rate[:, j])
        least = max(MIN_RATE_STDS * noise_of(rate[:, [j]])[0] + 1e-9, MIN_RATE_RATIO * speed.max())
        moves = speed > least
        inner = binary_erosion(moves, np.ones(2 * margin + 1, bool))
        moves = (inner if inner.sum() > 0.1 * moves.sum() else moves)[::every]
        signals = effort, position, rate, np.sign(rate)
        e, q, v, sign = (part[::every, j] for part in signals)
        torque_rate = np.gradient(torque[:, j], every * period)
        tables.append(np.column_stack([e, torque[:, j], torque_rate, q, v, sign])[moves])
    return tables


def _required_torque(arm, coordinates, velocities, accelerations):
    """Return the efforts (k, joints) without friction that a motion requires."""
    joints, motors = len(arm.joint_names), arm.motor_q
    has_gear = motors != np.arange(joints)
    torque = np.empty((len(coordinates), joints))
    for row, q, v, a in zip(torque, coordinates, velocities, accelerations):
        force = mass_matrix(arm, q) @ a + nonlinear_effects(arm, q, v)
        if arm.closed_loops:
            W = gaps_and_jacobian(arm, q)[1]
            force = constraint_forces(arm, W, force, arm.drive_q)[1]
        # in the sum of both sides of a gear, its own force cancels
        row[:] = force[motors] + np.where(has_gear, force[:joints], 0.0)
    return torque


def _is_inside(unknown, value):
    return bool(np.isfinite(value) and unknown.lower < value < unknown.upper)
