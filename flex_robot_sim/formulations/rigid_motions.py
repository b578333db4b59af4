"""
Frames and screws of rigid motion as plain matrices: SE(3), its exponential and its adjoint.

A frame C (4, 4) maps coordinates of a point in this frame to coordinates in its parent frame. A
screw (6,) is (angular, linear). Equation numbers: Mueller, Screw and Lie group theory in multibody
kinematics, Multibody System Dynamics 43 (2018), appendix A.
"""

import numpy as np


def frame(R: np.ndarray | None = None, p: np.ndarray | None = None) -> np.ndarray:
    """Frame (4, 4) with rotation (3, 3) and origin (3,) [m] (77)."""
    C = np.eye(4)
    if R is not None:
        C[:3, :3] = R
    if p is not None:
        C[:3, 3] = p
    return C


def inverse(C: np.ndarray) -> np.ndarray:
    """Inverse of a frame (78)."""
    return frame(C[:3, :3].T, -C[:3, :3].T @ C[:3, 3])


def tilde(a: np.ndarray) -> np.ndarray:
    """Matrix (3, 3) of the cross product with a."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def adjoint(C: np.ndarray) -> np.ndarray:
    """Matrix Ad (6, 6) that maps screws in the frame C to its parent frame (89)."""
    Ad = np.zeros((6, 6))
    Ad[:3, :3] = Ad[3:, 3:] = C[:3, :3]
    Ad[3:, :3] = tilde(C[:3, 3]) @ C[:3, :3]
    return Ad


def translation_adjoint(r: np.ndarray) -> np.ndarray:
    """Matrix Ad_r (6, 6) that moves the point of reference by r; the axes do not change (91)."""
    return adjoint(frame(p=r))


def rotation_adjoint(R: np.ndarray) -> np.ndarray:
    """Matrix Ad_R (6, 6) that rotates the axes of a screw; its point does not change (91)."""
    return adjoint(frame(R=R))


def exponential(screw: np.ndarray, q: float) -> np.ndarray:
    """Frame exp(screw q): a unit rotation with any pitch (85), or a pure translation (86)."""
    omega, v = screw[:3], screw[3:]
    if not omega.any():
        return frame(p=v * q)
    W = tilde(omega)
    R = np.eye(3) + np.sin(q) * W + (1 - np.cos(q)) * W @ W  # (80)
    rotation_integral = q * np.eye(3) + (1 - np.cos(q)) * W + (q - np.sin(q)) * W @ W
    return frame(R, rotation_integral @ v)
