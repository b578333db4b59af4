"""Simulation along a log: measured efforts, and a compliant servo to the measured motion."""

import math
from typing import NamedTuple

import numpy as np

from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.jit.array_table import pass_by_pointer
from flex_robot_sim.jit.compiled import compiled

# Measured positions and rates differ slightly. A prescribed drive of a tree takes both at each
# sample. In a closed loop, that would bend the links: there, the rates correct the positions.
CORRECTION = 0.25  # share of a distance that is corrected per sample


@pass_by_pointer
class MeasuredMotion(NamedTuple):
    """A log of k samples, as the simulation follows it."""

    driven: np.ndarray  # (j,)      coordinates that the motors move
    measured: np.ndarray  # (j,)      coordinates that the log contains
    parts: np.ndarray  # (1,)      steps from a sample to the next
    efforts: np.ndarray  # (k, j)    of the motors, linear between samples       [N m, N]
    positions: np.ndarray  # (k, j)    measured; of prescribed drives: those of `driven`
    velocities: np.ndarray  # (k, j)    [rad/s, m/s]


@pass_by_pointer
class TrackingServo(NamedTuple):
    """A compliant servo that tracks the measured positions."""

    stiffness: np.ndarray  # (j,)      [N m/rad, N/m]
    damping: np.ndarray  # (j,)      [N m s/rad, N s/m]
    lag_gain: np.ndarray  # (j,)      over the error behind a first-order lag
    lag: np.ndarray  # (1,)      time constant of this lag                        [s]
    lagged_error: np.ndarray  # (j,)      output of this lag, zero at first           [rad, m]


@pass_by_pointer
class FollowedMotion(NamedTuple):
    """Simulated motion at the k samples of a log."""

    coordinates: np.ndarray  # (k, n)
    velocities: np.ndarray  # (k, n)
    servo_effort: np.ndarray  # (k, j)    mean of the servo up to the sample          [N m, N]


@compiled
def advance_tracking(arm, loads, settings, state, watch, work, log, servo, out):
    """
    Take steps from each sample of a log to the next; stop before a state that is not finite.

    The first arguments are those of `integrators.advance`.

    :param log: MeasuredMotion; servo: TrackingServo; out: FollowedMotion, filled from the second
        row on.
    :returns: number of samples reached.
    """
    q, qd, effort, h = state.q, state.qd, state.effort, settings.time_step[0]
    driven, measured, prescribed, parts = log.driven, log.measured, work.prescribed, log.parts[0]
    efforts, places, rates = log.efforts, log.positions, log.velocities
    stiffness = servo.stiffness
    damping = servo.damping
    lag_gain = servo.lag_gain
    lagged_error = servo.lagged_error
    servo_effort, any_prescribed = out.servo_effort, False
    has_loops = arm.constraint_kind.size > 0
    for j in range(driven.size):
        any_prescribed = any_prescribed or prescribed[j] != 0
        work.servo_stiffness[j] = 0.0 if prescribed[j] != 0 else stiffness[j]
        work.servo_damping[j] = 0.0 if prescribed[j] != 0 else damping[j]
    decay = math.exp(-h / servo.lag[0])
    for k in range(len(efforts) - 1):
        for j in range(driven.size):
            if prescribed[j] != 0:
                rate = rates[k, j]
                if has_loops:  # see CORRECTION
                    rate = qd[driven[j]]
                    duration, miss = parts * h, places[k + 1, j] - q[driven[j]]
                    miss -= 0.5 * duration * (rate + rates[k + 1, j])
                    rate -= CORRECTION * miss / duration
                work.prescribed_acceleration[j] = (rates[k + 1, j] - rate) / (parts * h)
        for part in range(parts):
            share = (part + 0.5) / parts
            for j in range(driven.size):
                if prescribed[j] != 0:
                    continue
                position = places[k, j] + share * (places[k + 1, j] - places[k, j])
                velocity = rates[k, j] + share * (rates[k + 1, j] - rates[k, j])
                # implicit in the step, as the rotor may be light; if the link side was measured,
                # the target of the motor includes the deflection of the gear
                d, s = driven[j], measured[j]
                work.target[j] = position + q[d] - q[s]
                work.target_rate[j] = velocity + qd[d] - qd[s]
                # at the middle of the step
                error = places[k, j] + part / parts * (places[k + 1, j] - places[k, j]) - q[s]
                lag_effort = lag_gain[j] * (
                    lagged_error[j] + 0.5 * (1.0 - decay) * (error - lagged_error[j])
                )
                lagged_error[j] = decay * lagged_error[j] + 0.5 * (1.0 - decay) * error
                servo_effort[k + 1, j] += (
                    stiffness[j] * (work.target[j] - 0.5 * q[d])
                    + lag_effort
                    + damping[j] * (work.target_rate[j] + q[d] / h)
                ) / parts
                effort[j] = (
                    efforts[k, j] + share * (efforts[k + 1, j] - efforts[k, j]) + lag_effort
                )
            if advance(arm, loads, settings, state, 1, watch, work) < 1:
                return k
            for j in range(driven.size):
                if prescribed[j] == 0:
                    d, s = driven[j], measured[j]
                    servo_effort[k + 1, j] -= (0.5 * stiffness[j] + damping[j] / h) * q[d] / parts
                    error = (
                        places[k, j]
                        + (part + 1) / parts * (places[k + 1, j] - places[k, j])
                        - q[s]
                    )
                    lagged_error[j] += 0.5 * (1.0 - decay) * error
        for j in range(driven.size):
            if prescribed[j] != 0 and not has_loops:
                q[driven[j]] = places[k + 1, j]
                qd[driven[j]] = rates[k + 1, j]
        if any_prescribed and not has_loops:
            work.step[0] = 0.0
        for i in range(q.size):
            out.coordinates[k + 1, i] = q[i]
            out.velocities[k + 1, i] = qd[i]
    return len(efforts) - 1
