"""What dual screws cost, and how near their linearised inertia comes to losing its sign."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations.dual_projection import Projections
from flex_robot_sim.formulations.dual_screw import DualScrew, Variant
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.motion import Run
from flex_robot_sim.reproduce.report import Number


def validity(arm: ArmModel, run: Run, start: np.ndarray) -> Iterator[Number]:
    """Numbers that say how near the linearised mass matrix comes to losing its sign."""
    linear, still = DualScrew(arm, Variant(keeps_energy=False)), np.zeros(arm.size)

    def share(q):
        """Smallest inertia of a motion, linearised over exact."""
        return eigh(linear.mass_matrix_and_bias(q, still)[0], mass_matrix(arm.arrays, q),
                    eigvals_only=True)[0]

    rows = np.linspace(0, len(run.q) - 1, 40).round().astype(int)
    yield Number('inertia of any motion on the way, linearised over exact, at least',
                 min(share(run.q[row]) for row in rows), '')
    bent = arm.coordinate_names.index('link_2/bending_y_1')
    for name, pose in (('as at the start', start), ('stretched', np.zeros(4))):
        q = still.copy()
        q[:4] = pose

        def share_if(v, q=q):
            return share(np.where(np.arange(arm.size) == bent, v, q))

        yield Number(f'{name}, no inertia is left if link 2 bends by',
                     1e3 * brentq(share_if, 0.0, 0.1), 'mm')


def evaluation_costs(arm: ArmModel, count: int = 20) -> tuple[float, float]:
    """Time [s] of the accelerations as machine code, and by the matrices of `system`."""
    dual, force = DualScrew(arm), np.zeros(arm.size)
    q, u = 1e-3 * np.random.default_rng(0).normal(size=(2, arm.size))

    def by_matrices():
        M, C, _, tau = dual.system(q, u)
        return np.linalg.solve(M, force + tau - C @ u)

    return _best(lambda: dual.accelerations(q, u, force), count), _best(by_matrices, count)


def derivative_costs(arm: ArmModel, count: int = 3) -> tuple[float, float]:
    """Time [s] of the rates of all projection matrices, geometric and by the chain rule."""
    rng = np.random.default_rng(0)
    q, u = 0.1 * rng.normal(size=(2, arm.size))
    projections = Projections(arm)
    points = DualScrew(arm).points          # centres of mass, and sections

    def matrices(x):
        return projections.project_points(projections.links(x), points, x, u)

    def by_chain_rule():
        rate, step = 0.0, 1e-6
        for k, unit in enumerate(np.eye(arm.size)):
            ahead, behind = matrices(q + step * unit), matrices(q - step * unit)
            rate = rate + (ahead.jacobian - behind.jacobian) * (u[k] / (2 * step))
        return rate

    return _best(lambda: matrices(q), count), _best(by_chain_rule, count)


def _best(function, count):
    times = []
    for _ in range(count):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)
