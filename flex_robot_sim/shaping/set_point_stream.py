"""
Set points that stream in from somebody, shaped on their way to a driver.

They come when they come: with gaps, twice, late, or no more. So a reference of our own goes after
the newest one, no faster than the joints may and on a line from one to the next, and it is this
reference that is shaped, on a grid of its own. If the source stops, the reference arrives at what
it has sent last, and the shaped set points arrive there, too, and rest.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import rate_limits
from flex_robot_sim.motion.trajectory import joint_rows
from flex_robot_sim.shaping.online_shaper import LARGEST
from flex_robot_sim.shaping.shaped_reference import ShapedReference
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.util.exceptions import SettingError

SLOWEST = 0.25              # time between two set points that are still joined by a line      [s]
MEMORY = 0.8                # share of the time between set points that is remembered
SET_BACK = 5.0              # of stamps, from which on they tell another time                  [s]


class SetPointStream:
    """Shape set points of joints, one tick after another."""

    def __init__(self, names: Sequence[str], period: float, parts: ShaperSpecification,
                 arm: ArmModel | None = None, tolerance: float = 0.1) -> None:
        """
        Begin where `begin` or the first set point says.

        :param names: of the joints, in the order of the ArmModel if there is one.
        :param period: of the ticks [s]; parts: ShaperSpecification.
        :param arm: ArmModel, whose stops and velocities are kept to; None: of nobody's.
        :param tolerance: how far a joint without a limit of velocity may be sent at once, and any
            from where the arm is at first [rad, m].
        """
        n = len(names)
        self.names, self.period, self.tolerance = tuple(names), period, tolerance
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        self.rates = np.full(n, np.inf)             # velocities that joints may have
        # what follows a number in a message; nobody knows without a robot
        self._units = [''] * n if arm is None else [f' {unit}' for unit in arm.units]
        if arm is not None:
            self.lower, self.upper = arm.arrays.lower, arm.arrays.upper
            self.rates = rate_limits(arm)
        self.position, self.velocity = np.zeros((2, n))     # shaped [rad, m, per s]
        self.measured: dict[str, float] = {}        # positions by joint              [rad, m]
        self.has_begun = False
        self.omitted_modes = ''     # line about modes that are too fast for the ticks
        self.ignored = self.limited = 0             # set points that came late or twice; too far
        self._target = _Target(n, self.rates)
        self._points = ShapedReference(self._target, self.rates)
        self._stamp: float | None = None
        self._heard: float | None = None
        self._ticks = 0
        self.use(parts)

    def use(self, parts: ShaperSpecification) -> None:
        """Change the ShaperSpecification without a jump; SettingError if it needs more samples."""
        parts, self.omitted_modes = parts.for_samples(self.period)
        online = parts.online(len(self.names), self.period, 2)
        self._points.use(None if online.duration == 0.0 else online)
        self.parts = parts

    @property
    def is_settled(self) -> bool:
        """Whether what is sent rests where the source has left it."""
        return (self._target.is_there and not self._points.is_arriving
                and (self.position == self._target.position).all())

    def take(self, positions: ArrayLike, names: Sequence[str] | None = None,
             stamp: float | None = None, now: float = 0.0) -> bool:
        """
        Take a set point; SettingError if it is none.

        :param positions: [rad, m]; names: of their joints, None: all; the others stay.
        :param stamp: by the clock of the source, None: it has none; now: by that of the ticks [s].
        :returns: whether it counts: not if it is late, or is there twice.
        """
        names = self.names if names is None else tuple(names)
        rows = joint_rows(names, self.names)
        values = np.array(positions, float)
        if values.shape != (len(rows),):
            raise SettingError(f'{values.size} positions for {len(rows)} joints: send one each')
        if not (np.abs(values) < LARGEST).all():
            raise SettingError('set points must be finite')
        if stamp is not None and self._stamp is not None and (
                self._stamp - SET_BACK < stamp <= self._stamp):
            self.ignored += 1
            return False
        if not self.has_begun:
            self._begin(rows, values)
        goal = self._target.goal.copy()
        goal[rows] = np.clip(values, self.lower[rows], self.upper[rows])
        self._refuse_leap(goal)
        self.limited += int((goal[rows] != values).any())
        self._stamp = stamp
        since = SLOWEST if self._heard is None else min(now - self._heard, SLOWEST)
        self._heard = now
        self._target.aim(goal, max(since, self.period), self._time)
        return True

    def tick(self) -> None:
        """Go on by a period: renew `position` and `velocity`."""
        if not self.has_begun:
            return
        self._ticks += 1
        self._points.update(self._time, self._target.move)
        source = self._points if self._points.is_shaped else self._target
        before = self.position.copy()
        self.position[:] = source.position
        # rounding makes no joint faster than it may be
        self.velocity[:] = np.clip((self.position - before) / self.period, -self.rates, self.rates)

    def forget(self) -> None:
        """Begin anew with the next set point: somebody else has led the arm."""
        self.has_begun, self._stamp, self._heard = False, None, None

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
                raise SettingError(f'nobody has said where "{name}" is: send joint_states, or all '
                                   'joints in the first set point')
        for j, value in zip(rows, values):
            if abs(value - start[j]) > self.tolerance:
                raise SettingError(
                    f'the set points begin with "{self.names[j]}" at {value:.6g}, but it is at '
                    f'{start[j]:.6g}{self._units[j]}: let them begin where the arm is')
        start = np.clip(start, self.lower, self.upper)
        self._target.stand(start, self._time)
        self._points.reset()
        self.position[:], self.velocity[:] = start, 0.0
        self.has_begun = True

    def _refuse_leap(self, goal):
        leaps = np.isinf(self.rates) & (np.abs(goal - self._target.goal) > self.tolerance)
        if leaps.any():
            j = int(np.argmax(leaps))
            raise SettingError(
                f'the set points leap with "{self.names[j]}" from {self._target.goal[j]:.6g} to '
                f'{goal[j]:.6g}{self._units[j]}, and nobody has said how fast it may be: send '
                'smaller steps, or name a robot whose URDF limits velocities')


class _Target:
    """A reference that goes after set points, as `SetPoints` wants one."""

    doublet = None              # of profiles, which streams have not

    def __init__(self, n, rates):
        self.position, self.velocity, self.goal = np.zeros((3, n))
        self._rates, self._time, self._arrival, self._interval = rates, 0.0, 0.0, None

    @property
    def is_there(self):
        return bool((self.position == self.goal).all())

    def stand(self, position, time):
        self.position[:] = self.goal[:] = position
        self.velocity[:] = 0.0
        self._time, self._interval = time, None

    def aim(self, goal, since, now):
        """Go for a goal; `since` the last one so much time has passed [s]."""
        if self._interval is None:
            self._interval = since
        self._interval += (1 - MEMORY) * (since - self._interval)
        self.goal[:] = goal
        self._arrival = now + self._interval

    def move(self, time):
        """Go on to a time [s]."""
        step = time - self._time
        if step <= 0.0:
            return
        left = max(self._arrival - self._time, step)
        most = self._rates * step
        change = np.clip((self.goal - self.position) * (step / left), -most, most)
        arrives = (left <= step * (1 + 1e-9)) & (np.abs(self.goal - self.position) <= most)
        before = self.position.copy()
        self.position[:] = np.where(arrives, self.goal, self.position + change)
        self.velocity[:] = (self.position - before) / step
        self._time = time
