"""Checks of efforts and gyro rates with a model, before a fit: units, signs, missing efforts."""

import numpy as np
from scipy.ndimage import uniform_filter1d

from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.identification.fit import Problem
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.prediction import servo_frequency, with_frequency
from flex_robot_sim.identification.response import respond
from flex_robot_sim.util.exceptions import UsageError

MIN_EFFORT_CORRELATION = 0.8  # of logged efforts and those that the motion requires
STIFF_SERVO_RATIO = 5.0  # frequency of the servo of this check, over the soft servo
CHECK_DURATION_S = 15.0  # of the log, for checks of units
DEGREES = 180 / np.pi
DEGREES_MARGIN = 2.0  # gyro rates within this factor of DEGREES are in degrees
MAX_EFFORT_RATIO = 3.0  # of required over logged efforts: beyond it the unit is wrong
MIN_DRIVEN_RATIO = 0.5  # of the required effort over that of the inertia, of a driven joint


def refuse_currents(problem: Problem) -> None:
    """Refuse efforts that are missing, or in another unit, such as currents or percent."""
    setup = problem.setup
    if setup.has_prescribed_motion:
        return
    arm, frequency = setup.arm(), STIFF_SERVO_RATIO * servo_frequency(problem.servo)
    # the efforts of a stiff servo alone show what the motion requires, if the model is right
    servo = with_frequency(problem.servo, frequency)
    inertia = joint_space_inertia(arm).least
    needed, logged, inertial = [], [], []
    for sequence in problem.sequences:
        short = sequence.part(0, max(4, round(CHECK_DURATION_S / sequence.period)))
        alone = short._replace(efforts=np.zeros_like(short.efforts))
        width = max(1, round(0.5 / frequency / sequence.period))
        needed.append(
            uniform_filter1d(respond(setup, servo, arm, alone).servo_effort, width, axis=0)
        )
        logged.append(uniform_filter1d(short.efforts, width, axis=0))
        accelerations = np.gradient(short.velocities, short.period, axis=0)
        inertial.append(inertia * uniform_filter1d(accelerations, width, axis=0))
    paths = {unknown.path for unknown in problem.unknowns}
    for j, name in enumerate(arm.joint_names):
        if f'{name}.torque_constant' in paths:
            continue
        required, actual = (np.concatenate(rows)[:, j] for rows in (needed, logged))
        required, actual = required - required.mean(), actual - actual.mean()
        least = MIN_DRIVEN_RATIO * np.concatenate(inertial)[:, j].std()
        if not any(np.ptp(row.efforts[:, j]) for row in problem.sequences) and (
            required.std() > least > 0.0
        ):
            raise UsageError(
                f'{problem.sequences[0].name}: "effort/{name}" is constant, but the motion needs '
                f'efforts that change by {np.ptp(required):.3g}. Log them, or give --by motion.'
            )
        scale = actual.std() * required.std()
        if not 0.0 < scale < np.inf:
            continue
        correlation, factor = (actual * required).mean() / scale, required.std() / actual.std()
        if correlation < -MIN_EFFORT_CORRELATION:
            raise UsageError(
                f'{problem.sequences[0].name}: "effort/{name}" has the wrong sign. '
                f'Give --signal effort/{name}=COLUMN*-1.'
            )
        if correlation > MIN_EFFORT_CORRELATION and not (
            1 / MAX_EFFORT_RATIO < factor < MAX_EFFORT_RATIO
        ):
            raise UsageError(
                f'{problem.sequences[0].name}: the motion of "{name}" needs {factor:.3g} times '
                'the efforts that were logged: a current, or another unit? Give --signal '
                f'effort/{name}=COLUMN*FACTOR [N m], --free torque_constants, or --by motion.'
            )


def refuse_degrees(problem: Problem) -> None:
    """Refuse gyro signals in degrees per second."""
    setup = problem.setup
    columns: dict[str, list[int]] = {}
    for k, name in enumerate(setup.data.channels):
        imu = imu_channel(name)
        if imu and imu.kind == 'gyro':
            columns.setdefault(imu.link, []).append(k)
    if not columns:
        return
    arm, sequence = setup.arm(), problem.sequences[0]
    sequence = sequence.part(0, max(4, round(CHECK_DURATION_S / sequence.period)))
    predicted = respond(setup, problem.servo, arm, sequence).channels
    for link, axes in columns.items():
        rate, expected = (
            np.sqrt(table[:, axes].var(axis=0).sum()) for table in (sequence.measured, predicted)
        )
        if expected * DEGREES / DEGREES_MARGIN < rate < expected * DEGREES * DEGREES_MARGIN:
            raise UsageError(
                f'{sequence.name}: the gyro on "{link}" turns {rate / expected:.3g} times as fast '
                f'as the arm: these are degrees. Give --signal gyro/{link}/x=COLUMN*deg and so on.'
            )
