"""Unknown payloads: the mass that explains a measured frequency, and a design for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.feedback.lqg_design import LqgDesign, design_lqg
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MASS_STEP, MAX_DOUBLINGS = 1e-3, 24  # first mass that is tried [kg], and doublings of it


def frequency_warning(measured: float, model: float, low: float, high: float) -> str:
    """Return a line about a measured frequency outside the range of a design [Hz]."""
    cause = (
        'If a payload is unknown, redesigned("<its link>") returns a law for it; else correct the '
        'stiffness of the description'
        if measured < model
        else 'Correct the payload or the stiffness of the description'
    )
    return (
        f'the links vibrate at {measured:.3g} Hz, not at {model:.3g} Hz as in the model; the '
        f'gains are designed for {low:.3g} to {high:.3g} Hz. {cause}'
    )


def payload_of(arm: ArmModel, pose: ArrayLike, frequency: float, link: str) -> float:
    """
    Additional mass at the origin of a link for a first frequency with locked drives [kg].

    :param pose: positions of the drives (joints,) [rad, m]; frequency: measured [Hz].
    """
    from scipy.optimize import brentq  # imported late: slow

    if not np.isfinite(frequency):
        raise SettingError(
            'the frequency of the links is not known yet: move the arm for a few periods, with '
            'flex sensors in the design'
        )

    def excess(mass):
        loaded = with_payload(arm, link, mass)
        natural = frequencies(loaded, pose)
        return float(natural[natural > 0.0][0]) - frequency

    if excess(0.0) <= 0.0:
        raise SettingError(
            f'the links vibrate at {frequency:.3g} Hz, faster than without an additional payload: '
            'correct the payload or the stiffness of the description'
        )
    mass = MASS_STEP
    for _ in range(MAX_DOUBLINGS):
        if excess(mass) <= 0.0:
            return float(brentq(excess, 0.0, mass, xtol=1e-6))
        mass *= 2.0
    raise SettingError(
        f'no payload of "{link}" makes the links vibrate at {frequency:.3g} Hz: choose a link '
        'nearer to the tool'
    )


def redesigned(
    arm: ArmModel, design: LqgDesign, link: str, mass: float
) -> tuple[ArmModel, LqgDesign]:
    """Return the arm with a payload, and an LqgDesign for it like another one."""
    loaded = with_payload(arm, link, mass)
    return loaded, design_lqg(
        loaded,
        design.axes,
        **design.loop._asdict(),
        modes=design.modes,
        sensors=design.sensors,
        stiffness_range=design.stiffness_range,
        feedback=design.feedback,
    )
