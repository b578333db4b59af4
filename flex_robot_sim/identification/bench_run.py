"""
An experiment on the bench, by the controller that ROS would use, and its log.

The port is that of a board, or of an emulated one: nothing else differs. Whatever ends the run,
Ctrl-C included, the motors are off afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.settings import ControllerSettings
from flex_robot_sim.identification.excitation_trajectories import Course
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, RigState, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import ExperimentLog
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.util.exceptions import UsageError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

BENCH = ControllerSettings(damping_ratio=1.0, bandwidth=1.5, state_period=0.0)
"""As in config/rig.yaml, for whose reasons see docs/rig_bridge.md."""

AGAIN = 0.05            # between two looks                                                 [s]
PATIENCE = 5.0          # for the first state, and after the end of the motion              [s]
LEAST_LEAD = 1.0        # for the way to where the course begins                            [s]
SPEED = 0.3             # of its limits, on this way
STRAY = 0.5             # of its range, that a joint may be from its target


class BenchRun(NamedTuple):
    """What happened."""

    seconds: float
    states: int
    largest_error: np.ndarray       # (joints,) from the targets [m, rad]
    events: list[str]


def play(arm: ArmModel, course: Course, port: str, log_file: str | Path,
         calibration_file: str = '', watch: Callable[[float], object] = lambda share: None
         ) -> BenchRun:
    """
    Lead the bench along a Course and log it; RigError or UsageError in one line.

    :param port: of the board; calibration_file: of `flexsim rig calibrate`; '': data sheets.
    :param watch: is told the share that is done; what it raises ends the run.
    """
    settings = BridgeSettings(serial_port=port, calibration_file=calibration_file)
    calibration = calibration_of(settings, arm)
    controller = JointController(arm, BENCH)
    run = _Run(arm, controller)
    log = ExperimentLog(log_file, arm, calibration)
    bridge = None
    try:
        def on_state(state: RigState) -> None:
            log.put(state.reading)
            run.take(state)

        bridge = RigBridge(arm, calibration, port, settings, on_state=on_state)
        run.bridge = bridge
        _await(lambda: run.states > 10, PATIENCE, 'no states arrive from the board')
        if bridge.unhomed_joints:
            bridge.zero()
            _await(lambda: run.is_steady, PATIENCE, 'the board has no origin')
        bridge.enable(True)
        _await(lambda: controller.drives_arm and controller.is_live, PATIENCE,
               'the board is not armed')
        begun = time.monotonic()
        end = run.follow(course)
        while not run.is_over:
            if not bridge.is_moving:    # often why the controller complains, too
                said = [line for level, line in bridge.events if level == 'error']
                raise RigError(f'the motors went off during the run. {said[-1]}. --size makes '
                               'the motion smaller' if said else
                               'the motors went off during the run.')
            if run.failure:
                raise run.failure
            if time.monotonic() - begun > 3 * end + PATIENCE:
                raise RigError('states arrive too slowly: the run was given up.')
            watch(run.share)
            time.sleep(AGAIN)
        watch(1.0)
        bridge.enable(False)
    finally:
        if bridge is not None:
            bridge.close()          # disarms
        log.close()
    if log.failure:
        raise UsageError(log.failure)
    return BenchRun(end, run.states, run.largest, [line for _, line in bridge.events])


class _Run:
    """The controller in the thread that reads the board."""

    def __init__(self, arm, controller):
        self.arm, self.controller, self.bridge = arm, controller, None
        self.states, self.time, self.failure = 0, 0.0, None
        self.largest = np.zeros(len(arm.joint_names))
        self._start, self._end = None, None
        self._steady = 0
        lower, upper = arm.arrays.lower, arm.arrays.upper
        self._range = np.where(np.isfinite(upper - lower), upper - lower, np.inf)

    @property
    def is_steady(self):
        return self._steady > 20

    @property
    def share(self):
        return 0.0 if self._end is None else min((self.time - self._start) / (
            self._end - self._start), 1.0)

    @property
    def is_over(self):
        return self._end is not None and self.time >= self._end

    def follow(self, course):
        """Go to where the course begins, and along it; return how long that takes [s]."""
        here = self.controller.target
        rates = np.array([self.arm.description.joint(name).velocity or 1.0
                          for name in self.arm.joint_names])
        lead = max(LEAST_LEAD, float((np.abs(course.pose - here) / (SPEED * rates)).max()))
        u = np.linspace(0.0, 1.0, 101)[:-1]
        way, rate = u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u)**2 / lead
        step = course.pose - here
        self._times = np.concatenate([lead * u, lead + course.time - course.time[0]])
        self._places = np.vstack([here + np.outer(way, step), course.position])
        self._rates = np.vstack([np.outer(rate, step), course.velocity])
        begin = self.time
        self._start, self._end = begin, begin + float(self._times[-1])
        return float(self._times[-1])

    def _lead(self):
        """Set the target of now."""
        t = self.time - self._start
        k = min(max(int(np.searchsorted(self._times, t)), 1), len(self._times) - 1)
        before, behind = self._times[k - 1], self._times[k]
        share = min(max((t - before) / (behind - before), 0.0), 1.0)
        self.controller.set_target(
            (1 - share) * self._places[k - 1] + share * self._places[k],
            (1 - share) * self._rates[k - 1] + share * self._rates[k])

    def take(self, state):
        """Answer a state; called by the thread that reads."""
        self.states += 1
        self.time += state.duration
        self._steady = 0 if state.is_first else self._steady + 1
        if self.bridge is None or state.is_first:
            return
        try:
            position, velocity = np.array(state.position), np.array(state.velocity)
            if self._end is not None and self.time < self._end:
                self._lead()
            efforts = self.controller.update(self.time, position, velocity,
                                             drives_arm=self.bridge.is_moving)
            self.bridge.command(self.arm.joint_names, efforts)
            if self._end is not None:
                off = np.abs(position - self.controller.target)
                self.largest = np.maximum(self.largest, off)
                if (off > STRAY * self._range).any():
                    name = self.arm.joint_names[int(np.argmax(off / self._range))]
                    raise RigError(f'"{name}" is far from its target: the run was stopped.')
        except Exception as error:      # it would end the reader; the main thread raises it
            self.failure = self.failure or error


def _await(done, seconds, complaint):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise RigError(f'{complaint} within {seconds:g} s.')
        time.sleep(5e-3)
