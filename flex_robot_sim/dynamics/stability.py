"""
The longest step that an explicit scheme can take with an arm whose links are straight.

That is at zero and in a few poses within the limits of its joints (T42). In others, and with links
that bend, some mode may be faster, and grow: explicit_schemes.py sees that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.util.eigenproblem import eigh

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmArrays

POSES = 4           # beside the zero pose: the highest frequency depends on the pose
UNDAMPED = 1e-7     # damping ratio that is as good as none
A_LITTLE = 1e-6     # share of a step, more than the edge of a scheme is found to


def longest_step(arrays: ArmArrays, scheme: str, stiffness: ArrayLike = 0.0,
                 damping: ArrayLike = 0.0, in_stops: bool = False) -> float:
    """
    Return the longest stable step [s] of a scheme: 0 if there is none, inf if all are stable.

    :param arrays: ArmArrays; its springs, dampers and friction count, gravity does not.
    :param in_stops: whether it is also to do while all joints with stops lean on them.
    :param stiffness: of a servo, (joints,) [N m/rad, N/m]; damping: likewise [N m s/rad, N s/m].
    """
    stops = [arrays.stop_damping] if in_stops else []
    return [*longest_steps(arrays, scheme, stiffness, damping, stops)][-1]


def longest_steps(arrays: ArmArrays, scheme: str, stiffness: ArrayLike, damping: ArrayLike,
                  stops: Iterable[np.ndarray]) -> Iterator[float]:
    """
    Yield what `longest_step` returns out of stops, then in stops with one damping after the other.

    :param stops: dampings of them, (joints,) each [N m s/rad, N s/m]; the others are as above.
    """
    if scheme in ('implicit_midpoint', 'reference'):
        yield from [np.inf, *(np.inf for _ in stops)]
        return
    K, D = spring_matrices(arrays, stiffness, damping)
    dampings = [D]
    if (arrays.coulomb + arrays.stiction).any():
        # a joint that stands feels its friction as a strong damper
        held = (arrays.coulomb + arrays.stiction) / arrays.coulomb_rate
        dampings.append(spring_matrices(arrays, stiffness, damping + held)[1])
    masses = _masses(arrays, len(K))
    free = min(_longest(scheme, *modes, D) for modes in (eigh(K, M) for M in masses)
               for D in dampings)
    yield free
    rows = np.flatnonzero(np.isfinite(arrays.lower) | np.isfinite(arrays.upper))
    K[rows, rows] += arrays.stop_stiffness[rows]
    leaning = None
    for damper in stops:
        if leaning is None:
            leaning = [eigh(K, M) for M in masses]
        D = dampings[-1].copy()
        D[rows, rows] += damper[rows]
        yield min(free, *(_longest(scheme, *modes, D) for modes in leaning))


def _masses(arrays, size):
    """Inertia (n, n) in the zero pose and in a few others."""
    random, joints, masses = np.random.default_rng(0), arrays.motor.size, []
    for number in range(POSES + 1):
        q = np.zeros(size)
        if number > 0:
            q[:joints] = random.uniform(np.maximum(arrays.lower, -np.pi),
                                        np.minimum(arrays.upper, np.pi))
        masses.append(mass_matrix(arrays, q))
    return masses


def rounded_down(step: float) -> float:
    """Return a step with three digits that is not longer."""
    if step == 0.0:
        return 0.0
    digit = 10.0**(np.floor(np.log10(step)) - 2)
    return np.floor(step / digit) * digit


def spring_matrices(arrays: ArmArrays, stiffness: ArrayLike = 0.0,
                    damping: ArrayLike = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """
    Stiffness and damping (n, n) of links and gears, in the coordinates of the arm.

    :param stiffness: more of it at every drive, (joints,) [N m/rad, N/m]; damping: likewise
        [N m s/rad, N s/m].
    """
    joints = arrays.motor.size
    n = int(joints + (arrays.motor >= 0).sum() + arrays.modes.sum())
    K, D = np.zeros((2, n, n))
    own = np.broadcast_to(stiffness, joints), arrays.viscous + damping
    for j, m in enumerate(arrays.motor):
        driven = j if m < 0 else m
        K[driven, driven] += own[0][j]
        K[j, j] += arrays.spring[j]
        D[driven, driven] += own[1][j]
        if m >= 0:
            block = np.ix_([j, m], [j, m])
            K[block] += arrays.gear_stiffness[j] * np.array([[1, -1], [-1, 1]])
            D[block] += arrays.gear_damping[j] * np.array([[1, -1], [-1, 1]])
    for i, size in enumerate(arrays.modes):
        own = slice(arrays.first[i], arrays.first[i] + size)
        K[own, own] += arrays.stiffness[i, :size, :size]
        D[own, own] += arrays.damping[i, :size, :size]
    elastic = n - len(arrays.shared)
    D[elastic:, elastic:] += arrays.shared @ arrays.shared_T
    return K, D


def _longest(scheme, squares, shapes, D):
    """Longest step for M x'' + D x' + K x = 0, by the eigenvalues of K and M."""
    stiff = squares > 1e-9 * squares.max(initial=0.0)
    # with z = (omega x, x') in modes: z' = [0 W; -W^T -D] z; free motion has no x in it
    W = np.diag(np.sqrt(np.maximum(squares, 0.0)))[stiff]
    zero, D = np.zeros((len(W), len(W))), shapes.T @ D @ shapes
    if scheme == 'semi_implicit_euler':
        # the edge is a state that only changes its sign: 4 x / h^2 = 2 D x / h + omega^2 x
        largest = np.linalg.eigvalsh(np.block([[zero, W], [W.T, D]]))[-1]
        return 2 / largest if largest > 0 else np.inf
    rates = np.linalg.eigvals(np.block([[zero, W], [-W.T, -D]]))
    rates = rates[np.abs(rates) > UNDAMPED * np.abs(rates).max(initial=0.0)]
    if scheme == 'rk4':
        return _longest_of_rk4(rates)
    ratios = -rates.real / np.abs(rates)
    steps = np.where(ratios > UNDAMPED, 2 * ratios / np.abs(rates), 0.0)
    return steps.min(initial=np.inf)


def _longest_of_rk4(rates):
    """Longest step with which each of some rates keeps within the edge, fastest first."""
    longest, rates = np.inf, rates[rates.imag >= 0.0]     # of a pair, both say the same
    rates = rates[np.argsort(-np.abs(rates), kind='stable')]
    while rates.size:
        size = abs(rates[0])
        longest = min(longest, _edge_of_rk4(rates[0] / size) / size)
        # only those that would not do with a step a little longer may ask for a shorter one
        rates = rates[1:][_excess_of_rk4(longest * (1 + A_LITTLE) * rates[1:]) > 0.0]
    return longest


def _edge_of_rk4(direction):
    """How far |1 + z + z^2/2 + z^3/6 + z^4/24| stays within 1 along a direction of z."""
    from scipy.optimize import brentq  # late: few need it, and it takes long to import

    return brentq(lambda size: _excess_of_rk4(size * direction), 1e-3, 6.0)


def _excess_of_rk4(z):
    return abs(1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4)))) - 1 - 1e-9
