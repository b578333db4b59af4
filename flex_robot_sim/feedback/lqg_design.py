"""
LQG for an arm that is not quite as described: the gains over poses, as high as all of it allows.

What the design does not know, modes that were left out and another stiffness, is asked for by the
eigenvalues of the closed loop with the whole arm: the bandwidth is the highest at which every
motion decays, in every pose of a grid and at every stiffness that may be met, and with motors that
are a little stronger or weaker than said.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.feedback.lqg_gains import gains_at, lqg_law, outputs_of
from flex_robot_sim.feedback.pose_model import Loop, checked_loop, closing, pose_model
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

SENSORS = ('encoders', 'all')
SLOWER, SLOWEST = 0.8, 0.02     # from one bandwidth to the next, and the last, over the first mode
DECAY = 0.1                 # of everything in the closed loop, over the bandwidth
OWN = 0.5                   # or over that of the links by themselves, if that is slower
STRENGTHS = (0.8, 1.25)     # of motors, over what they should have
PLANTS = 5                  # stiffnesses that are tried, beside the design itself


@summarized
@dataclass(frozen=True, eq=False)
class LqgDesign:
    """Gains over a grid of poses."""

    loop: Loop
    late: int                   # periods of delay that the law reckons with
    sensors: str
    feedback: str
    axes: tuple                 # positions of the grid, one array per joint            [rad, m]
    gains: dict                 # index of the grid -> LqgGains
    bandwidth: float            # [Hz]
    slowest: float              # decay of the slowest motion of all plants; None: none    [1/s]
    complaint: str = ''


def design_lqg(arm: ArmModel, poses: ArrayLike | Sequence[np.ndarray], loop: Loop | None = None,
               bandwidth: float | None = None, modes: int | None = None,
               sensors: str | None = None, stiffness: Sequence[float] = (0.8, 1.25),
               feedback: str = 'motor') -> LqgDesign:
    """
    Return the LqgDesign of an ArmModel.

    :param poses: one pose (joints,), or one array of positions per joint, whose grid it is
        [rad, m].
    :param bandwidth: to begin with [Hz]; None: the first natural frequency with locked drives.
    :param modes: how many the law knows; None: those that swing at least 8 times slower than it
        samples, and at least one.
    :param sensors: 'encoders' or 'all'; None: all that there are.
    :param stiffness: least and largest one at which the loop is to be stable, over that of the
        description.
    """
    loop = checked_loop(loop or Loop(2e-3, 2e-3))
    has_gauges = bool(flex_sensors(arm).names)
    sensors = sensors or ('all' if has_gauges else 'encoders')
    if sensors not in SENSORS:
        raise SettingError(f'sensors = {sensors!r} must be one of {", ".join(SENSORS)}')
    if sensors == 'all' and not has_gauges:
        raise SettingError(f'{arm.description.name} has no flex sensors: take sensors = encoders, '
                           'or give <flex_sensor> to a flexible link')
    low, high = (float(value) for value in stiffness)
    if not 0.0 < low <= 1.0 <= high < np.inf:
        raise SettingError(f'stiffness = {stiffness!r} must be two factors, the one > 0 and at '
                           'most 1, the other at least 1')
    axes = _axes(arm, poses)
    middle = np.array([axis[axis.size // 2] for axis in axes])
    natural = frequencies(arm, middle)
    natural = natural[natural > 0.0]
    first = natural[0] if natural.size else 1.0
    bandwidth = float(bandwidth or first)
    if not 0.0 < bandwidth < 0.25 / loop.period:
        raise SettingError(f'bandwidth = {bandwidth!r} must be > 0 and below a quarter of the '
                           f'{1 / loop.period:g} samples per second [Hz]')
    if modes is None:
        modes = max(1, int((natural < 0.125 / loop.period).sum()))
    if modes < 0:
        raise SettingError(f'modes = {modes!r} must be >= 0')
    corners = list(itertools.product(*(range(axis.size) for axis in axes)))
    factors = sorted({1.0, *np.geomspace(low, high, PLANTS)})
    whole, known = {}, {}
    like = pose_model(arm, middle, feedback).reduced(modes)
    for corner in corners:
        pose = np.array([axis[k] for axis, k in zip(axes, corner)])
        whole[corner] = [pose_model(arm, pose, feedback, factor) for factor in factors]
        known[corner] = pose_model(arm, pose, feedback).reduced(modes, like)
    late, wish = round(loop.delay / loop.period), bandwidth
    trials = [_Trial(corner, plant, loop, sensors)
              for corner in corners for plant in whole[corner]]
    # motors that pull more or less than said are what weight and payload are, too
    trials += [_Trial(corner, replace(plant, push=strength * plant.push), loop, sensors)
               for corner in corners for factor, plant in zip(factors, whole[corner])
               if factor == 1.0 for strength in STRENGTHS]
    while True:
        gains = {corner: gains_at(model, loop, bandwidth, first, sensors)
                 for corner, model in known.items()}
        slowest = _slowest(trials, gains, late, DECAY * 2 * np.pi * bandwidth)
        if slowest is not None or bandwidth < SLOWEST * first:
            break
        bandwidth *= SLOWER
    complaint = ''
    if slowest is None:
        complaint = (f'no bandwidth from {wish:.3g} Hz down holds {arm.description.name} at '
                     f'{low:g} to {high:g} of its stiffness: take a shorter delay, more damping, '
                     'or a narrower range')
    return LqgDesign(loop, late, sensors, feedback, axes, gains, bandwidth, slowest, complaint)


class _Trial:
    """A plant that a design is to hold."""

    def __init__(self, corner, plant, loop, sensors):
        self.corner, self.period = corner, loop.period
        self._step, self._outputs = plant.sampled(loop), outputs_of(plant, sensors)
        m, n = plant.push.shape[1], len(plant.M)
        free = np.setdiff1d(np.arange(n), driven(plant.arm))
        bent = np.concatenate([free, n + free])
        # how fast the links come to rest by themselves
        self.own = -np.linalg.eigvals(plant.A[np.ix_(bent, bent)]).real.max(
            initial=-np.inf) if free.size and m else np.inf

    def decay(self, gains, late):
        """Rate [1/s] at which the slowest motion of the closed loop decays."""
        step = closing(self._step, lqg_law(gains, late), self._outputs)
        return -np.log(np.abs(np.linalg.eigvals(step)).max()) / self.period


def _slowest(trials, gains, late, wanted):
    """Slowest decay [1/s] of all trials, or None if one of them is too slow."""
    slowest = np.inf
    for i, trial in enumerate(trials):
        decay = trial.decay(gains[trial.corner], late)
        if not decay >= min(wanted, OWN * max(trial.own, 0.0)) or not decay > 0.0:
            trials.insert(0, trials.pop(i))     # the first to be asked next time
            return None
        slowest = min(slowest, decay)
    return slowest


def _axes(arm, poses):
    """Positions of the grid, one array per joint."""
    names = arm.joint_names
    try:
        axes = tuple(np.atleast_1d(np.array(axis, float)) for axis in poses)
        good = len(axes) == len(names) and all(
            axis.ndim == 1 and axis.size and np.isfinite(axis).all()
            and (np.diff(axis) > 0).all() for axis in axes)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise SettingError('poses must be a position per joint, or positions that rise, in this '
                           f'order: {", ".join(names)}')
    lower, upper = arm.arrays.lower, arm.arrays.upper
    for j, axis in enumerate(axes):
        if axis[0] < lower[j] or axis[-1] > upper[j]:
            raise SettingError(f'a pose is beyond the stops of "{names[j]}" at {lower[j]:.6g} and '
                               f'{upper[j]:.6g} {arm.units[j]}')
    return axes
