"""Energy balance of a recorded arm, computed from its states and efforts."""

import numpy as np

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.moved_base import COLUMNS as SAMPLE_COLUMNS
from flex_robot_sim.dynamics.moved_base import RATE, place_base
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import base_coordinates, base_rates, body_pose
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.recording.simulated import MEAN_EFFORTS
from flex_robot_sim.reports.recorded_run import RecordedRun
from flex_robot_sim.reports.series import Series
from flex_robot_sim.util.exceptions import SettingError

MAX_INSTANTS = 4000  # at which energies are computed
COLUMNS = 'kinetic', 'strain', 'gravity', 'work', 'dissipated'
DISSIPATED = 'dissipated, less work of loads and base'


def coordinates(
    run: RecordedRun, arm: ArmModel, time: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """
    Return coordinates and rates (k, n) of the arm at times [s]; None if some were not recorded.

    Topics with more samples than the elastic states are interpolated.
    """
    joints, motors = len(arm.joint_names), len(arm.motor_names)
    # flex_states have the coordinates of universal, spherical and planar joints
    is_recorded = [name in run.position.names for name in arm.joint_names]
    flex = [*(k for k in range(joints) if not is_recorded[k]), *range(arm.size)[arm.elastic_q]]
    parts = [
        ((run.position, run.velocity), [k for k in range(joints) if is_recorded[k]]),
        ((run.motor_position, run.motor_velocity), [*range(joints, joints + motors)]),
        ((run.flex, run.flex_rate), flex),
    ]
    histories = np.zeros((2, len(time), arm.size))
    for pair, rows in parts:
        names = [arm.coordinate_names[k].removesuffix('/motor') for k in rows]
        for series, history in zip(pair, histories):
            if not names:
                continue
            if not set(names) <= set(series.names) or len(series.time) < 2:
                return None
            columns = [series.names.index(name) for name in names]
            history[:, rows] = series.at(time)[:, columns]
    q, qd = histories
    if arm.has_free_base:
        base = base_motion(run, arm, time)
        if base is None:
            return None
        q[:, arm.base_q], qd[:, arm.base_q] = base
    return (q, qd) if np.isfinite(histories).all() else None


def base_motion(
    run: RecordedRun, arm: ArmModel, time: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return coordinates and rates (k, b) of a free base at times [s]; None if not recorded."""
    if len(run.base.time) < 2:
        return None
    rows = _base_rows(run, time)
    try:
        coordinates = [base_coordinates(arm, body_pose(arm, row[:7])) for row in rows]
        rates = [base_rates(arm, row[7:]) for row in rows]
    except SettingError:  # another robot, or damaged
        return None
    return np.array(coordinates), np.array(rates)


def moved_base(run: RecordedRun, arm: ArmModel, time: np.ndarray) -> np.ndarray | None:
    """
    Return samples (k, 19) of a moved base at times [s], see `dynamics.moved_base.place_base`.

    The rate of the twist is zero. None: the base is free or stands, or was not recorded.
    """
    if arm.has_free_base or len(run.base.time) < 2:
        return None
    rows = _base_rows(run, time)
    if not np.isfinite(rows).all():
        return None
    return np.column_stack([rows, np.zeros((len(time), SAMPLE_COLUMNS - RATE))])


def _base_rows(run, time):
    """Return poses and twists (k, 13) of a recorded base at times [s]."""
    poses, twists = run.base.values[:, :7].copy(), run.base.values[:, 7:]
    # q and -q are the same turn; neighbours must be close for the interpolation
    dots = np.einsum('ka,ka->k', poses[1:, 3:], poses[:-1, 3:])
    poses[1:, 3:] *= np.cumprod(np.where(dots < 0.0, -1.0, 1.0))[:, None]
    rows = run.base._replace(values=np.column_stack([poses, twists])).at(time)
    rows[:, 3:7] /= np.linalg.norm(rows[:, 3:7], axis=1)[:, None]
    return rows


def instants(run: RecordedRun, max_count: int = MAX_INSTANTS, rate: float = np.inf) -> np.ndarray:
    """Return times of complete arm states [s]; max_count, rate [Hz]: limits of the result."""
    time = run.flex.time if len(run.flex.time) else run.position.time
    time = time[(time >= run.position.time[0]) & (time <= run.position.time[-1])]
    if len(time) < 2:
        return time
    stride = max(len(time) / max_count, np.median(np.diff(time)) ** -1 / rate, 1.0)
    rows = np.arange(0, len(time), stride).astype(int)
    return time[rows[rows < len(time)]]  # rounding may add a row


def energies(run: RecordedRun) -> Series | None:
    """
    Return kinetic, strain and gravity energy, motor work and dissipated energy [J].

    Gravity energy, work and dissipation count from the beginning. Dissipation is the motor work
    that is no longer stored: lost in dampers and friction or, if negative, supplied by pushes or
    by a moved base.
    """
    arm = run.arm
    if arm is None or not set(arm.description.urdf_joint_names) <= set(run.effort.names):
        return None
    time = instants(run)
    state = coordinates(run, arm, time)
    if state is None or len(time) < 2:
        return None
    work, rows = make_workspace(arm.arrays), np.zeros((len(time), 3))
    bases = moved_base(run, arm, time)
    for k, (row, q, qd) in enumerate(zip(rows, *state)):
        if bases is not None:
            place_base(bases[k], work)
        set_energies(arm.arrays, q, qd, work, row)
    rows[:, 2] -= rows[0, 2]
    motor_work = np.interp(time, *_work(run, arm))
    motor_work -= motor_work[0]
    stored = rows.sum(axis=1)
    dissipated = motor_work - (stored - stored[0])
    return Series(time, np.column_stack([rows, motor_work, dissipated]), COLUMNS)


def _work(run, arm):
    """Return times [s] and the motor work since the first time [J]."""
    time = run.effort.time
    speed = np.column_stack(
        [
            np.interp(time, run.motor_velocity.time, run.motor_velocity.column(name))
            if name in run.motor_velocity.names
            else np.interp(time, run.velocity.time, run.velocity.column(name))
            for name in arm.description.urdf_joint_names
        ]
    )
    effort = np.column_stack(
        [run.effort.column(name) for name in arm.description.urdf_joint_names]
    )
    # nodes record the effort before a state; a mean around a state covers the next step, too
    effort_over_step = effort[1:]
    if run.metadata.get('efforts') == MEAN_EFFORTS:
        effort_over_step = (effort[1:] + effort[:-1]) / 2
    power = np.nan_to_num((effort_over_step * (speed[1:] + speed[:-1]) / 2).sum(axis=1))
    steps = np.diff(time) * power
    return time, np.append(0.0, np.cumsum(steps))
