"""Fitted joint stiffnesses as `<flexibility>` in a copy of a rigid URDF."""

from __future__ import annotations

from pathlib import Path

from flex_robot_sim.description.rewriting import Edit, Step, rewritten
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.tuning.stiffness_fit import StiffnessFit
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.files import open_atomic

# a flexible joint needs a rotor; with locked motors it has no effect on the frequencies
ROTOR = {'rotor_inertia': '1e-4', 'gear_ratio': '100'}
COMMENT = (
    'fitted by flexsim tune to frequencies with locked motors; replace rotor_inertia and '
    'gear_ratio by those of the data sheet'
)


def write_flexible_urdf(path: str | Path, arm: ArmModel, fit: StiffnessFit) -> None:
    """Write a copy of the URDF of an arm with the stiffnesses of a StiffnessFit."""
    edits: list[Edit] = []
    comments: dict[tuple[Step, ...], str] = {(('flexibility', ''),): COMMENT}
    for joint in fit.joints:
        place = (('flexibility', ''), ('joint', joint.joint))
        values = {
            'stiffness': f'{joint.stiffness:.5g}',
            'damping': f'{joint.damping:.3g}',
            **ROTOR,
        }
        if not joint.is_determined:
            comments[place] = 'not determined by the measured frequencies'
        edits += [Edit(place, word, text) for word, text in values.items()]
    text = rewritten(arm.description.text, edits, comments)
    try:
        with open_atomic(path, 'w', encoding='utf-8') as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f'{path}: cannot be written: {error.strerror}.') from error
