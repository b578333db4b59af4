"""Text of the description of an arm, for files from which others load the same arm."""

import numpy as np

from flex_robot_sim.description import read_text
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import UsageError


def described_text(arm: ArmModel) -> str:
    """Return the URDF of an arm; UsageError if parameters of the arm differ from it."""
    description = arm.description
    if any(description.beam(link).reduced is not None for link in arm.segments):
        raise UsageError(f'{description.name}: the text of its URDF lacks its reduced links')
    read, built = (
        build_arm(one, arm.coupling).arrays for one in (read_text(description.text), description)
    )
    if not all(np.array_equal(*values, equal_nan=True) for values in zip(read, built)):
        raise UsageError(
            f'{description.name}: parameters differ from those of its URDF, which the file would '
            'contain. Write them into the URDF, and load it.'
        )
    return description.text
