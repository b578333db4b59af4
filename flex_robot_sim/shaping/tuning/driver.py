"""
Interface of drivers, which move an arm and record its sensors, and supervision of their moves.

`follow` is the only function that moves an arm. It stops the arm if states stop arriving, if a
joint leaves its set points, or on any exception such as Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from flex_robot_sim.util.exceptions import FlexRobotSimError, plain

MAX_STATE_AGE_S = 0.15  # of the newest state, before the arm is stopped               [s]
POLL_PERIOD_S = 0.02  # between two checks; age and period together stay below 0.2 s
MAX_ERROR = 0.2  # distance of a joint from its set point                      [rad, m]
START_TOLERANCE = 0.05  # of a joint at the start of a move, which may vibrate [rad, m]
MIN_CHECKED_TRAVEL = 0.02  # of a move whose travel is checked                 [rad, m]
MIN_TRAVEL_SHARE = 0.5  # of a move that the joint with the largest travel makes at least
START_TIMEOUT_S = 5.0  # for the first state                                           [s]


class DriverError(FlexRobotSimError):
    """The arm does not move as it should; it has been stopped."""


class ArmState(NamedTuple):
    """Measured positions of the joints."""

    time: float  # of arrival, by `Driver.now`                                       [s]
    position: np.ndarray  # (n,)                                               [rad, m]


def set_point_velocities(times: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Velocities (k, n) of positions (k, n) at times (k,), from rest to rest."""
    velocities = np.zeros_like(positions, dtype=float)
    if len(times) > 2:
        velocities[1:-1] = np.gradient(positions, times, axis=0)[1:-1]
    return velocities


class Driver(Protocol):
    """An arm that follows set points, and a sensor on it. Times are those of `now` [s]."""

    joints: tuple[str, ...]

    def now(self) -> float:
        """Present time of a steady clock [s]."""

    def state(self) -> ArmState | None:
        """Return the newest state; None before the first one."""

    def move(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Begin to follow positions (k, n) [rad, m] at times (k,) from now [s], and return."""

    def wait(self, seconds: float) -> None:
        """Let time pass [s]."""

    def stop(self) -> None:
        """Bring the joints to rest at once."""

    def begin_log(self) -> None:
        """Discard previous samples, and record sensors and joints from now on."""

    def write_log(self, path: Path) -> None:
        """Write the recorded samples: a column `time`, joints by name, and the sensor."""

    def close(self) -> None:
        """Release the arm."""


def await_state(driver: Driver) -> ArmState:
    """Return the first state of a driver; DriverError if none arrives."""
    end = driver.now() + START_TIMEOUT_S
    while (state := driver.state()) is None or driver.now() - state.time > MAX_STATE_AGE_S:
        if driver.now() > end:
            raise DriverError(
                f'no joint states arrive within {START_TIMEOUT_S:g} s. Start the arm and its '
                'driver, and check the names of the joints'
            )
        driver.wait(POLL_PERIOD_S)
    return state


def follow(
    driver: Driver,
    times: np.ndarray,
    positions: np.ndarray,
    rest: float = 0.0,
    watch: Callable[[float], object] = lambda share: None,
) -> None:
    """
    Move an arm along positions, and wait; it is at rest afterwards, or DriverError is raised.

    :param times: of the positions, from 0, rising (k,) [s]; positions: (k, n) [rad, m].
    :param rest: time to wait after the move [s].
    :param watch: receives the completed share; an exception in it stops the arm.
    """
    begin = await_state(driver)
    _refuse_far_start(driver.joints, begin.position, positions[0])
    try:
        driver.move(times, positions)
        start = driver.now()
        end = times[-1] + rest
        while (elapsed := driver.now() - start) < end:
            driver.wait(min(POLL_PERIOD_S, max(end - elapsed, 1e-3)))
            _check(driver, times, positions, driver.now() - start)
            watch(min(elapsed / max(end, 1e-9), 1.0))
        while _time_of(driver) < start + times[-1]:  # the last state is older than the end
            driver.wait(POLL_PERIOD_S)
            _check(driver, times, positions, driver.now() - start)
        _refuse_no_motion(driver, begin.position, positions)
    except BaseException:
        driver.stop()
        raise


def _refuse_far_start(joints, measured, first):
    distances = np.abs(measured - first)
    row = int(np.argmax(distances))
    if distances[row] > START_TOLERANCE:
        raise DriverError(
            f'"{plain(joints[row])}" is at {measured[row]:.4g}, but the move begins at '
            f'{first[row]:.4g}. Move the arm there first'
        )


def _time_of(driver):
    return driver.state().time


def _check(driver, times, positions, elapsed):
    """Raise DriverError if states are old, or a joint is far from its set points."""
    state = driver.state()
    age = driver.now() - state.time
    if age > MAX_STATE_AGE_S:
        raise DriverError(
            f'joint states stopped arriving for {age:.2f} s: the arm was stopped. Check the '
            'connection, and begin again: finished moves are kept'
        )
    elapsed = max(elapsed, 0.0)  # a clock that follows the arm may go back a little
    # set points up to the largest age ago: controllers lag behind
    recent = (times >= elapsed - MAX_STATE_AGE_S - 0.1) & (times <= elapsed)
    rows = positions[recent] if recent.any() else positions[-1:]
    errors = np.maximum(rows.min(axis=0) - state.position, state.position - rows.max(axis=0))
    row = int(np.argmax(errors))
    if errors[row] > MAX_ERROR:
        raise DriverError(
            f'"{plain(driver.joints[row])}" is {errors[row]:.2g} from its set points: the arm was '
            'stopped. Check that it follows trajectories, and make moves slower by --speed'
        )


def _refuse_no_motion(driver, begin, positions):
    """Raise DriverError if the arm has not made the move."""
    travels = np.abs(positions[-1] - positions[0])
    row = int(np.argmax(travels))
    moved = abs(driver.state().position[row] - begin[row])
    if travels[row] > MIN_CHECKED_TRAVEL and moved < MIN_TRAVEL_SHARE * travels[row]:
        raise DriverError(
            f'"{plain(driver.joints[row])}" moved by {moved:.2g} instead of {travels[row]:.2g}. '
            'Check that the controller is active'
        )


def log_lines(
    joints: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[float]]
) -> str:
    """Return the text of a log: time [s], joints and columns of a sensor."""
    header = ','.join(['time', *(f'position/{name}' for name in joints), *columns])
    return '\n'.join([header, *(','.join(f'{x:.9g}' for x in row) for row in rows)]) + '\n'
