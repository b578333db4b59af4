"""
Payload of an arm at rest, estimated from motor efforts and strain gauges.

Both are linear in the payload mass. Dry friction takes an unknown part of the efforts, so a joint
with less friction has a larger weight. The weight of a gauge depends on the uncertainty of its
zero and of the stiffness of its link.
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.friction import static_frictions
from flex_robot_sim.model.payload import with_payload

PROBE_MASS_RATIO = 0.1  # payload of the finite difference, over the mass of the arm
MIN_EFFORT_STD_RATIO = 0.01  # standard deviation of efforts, over the largest gravity effort
GAUGE_STD_RATIO = 0.1  # standard deviation of a gauge, over its value under gravity


class PayloadEstimate(NamedTuple):
    """Estimate of a payload mass."""

    mass: float  # in addition to the described robot; may be negative          [kg]
    deviation: float  # standard deviation; inf: gravity does not determine it       [kg]


UNKNOWN = PayloadEstimate(0.0, np.inf)


def held_payload(
    arm: ArmModel,
    position: np.ndarray,
    efforts: np.ndarray,
    strains: np.ndarray,
    zero_std: float,
    link: str,
    centre: np.ndarray,
) -> PayloadEstimate:
    """
    Return the PayloadEstimate that an ArmModel holds at rest.

    :param position: of the drives, (joints,); efforts: of the motors, means over time (joints,).
    :param strains: of its gauges, means over time (c,) [1/m]; nan: unknown.
    :param zero_std: deviation of the zeros of the gauges [1/m].
    :param link: with the payload; centre: of mass in its frame (3,) [m].
    """
    if not np.any(efforts):  # drivers without effort measurement publish zeros
        efforts = np.full(len(efforts), np.nan)
    mass = PROBE_MASS_RATIO * float(
        arm.arrays.inertia[:, 3, 3].sum() + arm.arrays.point_mass.sum()
    )
    gauges = flex_sensors(arm).matrix
    empty, loaded = (
        equilibrium(model, position)
        for model in (arm, with_payload(arm, link, mass, centre=centre))
    )
    dry = static_frictions(arm.arrays.friction) / np.sqrt(3.0)
    strains_empty, strains_loaded = gauges @ empty.q, gauges @ loaded.q
    stds = np.concatenate(
        [
            np.hypot(dry, MIN_EFFORT_STD_RATIO * np.abs(empty.effort).max(initial=0.0)),
            np.hypot(zero_std, GAUGE_STD_RATIO * strains_empty),
        ]
    )
    slope = np.concatenate([loaded.effort - empty.effort, strains_loaded - strains_empty]) / mass
    differences = np.concatenate([efforts - empty.effort, strains - strains_empty])
    is_known = np.isfinite(differences) & (stds > 0.0)
    weight = slope[is_known] / stds[is_known] ** 2
    information = float(weight @ slope[is_known])
    if not information > 0.0:
        return UNKNOWN
    return PayloadEstimate(float(weight @ differences[is_known]) / information, information**-0.5)
