"""
A step that is also implicit in the dampers that couple several bodies.

The recursion solves A x = f with A = M + h/2 D + h^2/4 K of the terms within bodies and joints
(T40). The dampers S S^T of (T5) are not in A. If they are strong in the present pose with free
joints, fixed-point iteration with their force converges slowly or diverges: its rate is the
largest eigenvalue of A^-1 h/2 S S^T. Conjugate gradients for

    (A + h/2 S S^T) d = -h/2 S S^T (x - guess),   x + d instead of x                         (T45)

with A as the preconditioner always converge (Saad, Iterative Methods for Sparse Linear Systems,
2003, algorithm 9.1). A is already factored, and all forces here act on elastic coordinates, so
that each iteration takes two short sweeps.
"""

from flex_robot_sim.dynamics.factor_reuse import solve_with_factors
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.damping import add_shared_damping_force

CG_TOLERANCE = 1e-4  # relative residual in the norm of A^-1
MAX_CG_ITERATIONS = 40


@compiled
def apply_coupled_damping(arm, h, guess, work, qdd):
    """
    Correct accelerations as if the dampers S S^T had been part of the elimination (T45).

    :param h: step of the last `solve_dynamics`, whose factors are in work [s].
    :param guess: accelerations that its rates were predicted with, (n,).
    :param qdd: accelerations that it found, (n,); corrected.
    :returns: number of iterations.
    """
    direction, A_direction = work.cg_vectors[0], work.cg_vectors[1]
    residual, scratch = work.cg_vectors[2], work.cg_vectors[3]
    for k in range(qdd.size):
        scratch[k] = qdd[k] - guess[k]
    direction[:] = 0.0
    A_direction[:] = 0.0
    residual[:] = 0.0
    add_shared_damping_force(arm, -0.5 * h, scratch, work, residual)
    first_squared_norm = last_squared_norm = 0.0
    for iteration in range(MAX_CG_ITERATIONS):
        solve_with_factors(arm, residual, work, scratch)
        squared_norm = beta = curvature = 0.0
        for k in range(qdd.size):
            squared_norm += residual[k] * scratch[k]
        if iteration == 0:
            first_squared_norm = squared_norm
        else:
            beta = squared_norm / last_squared_norm
        if not squared_norm > CG_TOLERANCE * CG_TOLERANCE * first_squared_norm:
            return iteration
        for k in range(qdd.size):
            direction[k] = scratch[k] + beta * direction[k]
            A_direction[k] = residual[k] + beta * A_direction[k]  # A times the direction
            scratch[k] = A_direction[k]
        add_shared_damping_force(arm, 0.5 * h, direction, work, scratch)
        for k in range(qdd.size):
            curvature += direction[k] * scratch[k]
        for k in range(qdd.size):
            qdd[k] += squared_norm / curvature * direction[k]
            residual[k] -= squared_norm / curvature * scratch[k]
        last_squared_norm = squared_norm
    return MAX_CG_ITERATIONS
