"""Residual vibration of recorded tips: spectra, resonances and predicted modes."""

from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import excited_modes
from flex_robot_sim.analysis.recorded_vibration import resonances
from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reports.recorded_run import RecordedRun
from flex_robot_sim.reports.series import Series
from flex_robot_sim.util.exceptions import FlexRobotSimError

TARGET_REST_RATIO = 1e-4  # a smaller step of the target, over its range, counts as rest
MIN_REST_S = 0.5  # shorter intervals do not count                              [s]
MIN_SPECTRUM_SAMPLES = 64  # needed for a spectrum
MAX_MODES = 4  # in the list of predicted modes
MIN_RELATIVE_MODE_SIZE = 1e-2  # smaller modes, relative to the largest, are left out


class RestInterval(NamedTuple):
    """An interval in which the target does not move."""

    begin: float  # [s]
    end: float  # [s]


class RecordedVibration(NamedTuple):
    """Residual vibration in the longest rest interval, or vibration in the whole run."""

    span: RestInterval
    is_rest: bool
    frequencies: np.ndarray  # of the spectra, (k,)                    [Hz]
    amplitudes: dict[str, np.ndarray]  # of the tips by link, (k,)               [m]
    resonances: list[Resonance]  # found in the motion of the tips
    predicted: np.ndarray  # natural frequencies of the model        [Hz]
    ratios: np.ndarray  # damping ratios of the model
    drive_condition: str  # of the model


def rest_intervals(run: RecordedRun) -> list[RestInterval]:
    """Return the intervals in which the target does not move, in order; none if no target."""
    time, values = run.target.time, run.target.values
    if len(time) < 2:
        return []
    span = np.ptp(values, axis=0).max()
    is_moving = np.abs(np.diff(values, axis=0)).max(axis=1) > max(TARGET_REST_RATIO * span, 1e-9)
    edges = [0, *(np.flatnonzero(is_moving) + 1).tolist(), len(time) - 1]
    intervals = []
    for first, last in zip(edges, edges[1:]):
        if time[last] - time[first] >= MIN_REST_S:
            # the interval ends with the last sample before the target moves
            intervals.append(RestInterval(float(time[first]), float(time[max(last - 1, first)])))
    return intervals


def residual_vibration(run: RecordedRun) -> RecordedVibration | None:
    """Return the RecordedVibration of the tips; None if there are too few samples."""
    tips = {link: tip for link, tip in run.tips.items() if len(tip.time) >= MIN_SPECTRUM_SAMPLES}
    if not tips:
        return None
    # skip the interval before the first motion, if any: the arm is still sagging from its start
    intervals = rest_intervals(run)
    candidates = intervals[1:] or intervals
    spans = [
        rest
        for rest in candidates
        if all(len(tip.within(*rest).time) >= MIN_SPECTRUM_SAMPLES for tip in tips.values())
    ]
    first_time = next(iter(tips.values())).time
    is_rest = bool(spans)
    span = (
        max(spans, key=lambda rest: rest.end - rest.begin)
        if spans
        else RestInterval(float(first_time[0]), float(first_time[-1]))
    )
    resampled = {link: _resample(tip.within(*span)) for link, tip in tips.items()}
    rate = min(rate for rate, _ in resampled.values())
    sample_count = min(len(samples) for _, samples in resampled.values())
    all_samples = np.hstack([samples[:sample_count] for _, samples in resampled.values()])
    peaks = resonances(rate, all_samples)[0] if all_samples.std() > 0.0 else []
    frequencies, amplitudes = np.zeros(0), {}
    for link, (rate, samples) in resampled.items():
        frequencies, amplitudes[link] = amplitude_spectrum(rate, samples[:sample_count])
    predicted, ratios, drive_condition = _predicted(run, span)
    return RecordedVibration(
        span, is_rest, frequencies, amplitudes, peaks, predicted, ratios, drive_condition
    )


def amplitude_spectrum(rate: float, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frequencies [Hz] and amplitudes (k,) of detrended samples (n, columns), Hann window.

    A steady oscillation of amplitude a has the peak a; columns are components of one vector.
    """
    n = len(samples)
    ramp = np.linspace(-1.0, 1.0, n)
    level = samples.mean(axis=0)
    slope = (ramp @ (samples - level)) / (ramp @ ramp)
    window = np.hanning(n)
    windowed = (samples - level - ramp[:, None] * slope) * window[:, None]
    columns = np.abs(np.fft.rfft(windowed, axis=0)) * 2 / window.sum()
    return np.fft.rfftfreq(n, 1 / rate)[1:], np.linalg.norm(columns, axis=1)[1:]


def mean_residual_amplitude(run: RecordedRun, link: str) -> float:
    """Return half the range of a tip at rest after a motion, mean of all; nan if none [m]."""
    amplitudes = []
    for rest in rest_intervals(run)[1:]:
        rows = run.tips[link].within(*rest).values
        if len(rows) > 1:
            amplitudes.append(float(np.linalg.norm(np.ptp(rows, axis=0))) / 2)
    return float(np.mean(amplitudes)) if amplitudes else float('nan')


def _resample(tip: Series) -> tuple[float, np.ndarray]:
    """Rate [Hz] and uniformly sampled deflections (n, 3) of a tip."""
    step = float(np.median(np.diff(tip.time)))
    time = np.arange(tip.time[0], tip.time[-1] + step / 2, step)
    return 1 / step, tip.at(time)


def _predicted(run, span):
    """Return frequencies and damping ratios of excited modes, and the drive condition."""
    arm = run.arm
    if arm is None:
        return np.zeros(0), np.zeros(0), ''
    try:
        gains, drive_condition = recorded_servo_gains(run, arm)
        pose = run.position.within(*span).values.mean(axis=0)
        pose = pose[[run.position.names.index(name) for name in arm.joint_names]]
        excited = excited_modes(arm, pose, gains)
    except (FlexRobotSimError, ValueError, np.linalg.LinAlgError):
        return np.zeros(0), np.zeros(0), ''
    largest_modes = np.flatnonzero(excited.shares > MIN_RELATIVE_MODE_SIZE)[:MAX_MODES]
    return excited.frequencies[largest_modes], excited.ratios[largest_modes], drive_condition


def recorded_servo_gains(
    run: RecordedRun, arm: ArmModel
) -> tuple[tuple[np.ndarray, np.ndarray] | None, str]:
    """Return stiffness and damping of the recorded servo, None if none, and a description."""
    parameters = run.parameters.get('controller')
    if parameters is None:
        return None, 'with locked drives'
    names = (
        'position_gain',
        'velocity_gain',
        'bandwidth',
        'damping_ratio',
        'state_period',
        'effort_limits',
    )
    settings: dict[str, Any] = {
        name: tuple(parameters[name]) if isinstance(parameters[name], list) else parameters[name]
        for name in names
        if name in parameters
    }
    servo = JointController(arm, ControllerSettings(**settings)).servo
    return (servo.stiffness, servo.damping), 'as the servo holds it'
