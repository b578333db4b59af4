"""CPU time of dual screws, and the margin before their linearised inertia becomes indefinite."""

import time
from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations.dual_projection import Projections
from flex_robot_sim.formulations.dual_screw import DualScrew, Variant
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.reproduction import Number
from flex_robot_sim.reproduce.simulated_motion import Run


def inertia_margins(arm: ArmModel, run: Run, start: np.ndarray) -> Iterator[Number]:
    """Yield Numbers for the margin before the linearised mass matrix becomes indefinite."""
    linear, zeros = DualScrew(arm, Variant(keeps_energy=False)), np.zeros(arm.size)

    def inertia_ratio(q):
        """Return the smallest ratio of linearised to exact inertia over all velocities."""
        return eigh(
            linear.mass_matrix_and_bias(q, zeros)[0], mass_matrix(arm.arrays, q), eigvals_only=True
        )[0]

    rows = np.linspace(0, len(run.q) - 1, 40).round().astype(int)
    yield Number(
        'inertia of any motion on the way, linearised over exact, at least',
        min(inertia_ratio(run.q[row]) for row in rows),
        '',
    )
    bending_row = arm.coordinate_names.index('link_2/bending_y_1')
    for name, pose in (('as at the start', start), ('stretched', np.zeros(4))):
        q = zeros.copy()
        q[:4] = pose

        def inertia_ratio_if_bent(v, q=q):
            return inertia_ratio(np.where(np.arange(arm.size) == bending_row, v, q))

        yield Number(
            f'{name}, no inertia is left if link 2 bends by',
            1e3 * brentq(inertia_ratio_if_bent, 0.0, 0.1),
            'mm',
        )


def evaluation_costs(arm: ArmModel, count: int = 20) -> tuple[float, float]:
    """Return CPU times [s] of the accelerations: machine code, and the matrices of `system`."""
    dual, force = DualScrew(arm), np.zeros(arm.size)
    q, u = 1e-3 * np.random.default_rng(0).normal(size=(2, arm.size))

    def by_matrices():
        M, C, _, tau = dual.system(q, u)
        return np.linalg.solve(M, force + tau - C @ u)

    return (
        _min_cpu_time(lambda: dual.accelerations(q, u, force), count),
        _min_cpu_time(by_matrices, count),
    )


def derivative_costs(arm: ArmModel, count: int = 3) -> tuple[float, float]:
    """Return CPU times [s] of the rates of all projection matrices: geometric, chain rule."""
    rng = np.random.default_rng(0)
    q, u = 0.1 * rng.normal(size=(2, arm.size))
    projections = Projections(arm)
    points = DualScrew(arm).points  # centres of mass, and sections

    def matrices(x):
        return projections.project_points(projections.links(x), points, x, u)

    def by_chain_rule():
        rate, step = 0.0, 1e-6
        for k, unit in enumerate(np.eye(arm.size)):
            ahead, behind = matrices(q + step * unit), matrices(q - step * unit)
            rate = rate + (ahead.jacobian - behind.jacobian) * (u[k] / (2 * step))
        return rate

    return _min_cpu_time(lambda: matrices(q), count), _min_cpu_time(by_chain_rule, count)


def _min_cpu_time(function, count):
    times = []
    for _ in range(count):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)
