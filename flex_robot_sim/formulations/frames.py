"""
Frames and screws of rigid motion as plain matrices: SE(3), its exponential and its adjoint.

A frame C (4, 4) takes coordinates of a point in it to those in the frame around it; a screw (6,)
is (angular, linear). Equation numbers: Mueller, Screw and Lie group theory in multibody
kinematics, Multibody System Dynamics 43 (2018), appendix A.
"""

from __future__ import annotations

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
    """Matrix (3, 3) of the vector product with a."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def adjoint(C: np.ndarray) -> np.ndarray:
    """Matrix Ad (6, 6) that takes screws seen in C to the frame around it (89)."""
    Ad = np.zeros((6, 6))
    Ad[:3, :3] = Ad[3:, 3:] = C[:3, :3]
    Ad[3:, :3] = tilde(C[:3, 3]) @ C[:3, :3]
    return Ad


def shift(r: np.ndarray) -> np.ndarray:
    """Matrix Ad_r (6, 6) that moves the point of reference by r, axes kept (91)."""
    return adjoint(frame(p=r))


def turn(R: np.ndarray) -> np.ndarray:
    """Matrix Ad_R (6, 6) that turns the coordinates of a screw, its point kept (91)."""
    return adjoint(frame(R=R))


def exponential(screw: np.ndarray, q: float) -> np.ndarray:
    """Frame exp(screw q): a unit turn with any pitch (85), or a pure translation (86)."""
    omega, v = screw[:3], screw[3:]
    if not omega.any():
        return frame(p=v * q)
    W = tilde(omega)
    R = np.eye(3) + np.sin(q) * W + (1 - np.cos(q)) * W @ W                         # (80)
    along = q * np.eye(3) + (1 - np.cos(q)) * W + (q - np.sin(q)) * W @ W
    return frame(R, along @ v)
