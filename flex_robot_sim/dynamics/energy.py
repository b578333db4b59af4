"""
Energy of an arm: kinetic, strain and potential.

Every step needs it. It is computed from the velocities of bodies and mass points, without the
inertia of the modes. Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.dynamics.constraints.compliance import compliance_energy
from flex_robot_sim.dynamics.contact.gaps import set_contact_gaps
from flex_robot_sim.dynamics.elastic_inertia import elastic_energy
from flex_robot_sim.dynamics.forces import spring_energy
from flex_robot_sim.dynamics.joint_laws.maxwell_slip import slip_energy
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.dynamics.sliding_body import sliding_energy
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_BEAM, COMMON_SHAPES, ELASTIC, SLIDING


@compiled
def set_energies(arm, q, qd, work, out):
    """
    Kinetic energy, strain energy, and potential energy of gravity (3,) [J].

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    """
    set_motion(arm, q, qd, work)
    set_base_poses(arm, work)
    set_energies_of_motion(arm, q, qd, work, out)


@compiled
def set_energies_of_motion(arm, q, qd, work, out):
    """Energies as `set_energies`, for poses in the base frame and twists that are set."""
    kinetic = potential = 0.0
    for i in range(arm.parent.size):
        V, I = work.V[i], arm.inertia[i]
        for r in range(6):
            momentum = 0.0
            for s in range(6):
                momentum += I[r, s] * V[s]
            kinetic += 0.5 * V[r] * momentum
        # the inertia of the body contains its mass and first moment
        mass, x, y, z = I[3, 3], I[2, 4], I[0, 5], I[1, 3]
        if arm.kind[i] == ELASTIC:
            # its mass and the moments of the undeformed body are in the inertia
            elastic_kinetic, mx, my, mz = elastic_energy(arm, i, q, qd, V, work)
            kinetic += elastic_kinetic
            x += mx
            y += my
            z += mz
        elif arm.modes[i] > 0:
            beam_kinetic, m, mx, my, mz = beam_energy(arm, i, q, qd, V, work)
            kinetic += beam_kinetic
            mass += m
            x += mx
            y += my
            z += mz
        R, p = work.base_R[i], work.base_p[i]
        for r in range(3):
            potential += arm.base_acceleration[3 + r] * (
                mass * p[r] + R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
            )
    for j in range(arm.motor.size):
        driven = j if arm.motor[j] < 0 else arm.motor[j]
        kinetic += 0.5 * arm.rotor[j] * qd[driven] * qd[driven]
    strain = spring_energy(arm, q) + slip_energy(arm, work)
    if arm.constraint_kind.size > 0:
        strain += compliance_energy(arm, work)
    if arm.contact_kind.size > 0:
        strain += set_contact_gaps(arm, work)
    out[0], out[1], out[2] = kinetic, strain, potential


@compiled
def beam_energy(arm, i, q, qd, V, work):
    """Kinetic energy of the beam of body i [J], its mass [kg] and first moments [kg m]."""
    if arm.kind[i] == COMMON_BEAM:
        return beam_energy_of(
            arm,
            i,
            COMMON_SHAPES[0],
            COMMON_SHAPES[1],
            COMMON_SHAPES[2],
            COMMON_SHAPES[3],
            COMMON_SHAPES[4],
            q,
            qd,
            V,
        )
    if arm.kind[i] == SLIDING:
        return sliding_energy(arm, i, q, qd, V, work)
    count = arm.count[i]
    return beam_energy_of(arm, i, count[0], count[1], count[2], count[3], arm.reach[i], q, qd, V)


@compiled(inline=True)
def beam_energy_of(arm, i, ny, nz, nt, nu, reach, q, qd, V):
    """
    Kinetic energy of the beam of body i [J], its mass [kg] and first moments [kg m].

    A point at r has the velocity u = v + omega x r due to the root, and N de relative to it, and
    contributes m/2 (u + N de)^2; the constant part of (T22) is added once for all points.

    :param V: twist of the root, (6,).
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)
    wx, wy, wz = V[0], V[1], V[2]
    kinetic = mass = mx = my = mz = 0.0
    for k in range(n):
        momentum = wx * arm.rotary[i, 0, k] + wy * arm.rotary[i, 1, k] + wz * arm.rotary[i, 2, k]
        for m in range(n):
            momentum += 0.5 * arm.modal_mass[i, k, m] * qd[first + m]
        kinetic += momentum * qd[first + k]
    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        # as in add_beam: position, velocity relative to the root, and its part due to shortening
        x, y, w, dx, dy, dw, shortening_rate = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(ny):
            y += shape[k] * q[first + k]
            dy += shape[k] * qd[first + k]
        for k in range(y_end, z_end):
            w += shape[k] * q[first + k]
            dw += shape[k] * qd[first + k]
        for k in range(t_end, n):
            x += shape[k] * q[first + k]
            dx += shape[k] * qd[first + k]
        for k in range(z_end):
            low, high = (0, y_end) if k < y_end else (y_end, z_end)
            if is_banded:
                low, high = max(low, k - reach), min(high, k + reach + 1)
            h = 0.0
            for l in range(low, high):
                h += H[k, l - low] * q[first + l]
            x -= 0.5 * q[first + k] * h
            shortening_rate -= qd[first + k] * h
        ux, uy, uz = V[3] + wy * w - wz * y, V[4] + wz * x - wx * w, V[5] + wx * y - wy * x
        kinetic += m * (
            0.5 * (ux * ux + uy * uy + uz * uz)
            + ux * (dx + shortening_rate)
            + uy * dy
            + uz * dw
            + shortening_rate * (dx + 0.5 * shortening_rate)
        )
        mass += m
        mx += m * x
        my += m * y
        mz += m * w
    return kinetic, mass, mx, my, mz
