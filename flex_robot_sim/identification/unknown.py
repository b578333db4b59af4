"""Unknown parameter of a fit, and its normalized value."""

from typing import NamedTuple

import numpy as np

DIFFERENCE_STEP = 1e-4  # of finite differences, in z
# stick-slip changes outputs by jumps; a damping changes them so little that jumps matter
DIFFERENCE_STEPS = {'damping': 3e-3}  # of kinds of unknowns


class Unknown(NamedTuple):
    """An unknown parameter: `start exp(z)`, or `start + scale z`."""

    path: str
    unit: str
    start: float
    lower: float
    upper: float
    scale: float  # 0: relative
    kind: str  # a group of the description, or of bench_parameters.py
    channel: int = -1  # channel of a term of a sensor
    source: int = -1  # other channel of cross talk, or joint; -1: all joints

    def value(self, z: float) -> float:
        """Return the parameter value of a normalized value z."""
        return self.start * float(np.exp(z)) if self.scale == 0.0 else self.start + self.scale * z

    def slope(self, z: float) -> float:
        """Return the derivative of the parameter value by z."""
        return self.value(z) if self.scale == 0.0 else self.scale

    def normalized(self, value: float) -> float:
        """Return the z of a parameter value, limited to the bounds."""
        value = min(max(value, self.lower), self.upper)
        if self.scale == 0.0:
            return float(np.log(value / self.start))
        return (value - self.start) / self.scale

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of z."""
        if self.scale == 0.0:
            return float(np.log(self.lower / self.start)), float(np.log(self.upper / self.start))
        return (self.lower - self.start) / self.scale, (self.upper - self.start) / self.scale

    def difference_step(self, z: float) -> float:
        """Return a step of finite differences at z that stays below the upper bound."""
        step = DIFFERENCE_STEPS.get(self.kind, DIFFERENCE_STEP)
        return step if z + step <= self.bounds[1] else -step
