"""Geometry of the shipped Stewart platform: where its legs end."""

import numpy as np


def leg_points():
    """Return the joints of the six legs on the base and on the platform, (6, 3) each."""
    half = np.radians(12)
    base = np.radians(np.repeat([0, 120, 240], 2)) + np.tile([-half, half], 3)
    platform = np.radians([300, 60, 60, 180, 180, 300]) + np.tile([half, -half], 3)
    return (
        r * np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
        for r, angles in ((0.5, base), (0.3, platform))
    )
