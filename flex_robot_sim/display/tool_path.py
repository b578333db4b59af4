"""The trace of the tool."""

import numpy as np

from flex_robot_sim.util.exceptions import SettingError


class ToolPath:
    """The last positions of a tool, oldest first."""

    def __init__(self, capacity: int = 300, spacing: float = 0.0) -> None:
        """Start empty; `spacing` [m] keeps a tool at rest from overwriting its trace."""
        if not isinstance(capacity, (int, np.integer)) or capacity < 1:
            raise SettingError(
                f'capacity = {capacity!r} must be a whole number >= 1: positions of a tool path'
            )
        if not 0 <= spacing < np.inf:
            raise SettingError(
                f'spacing = {spacing!r} must be >= 0 and finite: between positions '
                'of a tool path [m]'
            )
        self._points, self._count, self._spacing = np.empty((capacity, 3)), 0, spacing

    @property
    def points(self) -> np.ndarray:
        """Positions (k, 3) [m], a copy."""
        return self._points[: self._count].copy()

    def add(self, point: np.ndarray) -> bool:
        """Add a position (3,) [m]; return whether it was added: it is finite and far enough."""
        point = np.asarray(point, float)
        if not np.isfinite(point).all():
            return False
        if self._count:
            step = point - self._points[self._count - 1]
            if np.sqrt(step @ step) < self._spacing:
                return False
        if self._count == len(self._points):
            self._points[:-1] = self._points[1:]
        else:
            self._count += 1
        self._points[self._count - 1] = point
        return True

    def clear(self) -> None:
        """Remove all positions, for instance after a reset."""
        self._count = 0
