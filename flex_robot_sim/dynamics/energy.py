"""
Energy of an arm: kinetic, in springs, and of height.

Every step asks for it, so that it comes from the rates of bodies and mass points, and no inertia
of the modes is made for it. Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.dynamics.beam_inertia import USUAL, is_usual
from flex_robot_sim.dynamics.forces import stored_in_springs
from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion
from flex_robot_sim.jit.compiled import compiled


@compiled
def set_energies(arm, q, qd, work, out):
    """
    Kinetic energy, energy in springs, and potential energy of gravity (3,) [J].

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m]; qd are their rates.
    """
    set_motion(arm, q, qd, work)
    set_base_poses(arm, work)
    kinetic = height = 0.0
    for i in range(arm.parent.size):
        V, I = work.V[i], arm.inertia[i]
        for r in range(6):
            momentum = 0.0
            for s in range(6):
                momentum += I[r, s] * V[s]
            kinetic += 0.5 * V[r] * momentum
        # mass and first moment stand in the inertia of the body
        mass, x, y, z = I[3, 3], I[2, 4], I[0, 5], I[1, 3]
        if arm.modes[i] > 0:
            own, m, mx, my, mz = beam_energy(arm, i, q, qd, V)
            kinetic += own
            mass += m
            x += mx
            y += my
            z += mz
        R, p = work.base_R[i], work.base_p[i]
        for r in range(3):
            height += arm.base_acceleration[3 + r] * (
                mass * p[r] + R[r, 0] * x + R[r, 1] * y + R[r, 2] * z)
    for j in range(arm.motor.size):
        driven = j if arm.motor[j] < 0 else arm.motor[j]
        kinetic += 0.5 * arm.rotor[j] * qd[driven] * qd[driven]
    out[0], out[1], out[2] = kinetic, stored_in_springs(arm, q), height


@compiled
def beam_energy(arm, i, q, qd, V):
    """Kinetic energy of the beam of body i [J], its mass [kg] and first moments [kg m]."""
    if is_usual(arm, i):
        return beam_energy_of(arm, i, USUAL[0], USUAL[1], USUAL[2], USUAL[3], USUAL[4], q, qd, V)
    count = arm.count[i]
    return beam_energy_of(arm, i, count[0], count[1], count[2], count[3], arm.reach[i], q, qd, V)


@compiled(inline=True)
def beam_energy_of(arm, i, ny, nz, nt, nu, reach, q, qd, V):
    """
    Kinetic energy of the beam of body i [J], its mass [kg] and first moments [kg m].

    With a point at r, the rate u = v + omega x r that the root gives it and its own one N de,
    m/2 (u + N de)^2; what is constant in (T22) is squared once for all points.

    :param V: twist of the root, (6,).
    """
    first, y_end, z_end, t_end = arm.first[i], ny, ny + nz, ny + nz + nt
    n = t_end + nu
    is_banded = reach + 1 < max(ny, nz)
    wx, wy, wz = V[0], V[1], V[2]
    kinetic = mass = mx = my = mz = 0.0
    for k in range(n):
        turning = wx * arm.rotary[i, 0, k] + wy * arm.rotary[i, 1, k] + wz * arm.rotary[i, 2, k]
        for m in range(n):
            turning += 0.5 * arm.modal_mass[i, k, m] * qd[first + m]
        kinetic += turning * qd[first + k]
    for g in range(arm.point_start[i], arm.point_start[i + 1]):
        m, shape, H = arm.point_mass[g], arm.point_shape[g], arm.point_H[g]
        # as in add_beam: place, rate against the root, and what of that is shortening
        x, y, w, dx, dy, dw, shortened = arm.point_x[g], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
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
            shortened -= qd[first + k] * h
        ux, uy, uz = V[3] + wy * w - wz * y, V[4] + wz * x - wx * w, V[5] + wx * y - wy * x
        kinetic += m * (0.5 * (ux * ux + uy * uy + uz * uz) + ux * (dx + shortened) + uy * dy
                        + uz * dw + shortened * (dx + 0.5 * shortened))
        mass += m
        mx += m * x
        my += m * y
        mz += m * w
    return kinetic, mass, mx, my, mz
