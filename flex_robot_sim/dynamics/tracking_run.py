"""Many steps along a log: efforts that were measured, and a soft servo towards what was seen."""

import math

from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.jit.compiled import compiled


@compiled
def advance_tracking(arm, loads, iterations, q, qd, qdd, effort, h, parts, flow, watch, stage,
                     work, driven, seen, led, efforts, places, rates, stiffness, damping, recall,
                     lag, behind, out, out_rates, pull):
    """
    Take steps from each sample of a log to the next; stop before a state that is not finite.

    The first arguments are those of `integrators.advance`.

    :param parts: steps of h [s] from a sample to the next.
    :param driven: coordinates that the motors move, (joints,); seen: those that were measured.
    :param led: (joints,) 1 for a drive that goes as measured, whatever it takes; its `places` and
        `rates` are those of `driven`.
    :param efforts: of the motors (k, joints), even lines between samples [N m, N].
    :param places: that were measured (k, joints) [rad, m]; rates: likewise.
    :param stiffness: of the servo that pulls `seen` there, (joints,); damping: likewise.
    :param recall: its effort over how far `seen` is from there behind a lag [s], (joints,).
    :param behind: that distance, (joints,) [rad, m]; zero at first.
    :param out: coordinates at the samples (k, n), from the second row on; out_rates: likewise.
    :param pull: mean effort of that servo up to the sample (k, joints).
    :returns: number of samples reached.
    """
    leads = False
    for j in range(driven.size):
        leads = leads or led[j] != 0
        work.servo_stiffness[j] = 0.0 if led[j] != 0 else stiffness[j]
        work.servo_damping[j] = 0.0 if led[j] != 0 else damping[j]
    work.step[0] = 0.0
    fades = math.exp(-h / lag)
    for k in range(len(efforts) - 1):
        for j in range(driven.size):
            if led[j] != 0:
                work.prescribed_acceleration[j] = (rates[k + 1, j] - rates[k, j]) / (parts * h)
        for part in range(parts):
            share = (part + 0.5) / parts
            for j in range(driven.size):
                if led[j] != 0:
                    continue
                place = places[k, j] + share * (places[k + 1, j] - places[k, j])
                rate = rates[k, j] + share * (rates[k + 1, j] - rates[k, j])
                # solved for with the step, as the rotor may be light; where the link side was
                # seen, the motor is asked for as much more as the gear is wound up
                d, s = driven[j], seen[j]
                work.target[j] = place + q[d] - q[s]
                work.target_rate[j] = rate + qd[d] - qd[s]
                # in the middle of the step
                far = places[k, j] + part / parts * (places[k + 1, j] - places[k, j]) - q[s]
                recalled = recall[j] * (behind[j] + 0.5 * (1.0 - fades) * (far - behind[j]))
                behind[j] = fades * behind[j] + 0.5 * (1.0 - fades) * far
                pull[k + 1, j] += (stiffness[j] * (work.target[j] - 0.5 * q[d]) + recalled
                                   + damping[j] * (work.target_rate[j] + q[d] / h)) / parts
                effort[j] = (efforts[k, j] + share * (efforts[k + 1, j] - efforts[k, j])
                             + recalled)
            if advance(arm, loads, iterations, q, qd, qdd, effort, h, 1, flow, watch, stage,
                       work) < 1:
                return k
            for j in range(driven.size):
                if led[j] == 0:
                    d, s = driven[j], seen[j]
                    pull[k + 1, j] -= (0.5 * stiffness[j] + damping[j] / h) * q[d] / parts
                    far = (places[k, j] + (part + 1) / parts * (places[k + 1, j] - places[k, j])
                           - q[s])
                    behind[j] += 0.5 * (1.0 - fades) * far
        for j in range(driven.size):
            if led[j] != 0:
                q[driven[j]] = places[k + 1, j]
                qd[driven[j]] = rates[k + 1, j]
        if leads:
            work.step[0] = 0.0
        for i in range(q.size):
            out[k + 1, i] = q[i]
            out_rates[k + 1, i] = qd[i]
    return len(efforts) - 1
