"""
Online shaping of streamed set points, between their source and a driver.

The set points may arrive irregularly: with gaps, twice, late, or not at all. An internal reference
follows the newest one, within the limits of velocity and acceleration, and linearly from one to
the next. It can always stop at the newest one. The stream shapes this reference, on its own grid.
If the source stops, the reference and the shaped set points come to rest at the last set point.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import acceleration_limits, deceleration_limits, rate_limits
from flex_robot_sim.motion.stopping import limited_velocity, stopping_velocity
from flex_robot_sim.motion.trajectory import joint_rows
from flex_robot_sim.shaping.online_shaper import MAX_SET_POINT
from flex_robot_sim.shaping.shaped_reference import ShapedReference
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.util.exceptions import SettingError

MAX_INTERVAL_S = 0.25  # longest time between two set points for interpolation           [s]
INTERVAL_SMOOTHING = 0.8  # weight of the past, in the mean time between set points
ARRIVAL_SPEED = 1e-9  # distance that a sample leaves at the goal, over the period    [rad/s, m/s]
MAX_STAMP_SETBACK_S = 5.0  # larger jumps of stamps restart their time base                  [s]


class SetPointStream:
    """Shapes streamed set points of joints, tick by tick."""

    def __init__(
        self,
        names: Sequence[str],
        period: float,
        specification: ShaperSpecification,
        arm: ArmModel | None = None,
        tolerance: float = 0.1,
    ) -> None:
        """
        Begin; the start position is the measured one, or the first set point.

        :param names: of the joints; of an ArmModel, those with a motor, in its order.
        :param period: of the ticks [s]; specification: of the shaper.
        :param arm: ArmModel with stops and limits; None: without limits.
        :param tolerance: largest step of a joint without a velocity limit, and largest distance
            of the first set point from the measured position [rad, m].
        """
        n = len(names)
        self.names, self.period, self.tolerance = tuple(names), period, tolerance
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        self.rates = np.full(n, np.inf)  # velocity limits
        accelerations = None
        # units for messages; unknown without a robot
        self._units = [''] * n
        if arm is not None:
            self._units = [f' {arm.units[arm.idx_q[name]]}' for name in self.names]
        self._rows = list(range(n)) if arm is None else joint_rows(self.names, arm.joint_names)
        if arm is not None:
            rows = self._rows
            self.lower, self.upper = arm.arrays.lower[rows], arm.arrays.upper[rows]
            self.rates = rate_limits(arm)[rows]
            accelerations = np.array([acceleration_limits(arm), deceleration_limits(arm)])[:, rows]
        self.position, self.velocity = np.zeros((2, n))  # shaped [rad, m, per s]
        self.measured: dict[str, float] = {}  # positions by joint              [rad, m]
        self.has_begun = False
        self.omitted_modes = ''  # line about modes that are too fast for the period
        self.ignored = self.limited = 0  # count of late or repeated, and of clipped set points
        self._target = _StreamReference(n, self.rates, accelerations)
        self._shaped = ShapedReference(self._target, self.rates)
        self._stamp: float | None = None
        self._last_receipt: float | None = None
        self._ticks = 0
        self.use(specification)

    def use(self, specification: ShaperSpecification) -> None:
        """Change the shaper without a step; SettingError if it needs a shorter period."""
        specification, self.omitted_modes = specification.for_samples(self.period)
        online = specification.of_joints(self._rows).online(len(self.names), self.period, 2)
        self._shaped.use(None if online.duration == 0.0 else online)
        self.specification = specification

    @property
    def is_settled(self) -> bool:
        """Whether the outgoing set points rest at the last one of the source."""
        return (
            self._target.has_arrived
            and not self._shaped.is_arriving
            and (self.position == self._target.position).all()
        )

    def receive(
        self,
        positions: ArrayLike,
        names: Sequence[str] | None = None,
        stamp: float | None = None,
        now: float = 0.0,
    ) -> bool:
        """
        Receive a set point; SettingError if it is invalid.

        :param positions: [rad, m]; names: of their joints, None: all; other goals stay.
        :param stamp: by the clock of the source, or None; now: by the clock of the ticks [s].
        :returns: whether it is used; late and repeated ones are not.
        """
        names = self.names if names is None else tuple(names)
        rows = joint_rows(names, self.names)
        values = np.array(positions, float)
        if values.shape != (len(rows),):
            raise SettingError(f'{values.size} positions for {len(rows)} joints: send one each')
        if not (np.abs(values) < MAX_SET_POINT).all():
            raise SettingError('set points must be finite')
        if (
            stamp is not None
            and self._stamp is not None
            and (self._stamp - MAX_STAMP_SETBACK_S < stamp <= self._stamp)
        ):
            self.ignored += 1
            return False
        if not self.has_begun:
            self._begin(rows, values)
        goal = self._target.goal.copy()
        goal[rows] = np.clip(values, self.lower[rows], self.upper[rows])
        self._refuse_step(goal)
        self.limited += int((goal[rows] != values).any())
        self._stamp = stamp
        since = MAX_INTERVAL_S
        if self._last_receipt is not None:
            since = min(now - self._last_receipt, MAX_INTERVAL_S)
        self._last_receipt = now
        self._target.set_goal(goal, max(since, self.period), self._time)
        return True

    def tick(self) -> None:
        """Advance by a period: update `position` and `velocity`."""
        if not self.has_begun:
            return
        self._ticks += 1
        self._shaped.update(self._time, self._target.move)
        source = self._shaped if self._shaped.is_shaped else self._target
        previous = self.position.copy()
        self.position[:] = source.position
        # rounding must not exceed the velocity limits
        self.velocity[:] = np.clip(
            (self.position - previous) / self.period, -self.rates, self.rates
        )

    def forget(self) -> None:
        """Restart with the next set point, after another controller has moved the arm."""
        self.has_begun, self._stamp, self._last_receipt = False, None, None

    @property
    def _time(self):
        return self._ticks * self.period

    def _begin(self, rows, values):
        start = np.zeros(len(self.names))
        for j, name in enumerate(self.names):
            if name in self.measured:
                start[j] = self.measured[name]
            elif j in rows:
                start[j] = values[rows.index(j)]
            else:
                raise SettingError(
                    f'the position of "{name}" is unknown: send joint_states, or '
                    'all joints in the first set point'
                )
        for j, value in zip(rows, values):
            if abs(value - start[j]) > self.tolerance:
                raise SettingError(
                    f'the set points begin with "{self.names[j]}" at {value:.6g}, but it is at '
                    f'{start[j]:.6g}{self._units[j]}: let them begin where the arm is'
                )
        start = np.clip(start, self.lower, self.upper)
        self._target.reset_to(start, self._time)
        self._shaped.reset()
        self.position[:], self.velocity[:] = start, 0.0
        self.has_begun = True

    def _refuse_step(self, goal):
        steps = np.isinf(self.rates) & (np.abs(goal - self._target.goal) > self.tolerance)
        if steps.any():
            j = int(np.argmax(steps))
            raise SettingError(
                f'the set points leap with "{self.names[j]}" from {self._target.goal[j]:.6g} to '
                f'{goal[j]:.6g}{self._units[j]}, and its velocity limit is unknown: send '
                'smaller steps, or name a robot whose URDF limits velocities'
            )


class _StreamReference:
    """Reference that follows set points, for a ShapedReference."""

    doublet = None  # of profiles; streams have none

    def __init__(self, n, rates, accelerations=None):
        self.position, self.velocity, self.goal = np.zeros((3, n))
        # limits of acceleration and deceleration, (2, n), or None without any
        is_limited = accelerations is not None and np.isfinite(accelerations).any()
        self._accelerations = accelerations if is_limited else None
        self._rates, self._time, self._arrival, self._interval = rates, 0.0, 0.0, None

    @property
    def has_arrived(self):
        return bool((self.position == self.goal).all())

    def reset_to(self, position, time):
        self.position[:] = self.goal[:] = position
        self.velocity[:] = 0.0
        self._time, self._interval = time, None

    def set_goal(self, goal, since, now):
        """Set a goal; `since`: time since the last one [s]."""
        if self._interval is None:
            self._interval = since
        self._interval += (1 - INTERVAL_SMOOTHING) * (since - self._interval)
        self.goal[:] = goal
        self._arrival = now + self._interval

    def move(self, time):
        """Advance to a time [s]."""
        step = time - self._time
        if step <= 0.0:
            return
        remaining = max(self._arrival - self._time, step)
        max_change = self._rates * step
        change = np.clip((self.goal - self.position) * (step / remaining), -max_change, max_change)
        if self._accelerations is None:
            is_reached = (remaining <= step * (1 + 1e-9)) & (
                np.abs(self.goal - self.position) <= max_change
            )
        else:
            change = step * self._stoppable(change / step, step, *self._accelerations)
            is_reached = np.abs(self.goal - self.position - change) <= ARRIVAL_SPEED * step
        previous = self.position.copy()
        self.position[:] = np.where(is_reached, self.goal, self.position + change)
        self.velocity[:] = (self.position - previous) / step
        self._time = time

    def _stoppable(self, velocity, step, up, down):
        """Velocity (n,) within limits of acceleration that permits a stop at the goal."""
        fastest = stopping_velocity(np.abs(self.goal - self.position), down, step)
        wanted = np.clip(velocity, -fastest, fastest)
        return limited_velocity(wanted, self.velocity, up, down, step)
