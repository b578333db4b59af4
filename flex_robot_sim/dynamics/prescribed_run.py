"""Many steps of an arm whose drives are all led along samples, in one compiled call."""

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.jit.compiled import compiled


@compiled
def advance_prescribed(arm, loads, iterations, q, qd, qdd, effort, h, flow, watch, stage, work,
                       driven, places, rates, out, efforts):
    """
    Take a step from each sample to the next; stop before a state that is not finite.

    The first arguments are those of `integrators.advance`.

    :param driven: coordinates that the motors move, (joints,).
    :param places: of the drives (k, joints) [rad, m], the first one where they are; rates:
        likewise [rad/s, m/s].
    :param out: coordinates at the samples (k, n), from the second row on.
    :param efforts: of the motors on the way to each sample (k, joints), likewise.
    :returns: number of steps taken.
    """
    for k in range(len(places) - 1):
        for j in range(driven.size):
            work.prescribed_acceleration[j] = (rates[k + 1, j] - rates[k, j]) / h
        work.step[0] = 0.0
        if advance(arm, loads, iterations, q, qd, qdd, effort, h, 1, flow, watch, stage, work) < 1:
            return k
        for j in range(driven.size):
            q[driven[j]] = places[k + 1, j]
            qd[driven[j]] = rates[k + 1, j]
            efforts[k + 1, j] = work.applied[j]
        # where that is elsewhere than the step led to, the drives do the work for it
        set_energies(arm, q, qd, work, work.energy)
        flow[0] += work.energy[0] + work.energy[1] + work.energy[2] - work.step[1]
        for i in range(q.size):
            out[k + 1, i] = q[i]
    return len(places) - 1
