"""A shaper in a comparison, and what it comes to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.shaping.impulses import Shaper
from flex_robot_sim.util.summary import summarized


class Design(NamedTuple):
    """A shaper whose delays follow the pose: arguments of `shaper_stages.stages_of` but tables."""

    kind: str
    tolerance: float
    uncertainty: float = 0.0
    grouped: bool = False


@summarized
class ShaperCandidate(NamedTuple):
    """A shaper, and its worst results over all cases."""

    shaper: Shaper
    vibration: float            # largest residual vibration, over the unshaped one
    acceleration: float         # of the tool at the allowed vibration                   [m/s2]
    added: float                # time, maximum                                             [s]
    design: Design | None = None        # if delays follow the pose; `shaper` is that of the first
    units: tuple = ()           # of a shaper by pose, as of `shaper_stages.units_of`
    moving: float = np.nan      # largest vibration in trial moves (lower bound); nan: not tried

    @property
    def follows(self) -> bool:
        """Whether its delays follow the pose."""
        return self.design is not None

    @property
    def name(self) -> str:
        """Name of the shaper, with `by pose` if it follows the pose."""
        return f'{self.shaper.name} by pose' if self.follows else self.shaper.name
