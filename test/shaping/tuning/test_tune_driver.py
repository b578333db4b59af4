"""Supervised moves: the arm stops when states stop, set points are left, or nothing moves."""

import numpy as np
import pytest

from flex_robot_sim.shaping.tuning.driver import (
    ArmState,
    DriverError,
    follow,
    set_point_velocities,
)
from flex_robot_sim.shaping.tuning.file_driver import FileDriver
from flex_robot_sim.shaping.tuning.tune_plan import smooth_move

MOVE = smooth_move(np.array([0.0, 0.5]), np.array([0.4, 0.1]), 0.5, 1.0)


def test_velocities_of_set_points_are_the_derivative_and_zero_at_both_ends():
    times = np.sort(np.random.default_rng(1).uniform(0.0, 2.0, 40))
    positions = np.column_stack([times**2, 3.0 - 2.0 * times])
    velocities = set_point_velocities(times, positions)
    # the differences are exact for polynomials of second order, also at uneven times
    expected = np.column_stack([2.0 * times, np.full(times.size, -2.0)])
    np.testing.assert_allclose(velocities[1:-1], expected[1:-1], atol=1e-9)
    assert not velocities[[0, -1]].any()


class FakeDriver:
    """An arm in steps of a millisecond that may fail at a time."""

    joints = ('a', 'b')

    def __init__(self, mute_at=np.inf, stuck_at=np.inf):
        self.time, self.stopped_at = 0.0, None
        self._mute_at, self._stuck_at = mute_at, stuck_at
        self._begin, self._move = 0.0, None
        self._state: ArmState | None = ArmState(0.0, MOVE.positions[0])

    def now(self):
        """Time [s]."""
        return self.time

    def state(self):
        """Return the newest state."""
        return self._state

    def move(self, times, positions):
        """Begin a move."""
        self._begin, self._move = self.time, (times, positions)

    def wait(self, seconds):
        """Let time pass."""
        self.time += seconds
        if self.time < self._mute_at:
            self._state = ArmState(self.time, self._position())

    def stop(self):
        """Stop."""
        self.stopped_at = self.time

    def _position(self):
        if self._move is None:
            return self._state.position
        elapsed = min(self.time, self._stuck_at) - self._begin
        return np.array([np.interp(elapsed, self._move[0], x) for x in self._move[1].T])


def test_a_move_ends_at_its_goal_without_a_stop():
    driver = FakeDriver()
    follow(driver, *MOVE, rest=0.5)
    assert driver.stopped_at is None
    assert driver.time == pytest.approx(MOVE.times[-1] + 0.5, abs=0.03)
    np.testing.assert_allclose(driver.state().position, MOVE.positions[-1])


@pytest.mark.parametrize('seed', range(10))
def test_the_arm_stops_within_0_2_s_when_states_stop(seed):
    at = np.random.default_rng(seed).uniform(0.03, MOVE.times[-1])
    driver = FakeDriver(mute_at=at)
    with pytest.raises(DriverError, match='joint states stopped arriving for 0.1. s: the arm was'):
        follow(driver, *MOVE)
    assert at < driver.stopped_at <= at + 0.2


def test_an_arm_that_does_not_move_is_no_success():
    driver = FakeDriver(stuck_at=0.0)
    with pytest.raises(DriverError, match='is .* from its set points: the arm was stopped'):
        follow(driver, *MOVE)
    short = smooth_move(MOVE.positions[0], MOVE.positions[0] + 0.1, 0.5, 1.0)
    driver = FakeDriver(stuck_at=0.0)
    with pytest.raises(DriverError, match='"a" moved by 0 instead of 0.1'):
        follow(driver, *short)
    assert driver.stopped_at is not None


def test_a_move_that_begins_elsewhere_is_refused_before_it_begins():
    driver = FakeDriver()
    with pytest.raises(DriverError, match='"b" is at 0.5, but the move begins at 0.9'):
        follow(driver, MOVE.times, MOVE.positions + [0.0, 0.4])
    assert driver._move is None


def test_no_states_at_all_are_one_line():
    driver = FakeDriver()
    driver._state = None
    driver._mute_at = -1.0
    with pytest.raises(DriverError, match='no joint states arrive within 5 s'):
        follow(driver, *MOVE)


def test_an_interrupt_stops_the_arm():
    def interrupt(share):
        if share > 0.3:
            raise KeyboardInterrupt

    driver = FakeDriver()
    with pytest.raises(KeyboardInterrupt):
        follow(driver, *MOVE, watch=interrupt)
    assert driver.stopped_at is not None


def test_the_file_driver_waits_until_a_log_is_complete(tmp_path):
    lines: list[str] = []
    sizes = iter(['', 'time,ax\n', 'time,ax\n0,1\n', '', '', ''])
    path = tmp_path / 'before_1.csv'

    def write_on(_):
        with open(path, 'a', encoding='utf-8') as file:
            file.write(next(sizes))

    driver = FileDriver(FakeDriver.joints, MOVE.positions[0], lines.append, write_on)
    follow(driver, *MOVE)
    driver.write_log(path)
    assert len(lines) == 1 and 'Save the log as' in lines[0] and 'a 0.4, b 0.1' in lines[0]
    table = np.loadtxt(tmp_path / 'before_1_set_points.csv', delimiter=',', skiprows=1)
    np.testing.assert_allclose(table[:, 1:], MOVE.positions, atol=1e-6)
    assert not [*sizes]  # two equal sizes have ended the wait
