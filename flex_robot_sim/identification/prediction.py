"""
What a model says to the inputs of a log: the full nonlinear arm, sample by sample.

By efforts, the arm is driven by those that were measured, and a soft servo pulls it along the
measured motion, so that what is wrong with it does not add up for ever. By motion, the drives go
as they were measured, and need no model. See docs/identification.md, (I1) to (I4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.signal import butter, sosfilt, sosfilt_zi

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.analysis.natural_modes import modes
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.tangent import STEP, difference, driven, scales
from flex_robot_sim.description.parameters import with_parameters
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.monitors import make_watch
from flex_robot_sim.dynamics.tracking_run import advance_tracking
from flex_robot_sim.identification.imu import imu_channel, imu_readings, rates_along
from flex_robot_sim.identification.sequences import Measured, Sequence, noise_of, shifted
from flex_robot_sim.model.arm_model import ArmModel, make_workspace
from flex_robot_sim.model.assembly import GRAVITY, build_arm
from flex_robot_sim.util.settings import SimulationSettings

LONGEST_STEP = 2e-3     # of the simulation, where a fit begins                             [s]
PULL = 1.0              # frequency of the servo along the measured motion                  [Hz]
PULL_SHARE = 0.3        # of the first mode, which it does not exceed
PULL_RATIO = 0.7        # its damping
PULL_LAG = 0.1          # of what it sees, over the time of a radian
AT_REST = 0.15          # at the beginning, in which nothing moves                          [s]
MOST_MODES = 4          # whose initial amplitude may be unknown
FINER = 1               # modes of bending of each segment, beyond those described, likewise
MOST_ARMS = 64          # that are kept
ITERATIONS = SimulationSettings().iterations


class Filter(NamedTuple):
    """A low-pass of Butterworth between a sensor and its log."""

    frequency: float        # [Hz]
    order: int = 2

    def passes(self, frequency: np.ndarray) -> np.ndarray:
        """Share of the power that it lets through at frequencies [Hz]."""
        return 1 / (1 + (frequency / self.frequency)**(2 * self.order))


@dataclass(frozen=True, eq=False)
class Setup:
    """How a log is simulated."""

    description: RobotDescription
    data: Measured
    coupling: str = 'shortening'
    gravity: tuple[float, ...] = tuple(GRAVITY)
    filters: Mapping[str, Filter] | None = None     # by channel
    pull: float | None = None                       # [Hz]; None: a fitting one
    time_step: float | None = None      # of the simulation, at most [s]; None: what the log asks
    finer: int | None = None    # modes of bending beyond those described; None: likewise

    @property
    def leads(self) -> bool:
        """Whether the drives are led by their measured motion."""
        return not self.data.has_efforts

    def arm(self, values: Mapping[str, float] | None = None) -> ArmModel:
        """Return the arm with values of parameters, by path."""
        finer = FINER if self.finer is None else self.finer
        return _built(self.description, finer, self.coupling, tuple(self.gravity),
                      tuple((values or {}).items()))


@lru_cache(maxsize=MOST_ARMS)
def _built(description, finer, coupling, gravity, values):
    """The arm with values; the one of before, where there was the same."""
    description = with_parameters(description, dict(values))
    return build_arm(with_more_modes(description, finer), coupling, gravity)


def with_more_modes(description: RobotDescription, more: int) -> RobotDescription:
    """
    Return a robot whose links bend in more shapes than described.

    What few shapes lack in softness would else be taken out of EI.
    """
    def finer(link):
        if link.beam is None or link.beam.elements or not more:
            return link
        counts = {name: count + more if name.startswith('bending') and count else count
                  for name, count in link.beam.coordinates.items()}
        return replace(link, beam=replace(link.beam, coordinates=counts))
    return replace(description, links=tuple(finer(link) for link in description.links))


class SoftServo(NamedTuple):
    """The soft servo, made of the first model and never changed, so that it tells nothing."""

    stiffness: np.ndarray   # (joints,)                                         [N m/rad, N/m]
    damping: np.ndarray     # (joints,)
    lag: float = 0.0        # behind which it acts; 0: at once                              [s]

    def gains(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return those of `advance_tracking`: behind a lag, no rate is needed."""
        if self.lag == 0.0:
            return self.stiffness, self.damping, 0.0 * self.stiffness, 1.0
        spring = self.damping / self.lag
        return spring, 0.0 * spring, self.stiffness - spring, self.lag


class Motion(NamedTuple):
    """What an arm does on a sequence."""

    coordinates: np.ndarray     # (k, n)
    rates: np.ndarray           # (k, n)
    pull: np.ndarray            # (k, joints)   of the servo                            [N m, N]
    reached: int                # samples, before its state was lost


class Response(NamedTuple):
    """What is seen of it."""

    channels: np.ndarray    # (k, c)        nan from where the state is lost
    pull: np.ndarray        # (k, joints)   of the servo                                [N m, N]
    coordinates: np.ndarray     # (k, n)


def soft_servo(setup: Setup) -> SoftServo:
    """Return the SoftServo for the first model of a Setup."""
    arm = setup.arm()
    joints = len(arm.joint_names)
    if setup.leads:
        return SoftServo(np.zeros(joints), np.zeros(joints))
    frequency = setup.pull
    if frequency is None:
        pose = setup.data.sequences[0].places[0]
        first = modes(arm, pose).frequencies if arm.size > joints else np.zeros(0)
        frequency = min([PULL, *(PULL_SHARE * first[first > 0.0][:1])])
    inertia, rate = joint_space_inertia(arm).largest, 2 * np.pi * frequency
    active = np.array([bool(side) for side in setup.data.seen])
    return SoftServo(active * inertia * rate**2, active * 2 * PULL_RATIO * inertia * rate,
                 PULL_LAG / rate)


def fitting_rate(servo: SoftServo) -> float:
    """Return the frequency [Hz] of a SoftServo."""
    active = servo.damping > 0.0
    rates = 2 * PULL_RATIO * servo.stiffness[active] / servo.damping[active]
    return float(rates.max(initial=0.0)) / (2 * np.pi)


def tight(servo: SoftServo, frequency: float) -> SoftServo:
    """Return the SoftServo of another frequency [Hz]."""
    share = frequency / fitting_rate(servo)
    return SoftServo(servo.stiffness * share**2, servo.damping * share, servo.lag / share)


def channel_rows(arm: ArmModel, channels: tuple[str, ...]) -> np.ndarray:
    """Return the matrix (c, n) from coordinates to channels; tips as they bend little, no IMUs."""
    sensors, rows = flex_sensors(arm), np.zeros((len(channels), arm.size))
    names, motors = arm.joint_names, driven(arm)
    for row, channel in zip(rows, channels):
        kind, _, name = channel.partition('/')
        if channel in sensors.names:
            row[:] = sensors.matrix[sensors.names.index(channel)]
        elif kind in ('position', 'motor'):
            j = names.index(name)
            row[j if kind == 'position' else motors[j]] = 1.0
        elif not imu_channel(channel):
            link, _, axis = name.rpartition('/')
            row[:] = _tip_row(arm, link, 'xyz'.index(axis))
    return rows


def _tip_row(arm, link, axis):
    row, zero, steps = np.zeros(arm.size), np.zeros(arm.size), STEP * scales(arm)
    for body in arm.segments[link]:
        first = arm.arrays.first[body]
        for k in range(first, first + arm.beams[body].size):
            step = np.zeros(arm.size)
            step[k] = steps[k]
            row[k] = difference(lambda q: tip_deflection(arm, link, q)[axis], zero,
                                step) / steps[k]
    return row


def starts_at_rest(sequence: Sequence) -> bool:
    """Whether nothing moves at the beginning, so that the arm begins in its equilibrium."""
    count = max(4, round(AT_REST / sequence.period))
    early, late = sequence.measured[:count], sequence.measured[count:]
    if not len(late):
        return False
    noise = 8 * noise_of(sequence.measured)
    return bool((np.ptp(early, axis=0) <= 0.02 * np.ptp(late, axis=0) + noise).all()
                and (np.ptp(sequence.places[:count], axis=0)
                     <= 2e-3 * np.maximum(np.ptp(sequence.places, axis=0), 0.05)
                     + 8 * noise_of(sequence.places)).all())


def initial_shapes(setup: Setup, sequence: Sequence) -> np.ndarray:
    """Return shapes (n, m) and their rates in which a sequence may begin, (n, 2 m) in all."""
    arm = setup.arm()
    if starts_at_rest(sequence) or not arm.tips:
        return np.zeros((2 * arm.size, 0))
    found = modes(arm, sequence.places[0], 'locked')
    slow = [k for k, (frequency, ratio) in enumerate(zip(found.frequencies, found.damping_ratios))
            if 0.0 < frequency < 0.25 / sequence.period and abs(ratio) < 1.0][:MOST_MODES]
    rows = channel_rows(arm, setup.data.channels)
    columns = []
    for k in slow:
        shape = np.real(found.shapes[:, k] * np.exp(
            -1j * np.angle(found.shapes[np.argmax(np.abs(found.shapes[:, k])), k])))
        rate = 2 * np.pi * found.frequencies[k]
        size = max(np.abs(rows @ shape).max(),
                   _shaken(setup, arm, sequence.places[0], shape, rate))
        if size < 1e-12:
            continue
        shape = shape * (sequence.measured.std(axis=0).max() / size)
        columns += [np.concatenate([shape, 0 * shape]), np.concatenate([0 * shape, rate * shape])]
    return np.array(columns).T.reshape(2 * arm.size, -1)


def _shaken(setup, arm, place, shape, rate):
    """Largest reading of the IMUs that a small mode of rate [rad/s] makes, over its size."""
    imus = [one for one in map(imu_channel, setup.data.channels) if one]
    q = equilibrium(arm, place).coordinates
    out = 0.0
    for one in imus:
        J = jacobian(arm, q, one.link)
        turned, moved = np.abs(rate * (J @ shape)[[one.axis, 3 + one.axis]])
        out = max(out, turned if one.kind == 'gyro' else rate * moved)
    return out


def respond(setup: Setup, servo: SoftServo, arm: ArmModel, sequence: Sequence, delay: float = 0.0,
            start: np.ndarray | None = None) -> Response:
    """Return the Response of an arm along a sequence; see `move` and `seen_of`."""
    motion = move(setup, servo, arm, sequence, delay, start)
    return Response(seen_of(setup, arm, sequence, motion, delay), motion.pull, motion.coordinates)


def move(setup: Setup, servo: SoftServo, arm: ArmModel, sequence: Sequence, delay: float = 0.0,
         start: np.ndarray | None = None) -> Motion:
    """
    Simulate an arm along a sequence.

    :param delay: of what was measured, after the efforts: the servo pulls where the arm was [s].
    :param start: what is added to coordinates and rates at the beginning, (2 n,).
    """
    n, joints, count = arm.size, len(arm.joint_names), len(sequence.time)
    motors = driven(arm)
    seen = np.array([j if side == 'position' and not setup.leads else motors[j]
                     for j, side in enumerate(setup.data.seen)], int)
    led = np.array([int(setup.leads and bool(side)) for side in setup.data.seen])
    parts = max(1, int(np.ceil(sequence.period / (setup.time_step or LONGEST_STEP) - 1e-6)))
    late = 0.0 if setup.leads else delay / sequence.period
    places, rates = shifted(sequence.places, late), shifted(sequence.rates, late)

    place, rate = places[0], rates[0]
    if not setup.leads and starts_at_rest(sequence):    # noise of one sample would linger
        place = places[:max(4, round(AT_REST / sequence.period))].mean(axis=0)
        rate = np.zeros(joints)
    rest = equilibrium(arm, place)
    q = rest.coordinates.copy()
    q[motors] += place - q[seen]                # where the link side was seen
    qd, qdd = np.zeros(n), np.zeros(n)
    qd[:joints] = qd[motors] = rate
    if start is not None and start.size:
        q, qd = q + start[:n], qd + start[n:]
    out, out_rates, pull = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, joints))
    out[0], out_rates[0] = q, qd
    work = make_workspace(arm.arrays)
    work.prescribed[:] = led
    watch = make_watch(arm, SimulationSettings())
    done = advance_tracking(
        arm.arrays, make_loads(arm), ITERATIONS, q, qd, qdd, np.zeros(joints),
        sequence.period / parts, parts, np.zeros(3), watch, np.zeros((9, n)), work, motors, seen,
        led, np.ascontiguousarray(sequence.efforts), np.ascontiguousarray(places),
        np.ascontiguousarray(rates), *servo.gains(), np.zeros(joints), out, out_rates, pull)
    return Motion(out, out_rates, pull, done + 1)


def seen_of(setup: Setup, arm: ArmModel, sequence: Sequence, motion: Motion,
            delay: float = 0.0) -> np.ndarray:
    """Return the channels (k, c) of a Motion, seen with a delay [s]; nan where it was lost."""
    names, period = setup.data.channels, sequence.period
    rows = channel_rows(arm, names)
    values, rates = motion.coordinates @ rows.T, motion.rates @ rows.T
    imus = [k for k, name in enumerate(names) if imu_channel(name)]
    if imus:
        values[:, imus] = imu_readings(arm, setup.gravity, [names[k] for k in imus],
                                       motion.coordinates, motion.rates, period)
        rates[:, imus] = rates_along(values[:, imus], period)
    channels = _delayed(values, rates, delay / period, period)
    for k, name in enumerate(names):
        if setup.filters and name in setup.filters:
            channels[:, k] = _filtered(channels[:, k], setup.filters[name], period)
    channels[motion.reached:] = np.nan
    return channels


def _delayed(values, rates, late, period):
    """Rows of samples `late` periods earlier, by the cubics that values and rates make."""
    if late == 0.0:
        return values
    at = np.clip(np.arange(len(values)) - late, 0.0, len(values) - 1.0)
    k = np.minimum(at.astype(int), len(values) - 2)
    s = (at - k)[:, None]
    a, b, va, vb = values[k], values[k + 1], period * rates[k], period * rates[k + 1]
    return ((1 + 2 * s) * (1 - s)**2 * a + s * (1 - s)**2 * va
            + s**2 * (3 - 2 * s) * b + s**2 * (s - 1) * vb)


def _filtered(values, by, period):
    sections = butter(by.order, by.frequency, fs=1 / period, output='sos')
    return sosfilt(sections, values, zi=values[0] * sosfilt_zi(sections))[0]
