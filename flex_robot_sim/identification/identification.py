"""Result of an identification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.recorded_vibration import Resonance
from flex_robot_sim.identification.fit import Fit
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.util.summary import summarized

MIN_EXPLAINED_VARIANCE = 0.9  # of each channel in the validation of a good model


class EstimatedNumber(NamedTuple):
    """
    Estimate of a parameter.

    Example::

        # for number in frs.identification.identify_parameters(arm, 'run.csv').numbers:
        #     print(number.path, number.value, number.interval, number.unit)
    """

    path: str
    unit: str
    before: float
    value: float
    deviation: float  # standard deviation; inf: the log does not determine it
    interval: tuple[float, float]  # confidence interval of 95 %
    is_identifiable: bool
    trades_with: str  # path of a strongly correlated parameter, or ''
    hint: str  # excitation that would determine it better, or ''


@summarized
@dataclass(frozen=True, eq=False)
class Identification:
    """
    Result of an identification.

    Example::

        # found = frs.identification.identify_parameters(arm, 'run.csv')
        # found.values, found.held_out, found.is_good
    """

    numbers: list[EstimatedNumber]
    explained: dict[str, float]  # share of the variance by channel, in the fit
    held_out: dict[str, float]  # share of the non-noise variance, in validation data
    effort_explained: dict[str, float]  # the same for efforts, by joint; {} if by motion
    silent: tuple[str, ...]  # validation signals that do not exceed their noise
    resonances: list[Resonance]  # of the log
    notes: list[str]
    correlations: np.ndarray  # (numbers, numbers)
    measured: list[np.ndarray]  # validation data, (k, c) each
    predicted: list[np.ndarray]
    times: list[np.ndarray]
    channels: tuple[str, ...]
    fit: Fit
    setup: Setup

    @property
    def is_good(self) -> bool:
        """Whether the model explains all validation signals that exceed their noise."""
        return bool(self.held_out) and all(
            share >= MIN_EXPLAINED_VARIANCE
            for share in (*self.held_out.values(), *self.effort_explained.values())
        )

    @property
    def values(self) -> dict[str, float]:
        """Parameters that the logs determine, by path."""
        return {number.path: number.value for number in self.numbers if number.is_identifiable}
