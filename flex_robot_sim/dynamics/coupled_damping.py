"""
A step that is implicit in the dampers that reach from body to body, too.

The recursion solves A x = f with A = M + h/2 D + h^2/4 K of what stays inside bodies and joints
(T40). The dampers S S^T of (T5) are no part of A. Where they are strong for the arm in its present
pose, with joints that are free, iterating with their force at the last guess gains little or
diverges: it leaves a share of the largest eigenvalue of A^-1 h/2 S S^T. Conjugate gradients for

    (A + h/2 S S^T) d = -h/2 S S^T (x - guess),   x + d instead of x                         (T45)

with A as the preconditioner always converge (Saad, Iterative Methods for Sparse Linear Systems,
2003, algorithm 9.1). A is factored by then, and all forces here act on elastic coordinates, so
that each of their steps is two short sweeps.
"""

from flex_robot_sim.dynamics.factor_reuse import set_answer
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.damping import add_shared_pull

LEFT_OVER = 1e-4        # share of what was lacking that may be left, in the norm of A^-1
MOST_ROUNDS = 40


@compiled
def apply_coupled_damping(arm, h, guess, work, qdd):
    """
    Correct accelerations as if the dampers S S^T had been part of the elimination (T45).

    :param h: step of the `solve_dynamics` that has last left its factors in work [s].
    :param guess: accelerations with which its rates were made, (n,).
    :param qdd: what it found, (n,); corrected.
    :returns: rounds taken.
    """
    way, pull = work.together[0], work.together[1]
    lack, answer = work.together[2], work.together[3]
    for k in range(qdd.size):
        answer[k] = qdd[k] - guess[k]
    way[:] = 0.0
    pull[:] = 0.0
    lack[:] = 0.0
    add_shared_pull(arm, -0.5 * h, answer, work, lack)
    first = last = 0.0
    for rounds in range(MOST_ROUNDS):
        set_answer(arm, lack, work, answer)
        power = turn = whole = 0.0
        for k in range(qdd.size):
            power += lack[k] * answer[k]
        if rounds == 0:
            first = power
        else:
            turn = power / last
        if not power > LEFT_OVER * LEFT_OVER * first:
            return rounds
        for k in range(qdd.size):
            way[k] = answer[k] + turn * way[k]
            pull[k] = lack[k] + turn * pull[k]          # A times the way
            answer[k] = pull[k]
        add_shared_pull(arm, 0.5 * h, way, work, answer)
        for k in range(qdd.size):
            whole += way[k] * answer[k]
        for k in range(qdd.size):
            qdd[k] += power / whole * way[k]
            lack[k] -= power / whole * answer[k]
        last = power
    return MOST_ROUNDS
