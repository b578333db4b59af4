"""
Responses of an arm to unit forces of the rows of its closed loops.

`eliminate` leaves A = L^T diag(1/w) L, where L^-T f is the sweep from tip to base and w is the
inverse inertia about each joint, and 1 for modes. For a row of the Jacobian W, only the bodies
between the row and the base take part in this sweep. With y = L^-T W^T,

    D = W A^-1 W^T = y^T diag(w) y,   X = A^-1 W^T = L^-1 diag(w) y                          (T73)

so that D has no negative eigenvalue, and X takes one sweep from base to tip. Redundant rows make
D singular; a small share of its diagonal keeps its factor finite, and iteration removes the
effect of it. In a singular pose, a row of W may vanish. Closed gaps place the joints there to the
root of their rounding only, so that the direction of such a row is arbitrary: it is left out.
"""

from math import inf

from flex_robot_sim.dynamics.constraints.rows import set_jacobian
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.body_kinds import COMMON_SHAPES

PROXIMAL_WEIGHT = 1e-10  # share of the diagonal of D that is added to it
MIN_ROW_SHARE = 1e-12  # of D, over the largest row of a constraint; below it W is rounding
SAFETY = 0.1  # of the prediction that the last correction suffices


@compiled
def factor_constraints(arm, work):
    """Jacobian W, responses X, and the factor of D, from the factors of `solve_dynamics`."""
    set_jacobian(arm, work)
    set_responses(arm, work.constraint_jacobian, work)


@compiled
def set_responses(arm, W, work):
    """Responses X and the factor of D, for the factors of `solve_dynamics` and any Jacobian W."""
    for g in range(arm.constraint_rows.shape[0]):
        sweep_to_base(arm, arm.constraint_rows[g, 0], arm.constraint_rows[g, 1], W, work)
    factor_matrix(arm, work)
    sweep_to_tip(arm, work)


@compiled(inline=True)
def sweep_to_base(arm, first, end, W, work):
    """
    Set y, in place of X, of the rows of one constraint.

    :param first: its first row; end: the row after its last one; W: Jacobian, (c, n).
    """
    X, F, b = work.constraint_response, work.row_wrench, work.row_modal_force
    parent = first_with_coordinates(arm, arm.constraint_body[first, 0])
    child = first_with_coordinates(arm, arm.constraint_body[first, 1])
    for r in range(first, end):
        for k in range(X.shape[1]):
            X[r, k] = 0.0
        for k in range(6):
            F[0, r, k] = F[1, r, k] = 0.0
        for k in range(arm.modes[parent] if parent >= 0 else 0):
            b[0, r, k] = 0.0
        for k in range(arm.modes[child] if child >= 0 else 0):
            b[1, r, k] = 0.0
    while parent >= 0 or child >= 0:  # parents come before their children
        if parent == child:
            for r in range(first, end):
                for k in range(6):
                    F[0, r, k] += F[1, r, k]
                for k in range(arm.modes[parent]):
                    b[0, r, k] += b[1, r, k]
            child = -1
        if parent > child:
            pass_body(arm, parent, first, end, W, F[0], b[0], work)
            parent = arm.parent[parent]
        else:
            pass_body(arm, child, first, end, W, F[1], b[1], work)
            child = arm.parent[child]


@compiled(inline=True)
def first_with_coordinates(arm, i):
    """The first body from body i towards the base that has coordinates; -1: none."""
    while i >= 0 and arm.joint[i] < 0 and arm.modes[i] == 0:
        if arm.parent[i] < 0 and arm.base.shape[0] > 0:
            return i  # a free base
        i = arm.parent[i]
    return i


@compiled(inline=True)
def pass_body(arm, i, first, end, W, F, b, work):
    """
    Eliminate body i for some rows, and pass what is left to its parent.

    :param F: bias wrenches of the rows on the body, (c, 6), then on its parent.
    :param b: their bias forces on the modes, (c, n).
    """
    X, n, j = work.constraint_response, arm.modes[i], arm.joint[i]
    R, p, parent, s = work.solved_R[i], work.solved_p[i], arm.parent[i], arm.station[i]
    E, Z, A, IA, start = work.E[i], work.Z[i], arm.screw[i], work.IA[i], arm.first[i]
    share = 0.0
    if j >= 0 and (arm.motor[j] >= 0 or work.prescribed[j] == 0.0):
        share = 1.0 / work.d[i]
    for r in range(first, end):
        F6 = F[r, 0], F[r, 1], F[r, 2], F[r, 3], F[r, 4], F[r, 5]
        if n == COMMON_SHAPES[5]:
            F6 = eliminate_modal_forces(W[r], b[r], start, COMMON_SHAPES[5], E, Z, F6, X[r])
        elif n > 0:
            F6 = eliminate_modal_forces(W[r], b[r], start, n, E, Z, F6, X[r])
        F0, F1, F2, F3, F4, F5 = F6
        if parent < 0 and arm.base.shape[0] > 0:
            eliminate_base_forces(arm, W[r], F6, work, X[r])
            continue
        if j >= 0:
            tau = W[r, j] - (A[0] * F0 + A[1] * F1 + A[2] * F2)
            tau -= A[3] * F3 + A[4] * F4 + A[5] * F5
            X[r, j] = tau
            if parent < 0:
                continue
            tau *= share
            F0 += IA[0] * tau
            F1 += IA[1] * tau
            F2 += IA[2] * tau
            F3 += IA[3] * tau
            F4 += IA[4] * tau
            F5 += IA[5] * tau
        x = R[0, 0] * F3 + R[0, 1] * F4 + R[0, 2] * F5
        y = R[1, 0] * F3 + R[1, 1] * F4 + R[1, 2] * F5
        z = R[2, 0] * F3 + R[2, 1] * F4 + R[2, 2] * F5
        u = R[0, 0] * F0 + R[0, 1] * F1 + R[0, 2] * F2 + p[1] * z - p[2] * y
        v = R[1, 0] * F0 + R[1, 1] * F1 + R[1, 2] * F2 + p[2] * x - p[0] * z
        w = R[2, 0] * F0 + R[2, 1] * F1 + R[2, 2] * F2 + p[0] * y - p[1] * x
        F[r, 0], F[r, 1], F[r, 2], F[r, 3], F[r, 4], F[r, 5] = u, v, w, x, y, z
        if s >= 0:
            K = work.solved_K[s]
            for k in range(arm.modes[parent]):
                total = K[0, k] * u + K[1, k] * v + K[2, k] * w
                b[r, k] = total + K[3, k] * x + K[4, k] * y + K[5, k] * z


@compiled
def eliminate_base_forces(arm, W, F, work, X):
    """Set y, in X, of a free base for one row; F: bias wrench on it, six numbers."""
    L, wrench = work.base_factor, work.y
    wrench[0], wrench[1], wrench[2], wrench[3], wrench[4], wrench[5] = F
    for b in range(arm.base.shape[0]):
        y = W[arm.base[b, 0]] - wrench[arm.base[b, 1]]
        for k in range(b):
            y -= L[b, k] * X[arm.base[k, 0]]
        X[arm.base[b, 0]] = y * L[b, b]


@compiled
def set_base_response(arm, work, X, acceleration):
    """Set X of a free base for one row, from y, and the acceleration (6,) of its body."""
    L, count = work.base_factor, arm.base.shape[0]
    for r in range(6):
        acceleration[r] = 0.0
    for b in range(count - 1, -1, -1):
        x = X[arm.base[b, 0]]
        for k in range(b + 1, count):
            x -= L[k, b] * X[arm.base[k, 0]]
        X[arm.base[b, 0]] = acceleration[arm.base[b, 1]] = x * L[b, b]


@compiled(inline=True)
def eliminate_modal_forces(W, b, start, n, E, Z, F, X):
    """
    Set y of the n modes of a body for one row, and return the wrench that is left, six numbers.

    :param W, b: generalised forces (n,) and bias forces on the modes; F: bias wrench.
    :param start: first coordinate of the modes; X: receives y.
    """
    F0, F1, F2, F3, F4, F5 = F
    for k in range(n):
        z = W[start + k] - b[k]
        for m in range(k):
            z -= E[k, m] * X[start + m]
        z *= E[k, k]
        X[start + k] = z
        F0 += Z[k, 0] * z
        F1 += Z[k, 1] * z
        F2 += Z[k, 2] * z
        F3 += Z[k, 3] * z
        F4 += Z[k, 4] * z
        F5 += Z[k, 5] * z
    return F0, F1, F2, F3, F4, F5


@compiled(inline=True)
def factor_matrix(arm, work):
    """
    Factors of D^-1 = M^T diag(m) M from y, with M lower triangular; m replaces its diagonal of 1.

    Both are zero for a row without a response.
    """
    M, w, weighted = work.constraint_factor, work.cg_vectors[0], work.cg_vectors[1]
    y, d = work.constraint_response, work.constraint_change
    for k in range(w.size):
        w[k] = 1.0
    for i in range(arm.parent.size):
        j = arm.joint[i]
        if j >= 0:
            is_free = arm.motor[j] >= 0 or work.prescribed[j] == 0.0
            w[j] = 1.0 / work.d[i] if is_free else 0.0
    note_vanishing_rows(arm, w, y, work)
    for r in range(arm.constraint_kind.size):
        for k in range(w.size):
            weighted[k] = w[k] * y[r, k] * (1.0 - work.constraint_vanishes[r])
        for s in range(r + 1):  # row r of D
            d[s] = 0.0
            for k in range(w.size):
                d[s] += weighted[k] * y[s, k]
        least = PROXIMAL_WEIGHT * d[r]
        pivot = d[r] + least + work.constraint_compliance[r]
        for s in range(r - 1, -1, -1):  # replace it by diag(m) M times the row
            product = d[s]
            for k in range(s):
                product += M[s, k] * d[k]
            d[s] = M[s, s] * product
            pivot -= d[s] * product
        for s in range(r):
            M[r, s] = -d[s]
            for k in range(s + 1, r):
                M[r, s] -= d[k] * M[k, s]
        # rounding may take more from a redundant row than there is
        M[r, r] = 1.0 / max(pivot, least) if least > 0.0 else 0.0


@compiled(inline=True)
def note_vanishing_rows(arm, w, y, work):
    """Set work.constraint_vanishes, for diag(w) and y of (T73)."""
    vanishes, size = work.constraint_vanishes, work.constraint_change
    for g in range(arm.constraint_rows.shape[0]):
        first, end = arm.constraint_rows[g, 0], arm.constraint_rows[g, 1]
        for r in range(first, end):
            size[r] = 0.0
            for k in range(w.size):
                size[r] += w[k] * y[r, k] * y[r, k]
        for r in range(first, end):
            largest = 0.0
            for s in range(first, end):
                if arm.constraint_kind[s] == arm.constraint_kind[r]:
                    largest = max(largest, size[s])
            vanishes[r] = 1.0 if 0.0 < size[r] < MIN_ROW_SHARE * largest else 0.0


@compiled(inline=True)
def sweep_to_tip(arm, work):
    """Set X from y."""
    X = work.constraint_response
    for i in range(arm.parent.size):
        if not arm.has_coordinates[i]:
            continue
        R, p, parent, s = work.solved_R[i], work.solved_p[i], arm.parent[i], arm.station[i]
        j, n, start, E, Z = arm.joint[i], arm.modes[i], arm.first[i], work.E[i], work.Z[i]
        A, IA, m, share = arm.screw[i], work.IA[i], -1, 0.0
        if j >= 0:
            m = arm.motor[j]
            if m >= 0 or work.prescribed[j] == 0.0:
                share = 1.0 / work.d[i]
        for r in range(arm.constraint_kind.size):
            if parent < 0 and arm.base.shape[0] > 0:
                set_base_response(arm, work, X[r], work.row_acceleration[i, r])
                continue
            a0 = a1 = a2 = a3 = a4 = a5 = 0.0  # acceleration of the body
            if parent >= 0:
                dV = work.row_acceleration[parent, r]
                x, y, z, u, v, w = dV[0], dV[1], dV[2], dV[3], dV[4], dV[5]
                if s >= 0:
                    K = work.solved_K[s]
                    for k in range(arm.modes[parent]):
                        e = X[r, arm.first[parent] + k]
                        x += K[0, k] * e
                        y += K[1, k] * e
                        z += K[2, k] * e
                        u += K[3, k] * e
                        v += K[4, k] * e
                        w += K[5, k] * e
                u += y * p[2] - z * p[1]
                v += z * p[0] - x * p[2]
                w += x * p[1] - y * p[0]
                a0 = R[0, 0] * x + R[1, 0] * y + R[2, 0] * z
                a1 = R[0, 1] * x + R[1, 1] * y + R[2, 1] * z
                a2 = R[0, 2] * x + R[1, 2] * y + R[2, 2] * z
                a3 = R[0, 0] * u + R[1, 0] * v + R[2, 0] * w
                a4 = R[0, 1] * u + R[1, 1] * v + R[2, 1] * w
                a5 = R[0, 2] * u + R[1, 2] * v + R[2, 2] * w
            if j >= 0:
                x = X[r, j] - (IA[0] * a0 + IA[1] * a1 + IA[2] * a2)
                x = share * (x - (IA[3] * a3 + IA[4] * a4 + IA[5] * a5))
                X[r, j] = x
                if m >= 0:
                    X[r, m] = (
                        0.0
                        if work.prescribed[j] != 0.0
                        else work.coupling[j] * x / work.added_inertia[m]
                    )
                a0 += x * A[0]
                a1 += x * A[1]
                a2 += x * A[2]
                a3 += x * A[3]
                a4 += x * A[4]
                a5 += x * A[5]
            a = a0, a1, a2, a3, a4, a5
            if n == COMMON_SHAPES[5]:
                set_modal_responses(a, start, COMMON_SHAPES[5], E, Z, X[r])
            elif n > 0:
                set_modal_responses(a, start, n, E, Z, X[r])
            dV = work.row_acceleration[i, r]
            dV[0], dV[1], dV[2], dV[3], dV[4], dV[5] = a


@compiled(inline=True)
def set_modal_responses(a, start, n, E, Z, X):
    """Set X of the n modes of a body, which start at a coordinate, from y and its acceleration."""
    for k in range(n - 1, -1, -1):
        z = X[start + k] - (Z[k, 0] * a[0] + Z[k, 1] * a[1] + Z[k, 2] * a[2])
        z -= Z[k, 3] * a[3] + Z[k, 4] * a[4] + Z[k, 5] * a[5]
        for l in range(k + 1, n):
            z -= E[l, k] * X[start + l]
        X[start + k] = z * E[k, k]


@compiled
def remove_rates(arm, W, limit, rounds, work, rates):
    """
    Add X d to rates (n,) so that the rates of all rows are zero, for the sum d of impulses.

    The rate of row r is work.constraint_gap[r] + W[r] . rates + c d[r], with its compliance c
    (T75). W may be that of a nearby state.

    :param W: Jacobian, (c, n); limit: on the rates of rows that need no change.
    :param rounds: largest number of corrections.
    :returns: the largest rate before the last correction, or `limit` if that leaves less;
        work.constraint_impulse receives d.
    """
    d, x, largest, last = work.constraint_impulse, work.constraint_change, 0.0, inf
    for r in range(d.size):
        d[r] = 0.0
    for _ in range(rounds):
        largest = 0.0
        for r in range(d.size):
            rate = work.constraint_gap[r] + work.constraint_compliance[r] * d[r]
            for k in range(rates.size):
                rate += W[r, k] * rates[k]
            if work.constraint_vanishes[r] != 0.0:
                rate = 0.0
            largest = max(largest, abs(rate))
            x[r] = -rate
        if not limit < largest < last:
            break
        # each correction leaves about the same share
        is_last = last < inf and largest * largest <= SAFETY * limit * last
        last = largest
        solve_matrix(work.constraint_factor, x)
        for r in range(d.size):
            d[r] += x[r]
        add_response(arm, 1.0, x, work, rates)
        if is_last:
            return limit
    return largest


@compiled(inline=True)
def solve_matrix(M, x):
    """Solve for x (c,), given as the right side, with the factors of D^-1."""
    for r in range(x.size - 1, -1, -1):
        for s in range(r):
            x[r] += M[r, s] * x[s]
    for r in range(x.size):
        x[r] *= M[r, r]
    for r in range(x.size):
        for s in range(r + 1, x.size):
            x[r] += M[s, r] * x[s]


@compiled(inline=True)
def add_response(arm, factor, force, work, out):
    """Add factor X force, the accelerations or rates (n,) by forces of the rows (c,), to out."""
    for r in range(arm.constraint_kind.size):
        share = factor * force[r]
        for k in range(out.size):
            out[k] += share * work.constraint_response[r, k]
