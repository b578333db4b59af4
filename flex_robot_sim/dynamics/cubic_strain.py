"""
Cubic strain energy of elastic bodies: 1/3 sum C_ijk e_i e_j e_k of soft coordinates (T96).

It couples bending with twist in reduced links. Equation numbers are those of docs/theory.md.
"""

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import ELASTIC


@compiled
def twice_contracted(matrix, q, first, n):
    """Return e^T A e of a matrix A and the n coordinates e from `first` on."""
    total = 0.0
    for m in range(n):
        part = 0.0
        for l in range(n):
            part += matrix[m, l] * q[first + l]
        total += part * q[first + m]
    return total


@compiled
def add_cubic_force(arm, i, q, work):
    """Add the force -C e e of elastic body i to work.force."""
    first, C = arm.first[i], arm.elastic_C[i]
    n = min(arm.modes[i], C.shape[0])
    for k in range(n):
        work.force[first + k] -= twice_contracted(C[k], q, first, n)


@compiled
def cubic_energy(arm, i, q):
    """Cubic strain energy of elastic body i [J]."""
    first, C, energy = arm.first[i], arm.elastic_C[i], 0.0
    n = min(arm.modes[i], C.shape[0])
    for k in range(n):
        energy += twice_contracted(C[k], q, first, n) * q[first + k]
    return energy / 3.0


@compiled
def add_cubic_slopes(arm, q, K):
    """Add the slopes 2 C e of the force with the coordinates to K (n, n)."""
    for i in range(arm.parent.size):
        if arm.kind[i] == ELASTIC:
            first, n = arm.first[i], min(arm.modes[i], arm.elastic_C.shape[1])
            for k in range(n):
                for m in range(n):
                    for l in range(n):
                        K[first + k, first + m] += 2.0 * arm.elastic_C[i, k, m, l] * q[first + l]
