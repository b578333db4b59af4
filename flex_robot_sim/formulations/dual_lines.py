"""
Dual lines, screws, twists and wrenches: their translation, rotation and differentiation.

A screw is (angular, linear), and each half is a dual vector, so that a dual screw has the twelve
components [r omega; d omega; r v; d v] (56). A joint is a dual line (58); times its rate, it is a
dual twist (57). A mode of a bending link is a dual screw. In the Jacobian form its real part is
zero, because its rate is small (67) to (72). In the projecting form its real part is the mode,
because a force does work on the mode, not on its rate (93) to (95). N swaps the two (70).

    reference   U(p) = [1, 0; [p]^, 1]     p from the new point to the old one             (60)
    coordinates R = diag(X, X)                                                             (63)
    both        V, a product of these (66): the adjoint map of a dual pose (19)
    rate        dL/dt = d L, d = [[w]^, 0; -[y]^, [w]^]                                (76), (77)

Equation numbers: Cibicik & Egeland (2021), see dual_numbers.py.
"""

import numpy as np

from flex_robot_sim.formulations.dual_groups import g2_adjoint, g2_inverse
from flex_robot_sim.formulations.dual_numbers import dual_cross, dual_hat

PI = np.eye(6)[[3, 4, 5, 0, 1, 2]]  # swaps real and dual parts of a vector (70)
N = np.kron(np.eye(2), PI)  # the same for a screw (70)


def joint_line(axis: np.ndarray) -> np.ndarray:
    """Dual line (12,) of a joint, from its screw (omega, v) (6,) in its own frame (58), (115)."""
    return np.concatenate([axis[:3], np.zeros(3), axis[3:], np.zeros(3)])


def screw_basis() -> np.ndarray:
    """Six dual screws (12, 6) along the axes of a frame, zero dual parts (72), (82)."""
    basis = np.zeros((12, 6))
    basis[0:3, 0:3] = basis[6:9, 3:6] = np.eye(3)
    return basis


def mode_screws(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the dual screws (12, n) of modes, in the Jacobian form and in the projecting form.

    :param shapes: Psi of (71), (6, n): rotation and displacement of the section by mode.
    """
    projecting = screw_basis() @ shapes  # (95)
    return N @ projecting, projecting  # (68), (69)


def jacobian_form(projecting: np.ndarray, elastic: np.ndarray) -> np.ndarray:
    """
    Convert columns in the projecting form into the Jacobian form (92).

    The real part of the projecting form becomes the dual part. The dual part of the projecting
    form, times a small rate, is of second order and is dropped.

    :param projecting: (..., 12, n).
    :param elastic: mask of the columns that are modes, (n,) bool.
    """
    out = projecting.copy()
    out[..., 3:6, elastic] = projecting[..., 0:3, elastic]
    out[..., 9:12, elastic] = projecting[..., 6:9, elastic]
    out[..., 0:3, elastic] = out[..., 6:9, elastic] = 0.0
    return out


def screw_matrix(Y: np.ndarray) -> np.ndarray:
    """Matrix V (12, 12) that maps screws of a frame to its child with the dual pose Y (66)."""
    return g2_adjoint(g2_inverse(Y))


def shift_screws(screws: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Apply U(p) of (60) to screws (..., 12, n) for many points of reference at once."""
    out = np.empty((*p.shape[:-1], *screws.shape[-2:]))
    out[..., :6, :] = screws[..., :6, :]
    out[..., 6:, :] = screws[..., 6:, :] + dual_hat(p) @ screws[..., :6, :]
    return out


def screw_rates(
    screw_link_twists: np.ndarray, point_twist: np.ndarray, screws: np.ndarray
) -> np.ndarray:
    """
    Rates (..., 12, n) of screws that are fixed to moving links: the geometric rule (76), (77).

    The paper sums w and y over the links (78). That sum is the difference of two known twists. The
    angular velocity w is that of the link of the screw, relative to the link in whose axes the
    screw is expressed. The velocity y is that of the point of reference, minus the velocity of the
    coincident point on the link of the screw.

    :param screw_link_twists: dual twists (..., 12, n) of the links to which the screws are fixed,
        at the same point of reference.
    :param point_twist: (..., 12) angular velocity of the axes, and velocity of the point.
    :param screws: (..., 12, n).
    """
    relative_twist = screw_link_twists - point_twist[..., None]
    w, minus_y = relative_twist[..., :6, :], relative_twist[..., 6:, :]
    angular = screws[..., :6, :]
    return np.concatenate(
        [dual_cross(w, angular), dual_cross(w, screws[..., 6:, :]) + dual_cross(minus_y, angular)],
        axis=-2,
    )
