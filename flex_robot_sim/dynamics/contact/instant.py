"""
Contact forces at an instant: explicit schemes, equations of motion, and queries.

Friction is smoothed as that of joints: it is c tanh(|u| / w) against the sliding rate u.
"""

from math import sqrt, tanh

from flex_robot_sim.dynamics.constraints.rows import set_in_body
from flex_robot_sim.dynamics.contact.gaps import set_axes, set_contact_gaps, velocity_of
from flex_robot_sim.dynamics.joint_laws.stops import stop_force
from flex_robot_sim.dynamics.kinematics import set_twists
from flex_robot_sim.dynamics.loads import set_loads
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.contact_rows import WORLD_BODY
from flex_robot_sim.model.friction import DEFAULT_SMOOTHING_RATE
from flex_robot_sim.model.stops import STOP_DEPTH


@compiled
def set_contact_motion(arm, q, qd, work):
    """Gaps, axes, and rates along these, of all points, for coordinates and rates (n,)."""
    set_twists(arm, q, qd, work)
    set_contact_gaps(arm, work)
    for g in range(arm.contact_kind.size):
        set_axes(arm, g, work)
        axes, at = work.contact_axes[g], work.contact_at[g]
        place = at[0], at[1], at[2]
        ux, uy, uz = velocity_of(arm.contact_body[g, 1], place, work)
        wx, wy, wz = velocity_of(arm.contact_body[g, 0], place, work)
        for r in range(3):
            work.contact_rate[3 * g + r] = (
                axes[r, 0] * (ux - wx) + axes[r, 1] * (uy - wy) + axes[r, 2] * (uz - wz)
            )


@compiled
def set_loads_and_contacts(arm, loads, q, qd, work):
    """Set work.load to the wrenches of loads and contacts on the bodies at an instant."""
    set_loads(arm, loads, q, work)
    if arm.contact_kind.size > 0:
        add_contact_forces(arm, q, qd, work)


@compiled
def add_contact_forces(arm, q, qd, work):
    """Set the forces of all points at an instant, and add them to work.load."""
    set_contact_motion(arm, q, qd, work)
    for g in range(arm.contact_kind.size):
        rate, force = -work.contact_rate[3 * g], work.contact_force[g]
        force[0] = force[1] = force[2] = 0.0
        if work.contact_gap[g] < 0.0:
            _, force[0], _ = stop_force(
                rate,
                rate,
                0.0,
                -work.contact_gap[g],
                arm.contact_stiffness[g],
                arm.contact_damping[g],
                STOP_DEPTH,
            )
            x, y = work.contact_rate[3 * g + 1], work.contact_rate[3 * g + 2]
            speed = sqrt(x * x + y * y)
            if speed > 0.0:
                c = arm.contact_friction[g] * force[0] * tanh(speed / DEFAULT_SMOOTHING_RATE)
                force[1], force[2] = -c * x / speed, -c * y / speed
    add_stored_forces(arm, False, work)


@compiled
def add_last_contact_forces(arm, q, qd, work):
    """Add the forces of the last step, at the present poses, to work.load."""
    set_contact_motion(arm, q, qd, work)
    add_stored_forces(arm, False, work)


@compiled
def add_stored_forces(arm, only_world, work):
    """
    Add work.contact_force, along the axes in `work`, to work.load of both bodies.

    :param only_world: leave out the forces between bodies and base.
    """
    F, y = work.parent_motion, work.y
    for g in range(arm.contact_kind.size):
        p, axes, at = work.contact_force[g], work.contact_axes[g], work.contact_at[g]
        if p[0] == 0.0 or (only_world and arm.contact_body[g, 0] != WORLD_BODY):
            continue
        for k in range(3):
            F[3 + k] = axes[0, k] * p[0] + axes[1, k] * p[1] + axes[2, k] * p[2]
        F[0] = at[1] * F[5] - at[2] * F[4]
        F[1] = at[2] * F[3] - at[0] * F[5]
        F[2] = at[0] * F[4] - at[1] * F[3]
        for side in range(2):
            i = arm.contact_body[g, side]
            if i >= 0:
                set_in_body(work, i, F, y)
                for k in range(6):
                    work.load[i, k] += y[k] if side == 1 else -y[k]


@compiled
def add_contact_powers(arm, weight, work, flow):
    """
    Book the forces of `add_contact_forces` over a time `weight` [s] as contact, not as loads.

    :param flow: (2,), work of motors and loads, and dissipated energy [J]; changed.
    """
    for g in range(arm.contact_kind.size):
        p, power = work.contact_force[g], 0.0
        for r in range(3):
            power += p[r] * work.contact_rate[3 * g + r]
        spring = arm.contact_stiffness[g] * max(-work.contact_gap[g], 0.0)
        flow[0] -= weight * power
        flow[1] += weight * (spring * work.contact_rate[3 * g] - power)
