"""The bench as a driver of `flexsim tune`: moves by the joint controller, flex sensors as log."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, RigBridge, RigState, calibration_of
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.shaping.tuning.driver import (
    ArmState,
    DriverError,
    log_lines,
    set_point_velocities,
)
from flex_robot_sim.util.files import open_atomic

BENCH_CONTROLLER = ControllerSettings(damping_ratio=1.0, bandwidth=1.5, state_period=0.0)
"""The same settings as in config/rig.yaml; docs/rig_bridge.md explains them."""

TIMEOUT_S = 5.0  # for states and for the motors
POLL_PERIOD_S = 5e-3
MIN_STATES = 20  # before the origin is set
COLUMNS = 'flex_root', 'flex_tip'  # sums of the converter                          [counts]


class BenchDriver:
    """Controls the bench in the thread that reads the board; the motors are off after `close`."""

    def __init__(self, arm: ArmModel, port: str, calibration_file: str = '') -> None:
        """Connect and switch the motors on; a board without an origin is at the zero pose."""
        self.joints = tuple(arm.joint_names)
        self._controller = JointController(arm, BENCH_CONTROLLER)
        self._states, self._time = 0, 0.0
        self._clock = 0.0, time.monotonic()  # of the board, and of this machine         [s]
        self._failure: Exception | None = None
        self._state: ArmState | None = None
        self._move: tuple | None = None  # begin, times, positions, velocities
        self._rows: list[list[float]] = []
        self._is_recording, self._begin = False, 0.0
        self._bridge: Any = None  # the RigBridge, once it is connected
        settings = BridgeSettings(serial_port=port, calibration_file=calibration_file)
        calibration = calibration_of(settings, arm)
        bridge = RigBridge(arm, calibration, port, settings, on_state=self._on_state)
        self._bridge = bridge
        try:
            self._switch_on(bridge)
        except BaseException:
            self.close()
            raise

    def now(self) -> float:
        """
        Time of the board, extrapolated from its newest telemetry [s].

        Set points follow the same clock, also on an emulated board that lags behind real time.
        """
        board, arrival = self._clock
        return board + time.monotonic() - arrival

    def state(self) -> ArmState | None:
        """Return the newest telemetry."""
        return self._state

    def move(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Follow positions from the next telemetry on."""
        velocities = set_point_velocities(times, positions)
        self._move = self._time, np.asarray(times), np.asarray(positions), velocities

    def wait(self, seconds: float) -> None:
        """Sleep; DriverError if the motors are off."""
        time.sleep(seconds)
        if self._failure is not None:
            raise self._failure
        if not self._bridge.is_moving:
            lines = [line for level, line in self._bridge.events if level == 'error']
            raise DriverError(f'the motors went off: {(lines or ["no telemetry"])[-1]}')

    def stop(self) -> None:
        """Switch the motors off: the bench comes to rest by its friction."""
        self._move = None
        with suppress(RigError):  # without a cable, the watchdog of the board has done so
            self._bridge.enable(False)

    def begin_log(self) -> None:
        """Record from now on."""
        self._rows, self._is_recording, self._begin = [], True, self._time

    def write_log(self, path: Path) -> None:
        """Write the samples since `begin_log`."""
        self._is_recording = False
        with open_atomic(path, 'w', encoding='utf-8') as file:
            file.write(log_lines(self.joints, COLUMNS, self._rows))

    def close(self) -> None:
        """Switch the motors off and close the port."""
        if self._bridge is not None:
            self._bridge.close()

    def _switch_on(self, bridge):
        _wait_until(lambda: self._states > MIN_STATES, 'no states arrive from the board')
        if bridge.unhomed_joints:
            bridge.zero()
            before = self._states
            _wait_until(lambda: self._states > before + MIN_STATES, 'the board has no origin')
        bridge.enable(True)
        _wait_until(
            lambda: self._controller.drives_arm and self._controller.is_live,
            'the board is not armed',
        )

    def _on_state(self, state: RigState) -> None:
        """Process a state; the thread that reads the board calls this method."""
        self._states += 1
        self._time += state.duration
        self._clock = self._time, time.monotonic()
        if self._bridge is None or state.is_first:
            return
        try:
            self._control(state)
        except Exception as error:  # would end the reading thread; `wait` raises it
            self._failure = self._failure or error

    def _control(self, state):
        position, velocity = np.array(state.position), np.array(state.velocity)
        self._state = ArmState(self._time, position)
        if self._move is not None and self._bridge.is_moving:
            begin, times, positions, velocities = self._move
            position_now, velocity_now = (
                np.array([np.interp(self._time - begin, times, column) for column in table.T])
                for table in (positions, velocities)
            )
            self._controller.set_target(position_now, velocity_now)
        efforts = self._controller.update(
            self._time, position, velocity, drives_arm=self._bridge.is_moving
        )
        self._bridge.command(self.joints, efforts)
        if self._is_recording:
            message = state.reading.message
            self._rows.append(
                [self._time - self._begin, *position, message.adc_root, message.adc_tip]
            )


def _wait_until(condition, problem):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > end:
            raise RigError(f'{problem} within {TIMEOUT_S:g} s.')
        time.sleep(POLL_PERIOD_S)
