"""Gains of a joint servo."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Servo:
    """PD gains of the joints of an arm, and integral rates."""

    stiffness: np.ndarray       # (joints,)                                 [N m/rad, N/m]
    damping: np.ndarray         # (joints,)                                 [N m s/rad, N s/m]
    frequency: float            # of the slowest closed joint if the arm were rigid         [Hz]
    complaint: str = ''         # why the gains do not hold the arm, and a remedy
    integral: np.ndarray | None = None  # (joints,)  rates of an integral action         [1/s]
