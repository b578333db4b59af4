"""
The mass matrix by the composite body algorithm, compiled for queries in a loop.

From tip to base, the inertia I, B, E of every body is added to that of its parent (T21). An
acceleration of one coordinate then requires a wrench on the composite body: I A for its joint,
and a column of B for an elastic coordinate. Moved towards the base, this wrench gives the entries
of the coordinates that it passes (Featherstone, Rigid Body Dynamics Algorithms, 2008, table 6.2).

A simulation checks its arm by `mass_matrix.py`, which compiles nothing more before the first step.
"""

from flex_robot_sim.dynamics.forward_dynamics import add_to_station, set_bodies
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.spatial.screws import add_inertia_to_parent, add_to_parent, dot, set_product


@compiled
def set_mass_matrix(arm, q, work, M):
    """
    Set the mass matrix of all coordinates, rotors included.

    :param arm: ArmModel with n coordinates.
    :param q: coordinates, (n,) [rad, m].
    :param M: zeros; receives the mass matrix, (n, n).
    """
    set_bodies(arm, q, q, work)  # the inertia is the same for any rates
    for i in range(arm.parent.size - 1, -1, -1):
        parent, station, j, own = arm.parent[i], arm.station[i], arm.joint[i], arm.own[i]
        # elastic coordinates of the body
        for k in range(arm.block[i]):
            for m in range(k + 1):
                M[own[k], own[m]] = M[own[m], own[k]] = work.E[i, k, m]
            for r in range(6):
                work.F[i, r] = work.B[i, r, k]
            set_entries(arm, i, own[k], work, M)
        if arm.slide[i] >= 0:
            slide = arm.slide[i]
            motor = arm.motor[slide] if arm.motor[slide] >= 0 else slide
            M[motor, motor] += arm.rotor[slide]
        # its joint, and the motor behind an elastic gear
        if j >= 0:
            set_product(work.I[i], arm.screw[i], work.F[i])
            set_entries(arm, i, j, work, M)
            motor = arm.motor[j] if arm.motor[j] >= 0 else j
            M[motor, motor] += arm.rotor[j]
        elif parent < 0:
            for b in range(arm.base.shape[0]):
                for c in range(arm.base.shape[0]):
                    M[arm.base[b, 0], arm.base[c, 0]] = work.I[0, arm.base[b, 1], arm.base[c, 1]]
        # the composite body becomes a part of the parent
        if parent >= 0 and station < 0:
            add_inertia_to_parent(work.R[i], work.origin[i], work.I[i], work.I[parent])
        elif parent >= 0:
            add_to_station(i, parent, station, arm.block[parent], work)


@compiled
def set_entries(arm, body, row, work, M):
    """Entries in a row of M, and in its column, by the wrench work.F[body] from the parent."""
    i = body
    while i >= 0:
        j, parent, station, F = arm.joint[i], arm.parent[i], arm.station[i], work.F[i]
        if j >= 0:
            M[row, j] = M[j, row] = dot(F, arm.screw[i])
        elif parent < 0:
            for b in range(arm.base.shape[0]):
                k = arm.base[b, 0]
                M[row, k] = M[k, row] = F[arm.base[b, 1]]
        if parent >= 0:
            y = work.F[parent]
            y[:] = 0.0
            add_to_parent(work.R[i], work.origin[i], F, y)
            if station >= 0:
                own = arm.own[parent]
                for k in range(arm.block[parent]):
                    total = 0.0
                    for r in range(6):
                        total += work.K[station, r, k] * y[r]
                    M[row, own[k]] = M[own[k], row] = total
        i = parent
