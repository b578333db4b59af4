"""
Experiment on the bench with the joint controller of ROS, and its log.

The port belongs to a real or an emulated board. The motors are off after every run, also after
Ctrl-C.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.identification.excitation_trajectories import ExcitationTrajectory
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bridge.bench_driver import BENCH_CONTROLLER
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, RigState, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.util.exceptions import UsageError

POLL_PERIOD_S = 0.05
TIMEOUT_S = 5.0  # of the first state, and after the end of the motion
MIN_APPROACH_S = 1.0  # duration of the motion to the start of the trajectory
APPROACH_SPEED_RATIO = 0.3  # of this motion, over the velocity limits
MAX_ERROR_RATIO = 0.5  # distance of a joint from its target, over its range


class BenchRun(NamedTuple):
    """Result of a run."""

    seconds: float
    states: int
    largest_error: np.ndarray  # (joints,) distance from the targets [m, rad]
    events: list[str]


def play(
    arm: ArmModel,
    trajectory: ExcitationTrajectory,
    port: str,
    log_file: str | Path,
    calibration_file: str = '',
    watch: Callable[[float], object] = lambda share: None,
) -> BenchRun:
    """
    Move the bench along a trajectory and log it; raise RigError or UsageError with one line.

    :param port: of the board; calibration_file: of `flexsim rig calibrate`; '': data sheets.
    :param watch: receives the completed share; an exception in it ends the run.
    """
    settings = BridgeSettings(serial_port=port, calibration_file=calibration_file)
    calibration = calibration_of(settings, arm)
    controller = JointController(arm, BENCH_CONTROLLER)
    run = _Run(arm, controller)
    log = ExperimentLog(log_file, arm, calibration)
    bridge = None
    try:

        def on_state(state: RigState) -> None:
            log.put(state.reading)
            run.take(state)

        bridge = RigBridge(arm, calibration, port, settings, on_state=on_state)
        run.bridge = bridge
        _wait_until(lambda: run.states > 10, TIMEOUT_S, 'no states arrive from the board')
        if bridge.unhomed_joints:
            bridge.zero()
            _wait_until(lambda: run.is_steady, TIMEOUT_S, 'the board has no origin')
        bridge.enable(True)
        _wait_until(
            lambda: controller.drives_arm and controller.is_live,
            TIMEOUT_S,
            'the board is not armed',
        )
        start = time.monotonic()
        end = run.follow(trajectory)
        while not run.is_over:
            if not bridge.is_moving:  # often the cause of controller failures
                errors = [line for level, line in bridge.events if level == 'error']
                raise RigError(
                    f'the motors went off during the run. {errors[-1]}. --size makes '
                    'the motion smaller'
                    if errors
                    else 'the motors went off during the run.'
                )
            if run.failure:
                raise run.failure
            if time.monotonic() - start > 3 * end + TIMEOUT_S:
                raise RigError('states arrive too slowly: the run was given up.')
            watch(run.share)
            time.sleep(POLL_PERIOD_S)
        watch(1.0)
        bridge.enable(False)
    finally:
        if bridge is not None:
            bridge.close()  # disarms
        log.close()
    if log.failure:
        raise UsageError(log.failure)
    return BenchRun(end, run.states, run.largest, [line for _, line in bridge.events])


class _Run:
    """Control loop in the thread that reads the board."""

    def __init__(self, arm, controller):
        self.arm, self.controller, self.bridge = arm, controller, None
        self.states, self.time, self.failure = 0, 0.0, None
        self.largest = np.zeros(len(arm.joint_names))
        self._start = 0.0  # of the motion [s]
        self._end: float | None = None
        self._steady = 0
        lower, upper = arm.arrays.lower, arm.arrays.upper
        self._range = np.where(np.isfinite(upper - lower), upper - lower, np.inf)

    @property
    def is_steady(self):
        return self._steady > 20

    @property
    def share(self):
        if self._end is None:
            return 0.0
        return min((self.time - self._start) / (self._end - self._start), 1.0)

    @property
    def is_over(self):
        return self._end is not None and self.time >= self._end

    def follow(self, trajectory):
        """Move to the start of the trajectory and along it; return the duration [s]."""
        current = self.controller.target
        max_velocities = np.array(
            [self.arm.description.joint(name).velocity or 1.0 for name in self.arm.joint_names]
        )
        approach_time = max(
            MIN_APPROACH_S,
            float(
                (np.abs(trajectory.pose - current) / (APPROACH_SPEED_RATIO * max_velocities)).max()
            ),
        )
        u = np.linspace(0.0, 1.0, 101)[:-1]
        progress = u**3 * (10 - 15 * u + 6 * u**2)
        progress_rate = 30 * u**2 * (1 - u) ** 2 / approach_time
        distance = trajectory.pose - current
        self._times = np.concatenate(
            [approach_time * u, approach_time + trajectory.time - trajectory.time[0]]
        )
        self._positions = np.vstack([current + np.outer(progress, distance), trajectory.position])
        self._velocities = np.vstack([np.outer(progress_rate, distance), trajectory.velocity])
        begin = self.time
        self._start, self._end = begin, begin + float(self._times[-1])
        return float(self._times[-1])

    def _update_target(self):
        """Set the target at the present time."""
        t = self.time - self._start
        k = min(max(int(np.searchsorted(self._times, t)), 1), len(self._times) - 1)
        start, end = self._times[k - 1], self._times[k]
        share = min(max((t - start) / (end - start), 0.0), 1.0)
        self.controller.set_target(
            (1 - share) * self._positions[k - 1] + share * self._positions[k],
            (1 - share) * self._velocities[k - 1] + share * self._velocities[k],
        )

    def take(self, state):
        """Process a state; the thread that reads the board calls this method."""
        self.states += 1
        self.time += state.duration
        self._steady = 0 if state.is_first else self._steady + 1
        if self.bridge is None or state.is_first:
            return
        try:
            position, velocity = np.array(state.position), np.array(state.velocity)
            if self._end is not None and self.time < self._end:
                self._update_target()
            efforts = self.controller.update(
                self.time, position, velocity, drives_arm=self.bridge.is_moving
            )
            self.bridge.command(self.arm.joint_names, efforts)
            if self._end is not None:
                position_error = np.abs(position - self.controller.target)
                self.largest = np.maximum(self.largest, position_error)
                if (position_error > MAX_ERROR_RATIO * self._range).any():
                    name = self.arm.joint_names[int(np.argmax(position_error / self._range))]
                    raise RigError(f'"{name}" is far from its target: the run was stopped.')
        except Exception as error:  # would end the reading thread; the main thread raises it
            self.failure = self.failure or error


def _wait_until(condition, timeout, problem):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise RigError(f'{problem} within {timeout:g} s.')
        time.sleep(5e-3)
