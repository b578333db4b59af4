"""Result of an identification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.identification.fit import Fit
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.util.summary import summarized

MAX_RELATIVE_ERROR = 0.1  # RMS error beyond noise over RMS signal, of a good model
MAX_JOINT_ERROR = 0.05  # the same of the positions of joints and motors
MIN_EXPLAINED_VARIANCE = 0.9  # explained share of efforts and IMUs


def min_explained_variance(channel: str) -> float:
    """
    Return the share of the variance beyond noise that a good model explains.

    Encoder steps of a measured motion that drives the model are noise of its accelerations.
    """
    if imu_channel(channel):
        return MIN_EXPLAINED_VARIANCE
    is_joint = channel.startswith(('motor/', 'position/'))
    return 1 - (MAX_JOINT_ERROR if is_joint else MAX_RELATIVE_ERROR) ** 2


class ParameterEstimate(NamedTuple):
    """
    Estimate of a parameter, with its uncertainty.

    Example::

        # for estimate in frs.identification.identify_parameters(arm, 'run.csv').estimates:
        #     print(estimate.path, estimate.value, estimate.interval, estimate.unit)
    """

    path: str
    unit: str
    initial_value: float
    value: float
    standard_deviation: float  # inf: the log does not determine it
    interval: tuple[float, float]  # confidence interval of 95 %
    is_identifiable: bool
    correlated_with: str  # path of a strongly correlated parameter, or ''
    hint: str  # excitation that would determine it better, or ''


class LogEstimate(NamedTuple):
    """
    Estimate of a parameter from one log alone.

    Example::

        # found = frs.identification.identify_parameters(arm, ['run1.csv', 'run2.csv'])
        # found.log_estimates['run1.csv']['forearm.EIz'].difference
    """

    value: float
    standard_deviation: float
    difference: float  # from the estimate of all logs, over this standard deviation


@summarized
@dataclass(frozen=True, eq=False)
class Identification:
    """
    Result of an identification.

    Example::

        # found = frs.identification.identify_parameters(arm, 'run.csv')
        # found.values, found.validation_variance, found.is_good
    """

    estimates: list[ParameterEstimate]
    explained_variance: dict[str, float]  # share by channel, in the fit
    validation_variance: dict[str, float]  # explained share beyond noise, in validation data
    validation_effort_variance: dict[str, float]  # the same for efforts, by joint; {} if by motion
    signals_below_noise: tuple[str, ...]  # validation signals that do not exceed their noise
    resonances: list[Resonance]  # of the log
    notes: list[str]
    correlations: np.ndarray  # (estimates, estimates)
    measured: list[np.ndarray]  # validation data, (k, c) each
    predicted: list[np.ndarray]
    times: list[np.ndarray]
    channels: tuple[str, ...]
    fit: Fit
    setup: Setup
    fit_variance: dict[str, float]  # explained share beyond noise in the fit, by channel
    relative_errors: dict[str, dict[str, float]]  # RMS error over RMS signal, by log and channel
    log_estimates: dict[str, dict[str, LogEstimate]]  # of each log alone, by log and path
    objections: list[str]  # reasons, apart from these shares, for which the fit is not good

    @property
    def is_good(self) -> bool:
        """Whether the model explains all signals that exceed their noise, without objections."""
        shares = (*self.fit_variance.items(), *self.validation_variance.items())
        return (
            bool(self.validation_variance)
            and not self.objections
            and all(share >= min_explained_variance(name) for name, share in shares)
            and all(
                share >= MIN_EXPLAINED_VARIANCE
                for share in self.validation_effort_variance.values()
            )
        )

    @property
    def values(self) -> dict[str, float]:
        """Parameters that the logs determine, by path."""
        return {one.path: one.value for one in self.estimates if one.is_identifiable}
