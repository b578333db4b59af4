"""Logs of vibration in one pose: the modes in them, and the pose by the joints in the log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.damped_sinusoids import SinusoidFit, with_rates
from flex_robot_sim.analysis.recorded_vibration import recorded_modes
from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.recording.read.columns import Recording
from flex_robot_sim.shaping.log_checks import check_modes
from flex_robot_sim.shaping.vibration_log import VibrationLog, read_vibration, samples_of
from flex_robot_sim.util.exceptions import UsageError, plain

MAX_POSE_CHANGE = 0.05  # of a joint during the vibration                        [rad, m]
MIN_SIZE = 0.02  # amplitude of a mode that is kept, over that of the largest one
# names of columns of accelerometers and gyros
_ACCELERATION = re.compile(r'acc|^[xyz]$|^a_?[xyz]|lin_?a')
_RATE = re.compile(r'gyr|angular_?vel|^(g|w|omega)_?[xyz]')
JOINT_KINDS = 'position', 'velocity', 'effort', 'acceleration'  # of the columns of a joint


class PoseLog(NamedTuple):
    """Modes of an arm in one pose, from one log."""

    source: str
    pose: np.ndarray  # (n,)                                                       [rad, m]
    modes: tuple[Resonance, ...]  # largest first
    shapes: np.ndarray  # (modes, columns) amplitudes of the sensor, of length 1
    notes: tuple[str, ...] = ()


def read_pose_log(
    path: str | Path,
    joints: Sequence[str],
    pose: Sequence[float] | None = None,
    columns: Sequence[str] = (),
    rate: float | None = None,
) -> PoseLog:
    """
    Return the PoseLog in a file of any format that `read_recording` knows.

    :param joints: names of n joints; pose: their positions (n,), by default those in the log.
    :param columns: of the sensor; default: all but those of joints.
    :param rate: of the samples [Hz]; default: by their times.
    """
    recording = read_vibration(path, rate)
    log = samples_of(sensor_part(recording, joints, columns), columns, rate)
    modes = recorded_modes(log.rate, log.samples)
    power = displacement_power(log.names)
    counted = _counted(modes.resonances, power)
    largest = max((mode.size / mode.frequency**power for mode in modes.resonances), default=0.0)
    harmonics = [h for h in modes.harmonics if h.size / h.frequency**power >= MIN_SIZE * largest]
    modes = modes._replace(harmonics=tuple(harmonics))
    notes = [*log.notes, *check_modes(str(path), log, modes)]
    if not counted or counted[0].way == 'spectrum':
        raise UsageError(
            f'{path}: has no free vibration. Record a fast move or a push, and the arm at rest '
            'for several periods of the vibration after it.'
        )
    if pose is None:
        # the second half: a move with constant acceleration may seem to be free vibration
        span = log.start + (modes.begin + modes.end) / 2, log.start + modes.end
        pose = [_position(recording, name, span) for name in joints]
    shapes = mode_shapes(log, counted, modes.begin, modes.end)
    return PoseLog(str(path), np.array(pose, float), counted, shapes, tuple(notes))


def displacement_power(names: Sequence[str]) -> int:
    """Return the power of the frequency by which a sensor shows more than displacements."""
    words = [name.lower() for name in names]
    if all(_ACCELERATION.search(word) for word in words):
        return 2
    return 1 if all(_RATE.search(word) for word in words) else 0


def _counted(modes, power):
    """Return modes with the sizes of displacements, largest first, without small ones."""
    scaled = [mode._replace(size=mode.size / mode.frequency**power) for mode in modes]
    largest = max((mode.size for mode in scaled), default=1.0)
    scaled = [mode._replace(size=mode.size / largest) for mode in scaled]
    return tuple(
        sorted((mode for mode in scaled if mode.size >= MIN_SIZE), key=lambda mode: -mode.size)
    )


def mode_shapes(
    log: VibrationLog, modes: Sequence[Resonance], begin: float, end: float
) -> np.ndarray:
    """Return shapes (m, columns) of length 1 of modes in a span of a log [s]."""
    samples = log.samples[int(begin * log.rate) : int(end * log.rate)]
    fit = modal_fit(samples, log.rate, modes)
    m = len(modes)
    waves = fit.coefficients[:m] - 1j * fit.coefficients[m : 2 * m]
    # the phase is arbitrary: choose the one with the largest real part
    phases = 0.5 * np.angle((waves**2).sum(axis=1))
    shapes = np.real(waves * np.exp(-1j * phases)[:, None])
    return shapes / np.maximum(np.linalg.norm(shapes, axis=1), 1e-300)[:, None]


def modal_fit(samples: np.ndarray, rate: float, modes: Sequence[Resonance]) -> SinusoidFit:
    """Return the SinusoidFit of known modes to samples (k, n) at a rate [Hz]."""
    natural = 2 * np.pi * np.array([mode.frequency for mode in modes])
    ratios = np.array([mode.ratio for mode in modes])
    return with_rates(
        np.arange(len(samples)) / rate, samples, natural * ratios, natural * np.sqrt(1 - ratios**2)
    )


def position_column(recording: Recording, joint: str) -> str | None:
    """Return the column with the positions of a joint, or None."""
    names = joint, f'position/{joint}', f'joint_states:position/{joint}'
    return next((name for name in names if name in recording.columns), None)


def sensor_part(
    recording: Recording, joints: Sequence[str], columns: Sequence[str] = ()
) -> Recording:
    """Return a Recording without the columns of joints, unless `columns` names them."""
    left_out = {name for joint in joints for name in _columns_of(joint)} - {*columns}
    kept = {name: found for name, found in recording.columns.items() if name not in left_out}
    if not kept:
        raise UsageError(
            f'{recording.path}: has columns of joints only. Record an accelerometer, a gyro or a '
            'strain gauge as well, or name a column by --column.'
        )
    return recording._replace(columns=kept)


def _columns_of(joint):
    """Yield the names of the columns of a joint."""
    yield joint
    for kind in JOINT_KINDS:
        yield f'{kind}/{joint}'
        yield f'joint_states:{kind}/{joint}'


def _position(recording, joint, span):
    """Return the position of a joint in a span of time; UsageError if it is unknown or moves."""
    path, name = recording.path, position_column(recording, joint)
    if name is None:
        raise UsageError(
            f'{path}: has no column with the position of "{plain(joint)}". Give its pose by '
            '--pose.'
        )
    time, values = recording.columns[name]
    inside = values[(time >= span[0]) & (time <= span[1]) & np.isfinite(values)]
    if not inside.size:
        raise UsageError(
            f'{path}: "{plain(name)}" has no values from {span[0]:.4g} to {span[1]:.4g} s, during '
            'the vibration: the clocks differ. Record with one clock, or give --pose.'
        )
    change = float(np.ptp(inside))
    if change > MAX_POSE_CHANGE:
        raise UsageError(
            f'{path}: "{plain(name)}" changes by {change:.2g} during the vibration. Let the '
            'joints rest until the vibration has decayed.'
        )
    return float(inside.mean())
