"""
Natural modes of an arm about any state.

They come from the matrices M, D and K of small motions (T50); a drive that is locked keeps its
coordinate out of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.analysis.operating_point import (
    accelerations,
    locked_drives,
    servo_gains,
    state_at,
)
from flex_robot_sim.analysis.tangent import driven, lacking_force, scales, tangent
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import STOP_CONTACT_DEPTH, beyond_limits, stop_contact
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import SummaryRows, counted, summarized


@summarized
@dataclass(frozen=True, eq=False)
class Modes:
    """
    Natural modes, slowest first.

    A mode that does not oscillate has the damping ratio 1, or -1 if it grows, and the frequency
    tells how fast; a free motion without force has the frequency 0.
    """

    names: tuple[str, ...]      # (n,)    of the coordinates
    frequencies: np.ndarray     # (k,)                                                  [Hz]
    damping_ratios: np.ndarray  # (k,)
    shapes: np.ndarray          # (n, k)  largest entry 1, locked coordinates 0; complex if damped
    note: str = ''              # line about a joint beyond its limits

    def shape(self, mode: int) -> dict[str, complex]:
        """Return one shape by coordinate name; SettingError if there is no such mode."""
        if not -len(self.frequencies) <= mode < len(self.frequencies):
            raise SettingError(f'mode = {mode!r} must be below the number of modes, '
                               f'{len(self.frequencies)}')
        return dict(zip(self.names, self.shapes[:, mode]))

    def _summary(self) -> tuple[str, SummaryRows]:
        largest = np.abs(self.shapes).argmax(axis=0) if self.shapes.size else ()
        rows = zip(self.frequencies, self.damping_ratios + 0.0, largest)
        return f'Modes: {len(self.frequencies)} of {counted(len(self.names), "coordinate")}', [
            (str(k), f'{frequency:.4g} Hz, damping ratio {ratio:.3g}, mostly {self.names[row]}')
            for k, (frequency, ratio, row) in enumerate(rows)]


def frequencies(model: ArmModel, position: ArrayLike | None = None,
                joints: str | Sequence[str] | None = None,
                gains: tuple[ArrayLike, ArrayLike] | None = None,
                velocity: ArrayLike | None = None, pushes: Iterable[Push] = ()) -> np.ndarray:
    """Natural frequencies [Hz], ascending; see `modes`."""
    return modes(model, position, joints, gains, velocity, pushes).frequencies


def modes(model: ArmModel, position: ArrayLike | None = None,
          joints: str | Sequence[str] | None = None,
          gains: tuple[ArrayLike, ArrayLike] | None = None, velocity: ArrayLike | None = None,
          pushes: Iterable[Push] = ()) -> Modes:
    """
    Find the natural modes of the whole arm about its equilibrium, or about any state.

    With a payload: those of `with_payload(model, ...)`.

    :param position: of the joints, (joints,) [rad, m], for the equilibrium there; default: where
        arms start, zero or the nearest position within limits. Of all coordinates, (n,), for the
        state that they say. Beyond a limit, `note` of the result says so.
    :param joints: 'locked' or 'free', or the names of those whose drives are locked; default:
        'locked', with gains 'free'.
    :param gains: (stiffness, damping) of the drives that are not locked, which hold their place,
        numbers or (joints,) each [N m/rad, N m s/rad; N/m, N s/m].
    :param velocity: of the joints, or of all coordinates, as the position.
    """
    loads = make_loads(model, pushes)
    q, qd, slopes = state_at(model, loads, position, velocity)
    if joints is None:
        joints = 'locked' if gains is None else 'free'
    elif isinstance(joints, str) and joints == 'locked' and gains is not None:
        raise SettingError("gains hold drives that are not locked, and joints = 'locked' leaves "
                           'none. Leave joints out, or name those that are locked')
    locked = locked_drives(model, joints)
    qdd, _ = accelerations(model, loads, q, qd, None, driven(model))
    D, K = slopes or tangent(model, loads, q, qd, qdd)
    motors = driven(model)
    for matrix, values in zip((K, D), servo_gains(model, gains)):
        matrix[motors, motors] += values
    free = np.setdiff1d(np.arange(model.size), locked)
    part = np.ix_(free, free)
    M = mass_matrix(model, q)
    noise = _noise(model, M, q, qd, lacking_force(model, loads, q, qd, qdd))
    rates, vectors = _eigen(M[part], D[part], K[part], *(scale[free] for scale in noise))
    shapes = np.zeros((model.size, rates.size), vectors.dtype)
    shapes[free] = vectors
    size = np.abs(rates)
    ratios = np.divide(-rates.real, size, out=np.zeros(size.shape), where=size > 0)
    beyond = beyond_limits(model, q[motors], STOP_CONTACT_DEPTH) or stop_contact(model, q)
    return Modes(model.coordinate_names, size / (2 * np.pi), ratios, shapes,
                 beyond and f'{beyond}; the stiffness of its stop is part of the modes')


def _noise(model, M, q, qd, lacking):
    """
    Forces (n,) that add up to those on every coordinate, and 1 / scales (n,).

    Their product with a number near the rounding error is what an entry of K may be wrong by.
    """
    arrays, size = model.arrays, np.sqrt(np.diag(M))
    mass = arrays.inertia[:, 3, 3].sum() + arrays.point_mass.sum()
    # by the inequality of Cauchy and Schwarz, of weight and of what turning does
    pull = np.sqrt(arrays.base_acceleration @ arrays.base_acceleration * mass)
    pull += np.abs(qd).max(initial=0.0) * np.sqrt(max(qd @ M @ qd, 0.0))
    pull += np.abs(lacking / size).max(initial=0.0)
    return pull * size, 1 / scales(model)


def _eigen(M, D, K, force, turn):
    """
    Rates s (k,) of exp(s t), of every conjugate pair one, by size, and shapes (n, k).

    :param force: with turn, what makes noise in K, both (n,), see `_noise`.
    """
    n = len(M)
    if n == 0:
        return np.zeros(0, complex), np.zeros((0, 0))
    squares, columns = _undamped((K + K.T) / 2, M)
    # what an entry of K is wrong by, as the shapes see it: rounding, and the differences of (T51)
    eps, size = np.finfo(float).eps, np.abs(columns)
    turned, pulled = np.sqrt((turn * turn) @ size**2), np.sqrt((force * force) @ size**2)
    rounding = 8 * eps * np.einsum('ik,ik->k', size, np.abs(K) @ size)
    squares[np.abs(squares) <= rounding + 1e3 * eps * turned * pulled] = 0.0
    skew = columns.T @ (K - K.T) @ columns / 2
    noise = np.sqrt(np.outer(rounding, rounding)) + 1e3 * eps * np.outer(pulled, turned)
    skew[np.abs(skew) <= noise + noise.T] = 0.0
    D = columns.T @ D @ columns
    if not D.any() and not skew.any():
        falling = squares < 0
        rates = np.concatenate([1j * np.sqrt(np.maximum(squares, 0)), -np.sqrt(-squares[falling])])
        rates[:n][falling] = np.sqrt(-squares[falling])
        vectors = np.hstack([columns, columns[:, falling]])
    else:
        # in (omega x, x') all entries are rates, and slow modes keep their digits
        unit = np.sqrt(np.abs(squares))
        unit[unit == 0] = 1.0
        block = np.block([[np.zeros((n, n)), np.diag(unit)],
                          [-(np.diag(squares) + skew) / unit, -D]])
        from scipy.linalg import eig  # late: a fifth of a start

        rates, vectors = eig(block)
        vectors = columns @ (vectors[:n] / unit[:, None])
        rates[np.abs(rates) <= 50 * n * eps * np.abs(rates).max()] = 0.0
    # of motions without force, place and speed are one mode
    still = np.flatnonzero(rates == 0.0)
    kept = np.setdiff1d(np.flatnonzero(rates.imag >= 0), still[(still.size + 1) // 2:]
                        if rates.size == 2 * n else [])
    kept = kept[np.argsort(np.abs(rates[kept]), kind='stable')]
    vectors = vectors[:, kept]
    largest = np.abs(vectors).argmax(axis=0), range(kept.size)
    return rates[kept], vectors / vectors[largest]


def _undamped(K, M):
    """
    Squares of the natural rates, (n,), and shapes (n, n) of unit modal mass.

    K against M is exact to the rounding of the largest square, which may be larger than the
    smallest. M against K, moved by so much of M that it resists everything, is exact for those.
    """
    from scipy.linalg import eigh  # late: a fifth of a start

    squares, columns = eigh(K, M)
    largest = np.abs(squares).max()
    moved = 50 * len(M) * np.finfo(float).eps * largest + 2 * max(-squares[0], 0.0)
    slow = int((squares < np.sqrt(moved * largest)).sum())
    if slow > 0:
        try:
            inverse, shapes = eigh(M, K + moved * M)
        except np.linalg.LinAlgError:       # K has more noise than that
            return squares, columns
        inverse, shapes = inverse[:-slow - 1:-1], shapes[:, :-slow - 1:-1]
        squares[:slow], columns[:, :slow] = 1 / inverse - moved, shapes / np.sqrt(inverse)
        squares[np.abs(squares) <= 50 * np.finfo(float).eps * moved] = 0.0
    return squares, columns
