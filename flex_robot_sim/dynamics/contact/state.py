"""What a contact reports: the forces of its points in the last step, and where they act."""

from math import sqrt

from flex_robot_sim.dynamics.constraints.rows import cross, set_in_body
from flex_robot_sim.dynamics.contact.instant import set_contact_motion
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import set_copy

STATE_SIZE = 15
SLIDING_RATE = 1e-6  # of a pressed point, below which it is at rest                     [m/s]
SLIDING_SHARE = 0.99  # of the largest friction, below which a point sticks or rolls


@compiled
def set_contact_state(arm, q, qd, rows, R, p, out, work):
    """
    Set force, wrench, point, normal force, gap and sliding of a contact, for a state.

    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    :param rows: first point of the contact, the one after its last, and the body of its link.
    :param R: pose (R, p) of the link in this body.
    :param out: receives the force on the link (3,), moment and force in its frame (6,), the point
        (3,), the normal force, the smallest gap, and 1 if a point slides, (STATE_SIZE,).
    """
    set_contact_motion(arm, q, qd, work)
    wrench, in_body, body = work.parent_motion, work.y, rows[2]
    out[:] = 0.0
    wrench[:] = 0.0
    nearest = rows[0]
    for g in range(rows[0], rows[1]):
        force, axes, at = work.contact_force[g], work.contact_axes[g], work.contact_at[g]
        if work.contact_gap[g] < work.contact_gap[nearest]:
            nearest = g
        if force[0] == 0.0:
            continue
        for k in range(3):
            out[k] += axes[0, k] * force[0] + axes[1, k] * force[1] + axes[2, k] * force[2]
            out[9 + k] += force[0] * at[k]
        out[12] += force[0]
        moment = cross(
            (at[0], at[1], at[2]),
            (
                axes[0, 0] * force[0] + axes[1, 0] * force[1] + axes[2, 0] * force[2],
                axes[0, 1] * force[0] + axes[1, 1] * force[1] + axes[2, 1] * force[2],
                axes[0, 2] * force[0] + axes[1, 2] * force[1] + axes[2, 2] * force[2],
            ),
        )
        for k in range(3):
            wrench[k] += moment[k]
        friction = sqrt(force[1] * force[1] + force[2] * force[2])
        x, y = work.contact_rate[3 * g + 1], work.contact_rate[3 * g + 2]
        largest = arm.contact_friction[g] * force[0]
        if sqrt(x * x + y * y) > SLIDING_RATE and friction >= SLIDING_SHARE * largest:
            out[14] = 1.0
    out[13] = work.contact_gap[nearest]
    for k in range(3):
        wrench[3 + k] = out[k]
        out[9 + k] = out[9 + k] / out[12] if out[12] > 0.0 else work.contact_at[nearest, k]
    if body >= 0:
        set_in_body(work, body, wrench, in_body)
    else:
        set_copy(wrench, in_body)
    f = in_body[3], in_body[4], in_body[5]
    shift = cross((p[0], p[1], p[2]), f)
    for k in range(3):
        for r in range(3):
            out[3 + k] += R[r, k] * (in_body[r] - shift[r])
            out[6 + k] += R[r, k] * f[r]
