"""
Poses and twists at the end of a step with closed loops.

The gaps need the poses of the bodies that move a row; the energy needs the twists of all bodies.
"""

from flex_robot_sim.dynamics.free_base import add_base_rates
from flex_robot_sim.dynamics.kinematics import set_base_pose, set_pose_in_parent, set_station
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_scaled, set_in_child


@compiled
def set_end_poses(arm, q, qd, work):
    """
    Poses of all bodies that move a row, and Jacobians of their stations.

    :param q: coordinates, (n,) [rad, m]; qd: rates, which have no effect on these.
    """
    for i in range(arm.parent.size):
        if arm.constraint_path[i]:
            set_pose_of(arm, i, q, qd, work)


@compiled(inline=True)
def set_pose_of(arm, i, q, qd, work):
    """Pose of body i, and Jacobian of the station it is attached to."""
    if arm.station[i] >= 0:
        set_station(arm, arm.station[i], arm.parent[i], q, qd, work)
    set_pose_in_parent(arm, i, q, work)
    set_base_pose(arm, i, work)


@compiled
def set_end_twists(arm, q, qd, work):
    """Twists V of all bodies after `set_end_poses`, and the poses that it has left out."""
    for i in range(arm.parent.size):
        if not arm.constraint_path[i]:
            set_pose_of(arm, i, q, qd, work)
        parent, s, j, V = arm.parent[i], arm.station[i], arm.joint[i], work.V[i]
        if parent < 0 and work.base_moves[0] != 0.0:
            set_in_child(work.R[i], work.origin[i], work.root_V, V)
        elif parent < 0:
            V[:] = 0.0
            add_base_rates(arm, qd, V)
        elif s < 0:
            set_in_child(work.R[i], work.origin[i], work.V[parent], V)
        else:
            motion, first = work.parent_motion, arm.first[parent]
            for r in range(6):
                motion[r] = work.V[parent, r]
                for k in range(arm.modes[parent]):
                    motion[r] += work.K[s, r, k] * qd[first + k]
            set_in_child(work.R[i], work.origin[i], motion, V)
        if j >= 0:
            add_scaled(qd[j], arm.screw[i], V)
