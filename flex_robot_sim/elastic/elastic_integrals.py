"""
Integrals of an elastic body whose material points move by fields of its coordinates e.

A point of mass m at X in the frame of the body moves to

    r = X + Phi e + 1/2 sum_ij Q_ij e_i e_j,    N_i = dr/de_i = Phi_i + sum_j Q_ij e_j       (T92)

The dynamics need its first moment S, its inertia J, and its coupling h_i = sum m r x N_i to these
orders in e:

    S = S0 + S1 e + 1/2 S2 e e,  J = J0 + J1 e + 1/2 J2 e e,  h_i = h0_i + sum_j h1_ij e_j

and E_ij = sum m N_i . N_j to second order.
"""

from dataclasses import dataclass

import numpy as np

from flex_robot_sim.util.read_only import make_read_only

MAX_GRAM_ROWS = 8  # of the products of the fields Q; six of fifteen reproduce 99 %
_PAIRS = np.array([[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]]).T  # xx, yy, zz, xy, xz, yz


@dataclass(frozen=True, eq=False)
class PointFields:
    """Mass points of an elastic body with n coordinates, and their fields (T92)."""

    mass: np.ndarray  # (p,)          may be negative, as in a rule of integration      [kg]
    X: np.ndarray  # (p, 3)        positions in the undeformed body                     [m]
    Phi: np.ndarray  # (p, n, 3)     displacements by coordinate
    Q: np.ndarray  # (p, n, n, 3)  second derivatives of the positions

    def __post_init__(self) -> None:
        make_read_only((self.mass, self.X, self.Phi, self.Q))


@dataclass(frozen=True, eq=False)
class ElasticIntegrals:
    """Integrals of an elastic body; symmetric matrices are rows xx, yy, zz, xy, xz, yz."""

    inertia: np.ndarray  # (6, 6)        of the undeformed body, about its frame          [SI]
    S1: np.ndarray  # (n, 3)        first moments
    S2: np.ndarray  # (n, n, 3)
    J1: np.ndarray  # (n, 6)        inertia
    J2: np.ndarray  # (n, n, 6)
    h0: np.ndarray  # (n, 3)        coupling with rotations of the body
    h1: np.ndarray  # (n, n, 3)
    E0: np.ndarray  # (n, n)        sum m Phi_i . Phi_j
    X: np.ndarray  # (n, n, n)     sum m Phi_i . Q_jk
    G: np.ndarray  # (r, n, n)     rows with sum_r G_r,ij G_r,kl = sum m Q_ij . Q_kl

    def __post_init__(self) -> None:
        make_read_only(vars(self).copy())


def elastic_integrals(
    fields: PointFields, amplitude: np.ndarray, gram_rows: int = MAX_GRAM_ROWS
) -> ElasticIntegrals:
    """
    Return the ElasticIntegrals of PointFields.

    :param amplitude: typical values of the coordinates, (n,), which weigh the rows of G.
    :param gram_rows: largest number of rows of G.
    """
    m, X, Phi, Q = fields.mass, fields.X, fields.Phi, fields.Q
    n = len(amplitude)
    mX, mPhi = m[:, None] * X, m[:, None, None] * Phi
    mQ = m[:, None, None, None] * Q
    XX, XPhi = mX.T @ X, np.einsum('pa,pib->iab', mX, Phi)
    XQ = np.einsum('pa,pijb->ijab', mX, Q)
    PhiPhi = np.einsum('pia,pjb->ijab', mPhi, Phi)
    inertia = np.zeros((6, 6))
    inertia[:3, :3], first = _matrix(_moments(XX)), _hat(mX.sum(axis=0))
    inertia[:3, 3:], inertia[3:, :3], inertia[3:, 3:] = first, first.T, m.sum() * np.eye(3)
    return ElasticIntegrals(
        inertia,
        mPhi.sum(axis=0),
        mQ.sum(axis=0),
        2.0 * _moments(XPhi),
        2.0 * _moments(XQ + PhiPhi),
        _cross(XPhi),
        # sum m (Phi_j x Phi_i + X x Q_ij)
        _cross(np.swapaxes(PhiPhi, 0, 1) + XQ),
        np.einsum('pia,pja->ij', mPhi, Phi),
        np.einsum('pia,pjka->ijk', mPhi, Q),
        _gram_rows(np.einsum('pija,pkla->ijkl', mQ, Q), n, amplitude, gram_rows),
    )


def _moments(products):
    """Symmetric part of |a|^2 1 - a b^T from products a b^T (..., 3, 3), in rows (..., 6)."""
    symmetric = 0.5 * (products + np.swapaxes(products, -1, -2))
    trace = np.trace(products, axis1=-2, axis2=-1)[..., None]
    return trace * np.array([1, 1, 1, 0, 0, 0]) - symmetric[..., _PAIRS[0], _PAIRS[1]]


def _cross(products):
    """Vectors a x b (..., 3) from products a b^T (..., 3, 3)."""
    return np.stack(
        [products[..., (a + 1) % 3, (a + 2) % 3] - products[..., (a + 2) % 3, (a + 1) % 3]
         for a in range(3)],
        axis=-1,
    )  # fmt: skip


def _matrix(row):
    out = np.empty((3, 3))
    out[_PAIRS[0], _PAIRS[1]] = out[_PAIRS[1], _PAIRS[0]] = row
    return out


def _hat(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _gram_rows(products, n, amplitude, rows):
    """Rows (r, n, n) of the leading eigenvectors of products (n, n, n, n)."""
    scale = np.outer(amplitude, amplitude).ravel()
    gram = products.reshape(n * n, n * n) * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    count = min(rows, n * (n + 1) // 2)
    out = (vectors[:, :count] * np.sqrt(np.maximum(values[:count], 0.0))).T / scale
    out = out.reshape(-1, n, n)
    return 0.5 * (out + np.swapaxes(out, 1, 2))
