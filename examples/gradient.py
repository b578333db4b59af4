"""Minimum effort from rest to rest: an optimiser with gradients from `frs.derivatives`."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import flex_robot_sim as frs

arm, goal = frs.load('single_link'), np.array([[0.8, 0.0, 0.0], [0.0, 0.0, 0.0]])  # q and v


def cost(u, h=2e-3, weight=1e3):
    """Cost of efforts u (steps,) [N m], and its gradient by the adjoint of Euler's method."""
    x, path, slope = np.zeros((2, arm.nq)), [], 2 * h * u
    for effort in u:
        path.append(x)
        v = x[1] + h * frs.forward_dynamics(arm, x[0], x[1], [effort])
        x = np.array([x[0] + h * v, v])
    to_q, to_v = 2 * weight * (x - goal)
    for k in reversed(range(len(u))):
        to_v, d = to_v + h * to_q, frs.derivatives(arm, path[k][0], path[k][1], u[k : k + 1])
        slope[k] += h * d.da_deffort[:, 0] @ to_v
        to_q, to_v = to_q + h * d.da_dq.T @ to_v, to_v + h * d.da_dv.T @ to_v
    return h * u @ u + weight * ((x - goal) ** 2).sum(), slope


found = minimize(cost, np.zeros(400), jac=True, method='L-BFGS-B', options={'maxiter': 400})
print(f'cost {found.fun:.4f} after {found.nit} iterations; {cost(np.zeros(400))[0]:.0f} at first')
plt.axes(xlabel='time [ms]', ylabel='effort [N m]').step(2 * np.arange(400), found.x)
plt.savefig('gradient.png', dpi=120)
