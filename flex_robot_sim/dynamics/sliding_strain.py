"""
Strain energy and damping of sliding links.

The strains of a free length s, curvatures phi'' e / s^2 and twist phi' e / s, have the energy

    V = 1/2 e^T K(s) e,   K(s) = (L/s)^p K(L),   p = 3 in bending and 1 in torsion          (T121)

so that a strained link pushes along its guide with p V / s. A section of the material changes its
strain also because it slides: with c(xi) for phi'' or phi' and u = (p + 1)/2, per unit of strain,

    d strain = [c de + (c' (1 - xi) - u c) e ds / s] / s^u                                   (T122)

Kelvin-Voigt damping has the dissipation tau times the energy of this rate.
"""

from flex_robot_sim.dynamics.sliding_body import free_length
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.slide_columns import LENGTH, TIME


@compiled
def stiffness_scale(arm, i, k, s):
    """Ratio of the stiffness of elastic coordinate k at the free length s to that at L."""
    ratio = arm.slide_data[i, LENGTH] / s
    if k < arm.count[i, 0] + arm.count[i, 1]:
        return ratio * ratio * ratio
    return ratio


@compiled
def add_sliding_strain(arm, i, q, qd, h, guess, work):
    """Set the forces of the strains of sliding body i, and add that on its joint (T121)."""
    first, n, j = arm.first[i], arm.modes[i], arm.slide[i]
    s = free_length(arm, i, q)
    bending = arm.count[i, 0] + arm.count[i, 1]
    for k in range(n + 1):
        work.implicit[i, k, n] = work.implicit[i, n, k] = 0.0
    for k in range(n):
        scale, power = stiffness_scale(arm, i, k, s), 3.0 if k < bending else 1.0
        force = 0.0
        for m in range(n):
            K = scale * arm.stiffness[i, k, m]
            D = sliding_damping(arm, i, k, m, scale, s)
            implicit = h * (0.25 * h * K + 0.5 * D)
            work.implicit[i, k, m] = implicit
            force -= K * q[first + m]
            if h > 0.0:
                force += implicit * guess[first + m]
        stress = 0.0
        for m in range(n):
            stress += scale * arm.stiffness[i, k, m] * q[first + m]
        work.force[j] += 0.5 * power * q[first + k] * stress / s
        work.force[first + k] = force
    add_sliding_damping(arm, i, q, qd, work.force, -1.0)


@compiled
def sliding_damping(arm, i, k, m, scale, s):
    """Damping between elastic coordinates k and m of sliding body i."""
    damping = arm.damping[i, k, m]  # with the same ratio at any free length
    if k < arm.count[i, 0] + arm.count[i, 1]:
        damping *= arm.slide_data[i, LENGTH] / s
    return arm.slide_data[i, TIME] * scale * arm.stiffness[i, k, m] + damping


@compiled
def add_sliding_damping(arm, i, q, qd, out, factor):
    """
    Add `factor` times the damping of sliding body i times the rates qd to out (n,) (T122).

    :returns: the dissipated power [W].
    """
    first, n, j = arm.first[i], arm.modes[i], arm.slide[i]
    s, ds, power = free_length(arm, i, q), qd[j], 0.0
    share, time = ds / s, arm.slide_data[i, TIME]
    on_length = 0.0
    for k in range(n):
        scale = stiffness_scale(arm, i, k, s)
        force = 0.0
        for m in range(n):
            e, de = q[first + m], qd[first + m]
            force += sliding_damping(arm, i, k, m, scale, s) * de
            force += time * scale * arm.slide_G[i, k, m] * e * share
            on_length += (
                time
                * scale
                / s
                * q[first + k]
                * (arm.slide_G[i, m, k] * de + arm.slide_Q[i, k, m] * e * share)
            )
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
        scale = 0.5 * stiffness_scale(arm, i, k, s)
        for m in range(n):
            energy += scale * q[first + k] * arm.stiffness[i, k, m] * q[first + m]
    return energy


@compiled
def add_sliding_slopes(arm, i, q, K):
    """Add the second derivatives of the strain energy of sliding body i to K (n, n)."""
    first, n, j = arm.first[i], arm.modes[i], arm.slide[i]
    s, bending = free_length(arm, i, q), arm.count[i, 0] + arm.count[i, 1]
    for k in range(n):
        scale, p = stiffness_scale(arm, i, k, s), 3.0 if k < bending else 1.0
        for m in range(n):
            stiffness, e = scale * arm.stiffness[i, k, m], q[first + m]
            K[first + k, first + m] += stiffness
            K[first + k, j] -= p / s * stiffness * e
            K[j, first + k] -= p / s * stiffness * e
            K[j, j] += 0.5 * p * (p + 1.0) / (s * s) * q[first + k] * stiffness * e
