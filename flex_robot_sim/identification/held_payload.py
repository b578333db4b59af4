"""
The payload of an arm that rests, by what its motors give and its gauges show against gravity.

Both are linear in the mass that an arm carries. Dry friction holds part of the efforts, nobody
knows which, so that each joint tells as much as its friction is small; a gauge tells as much as
its zero and the stiffness of its link are known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.payload import with_payload
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.model.arm_model import ArmModel

PROBE = 0.1             # payload that shows what more of it does, over the mass of the arm
LEAST = 0.01            # deviation of an effort, over the largest that gravity asks for
SOFTER = 0.1            # likewise of what a gauge shows, over what weight makes it show


class Payload(NamedTuple):
    """A mass that is carried."""

    mass: float             # beyond what the robot has, which may be less than nothing    [kg]
    deviation: float        # inf: gravity does not tell                                   [kg]


UNKNOWN = Payload(0.0, np.inf)


def held_payload(arm: ArmModel, position: np.ndarray, efforts: np.ndarray, strains: np.ndarray,
                 zeros: float, link: str, centre: np.ndarray) -> Payload:
    """
    Return the Payload that an ArmModel holds at rest.

    :param position: of the drives, (joints,); efforts: of the motors, means of a while (joints,).
    :param strains: of its gauges, likewise (c,) [1/m]; what is not known is nan.
    :param zeros: deviation of the zeros of the gauges [1/m].
    :param link: that carries it; centre: of mass in its frame (3,) [m].
    """
    if not np.any(efforts):     # drivers that know none send zeros
        efforts = np.full(len(efforts), np.nan)
    mass = PROBE * float(arm.arrays.inertia[:, 3, 3].sum() + arm.arrays.point_mass.sum())
    gauges = flex_sensors(arm).matrix
    empty, laden = (equilibrium(one, position) for one in (
        arm, with_payload(arm, link, mass, centre)))
    dry = (arm.arrays.coulomb + arm.arrays.stiction) / np.sqrt(3.0)
    shown, more = gauges @ empty.coordinates, gauges @ laden.coordinates
    spread = np.concatenate([np.hypot(dry, LEAST * np.abs(empty.effort).max(initial=0.0)),
                             np.hypot(zeros, SOFTER * shown)])
    slope = np.concatenate([laden.effort - empty.effort, more - shown]) / mass
    beyond = np.concatenate([efforts - empty.effort, strains - shown])
    known = np.isfinite(beyond) & (spread > 0.0)
    weight = slope[known] / spread[known]**2
    information = float(weight @ slope[known])
    if not information > 0.0:
        return UNKNOWN
    return Payload(float(weight @ beyond[known]) / information, information**-0.5)
