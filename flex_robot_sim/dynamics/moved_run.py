"""Steps of an arm on a moved base, in one compiled call."""

from flex_robot_sim.dynamics.contact.penetration import note_penetration
from flex_robot_sim.dynamics.contact.solution import keep_gaps
from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.integrators import NON_FINITE_EFFORT, take_step
from flex_robot_sim.dynamics.monitors import count_events
from flex_robot_sim.dynamics.moved_base import place_base, set_mean_rate
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import is_finite


@compiled
def advance_moved(arm, loads, settings, state, steps, watch, work, samples):
    """
    Take steps by the implicit midpoint rule, each from one sample of the base to the next.

    Arguments and results are those of `integrators.advance_checked`.

    :param samples: (steps + 1, 19), see `place_base`; the base is at the first one.
    """
    if not is_finite(state.effort):
        return 0, NON_FINITE_EFFORT
    q, qd, flow, h = state.q, state.qd, state.flow, settings.time_step[0]
    if work.step[0] == 0.0:
        set_energies(arm, q, qd, work, work.energy)
        work.step[1] = work.energy[0] + work.energy[1] + work.energy[2]
        keep_gaps(work)
        note_penetration(0, watch, work)
    for step in range(steps):
        set_mean_rate(h, samples[step], samples[step + 1], work)
        work.step[2] = 0.0
        if not take_step(arm, loads, settings, state, step, watch, work):
            place_base(samples[step], work)
            return step, count_events(watch)
        place_base(samples[step + 1], work)
        # if this differs from the result of the step, the change of energy is work of the base
        set_energies(arm, q, qd, work, work.energy)
        keep_gaps(work)
        energy = work.energy[0] + work.energy[1] + work.energy[2]
        flow[0] += energy - work.step[1]
        work.step[1] = energy
    return steps, count_events(watch)
