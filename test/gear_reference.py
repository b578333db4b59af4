"""Laws of gears as functions of one state, independent of the library."""

import numpy as np


def spring_torque(twist, stiffness, at, backlash):
    """Torque of a gear by walking along its characteristic."""
    remaining, torque = max(abs(twist) - backlash / 2, 0.0), 0.0
    for k, largest in zip(stiffness, [*at, np.inf]):
        part = min(remaining, (largest - torque) / k)
        torque, remaining = torque + k * part, remaining - part
    return np.copysign(torque, twist)


def harmonic_sum(x, rows, derivative=0):
    """Return the sum of amplitude * sin(cycles * x + phase) over rows, or a derivative by x."""
    return sum(a * w**derivative * np.sin(w * x + p + derivative * np.pi / 2) for a, w, p in rows)
