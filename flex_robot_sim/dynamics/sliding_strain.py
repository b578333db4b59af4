"""
Strain energy and damping of sliding links.

The strains of a free length s, curvatures phi'' e / s^2 and twist phi' e / s, have the energy

    V = 1/2 e^T K(s) e,   K(s) = (L/s)^p K(L),   p = 3 in bending and 1 in torsion          (T121)

so that a strained link pushes along its guide with p V / s. A section of the material changes its
strain also because it slides: with c(xi) for phi'' or phi' and u = (p + 1)/2, per unit of strain,

    d strain = [c de + (c' (1 - xi) - u c) e ds / s] / s^u                                   (T122)

Kelvin-Voigt damping has the dissipation tau times the energy of this rate.
"""

from numpy import sqrt

from flex_robot_sim.dynamics.sliding_body import free_length
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.slide_columns import LENGTH, TIME


@compiled
def add_sliding_strain(arm, i, q, qd, h, guess, work):
    """Set the forces of the strains of sliding body i, and add that on its joint (T121)."""
    first, n, own, joint_force = arm.first[i], arm.modes[i], arm.own[i], 0.0
    time, s = arm.slide_data[i, TIME], free_length(arm, i, q)
    for k in range(n + 1):
        work.implicit[i, k, n] = work.implicit[i, n, k] = 0.0
    for k in range(n):
        scale, power = strain_scales(arm, i, k, s)
        stress = loss = implicit_force = 0.0
        for m in range(n):
            K = scale * arm.stiffness[i, k, m]
            D = time * K + damping_scale(arm, i, k, m, s) * arm.damping[i, k, m]
            implicit = h * (0.25 * h * K + 0.5 * D)
            work.implicit[i, k, m] = implicit
            stress += K * q[first + m]
            loss += D * qd[first + m]
            implicit_force += implicit * guess[first + m]
        joint_force += 0.5 * power * q[first + k] * stress
        work.force[first + k] = -stress - loss
        if h > 0.0:
            work.force[first + k] += implicit_force
    work.force[own[n]] += joint_force / s
    if time != 0.0:
        add_sliding_loss(arm, i, q, qd, work.force, -1.0)


@compiled
def strain_scales(arm, i, k, s):
    """Ratio of stiffness of coordinate k at the free length s, and its power (T121)."""
    ratio = arm.slide_data[i, LENGTH] / s
    if k < arm.count[i, 0] + arm.count[i, 1]:
        return ratio * ratio * ratio, 3.0
    return ratio, 1.0


@compiled
def damping_scale(arm, i, k, m, s):
    """Ratio of the damping of coordinates k and m: a damping ratio holds at any length s."""
    ratio, bending = arm.slide_data[i, LENGTH] / s, arm.count[i, 0] + arm.count[i, 1]
    if k < bending and m < bending:
        return ratio
    if k < bending or m < bending:
        return sqrt(ratio)  # the matrix stays symmetric and positive
    return 1.0


@compiled
def add_sliding_damping(arm, i, q, qd, out, factor):
    """
    Add `factor` times the damping of sliding body i times the rates qd to out (n,) (T122).

    :returns: the dissipated power [W].
    """
    first, n, power = arm.first[i], arm.modes[i], 0.0
    time, s = arm.slide_data[i, TIME], free_length(arm, i, q)
    for k in range(n):
        scale, _ = strain_scales(arm, i, k, s)
        force = 0.0
        for m in range(n):
            K = scale * arm.stiffness[i, k, m]
            D = damping_scale(arm, i, k, m, s) * arm.damping[i, k, m]
            force += (time * K + D) * qd[first + m]
        out[first + k] += factor * force
        power += force * qd[first + k]
    if time != 0.0:
        power += add_sliding_loss(arm, i, q, qd, out, factor)
    return power


@compiled
def add_sliding_loss(arm, i, q, qd, out, factor):
    """Part of `add_sliding_damping` by strains that change as sections slide (T122)."""
    first, n, j = arm.first[i], arm.modes[i], arm.slide[i]
    s, ds, time = free_length(arm, i, q), qd[j], arm.slide_data[i, TIME]
    share, on_length, power = ds / s, 0.0, 0.0
    for k in range(n):
        scale, _ = strain_scales(arm, i, k, s)
        scale *= time
        force = 0.0
        for m in range(n):
            e, de = q[first + m], qd[first + m]
            force += scale * arm.slide_G[i, k, m] * e * share
            rate = arm.slide_G[i, m, k] * de + arm.slide_Q[i, k, m] * e * share
            on_length += scale / s * q[first + k] * rate
        out[first + k] += factor * force
        power += force * qd[first + k]
    out[j] += factor * on_length
    return power + on_length * ds


@compiled
def sliding_strain_energy(arm, i, q):
    """Strain energy of sliding body i [J] (T121)."""
    first, n, energy = arm.first[i], arm.modes[i], 0.0
    s = free_length(arm, i, q)
    for k in range(n):
        scale, _ = strain_scales(arm, i, k, s)
        for m in range(n):
            energy += 0.5 * scale * q[first + k] * arm.stiffness[i, k, m] * q[first + m]
    return energy


@compiled
def add_sliding_slopes(arm, i, q, K):
    """Add the second derivatives of the strain energy of sliding body i to K (n, n)."""
    first, n, j = arm.first[i], arm.modes[i], arm.slide[i]
    s = free_length(arm, i, q)
    for k in range(n):
        scale, p = strain_scales(arm, i, k, s)
        for m in range(n):
            stiffness, e = scale * arm.stiffness[i, k, m], q[first + m]
            K[first + k, first + m] += stiffness
            K[first + k, j] -= p / s * stiffness * e
            K[j, first + k] -= p / s * stiffness * e
            K[j, j] += 0.5 * p * (p + 1.0) / (s * s) * q[first + k] * stiffness * e


@compiled
def set_sliding_springs(arm, q, ratio, push):
    """Set ratios of stiffness (n,) and pushes of strains (n,) of all coordinates (T121)."""
    ratio[:], push[:] = 1.0, 0.0
    for i in range(arm.parent.size):
        if arm.kind[i] != SLIDING:
            continue
        first, s, on_length = arm.first[i], free_length(arm, i, q), 0.0
        for k in range(arm.modes[i]):
            scale, power = strain_scales(arm, i, k, s)
            ratio[first + k] = scale
            for m in range(arm.modes[i]):
                on_length += power * scale * q[first + k] * arm.stiffness[i, k, m] * q[first + m]
        push[arm.slide[i]] = 0.5 * on_length / s
