"""
A course, tried out on the full nonlinear arm: what it asks of the drives, how far it bends links.

A servo that follows as that of the controller leads the arm along it, and the result is what a log
would hold: the efforts are means around each sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.control.servo import fitting_servo
from flex_robot_sim.description.parameters import near
from flex_robot_sim.identification.excitation_trajectories import Course
from flex_robot_sim.identification.imu import called_imu, imu_channel, imu_channels
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.prediction import Setup, SoftServo, channel_rows, respond
from flex_robot_sim.identification.sequences import Measured, Sequence, sharpened
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import summarized

TWICE_AS_LONG = 1 / 8   # share by which a mean over two periods becomes that over one: 4/24 - 1/24
MARGIN = 0.9            # of every limit, that is used
BENT = 0.1              # of the length of a segment, that its tip may move: dynamics/monitors.py
LOOKS = 400             # at the deflection
ROUNDS = 12             # of making a course smaller
SMALLER = 0.9           # than what a first guess says


@summarized
class Trial(NamedTuple):
    """What a course does."""

    course: Course
    log: Log
    channels: tuple[str, ...]       # that it has, beside efforts
    sequence: Sequence
    peaks: dict[str, float]         # 'position/JOINT' and so on -> share of its limit
    strongest: np.ndarray           # (joints,) limits of efforts, 1 where there is none
    uses: np.ndarray                # (k, u)    share of each limit that the motion takes, in time

    @property
    def worst(self) -> tuple[str, float]:
        """The limit that is nearest, and the share of it that is used."""
        return max(self.peaks.items(), key=lambda one: one[1], default=('', 0.0))

    @property
    def energy(self) -> float:
        """Squares of the efforts that move the arm, as shares of their limits, over time [s]."""
        efforts = (self.sequence.efforts - self.sequence.efforts[0]) / self.strongest
        return float(np.sum(efforts**2)) * self.sequence.period


def known_to(arm: ArmModel, signals: Iterable[str] = ()
             ) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Return channels that a log of this arm has, and where its joints are seen.

    :param signals: that it has beyond joints, flex sensors and the IMUs in links that are called
        so, as `--signal` of flexsim identify names them; of which column does not matter.
    """
    seen = tuple('motor' if name in arm.motor_names else 'position' for name in arm.joint_names)
    channels = [f'{side}/{name}' for side, name in zip(seen, arm.joint_names)]
    channels += flex_sensors(arm).names
    channels += [f'position/{name}' for name in arm.motor_names]
    tips = [f'tip/{link}/{axis}' for link in arm.tips for axis in 'yz'
            if arm.beams[arm.segments[link][0]].count['yz'.index(axis)]]
    imus = imu_channels(arm)
    more = [name for name in imus if called_imu(name.split('/')[1])]
    also = [f'{side}/{name}' for side in ('motor', 'position', 'velocity', 'effort')
            for name in arm.joint_names]
    for words in signals:
        name = words.partition('=')[0]
        if name in tips or name in imus:
            more.append(name)
        elif name not in channels and name not in also:
            raise UsageError(f'--signal {words}: no sensor of this robot. '
                             f'{near(name, [*imus, *tips, *channels])}')
    if not flex_sensors(arm).names and not any(map(imu_channel, more)):
        more += tips
    return tuple(dict.fromkeys([*channels, *more])), seen


def try_out(arm: ArmModel, plan: Course, time_step: float = 2e-3,
            signals: Iterable[str] = ()) -> Trial:
    """Return the Trial of a Course, see `known_to`; UsageError if the arm does not survive it."""
    channels, seen = known_to(arm, signals)
    fit = fitting_servo(arm)
    servo = SoftServo(np.asarray(fit.stiffness, float), np.asarray(fit.damping, float))
    # it has come to rest before it moves: what sags would only be told wrong
    carried = np.tile(equilibrium(arm, plan.pose).effort, (plan.time.size, 1))
    sequence = Sequence('trial', plan.time, plan.position, plan.velocity, carried,
                        np.zeros((plan.time.size, len(channels))))
    setup = Setup(arm.description, Measured([sequence], channels, seen, True, []), arm.coupling,
                  tuple(-arm.arrays.base_acceleration[3:]), time_step=time_step, finer=0)
    found = respond(setup, servo, arm, sequence)
    if not np.isfinite(found.channels).all():
        raise UsageError(f'the arm is lost on the way of this {plan.kind}. Give --pose, or fewer '
                         '--seconds.')
    pull = found.pull.copy()
    pull[1:-1] = 0.5 * (found.pull[1:-1] + found.pull[2:])
    efforts = carried + sharpened(pull, TWICE_AS_LONG)
    places = found.coordinates[:, driven(arm)]
    rates = np.gradient(places, plan.time, axis=0)
    measured = sequence._replace(places=places, rates=rates, efforts=efforts,
                                 measured=found.channels)
    columns = {name: Column(plan.time, found.channels[:, k]) for k, name in enumerate(channels)}
    for j, name in enumerate(arm.joint_names):
        columns[f'effort/{name}'] = Column(plan.time, efforts[:, j])
    strongest = np.where(np.isfinite(effort_limits(arm)), effort_limits(arm), 1.0)
    return Trial(plan, Log('trial', columns, []), channels, measured,
                 shares_of_limits(arm, found.coordinates, plan.time, efforts),
                 strongest, _uses(arm, found.coordinates, rates, efforts / strongest))


def _uses(arm, coordinates, rates, pushes):
    """Shares (k, u) of limits that a motion takes beyond what it begins with; small bending."""
    tips = [f'tip/{link}/{axis}' for link in arm.tips for axis in 'yz']
    bent = coordinates @ channel_rows(arm, tuple(tips)).T
    rooms = [np.repeat([_most_bent(arm, link) for link in arm.tips], 2),
             0.5 * (arm.arrays.upper - arm.arrays.lower), rate_limits(arm), 1.0]
    ways = [bent, coordinates[:, driven(arm)], rates, pushes]
    return np.hstack([(way - way[0]) / room for way, room in zip(ways, rooms)])


def _most_bent(arm, link):
    """How far the tip of a link may move by bending [m]."""
    return BENT * len(arm.segments[link]) * sum(arm.beams[body].length
                                               for body in arm.segments[link])


def shares_of_limits(arm: ArmModel, coordinates: np.ndarray, time: np.ndarray,
                     efforts: np.ndarray) -> dict[str, float]:
    """
    Return the shares of all limits that a motion comes to.

    :param coordinates: (k, n) at times (k,) [s]; efforts: (k, joints) [N m, N].
    """
    places, out = coordinates[:, driven(arm)], {}
    rates = np.gradient(places, time, axis=0)
    lower, upper = arm.arrays.lower, arm.arrays.upper
    speeds, pushes = rate_limits(arm), effort_limits(arm)
    for j, name in enumerate(arm.joint_names):
        if np.isfinite(lower[j]) and np.isfinite(upper[j]):
            middle, half = 0.5 * (lower[j] + upper[j]), 0.5 * (upper[j] - lower[j])
            out[f'position/{name}'] = float(np.abs(places[:, j] - middle).max() / half)
        if np.isfinite(speeds[j]):
            out[f'velocity/{name}'] = float(np.abs(rates[:, j]).max() / speeds[j])
        if np.isfinite(pushes[j]):
            out[f'effort/{name}'] = float(np.abs(efforts[:, j]).max() / pushes[j])
    every = max(1, len(coordinates) // LOOKS)
    for link in arm.tips:
        bent = max(float(np.linalg.norm(tip_deflection(arm, link, q)[:3]))
                   for q in coordinates[::every])
        out[f'deflection/{link}'] = bent / _most_bent(arm, link)
    return out


def within_limits(arm: ArmModel, plan: Course, time_step: float = 2e-3,
                  signals: Iterable[str] = ()) -> Trial:
    """
    Return the Trial of a Course made as large as MARGIN of all limits allows.

    Places and rates of a course are known beforehand; efforts and deflections are those of the
    trial, which is repeated until they are kept.
    """
    plan = plan.scaled(_room(arm, plan))
    for _ in range(ROUNDS):
        trial = try_out(arm, plan, time_step, signals)
        name, worst = trial.worst
        if worst <= MARGIN:
            return trial
        rest = try_out(arm, plan.scaled(0.0), time_step).peaks[name] if worst > 1.0 else 0.0
        if rest >= MARGIN:
            raise UsageError(f'in this pose "{name}" takes {rest:.0%} of its limit at rest. Give '
                             'another --pose.')
        share = max((MARGIN - rest) / (worst - rest), 0.1)
        plan = plan.scaled(SMALLER * share)
    raise UsageError(f'no {plan.kind} about this pose keeps the limit of {name}. Give another '
                     '--pose.')


def _room(arm, plan):
    """Factors (joints,) with which places and rates keep their limits."""
    ways = plan.position - plan.pose
    factors = np.full(len(plan.pose), np.inf)
    lower, upper = arm.arrays.lower, arm.arrays.upper
    middle, half = 0.5 * (lower + upper), 0.5 * MARGIN * (upper - lower)
    with np.errstate(invalid='ignore', divide='ignore'):
        for limit, reach in ((middle + half - plan.pose, ways.max(axis=0)),
                             (plan.pose - middle + half, -ways.min(axis=0)),
                             (MARGIN * rate_limits(arm), np.abs(plan.velocity).max(axis=0))):
            room = np.where((reach > 0) & np.isfinite(limit), limit / reach, np.inf)
            factors = np.minimum(factors, room)
    if (factors <= 0.0).any():
        raise UsageError('--pose is at the end of the range of '
                         f'"{arm.joint_names[int(np.argmin(factors))]}". Give one inside it.')
    factors = np.minimum(factors, 1.0)
    return np.full(len(factors), factors.min()) if plan.kind == 'fourier' else factors
