"""Steps of an arm with prescribed motion of all drives, in one compiled call."""

from flex_robot_sim.dynamics.constraints.projection import close_loops
from flex_robot_sim.dynamics.constraints.solution import ties_to_world
from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.free_base import move_base_pose
from flex_robot_sim.dynamics.integrators import advance
from flex_robot_sim.dynamics.momentum import restore_momentum
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import set_copy


@compiled
def advance_prescribed(
    arm, loads, settings, state, watch, work, driven, places, rates, coordinates, efforts
):
    """
    Take a step from each sample to the next; stop before a state that is not finite.

    Passive joints follow the closed loops. A sample that they cannot follow is not reached.

    The first arguments are those of `integrators.advance`.

    :param driven: coordinates that the motors move, (joints,).
    :param places: drive positions (k, joints) [rad, m], the first row at the present ones.
    :param rates: drive velocities (k, joints) [rad/s, m/s].
    :param coordinates: receives the coordinates at the samples (k, n), from the second row on.
    :param efforts: receives the mean motor efforts before each sample (k, joints), from the
        second row on.
    :returns: number of steps taken.
    """
    q, qd, flow, h = state.q, state.qd, state.flow, settings.time_step[0]
    for k in range(len(places) - 1):
        for j in range(driven.size):
            work.prescribed_acceleration[j] = (rates[k + 1, j] - rates[k, j]) / h
        work.step[0] = 0.0
        if advance(arm, loads, settings, state, 1, watch, work) < 1:
            return k
        for j in range(driven.size):
            efforts[k + 1, j] = work.applied[j]
            if work.prescribed[j] != 0.0:
                q[driven[j]] = places[k + 1, j]
                qd[driven[j]] = rates[k + 1, j]
        if arm.constraint_kind.size > 0 and not close_loops(arm, q, qd, work):
            set_copy(state.stage[0], q)  # the start of this step
            set_copy(state.stage[1], qd)
            return k
        if arm.base.shape[0] > 0:
            if not ties_to_world(arm):
                restore_momentum(arm, q, qd, work.momentum, work)
            move_base_pose(arm, q, work)  # by the changes that closed the loops
        # if this differs from the result of the step, the change of energy is work of the drives
        set_energies(arm, q, qd, work, work.energy)
        flow[0] += work.energy[0] + work.energy[1] + work.energy[2] - work.step[1]
        for i in range(q.size):
            coordinates[k + 1, i] = q[i]
    return len(places) - 1
