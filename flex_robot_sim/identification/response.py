"""
Outputs of an arm along a sequence, in two halves on two processors where that is faster.

Coordinates stay in memory for one part of the sequence only.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from flex_robot_sim.identification.imu import DERIVATIVE_SAMPLES
from flex_robot_sim.identification.log_simulation import (
    LogSimulation,
    SimulatedMotion,
    as_logged,
    outputs_of,
)
from flex_robot_sim.identification.prediction import Setup, SoftServo
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.model.arm_model import ArmModel

PART_SAMPLES = 5_000  # whose coordinates are in memory at the same time
OVERLAP = DERIVATIVE_SAMPLES - 1  # samples of the part before, for derivatives
FIRST_SHARE = 0.47  # of the samples, before the second half begins
MAX_DIFFERENCE_STDS = 1e-3  # RMS of the difference of two halves in a part, at their junction


class Response(NamedTuple):
    """Simulated outputs along a sequence."""

    channels: np.ndarray  # (k, c)        nan after the simulation diverged
    servo_effort: np.ndarray  # (k, joints)   of the soft servo                       [N m, N]
    states: dict[int, np.ndarray]  # coordinates and velocities (2 n,) by sample, of some samples


class _Run:
    """A simulation and its outputs, which advance part by part."""

    def __init__(self, setup, servo, arm, sequence, delay, start):
        self._setup, self._arm, self._sequence = setup, arm, sequence
        self._simulation = LogSimulation(setup, servo, arm, sequence, delay, start)
        self._motion, self.delay, self.count = None, delay, len(sequence.time)
        # untouched rows need no memory
        self.values, self.rates = np.zeros((2, self.count, len(setup.data.channels)))
        self.servo_effort, self.reached = np.zeros((self.count, len(arm.joint_names))), self.count
        self.states = {0: self._simulation.state}

    def start_in_the_middle(self, state):
        """Continue from the middle with coordinates and velocities (2 n,)."""
        self._simulation.continue_from(middle(self.count), state)

    def advance(self, end):
        """Simulate up to a sample, exclusive; return whether the motion is finite."""
        part = self._simulation.advance(end)
        motion = part if self._motion is None else _joined(self._motion, part)
        begin = end - len(motion.coordinates)
        # derivatives of the first samples are those of the part before
        first = 0 if self._motion is None else OVERLAP // 2
        values, rates = outputs_of(self._setup, self._arm, motion, self._sequence.period)
        self.values[begin + first : end] = values[first:]
        self.rates[begin + first : end] = rates[first:]
        self.servo_effort[begin + first : end] = motion.servo_effort[first:]
        self._motion = motion
        self.states[end - 1] = self._simulation.state
        if part.reached < len(part.coordinates):
            self.reached = end - len(part.coordinates) + part.reached
        return self.reached == self.count

    def complete(self, begin=0, end=None):
        """Simulate the samples from `begin` to `end`, exclusive; return whether all is finite."""
        end = self.count if end is None else end
        return all(self.advance(part_end) for part_end in _part_ends(self.count, begin, end))

    def take(self, other, begin):
        """Take the outputs from a sample on from another run."""
        for name in ('values', 'rates', 'servo_effort'):
            getattr(self, name)[begin:] = getattr(other, name)[begin:]
        self.states |= {k: state for k, state in other.states.items() if k >= begin}
        self.reached = other.reached

    def response(self):
        """Return the Response."""
        channels = as_logged(
            self._setup, self.values, self.rates, self.delay, self._sequence.period, self.reached
        )
        return Response(channels, self.servo_effort, self.states)


def middle(count: int) -> int:
    """Return the first sample of the second half of so many."""
    return int(FIRST_SHARE * count)


def respond(
    setup: Setup,
    servo: SoftServo,
    arm: ArmModel,
    sequence: Sequence,
    delay: float = 0.0,
    start: np.ndarray | None = None,
) -> Response:
    """Return the Response of an arm along a sequence; see `LogSimulation`."""
    run = _Run(setup, servo, arm, sequence, delay, start)
    run.complete()
    return run.response()


def respond_in_halves(
    setup: Setup,
    servo: SoftServo,
    arm: ArmModel,
    sequence: Sequence,
    delay: float,
    start: np.ndarray | None,
    middle_state: np.ndarray,
    deviations: np.ndarray,
) -> Response:
    """
    Return the Response of an arm along a sequence, with two simulations in parallel.

    The first half continues into the second until both agree, to the end if need be.

    :param middle_state: coordinates and velocities (2 n,) of a similar arm at `middle`.
    :param deviations: of the residuals of the channels, (c,).
    """
    first, second = (_Run(setup, servo, arm, sequence, delay, start) for _ in range(2))
    second.start_in_the_middle(middle_state)
    begin = middle(first.count) + 1
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(second.complete, begin)
        is_finite = first.complete(0, begin)
        is_finite = done.result() and is_finite
    for end in _part_ends(first.count, begin, first.count):
        if not first.advance(end):
            break
        difference = (first.values[begin:end] - second.values[begin:end]) / deviations
        if is_finite and np.sqrt((difference**2).mean(axis=0)).max() < MAX_DIFFERENCE_STDS:
            first.take(second, end)
            break
        begin = end
    return first.response()


def _part_ends(count, begin, end):
    """Return the ends of parts from `begin` to `end`; one part ends behind the middle sample."""
    ends = {*range(PART_SAMPLES, count, PART_SAMPLES), middle(count) + 1, end}
    return sorted(k for k in ends if begin < k <= end)


def _joined(motion, part):
    """Return the last samples of a motion and a part that begins with the very last."""
    coordinates, velocities, servo_effort = (
        np.concatenate([before[-OVERLAP:], after[1:]])
        for before, after in zip(motion[:-1], part[:-1])
    )
    return SimulatedMotion(coordinates, velocities, servo_effort, part.reached)
