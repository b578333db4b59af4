"""Integrals over the mass of a reduced link, (2) to (6) of `reduced_link`."""

import numpy as np
from scipy import sparse

MAX_ROWS = 6  # of G
MIN_ROW = 1e-3  # smallest eigenvalue of (6) that is kept, over the largest


def mass_integrals(
    nodes: np.ndarray, mass: sparse.csr_matrix, shapes: np.ndarray, field: np.ndarray
) -> dict[str, np.ndarray]:
    """
    Return the integrals by their names.

    :param nodes: (N, 3) [m]; mass: by node, (N, N) [kg].
    :param shapes: displacements (N, 3, n); field: of second order, (N, 3, s, s).
    """
    count, n, s = len(nodes), shapes.shape[2], field.shape[2]
    columns = np.concatenate(
        [nodes[:, :, None], shapes, field.reshape(count, 3, s * s)], axis=2
    ).transpose(0, 2, 1)
    fields = columns.reshape(count, -1)  # of each field in turn: its x, y and z
    weighted = mass @ fields
    moments = weighted.sum(axis=0).reshape(-1, 3)
    # int f_a g_b of fields f and g, and components a and b: (f, a, g, b)
    products = (fields.T @ weighted).reshape(1 + n + s * s, 3, 1 + n + s * s, 3)
    place, phi, second = 0, slice(1, 1 + n), slice(1 + n, None)
    inertia = _inertia(products)
    crossed = _crossed(products)
    J2, h1 = 2 * inertia[phi, phi], crossed[phi, phi].swapaxes(0, 1).copy()
    J2[:s, :s] += 2 * inertia[place, second].reshape(s, s, 3, 3)
    h1[:s, :s] += crossed[place, second].reshape(s, s, 3)
    dots = np.trace(products, axis1=1, axis2=3)
    return {
        'S0': moments[place],
        'S1': moments[phi],
        'S2': moments[second].reshape(s, s, 3),
        'J0': inertia[place, place],
        'J1': 2 * inertia[place, phi],
        'J2': J2,
        'h0': crossed[place, phi],
        'h1': h1,
        'E0': dots[phi, phi],
        'X': dots[phi, second].reshape(n, s, s),
        'G': _largest_rows(dots[second, second], s),
    }


def _inertia(products):
    """Int (f . g) 1 - (f g^T + g f^T) / 2 of all pairs of fields, (f, g, 3, 3)."""
    outer = products.transpose(0, 2, 1, 3)
    dots = np.trace(outer, axis1=2, axis2=3)
    return dots[:, :, None, None] * np.eye(3) - (outer + outer.swapaxes(2, 3)) / 2


def _crossed(products):
    """Int f x g of all pairs of fields, (f, g, 3)."""
    outer = products.transpose(0, 2, 1, 3)
    return np.stack(
        [
            outer[:, :, (i + 1) % 3, (i + 2) % 3] - outer[:, :, (i + 2) % 3, (i + 1) % 3]
            for i in range(3)
        ],
        axis=2,
    )


def _largest_rows(gram, s):
    """Return rows G (g, s, s) with sum_r G_r,ij G_r,kl = gram, largest first."""
    if not s:
        return np.empty((0, 0, 0))
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = np.flatnonzero(values > MIN_ROW * values.max(initial=0.0))[::-1][:MAX_ROWS]
    return (vectors[:, kept] * np.sqrt(values[kept])).T.reshape(-1, s, s)
