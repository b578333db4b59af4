"""Text of the description of an arm, for files from which others load the same arm."""

from pathlib import Path

import numpy as np

from flex_robot_sim.description import read_own_text
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.reduction.reduced_beam import ReducedBeam
from flex_robot_sim.util.exceptions import UsageError


def described_text(arm: ArmModel) -> str:
    """Return the URDF of an arm; UsageError if parameters of the arm differ from it."""
    description = arm.description
    folder = Path(description.source).parent  # of the files that the text names
    read, built = (
        build_arm(one, arm.coupling).arrays
        for one in (read_own_text(description.text, folder=folder), description)
    )
    if not all(np.array_equal(*values, equal_nan=True) for values in zip(read, built)):
        raise UsageError(
            f'{description.name}: parameters differ from those of its URDF, which the file would '
            'contain. Write them into the URDF, and load it.'
        )
    return description.text


def reduced_files(arm: ArmModel) -> dict[str, str]:
    """Return the SHA-256 of the files of the reduced links by link."""
    beams = {link: arm.beams[bodies[0]] for link, bodies in arm.segments.items()}
    return {link: beam.file_hash for link, beam in beams.items() if isinstance(beam, ReducedBeam)}
