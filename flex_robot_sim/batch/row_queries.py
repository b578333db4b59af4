"""
Queries of many arms in one compiled call without the GIL, row by row.

They write into the workspaces of the steps, except for what the next step reads.
"""

from flex_robot_sim.dynamics.constraints.rows import add_constraint_loads, set_constraint_wrench
from flex_robot_sim.dynamics.contact.state import set_contact_state
from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.instant import set_applied_effort, set_instant_accelerations
from flex_robot_sim.dynamics.kinematics import set_poses, set_station, set_station_pose, set_twists
from flex_robot_sim.dynamics.momentum import set_total_momentum
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.exponential import set_rotation_vector
from flex_robot_sim.spatial.screws import set_composed, set_copy


@compiled
def set_body_motion_of_rows(arms, states, works, body, first, end, R, p, V):
    """
    Pose in the base frame and twist of one body of the arms from row `first` to `end` - 1.

    :param arms: TableRows of ArmArrays; states of ArmState, works of Workspace.
    :param R: receives rotations (c, 3, 3), p origins (c, 3) [m], V body twists (c, 6).
    """
    for k in range(first, end):
        set_twists(arms[k], states[k].q, states[k].qd, works[k])
        set_copy(works[k].base_p[body], p[k])
        for r in range(3):
            set_copy(works[k].base_R[body, r], R[k, r])
        for r in range(6):
            V[k, r] = works[k].V[body, r]


@compiled
def set_sections_of_rows(arms, states, works, body, station, first, end, R, p, V):
    """Pose (R, p) and twist V of a station, relative to its body."""
    for k in range(first, end):
        set_station(arms[k], station, body, states[k].q, states[k].qd, works[k])
        set_copy(works[k].station_p[station], p[k])
        for r in range(3):
            set_copy(works[k].station_R[station, r], R[k, r])
        for r in range(6):
            V[k, r] = works[k].Ve[station, r]


@compiled
def set_deflections_of_rows(arms, states, works, roots, tips, lengths, first, end, out):
    """
    Translation and rotation vector (c, t, 6) [m, rad] of tips from their undeformed frames.

    :param roots: first body of each flexible link, (t,); tips: last body and station, (t, 2).
    :param lengths: of the links, (c, t) [m].
    """
    for k in range(first, end):
        arm, work, q = arms[k], works[k], states[k].q
        set_poses(arm, q, arm.parent.size, work)
        for t in range(roots.size):
            body, station = tips[t, 0], tips[t, 1]
            set_station_pose(arm, station, body, q, work)
            R, p = work.station_R[station], work.station_p[station]
            while body != roots[t]:
                set_composed(work.R[body], work.origin[body], R, p, work.child_R, work.child_p)
                set_copy(work.child_p, p)
                for r in range(3):
                    set_copy(work.child_R[r], R[r])
                body = arm.parent[body]
            set_copy(p, out[k, t, :3])
            out[k, t, 0] -= lengths[k, t]
            set_rotation_vector(R, out[k, t, 3:])


@compiled
def set_wrenches_of_rows(
    arms, loads, states, works, is_sticky, body, first, end, rates, qdd, force, F
):
    """
    Wrench (c, 6) [N m, N] on one body from its parent, in its frame.

    :param is_sticky: whether dry friction may stick, (c,); loads: TableRows of LoadArrays.
    :param rates, force: temporaries, (c, n); qdd: guess of the accelerations, (c, n), and output.
    """
    for k in range(first, end):
        q, qd, work = states[k].q, states[k].qd, works[k]
        set_instant_accelerations(
            arms[k], loads[k], q, qd, states[k].effort, is_sticky[k], work, rates[k], qdd[k]
        )
        if arms[k].constraint_kind.size > 0:
            add_constraint_loads(arms[k], work)
        inverse_dynamics(arms[k], q, qd, qdd[k], work, force[k])
        for r in range(6):
            F[k, r] = work.F[body, r]


@compiled
def set_constraint_wrenches_of_rows(
    arms, loads, states, works, is_sticky, rows, first, end, rates, qdd, F
):
    """
    Wrench (c, 6) [N m, N] of a constraint on its child, about the base and in its axes.

    :param rows: first row of the constraint, and the row after its last one, (2,).
    """
    for k in range(first, end):
        q, qd, work = states[k].q, states[k].qd, works[k]
        set_instant_accelerations(
            arms[k], loads[k], q, qd, states[k].effort, is_sticky[k], work, rates[k], qdd[k]
        )
        set_constraint_wrench(arms[k], rows[0], rows[1], work, F[k])


@compiled
def set_applied_efforts_of_rows(arms, states, works, first, end, out):
    """Motor efforts (c, joints) with servo and limits [N m, N]."""
    for k in range(first, end):
        set_applied_effort(arms[k], states[k].q, states[k].qd, states[k].effort, works[k], out[k])


@compiled
def set_total_momenta_of_rows(arms, states, works, first, end, out):
    """Momenta about the centres of mass, and these centres (c, 9), see `set_total_momentum`."""
    for k in range(first, end):
        set_total_momentum(arms[k], states[k].q, states[k].qd, out[k], works[k])


@compiled
def set_contact_states_of_rows(arms, states, works, rows, first, end, R, p, out):
    """States of a contact (c, STATE_SIZE), see `set_contact_state`; R, p: one per member."""
    for k in range(first, end):
        set_contact_state(arms[k], states[k].q, states[k].qd, rows, R[k], p[k], out[k], works[k])
