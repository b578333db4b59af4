"""Simulation along a log: measured efforts, and a compliant servo to the measured motion."""

import math

from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.jit.compiled import compiled


@compiled
def advance_tracking(arm, loads, iterations, q, qd, qdd, effort, h, parts, flow, watch, stage,
                     work, driven, measured, prescribed, efforts, places, rates, stiffness,
                     damping, lag_gain, lag, lagged_error, out, out_rates, servo_effort):
    """
    Take steps from each sample of a log to the next; stop before a state that is not finite.

    The first arguments are those of `integrators.advance`.

    :param parts: steps of h [s] from a sample to the next.
    :param driven: coordinates that the motors move, (joints,); measured: those in the log.
    :param prescribed: (joints,) 1 for a drive that follows the log exactly; its `places` and
        `rates` are those of `driven`.
    :param efforts: of the motors (k, joints), linear between samples [N m, N].
    :param places: measured positions (k, joints) [rad, m]; rates: measured velocities.
    :param stiffness: of the servo that tracks them, (joints,); damping: of the servo, (joints,).
    :param lag_gain: its effort over the tracking error behind a first-order lag, (joints,).
    :param lag: time constant of this lag [s].
    :param lagged_error: output of this lag, (joints,) [rad, m]; zero at first.
    :param out: receives coordinates at the samples (k, n), from the second row on.
    :param out_rates: receives their rates (k, n), from the second row on.
    :param servo_effort: mean effort of the servo up to the sample (k, joints).
    :returns: number of samples reached.
    """
    any_prescribed = False
    for j in range(driven.size):
        any_prescribed = any_prescribed or prescribed[j] != 0
        work.servo_stiffness[j] = 0.0 if prescribed[j] != 0 else stiffness[j]
        work.servo_damping[j] = 0.0 if prescribed[j] != 0 else damping[j]
    work.step[0] = 0.0
    decay = math.exp(-h / lag)
    for k in range(len(efforts) - 1):
        for j in range(driven.size):
            if prescribed[j] != 0:
                work.prescribed_acceleration[j] = (rates[k + 1, j] - rates[k, j]) / (parts * h)
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
                    lagged_error[j] + 0.5 * (1.0 - decay) * (error - lagged_error[j]))
                lagged_error[j] = decay * lagged_error[j] + 0.5 * (1.0 - decay) * error
                servo_effort[k + 1, j] += (
                    stiffness[j] * (work.target[j] - 0.5 * q[d]) + lag_effort
                    + damping[j] * (work.target_rate[j] + q[d] / h)) / parts
                effort[j] = (efforts[k, j] + share * (efforts[k + 1, j] - efforts[k, j])
                             + lag_effort)
            if advance(arm, loads, iterations, q, qd, qdd, effort, h, 1, flow, watch, stage,
                       work) < 1:
                return k
            for j in range(driven.size):
                if prescribed[j] == 0:
                    d, s = driven[j], measured[j]
                    servo_effort[k + 1, j] -= (0.5 * stiffness[j] + damping[j] / h) * q[d] / parts
                    error = (places[k, j] + (part + 1) / parts * (places[k + 1, j] - places[k, j])
                             - q[s])
                    lagged_error[j] += 0.5 * (1.0 - decay) * error
        for j in range(driven.size):
            if prescribed[j] != 0:
                q[driven[j]] = places[k + 1, j]
                qd[driven[j]] = rates[k + 1, j]
        if any_prescribed:
            work.step[0] = 0.0
        for i in range(q.size):
            out[k + 1, i] = q[i]
            out_rates[k + 1, i] = qd[i]
    return len(efforts) - 1
