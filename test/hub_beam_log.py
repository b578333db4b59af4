"""Logs of the finite elements of hub_beam.py, which a servo moves."""

import numpy as np
from hub_beam import HubBeam

from flex_robot_sim.identification import make_log

STEP = 5e-4  # of the servo and of the plant [s]
SERVO = 20.0, 0.3  # [N m/rad], [N m s/rad]
REST = 0.2  # before the motion [s]
SIZE, SLOWEST, FASTEST = 0.01, 0.5, 4.0  # of a sine sweep [rad], [Hz]; the beam stays linear
GAUGE_NOISE, COUNTS = 4e-4, 2**20  # [1/m]; of the encoder, in a turn
CHIRP_NOISE = 2e-5  # [1/m]


def sweep(t, seconds):
    """Return the angle of a sine sweep that begins at rest [rad]."""
    t = max(t - REST, 0.0)
    growth = np.log(FASTEST / SLOWEST) / seconds
    phase = 2 * np.pi * SLOWEST * np.expm1(growth * t) / growth
    return SIZE * (1 - np.exp(-((t / 0.3) ** 3))) * np.exp(-0.5 * growth * t) * np.sin(phase)


def hub_beam_signals(seconds, period, load=lambda angle: 0.0, motion=sweep, step=STEP):
    """
    Return times (k,), and signals (k,) by name, without noise.

    :param period: of the samples [s], a multiple of the step.
    :param load: function from the angle to a torque that acts against the motor.
    :param motion: function from time and duration to the set point of the angle [rad].
    :param step: of the servo and of the plant [s].
    """
    plant, count = HubBeam(step), round(seconds / step)
    rows, efforts = np.empty((count + 1, 4)), np.empty(count)
    for k in range(count + 1):
        angle, rate = plant.position[0], plant.velocity[0]
        rows[k] = angle, rate, *plant.curvature
        if k == count:
            break
        error = motion(k * step, seconds) - angle
        efforts[k] = load(0.0) + SERVO[0] * error - SERVO[1] * rate
        plant.step(efforts[k] - load(angle))
    fine = step * np.arange(count + 1)
    impulse = np.concatenate([[0.0], step * np.cumsum(efforts)])
    times = np.arange(0.0, seconds - 0.5 * period, period)
    ends = np.clip([times - 0.5 * period, times + 0.5 * period], 0.0, seconds)
    # means of the period around each sample
    means = np.diff(np.interp(ends, fine, impulse), axis=0)[0] / np.diff(ends, axis=0)[0]
    angle, rate, root, tip = rows[:: round(period / step)][: times.size].T
    return times, {
        'position/motor': angle,
        'velocity/motor': rate,
        'effort/motor': means,
        'arm/root': root,
        'arm/tip': tip,
    }


def with_noise(signals, seed):
    """Return signals as sensors measure them: in encoder counts, with noise of the gauges."""
    random, turn = np.random.default_rng(seed), 2 * np.pi / COUNTS
    measured = {**signals, 'position/motor': turn * np.round(signals['position/motor'] / turn)}
    for name in ('arm/root', 'arm/tip'):
        measured[name] = signals[name] + random.normal(0.0, GAUGE_NOISE, signals[name].size)
    return {name: values for name, values in measured.items() if name != 'velocity/motor'}


def chirp_log(name='log', seed=1, rise=0.15):
    """
    Return the log of a small chirp without efforts, with little noise.

    :param rise: of the frequency [Hz/s].
    """
    times, signals = hub_beam_signals(
        8.0, 5e-3, motion=lambda t, _: SIZE * np.sin(2 * np.pi * (0.4 + rise * t) * t), step=1e-3
    )
    noise = CHIRP_NOISE * np.random.default_rng(seed).standard_normal((2, times.size))
    gauges = dict(zip(('arm/root', 'arm/tip'), noise))
    measured = {'position/motor': signals['position/motor']}
    measured |= {gauge: signals[gauge] + row for gauge, row in gauges.items()}
    return make_log(times, measured, name=name)
