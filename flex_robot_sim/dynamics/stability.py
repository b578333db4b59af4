"""
The longest stable step of an explicit scheme for an arm with straight links.

It holds at zero, with the shortest sliding links, and in some poses within the joint limits (T42).
In other poses, and with bent links, some mode may be faster and unstable; explicit_schemes.py
detects that.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.dynamics.sliding_strain import add_sliding_damping, add_sliding_slopes
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.friction import VISCOUS, has_dry_friction, smoothed_slopes_at_rest
from flex_robot_sim.util.eigenproblem import eigh

RANDOM_POSES = 4  # in addition to the zero pose: the highest frequency depends on the pose
MIN_DAMPING_RATIO = 1e-7  # below it a mode counts as undamped
STEP_TOLERANCE = 1e-6  # relative; above the error of the stability boundary


def longest_step(
    arrays: ArmArrays,
    scheme: str,
    stiffness: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
    in_stops: bool = False,
) -> float:
    """
    Return the longest stable step [s] of a scheme: 0 if there is none, inf if all are stable.

    :param arrays: ArmArrays; its springs, dampers and friction count, gravity does not.
    :param in_stops: whether it is also stable while all joints with stops are in contact.
    :param stiffness: of a servo, (joints,) [N m/rad, N/m].
    :param damping: of the servo, (joints,) [N m s/rad, N s/m].
    """
    stops = [arrays.stop_damping] if in_stops else []
    return [*longest_steps(arrays, scheme, stiffness, damping, stops)][-1]


def longest_steps(
    arrays: ArmArrays,
    scheme: str,
    stiffness: ArrayLike,
    damping: ArrayLike,
    stops: Iterable[np.ndarray],
) -> Iterator[float]:
    """
    Yield the longest stable step without stop contact, then with each damping of the stops.

    :param stops: dampings of the stops, (joints,) each [N m s/rad, N s/m]; for the other
        parameters see `longest_step`.
    """
    if scheme in ('implicit_midpoint', 'reference'):
        yield from [np.inf, *(np.inf for _ in stops)]
        return
    dampings = [damping]
    if has_dry_friction(arrays.friction):
        # at rest, smoothed friction acts as a strong damper
        dampings.append(damping + smoothed_slopes_at_rest(arrays.friction))
    poses = _poses(arrays)
    masses = [mass_matrix(arrays, q) for q in poses]
    if (arrays.slide < 0).all():
        poses = poses[:1]  # the springs are the same in all of them
    springs = [_matrices(arrays, stiffness, dampings, q) for q in poses]
    springs *= len(masses) // len(springs)
    free_step = min(
        _longest_of_modes(scheme, *modes, D)
        for modes, (_, *Ds) in zip((eigh(K, M) for M, (K, *_) in zip(masses, springs)), springs)
        for D in Ds
    )
    yield free_step
    rows = np.flatnonzero(np.isfinite(arrays.lower) | np.isfinite(arrays.upper))
    contact_modes = None
    for damper in stops:
        if contact_modes is None:
            contact_modes = [
                eigh(_with_diagonal(K, rows, arrays.stop_stiffness), M)
                for M, (K, *_) in zip(masses, springs)
            ]
        yield min(
            free_step,
            *(
                _longest_of_modes(scheme, *modes, _with_diagonal(Ds[-1], rows, damper))
                for modes, Ds in zip(contact_modes, springs)
            ),
        )


def _with_diagonal(matrix, rows, values):
    """Return a copy of K or D (n, n) with stops at the joints in `rows`."""
    matrix = matrix.copy()
    matrix[rows, rows] += values[rows]
    return matrix


def _poses(arrays):
    """Coordinates (n,) of the zero pose and a few others, and with the shortest sliding links."""
    random, joints, size = np.random.default_rng(0), arrays.motor.size, _size(arrays)
    poses = [np.zeros(size)]
    for _ in range(RANDOM_POSES):
        q = np.zeros(size)
        q[:joints] = random.uniform(
            np.maximum(arrays.lower, -np.pi), np.minimum(arrays.upper, np.pi)
        )
        poses.append(q)
    slides = arrays.slide[arrays.slide >= 0]
    if slides.size:
        q = np.zeros(size)
        q[slides] = arrays.lower[slides]
        poses.append(q)
    return poses


def rounded_down(step: float) -> float:
    """Return a step rounded down to three digits."""
    if step == 0.0:
        return 0.0
    digit = 10.0 ** (np.floor(np.log10(step)) - 2)
    return np.floor(step / digit) * digit


def spring_matrices(
    arrays: ArmArrays, q: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """
    Stiffness and damping (n, n) of links and gears, in the coordinates of the arm.

    :param q: coordinates (n,), which determine the lengths of sliding links and the transmissions
        of gears; default: zero, with the steepest transmission of each gear.
    """
    K, D = np.zeros((2, _size(arrays), _size(arrays)))
    _add_drives(arrays, 0.0, 0.0, q, K, D)
    _add_links(arrays, np.zeros(len(K)) if q is None else q, K, D)
    return K, D


def _matrices(arrays, stiffness, dampings, q):
    """K and one D (n, n) for each damping of the drives (joints,), with lengths at q (n,)."""
    matrices = []
    for damping in dampings:
        K, D = np.zeros((2, q.size, q.size))
        _add_drives(arrays, stiffness, damping, None, K, D)
        _add_links(arrays, q, K, D)
        matrices.append(D)
    return [K, *matrices]


def _size(arrays):
    """Number of coordinates."""
    return arrays.inertia_scale.size


def _add_drives(arrays, stiffness, damping, q, K, D):
    """
    Add springs and dampers of drives, joints and gears to K and D (n, n).

    :param stiffness: of a servo, (joints,); damping: the same.
    :param q: coordinates (n,), or None: the steepest transmission of each gear.
    """
    joints = arrays.motor.size
    drive_gains = np.broadcast_to(stiffness, joints), arrays.friction[:, VISCOUS] + damping
    for j, m in enumerate(arrays.motor):
        driven = j if m < 0 else m
        K[driven, driven] += drive_gains[0][j]
        K[j, j] += arrays.spring[j]
        D[driven, driven] += drive_gains[1][j]
        K[driven, driven] += (arrays.cogging[j, :, 0] * arrays.cogging[j, :, 1]).sum()
        if m >= 0:
            block = np.ix_([j, m], [j, m])
            amplitude, wave_number, phase = arrays.kinematic_error[j].T
            slopes = amplitude * wave_number
            g = 1.0 + np.abs(slopes).sum()
            if q is not None:
                g = 1.0 - (slopes * np.cos(wave_number * q[m] + phase)).sum()  # (T37)
            twist = np.array([[1, -g], [-g, g * g]])
            K[block] += _largest_stiffness(arrays, j) * twist
            D[block] += arrays.gear_damping[j] * twist


def _add_links(arrays, q, K, D):
    """Add those of links, at coordinates (n,)."""
    unit = np.eye(q.size)
    for i, size in enumerate(arrays.modes):
        modes = slice(arrays.first[i], arrays.first[i] + size)
        if arrays.kind[i] == SLIDING:
            add_sliding_slopes(arrays, i, q, K)
            for k in arrays.own[i, : size + 1]:
                add_sliding_damping(arrays, i, q, unit[k], D[k], 1.0)  # D is symmetric
            continue
        K[modes, modes] += arrays.stiffness[i, :size, :size]
        D[modes, modes] += arrays.damping[i, :size, :size]
    elastic = len(D) - len(arrays.shared)
    D[elastic:, elastic:] += arrays.shared @ arrays.shared_T


def _largest_stiffness(arrays, j):
    """Largest stiffness of the gear of joint j."""
    return arrays.gear_stiffness[j] * np.cumsum(arrays.gear_share[j]).max()


def _longest_of_modes(scheme, squares, shapes, D):
    """Longest stable step for M x'' + D x' + K x = 0, from the eigenvalues of K and M."""
    is_elastic = squares > 1e-9 * squares.max(initial=0.0)
    # with z = (omega x, x') in modes: z' = [0 W; -W^T -D] z; rigid-body modes have no x in it
    W = np.diag(np.sqrt(np.maximum(squares, 0.0)))[is_elastic]
    zero, D = np.zeros((len(W), len(W))), shapes.T @ D @ shapes
    if scheme == 'semi_implicit_euler':
        # at the stability limit a state only changes sign: 4 x / h^2 = 2 D x / h + omega^2 x
        largest = np.linalg.eigvalsh(np.block([[zero, W], [W.T, D]]))[-1]
        return 2 / largest if largest > 0 else np.inf
    rates = np.linalg.eigvals(np.block([[zero, W], [-W.T, -D]]))
    rates = rates[np.abs(rates) > MIN_DAMPING_RATIO * np.abs(rates).max(initial=0.0)]
    if scheme == 'rk4':
        return _longest_of_rk4(rates)
    ratios = -rates.real / np.abs(rates)
    steps = np.where(ratios > MIN_DAMPING_RATIO, 2 * ratios / np.abs(rates), 0.0)
    return steps.min(initial=np.inf)


def _longest_of_rk4(rates):
    """Longest step with which all eigenvalues are in the stability region, fastest first."""
    longest, rates = np.inf, rates[rates.imag >= 0.0]  # one of each conjugate pair
    rates = rates[np.argsort(-np.abs(rates), kind='stable')]
    while rates.size:
        magnitude = abs(rates[0])
        longest = min(longest, _stability_limit_of_rk4(rates[0] / magnitude) / magnitude)
        # only eigenvalues that are unstable with a slightly longer step can need a shorter one
        rates = rates[1:][
            _amplification_excess_of_rk4(longest * (1 + STEP_TOLERANCE) * rates[1:]) > 0.0
        ]
    return longest


def _stability_limit_of_rk4(direction):
    """Distance along a direction of z up to which |1 + z + z^2/2 + z^3/6 + z^4/24| <= 1."""
    from scipy.optimize import brentq  # rarely needed, and slow to import

    return brentq(lambda size: _amplification_excess_of_rk4(size * direction), 1e-3, 6.0)


def _amplification_excess_of_rk4(z):
    return abs(1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4)))) - 1 - 1e-9
