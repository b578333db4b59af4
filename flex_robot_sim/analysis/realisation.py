"""
Poles of a free vibration by the eigensystem realisation algorithm (ERA).

Juang and Pappa, J. Guidance 8 (1985) 620-627. Orders that are too high add poles of the noise,
which change from order to order. Poles that stay are those of the arm (stabilisation diagram).
"""

import numpy as np

MAX_ROWS = 80  # samples in a column of the Hankel matrix
MAX_CHANNELS = 3  # principal components of the samples
MAX_ORDER = 24
MIN_STABLE_ORDERS = 3  # successive orders that have the same pole
MAX_FREQUENCY_CHANGE = 0.02  # relative, from order to order
MAX_RATIO_CHANGE = 0.02, 0.3  # absolute, and relative to the damping ratio


def stable_poles(samples: np.ndarray, rate: float) -> np.ndarray:
    """Return oscillating poles (m,) [1/s] that several orders share, of samples (k, n)."""
    samples = principal_components(samples - samples.mean(axis=0))
    k, n = samples.shape
    rows = min(k // 2, MAX_ROWS)
    order = min(MAX_ORDER, rows * n - n)
    if order < 2:
        return np.zeros(0, complex)
    windows = np.lib.stride_tricks.sliding_window_view(samples, rows, axis=0)
    hankel = windows.transpose(2, 1, 0).reshape(rows * n, -1)  # (S12)
    basis = np.linalg.eigh(hankel @ hankel.T)[1][:, ::-1][:, :order]
    gram, moved = basis[:-n].T @ basis[:-n], basis[:-n].T @ basis[n:]
    by_order = []
    for p in range(2, order + 1):
        try:
            z = np.linalg.eigvals(np.linalg.solve(gram[:p, :p], moved[:p, :p]))
        except np.linalg.LinAlgError:
            continue
        poles = rate * np.log(z[(np.abs(z) > 1e-6) & (np.abs(z) < 1e6)].astype(complex))
        by_order.append(poles[poles.imag > 1e-3 * rate / k])
    return _stable(by_order)


def principal_components(samples: np.ndarray) -> np.ndarray:
    """Return at most MAX_CHANNELS combinations of the columns of samples (k, n)."""
    if samples.shape[1] <= MAX_CHANNELS:
        return samples
    return samples @ np.linalg.eigh(samples.T @ samples)[1][:, -MAX_CHANNELS:]


def _stable(by_order):
    """Return the last pole of each chain of similar poles in successive orders."""
    chains: list[tuple[complex, int]] = []
    found: list[complex] = []
    for poles in by_order:
        grown = []
        for pole in poles:
            length = max((n for last, n in chains if _are_similar(last, pole)), default=0) + 1
            grown.append((pole, length))
            if length >= MIN_STABLE_ORDERS:
                found = [one for one in found if not _are_similar(one, pole)]
                found.append(pole)
        chains = grown
    return np.array(found, complex)


def _are_similar(first, second):
    f, ratio = abs(first), -first.real / abs(first)
    absolute, relative = MAX_RATIO_CHANGE
    return abs(abs(second) - f) < MAX_FREQUENCY_CHANGE * f and abs(
        -second.real / abs(second) - ratio
    ) < absolute + relative * abs(ratio)
