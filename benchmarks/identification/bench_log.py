"""Logs that a bench would record of a plant: a servo, encoders, gauges and their errors."""

import numpy as np

from flex_robot_sim.identification.log_file import Column, Log

SERVO_PERIOD = 1e-3  # [s]
LOG_PERIOD = 2e-3  # [s]


def recorded(plant, reference, seconds, gains):
    """
    Return the true samples of a plant whose motors follow a reference by a servo.

    :param reference: function from time to positions and rates (joints,).
    :param gains: stiffness and damping (joints,) of the servo.
    :returns: times (k,), and columns by name: motor and link positions, mean efforts around each
        sample, curvatures, and the twist of each gear.
    """
    joints = len(plant.arm.drives)
    count, per_row = round(seconds / SERVO_PERIOD), round(LOG_PERIOD / SERVO_PERIOD)
    rows = np.empty((count // per_row + 1, 3 * joints + len(plant.gauges)))
    efforts = np.empty((count, joints))
    limit = np.array([drive.effort for drive in plant.arm.drives])
    for k in range(count + 1):
        if k % per_row == 0:
            motors, twists = plant.motor_positions, plant.twists
            rows[k // per_row] = np.concatenate(
                [motors, motors + twists, twists, plant.curvatures]
            )
        if k == count:
            break
        place, rate = reference(k * SERVO_PERIOD)
        effort = gains[0] * (place - plant.motor_positions)
        effort += gains[1] * (rate - plant.motor_rates)
        efforts[k] = np.clip(effort, -limit, limit)
        plant.advance(efforts[k])
    # mean of the period around each sample
    padded = np.pad(efforts, ((per_row // 2, per_row), (0, 0)), mode='edge')
    means = np.array([padded[k : k + per_row].mean(axis=0) for k in range(0, count + 1, per_row)])
    columns = {}
    for j in range(joints):
        columns[f'motor/joint{j + 1}'] = rows[:, j]
        columns[f'position/joint{j + 1}'] = rows[:, joints + j]
        columns[f'twist/joint{j + 1}'] = rows[:, 2 * joints + j]
        columns[f'effort/joint{j + 1}'] = means[:, j]
    for k, name in enumerate(plant.gauges):
        columns[name] = rows[:, 3 * joints + k]
    return np.arange(len(rows)) * LOG_PERIOD, columns


def log_of(
    times, columns, *, delay=0.0, seed=0, gauge_noise=4e-4, encoder_counts=65536, name='log'
):
    """Return the Log that a bench would record: late, in encoder counts, with noisy gauges."""
    random, turn = np.random.default_rng(seed), 2 * np.pi / encoder_counts
    out = {}
    for path, values in columns.items():
        if path.startswith('twist/'):
            continue
        if not path.startswith('effort/'):
            values = np.interp(times - delay, times, values)
        if path.startswith(('motor/', 'position/')):
            values = turn * np.round(values / turn)
        elif path.startswith('link'):
            values = values + random.normal(0, gauge_noise, values.size)
        out[path] = Column(times, values)
    return Log(name, out, [])
