"""
Logs of the bench as recordings.

The motion of the motors is prescribed; with a calibration, a log has the rests of the stepper.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy.signal import butter, sosfilt

from flex_robot_sim.recording.mcap_file import RecordingReader
from flex_robot_sim.recording.read import mcap
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.rig.bench.parts import TURN
from flex_robot_sim.rig.bridge.bench_comparison import states_of
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.bridge.experiment_recording import ABOUT
from flex_robot_sim.rig.calibration.calibration import Calibration
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.vocabulary import MOVING
from flex_robot_sim.util.exceptions import UsageError

PREFIX = b'# {"format"'
GAUGE_CUTOFF_HZ = 40.0  # second order low-pass filter of the gauges of a bench
MIN_REST_S = 1.0  # rest of the stepper that is used
MIN_TOTAL_REST_S = 3.0  # below it, the fit uses the whole log
MAX_RESTS = 2  # rests with the largest vibration; each adds initial states to the fit
MAX_ROTOR_LAG_STEPS = 2.0  # a larger lag of the rotor means lost full steps


def sniff(path: Path, head: bytes) -> bool:
    """Whether a file is a log of the bridge: telemetry with robot and calibration."""
    if not head.startswith(mcap.MAGIC):
        return head.startswith(PREFIX)
    reader = RecordingReader(path)
    next(iter(reader), None)  # the metadata precedes the first message
    return ABOUT in reader.facts


def read(path: Path, calibration: Calibration | None = None) -> Recording:
    """
    Return the longest run of a bench with its motors on.

    :param calibration: replaces the one in the log.
    """
    experiment = read_experiment(path, calibration=calibration)
    shapes = ShapeTracker(experiment.arm, experiment.calibration)
    joints, time = experiment.arm.joint_names, 0.0
    runs: list[list[list[float]]] = [[]]
    for state in states_of(experiment):
        time += state.duration
        if state.reading.message.state not in MOVING or state.is_first:
            runs.append([])
            continue
        # velocities of the tracker lag; the fit differentiates positions instead
        message = state.reading.message
        runs[-1].append(
            [
                time,
                *state.position,
                *shapes.curvatures(message),
                message.step_position / experiment.calibration.steps_per_radian,
                message.step_rate,
            ]
        )
    rows = np.array(max(runs, key=len))
    if len(rows) < 2:
        raise UsageError(f'{path}: the motors were never on in this log. Record a motion.')
    names = [*(f'position/{name}' for name in joints), *shapes.sensors]
    resting = None
    if calibration is not None:
        resting = _resting_rows(path, rows[:, :-1], rows[:, -1], calibration)
    if resting is not None:
        rows, names = resting, [*names, f'field/{joints[TURN]}']
    return Recording(
        str(path), {name: Column(rows[:, 0], rows[:, k + 1]) for k, name in enumerate(names)}, []
    )


def _resting_rows(path, rows, rates, calibration):
    """
    Return the rows at rests of the stepper, with its field at the pulse count; None if too few.

    The rotor vibrates in its field by less than an encoder count; single pulses excite it.
    """
    turntable, field = rows[:, 1 + TURN], rows[:, -1]
    rotor_lag = turntable - field
    if np.ptp(rotor_lag) > MAX_ROTOR_LAG_STEPS * 2 * math.pi / calibration.parts.full_steps:
        raise UsageError(
            f'{path}: pulses and encoder of the stepper drift apart by '
            f'{np.ptp(rotor_lag):.3g} rad: steps were lost. Move less fast.'
        )
    rate = (len(rows) - 1) / (rows[-1, 0] - rows[0, 0])
    if rate < 4 * GAUGE_CUTOFF_HZ:
        return None
    rows = rows.copy()
    rows[:, 1 + TURN] = field + np.median(rotor_lag)
    sections = butter(2, GAUGE_CUTOFF_HZ, fs=rate, output='sos')
    initial = rows[: max(1, round(0.02 * rate)), 3:-1].mean(axis=0)
    rows[:, 3:-1] = initial + sosfilt(sections, rows[:, 3:-1] - initial, axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[1], rates != 0, [1]])))
    # rests after a motion, without the transient of the filter after the last pulse
    rests = [
        slice(begin + round(2 / GAUGE_CUTOFF_HZ * rate), end)
        for begin, end in zip(edges[::2], edges[1::2])
        if begin > 0
    ]
    rest_samples = [
        rest.stop - rest.start if rest.stop - rest.start > MIN_REST_S * rate else 0
        for rest in rests
    ]
    # delays of the host cause long rests without vibration
    vibration_energy = [
        float(np.sum((rows[rest, 3:-1] - rows[rest, 3:-1].mean(axis=0)) ** 2)) if count else 0.0
        for rest, count in zip(rests, rest_samples)
    ]
    loudest = sorted(np.argsort(vibration_energy)[::-1][:MAX_RESTS])
    if sum(rest_samples[k] for k in loudest) < MIN_TOTAL_REST_S * rate:
        return None
    stride = max(1, round(rate / (5 * GAUGE_CUTOFF_HZ)))
    return np.concatenate([rows[rests[k]][::stride] for k in loudest if rest_samples[k]])
