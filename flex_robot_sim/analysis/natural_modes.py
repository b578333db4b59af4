"""
Natural modes of an arm about any state.

They follow from the matrices M, D and K of small motions (T50), without the coordinates of locked
drives. The modes of closed loops keep the loops closed (T82).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import operating_point
from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.analysis.drive_conditions import (
    Gains,
    expect_servo_on_free_drives,
    locked_drives,
    servo_gains,
)
from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.analysis.loop_forces import loop_accelerations
from flex_robot_sim.analysis.loop_motion import null_space_basis, small_motions
from flex_robot_sim.analysis.tangent import residual_force, tangent
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import STOP_CONTACT_DEPTH, beyond_limits, stop_contact
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import SummaryRows, counted, summarized


@summarized
@dataclass(frozen=True, eq=False)
class Modes:
    """
    Natural modes, slowest first.

    A mode without oscillation has the damping ratio 1, or -1 if it grows; its frequency is the
    rate of decay or growth. A rigid-body mode has the frequency 0.

    Example::

        found = frs.modes(frs.load('two_link'), [0.0, 0.5, -0.8])
        for frequency, ratio in zip(found.frequencies, found.damping_ratios):
            print(f'{frequency:.2f} Hz, damping ratio {ratio:.3f}')
    """

    names: tuple[str, ...]  # (n,)    of the coordinates
    frequencies: np.ndarray  # (k,)                                                  [Hz]
    damping_ratios: np.ndarray  # (k,)
    shapes: np.ndarray  # (n, k)  largest entry 1, locked coordinates 0; complex if damped
    note: str = ''  # line about a joint beyond its limits

    def shape(self, mode: int) -> dict[str, complex]:
        """Return one shape, by coordinate name; SettingError if the mode does not exist."""
        count = len(self.frequencies)
        if not isinstance(mode, (int, np.integer)) or not -count <= mode < count:
            raise SettingError(
                f'mode = {shortened(repr(mode), 60)} must be a whole number below '
                f'the number of modes, {count}'
            )
        return dict(zip(self.names, self.shapes[:, mode]))

    def _summary(self) -> tuple[str, SummaryRows]:
        largest = np.abs(self.shapes).argmax(axis=0) if self.shapes.size else ()
        rows = zip(self.frequencies, self.damping_ratios + 0.0, largest)
        return f'Modes: {len(self.frequencies)} of {counted(len(self.names), "coordinate")}', [
            (str(k), f'{frequency:.4g} Hz, damping ratio {ratio:.3g}, mostly {self.names[row]}')
            for k, (frequency, ratio, row) in enumerate(rows)
        ]


def frequencies(
    arm: ArmModel,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    joints: str | Sequence[str] | None = None,
    gains: Gains | None = None,
    pushes: Iterable[Push] = (),
) -> np.ndarray:
    """
    Natural frequencies, ascending, (k,) [Hz]; q, v, joints, gains and pushes as in `modes`.

    Example::

        arm = frs.load('two_link')
        first = frs.frequencies(arm, [0.0, 0.5, -0.8])[0]
    """
    return modes(arm, q, v, joints=joints, gains=gains, pushes=pushes).frequencies


def modes(
    arm: ArmModel,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    joints: str | Sequence[str] | None = None,
    gains: Gains | None = None,
    pushes: Iterable[Push] = (),
) -> Modes:
    """
    Find the natural modes of the whole arm about its equilibrium, or about any state.

    For a payload, pass `with_payload(arm, ...)`.

    :param q: of the joints, (joints,) [rad, m], for the equilibrium there; default: the start
        pose, zero or the nearest position within limits. All coordinates, (nq,), for any state.
        Beyond a limit, the result contains a `note`.
    :param v: rates of the joints, or of all coordinates, as q; default: at rest.
    :param joints: 'locked' or 'free', or the names of joints with locked drives; default: locked,
        or free if there are gains.
    :param gains: (stiffness, damping) of the servo of drives that are not locked, numbers or
        (joints,) each [N m/rad, N m s/rad; N/m, N s/m].
    :param pushes: loads on links, each a Push.

    Example::

        arm = frs.load('two_link')
        found = frs.modes(arm, [0.0, 0.5, -0.8], gains=(40.0, 4.0))
        first = found.frequencies[0], found.damping_ratios[0], found.shape(0)['elbow']
    """
    loads = make_loads(arm, pushes, closed_loops=True, free_base=True)
    q, v, slopes = operating_point.state_at(arm, loads, q, v)
    expect_servo_on_free_drives(joints, gains)
    if v[arm.base_q].any():
        raise SettingError(
            'modes need a free base at rest, but it moves in this state: set its rates to zero, '
            'or use frs.linearise'
        )
    locked = locked_drives(arm, joints, has_input=gains is not None)
    motors, M = arm.motor_q, mass_matrix(arm, q)
    free = np.setdiff1d(np.arange(arm.size), locked)
    if arm.closed_loops:
        a, _, force = loop_accelerations(arm, loads, q, v, None, motors)
    else:
        a, _ = operating_point.accelerations(arm, loads, q, v, None, motors)
    D, K = slopes or tangent(arm, loads, q, v, a)
    for matrix, values in zip((K, D), servo_gains(arm, gains)):
        matrix[motors, motors] += values
    noise = _noise(arm, M, v, residual_force(arm, loads, q, v, a))
    if arm.closed_loops:
        basis = null_space_basis(arm, gaps_and_jacobian(arm, q)[1], free)
        small = small_motions(arm, (q, v, a), force, basis, (M, D, K))
        N, size = small.N, np.abs(small.N)
        rates, vectors = _eigen(*small[:3], *(scale @ size for scale in noise))
        shapes = _with_unit_entry(N @ vectors)
    else:
        free_block = np.ix_(free, free)
        rates, vectors = _eigen(
            M[free_block], D[free_block], K[free_block], *(scale[free] for scale in noise)
        )
        shapes = np.zeros((arm.size, rates.size), vectors.dtype)
        shapes[free] = vectors
    magnitudes = np.abs(rates)
    ratios = np.divide(
        -rates.real, magnitudes, out=np.zeros(magnitudes.shape), where=magnitudes > 0
    )
    beyond = beyond_limits(arm, q[motors], STOP_CONTACT_DEPTH) or stop_contact(arm, q)
    return Modes(
        arm.coordinate_names,
        magnitudes / (2 * np.pi),
        ratios,
        shapes,
        beyond and f'{beyond}; the stiffness of its stop is part of the modes',
    )


def _noise(model, M, qd, residual):
    """
    Return the magnitude (n,) of the forces on every coordinate, and 1 / scales (n,).

    Their product, times a number near the rounding error, bounds the error of an entry of K.
    """
    arrays, mass_scale = model.arrays, np.sqrt(np.diag(M))
    mass = arrays.inertia[:, 3, 3].sum() + arrays.point_mass.sum()
    # Cauchy-Schwarz bounds of gravity and of rate-dependent forces
    force_scale = np.sqrt(arrays.base_acceleration @ arrays.base_acceleration * mass)
    force_scale += np.abs(qd).max(initial=0.0) * np.sqrt(max(qd @ M @ qd, 0.0))
    force_scale += np.abs(residual / mass_scale).max(initial=0.0)
    return force_scale * mass_scale, 1 / scales(model)


def _eigen(M, D, K, force, inverse_scales):
    """Rates s (k,) of exp(s t), one per pair, by magnitude, and shapes (n, k); see `_noise`."""
    n = len(M)
    if n == 0:
        return np.zeros(0, complex), np.zeros((0, 0))
    squares, columns = _undamped((K + K.T) / 2, M)
    # error of K in modal coordinates: rounding of its entries, and of the forces (T51)
    eps, size = np.finfo(float).eps, np.abs(columns)
    scaled = np.sqrt((inverse_scales * inverse_scales) @ size**2)
    force_noise = np.sqrt((force * force) @ size**2)
    rounding = 8 * eps * np.einsum('ik,ik->k', size, np.abs(K) @ size)
    squares[np.abs(squares) <= rounding + 1e3 * eps * scaled * force_noise] = 0.0
    skew = columns.T @ (K - K.T) @ columns / 2
    noise = np.sqrt(np.outer(rounding, rounding)) + 1e3 * eps * np.outer(force_noise, scaled)
    skew[np.abs(skew) <= noise + noise.T] = 0.0
    D = columns.T @ D @ columns
    if not D.any() and not skew.any():
        falling = squares < 0
        rates = np.concatenate([1j * np.sqrt(np.maximum(squares, 0)), -np.sqrt(-squares[falling])])
        rates[:n][falling] = np.sqrt(-squares[falling])
        vectors = np.hstack([columns, columns[:, falling]])
    else:
        # in (omega x, x') all entries are rates, which preserves the accuracy of slow modes
        rate_scale = np.sqrt(np.abs(squares))
        rate_scale[rate_scale == 0] = 1.0
        block = np.block(
            [
                [np.zeros((n, n)), np.diag(rate_scale)],
                [-(np.diag(squares) + skew) / rate_scale, -D],
            ]
        )
        from scipy.linalg import eig  # imported late: slow

        rates, vectors = eig(block)
        vectors = columns @ (vectors[:n] / rate_scale[:, None])
        rates[np.abs(rates) <= 50 * n * eps * np.abs(rates).max()] = 0.0
    # position and velocity of a rigid-body motion are one mode
    zero_rates = np.flatnonzero(rates == 0.0)
    selected = np.setdiff1d(
        np.flatnonzero(rates.imag >= 0),
        zero_rates[(zero_rates.size + 1) // 2 :] if rates.size == 2 * n else [],
    )
    selected = selected[np.argsort(np.abs(rates[selected]), kind='stable')]
    return rates[selected], _with_unit_entry(vectors[:, selected])


def _with_unit_entry(vectors):
    """Scale vectors (n, k) so that their largest entry is 1."""
    largest = np.abs(vectors).argmax(axis=0), range(vectors.shape[1])
    return vectors / vectors[largest]


def _undamped(K, M):
    """
    Return the squares of the natural rates, (n,), and shapes (n, n) of unit modal mass.

    The problem (K, M) is accurate to rounding of the largest square, which may exceed the smallest
    one. The inverse problem (M, K + shift M) is accurate for the smallest ones.
    """
    from scipy.linalg import eigh  # imported late: slow

    squares, columns = eigh(K, M)
    largest = np.abs(squares).max()
    shift = 50 * len(M) * np.finfo(float).eps * largest + 2 * max(-squares[0], 0.0)
    slow = int((squares < np.sqrt(shift * largest)).sum())
    if slow > 0:
        try:
            inverse, shapes = eigh(M, K + shift * M)
        except np.linalg.LinAlgError:  # the error of K exceeds the shift
            return squares, columns
        inverse, shapes = inverse[: -slow - 1 : -1], shapes[:, : -slow - 1 : -1]
        squares[:slow], columns[:, :slow] = 1 / inverse - shift, shapes / np.sqrt(inverse)
        squares[np.abs(squares) <= 50 * np.finfo(float).eps * shift] = 0.0
    return squares, columns
