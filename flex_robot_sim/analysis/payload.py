"""ArmModel with a payload."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flex_robot_sim.dynamics.loads import payload_inertia
from flex_robot_sim.model.arguments import expect_arm, is_known
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def with_payload(model: ArmModel, link: str, mass: float, centre: ArrayLike = (0.0, 0.0, 0.0),
                 inertia: ArrayLike | None = None) -> ArmModel:
    """
    Return a copy of the arm with an additional body fixed to a link.

    :param mass: [kg]; centre: of mass in the link frame (3,) [m]; inertia: about it, in the axes
        of the link (3, 3) [kg m2]; default: a point mass.
    """
    expect_arm(model)
    if not is_known(link, model.frames) or model.frames[link].body < 0:
        moving = [name for name, frame in model.frames.items() if frame.body >= 0]
        raise SettingError(f'no link "{link}" that carries a payload. Known: {", ".join(moving)}')
    frame = model.frames[link]
    inertias = model.arrays.inertia.copy()
    inertias[frame.body] += payload_inertia(link, frame, mass, centre, inertia)
    return replace(model, arrays=model.arrays._replace(inertia=inertias))
