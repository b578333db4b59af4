"""
The state of an arm in the coordinates of another one, which differs in its numbers alone.

Shapes of bending links go with what hangs at them, so that the same coordinates may mean another
form. Joints keep their places and gears their turns; of every beam, the tip stays where it is, and
the rest as near as the new shapes allow. Rates go the same way.
"""

from __future__ import annotations

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

LOOKS = 33              # places of a beam that are compared
ALIKE = 1e-12           # of the largest displacement, by which the same shapes differ


def refuse_other_structure(arm: ArmModel, other: ArmModel) -> None:
    """Raise SettingError if `other` differs from `arm` in more than numbers."""
    for what, own, theirs in (
            ('joints', arm.joint_names, other.joint_names),
            ('flexible joints', arm.motor_names, other.motor_names),
            ('links', _links(arm), _links(other)),
            ('flexible links', tuple(arm.segments), tuple(other.segments)),
            ('flex sensors', flex_sensors(arm).names, flex_sensors(other).names),
            ('shapes', arm.coordinate_names, other.coordinate_names)):
        if own != theirs:
            missing = [name for name in own if name not in theirs]
            more = [name for name in theirs if name not in own]
            difference = (f'"{missing[0]}" is missing' if missing else
                          f'"{more[0]}" is new' if more else 'their order is another')
            raise SettingError(f'{other.description.source}: is of another structure: of its '
                               f'{what}, {difference}. Give the same robot with other numbers')
    for one, two in zip(arm.description.joints, other.description.joints):
        if (one.kind, one.parent, one.child) != (two.kind, two.parent, two.child):
            raise SettingError(f'{other.description.source}: is of another structure: joint '
                               f'"{one.name}" is another. Give the same robot with other numbers')


def _links(arm):
    return tuple(link.name for link in arm.description.links)


def state_map(arm: ArmModel, other: ArmModel) -> np.ndarray:
    """Return the matrix (n, n) from coordinates of `arm` to those of `other`, and of rates."""
    out = np.eye(arm.size)
    for body, beam in arm.beams.items():
        first, new = arm.arrays.first[body], other.beams[body]
        own = slice(first, first + beam.size)
        old_form, old_end = _form(beam)
        form, end = _form(new)
        if np.abs(form - old_form).max(initial=0.0) > ALIKE * np.abs(form).max(initial=0.0):
            held = np.linalg.pinv(end) @ old_end
            values, vectors = np.linalg.svd(end)[1:]
            loose = vectors[int((values > 1e-9 * values.max(initial=0.0)).sum()):].T
            out[own, own] = held + loose @ np.linalg.pinv(form @ loose) @ (old_form - form @ held)
    return out


def _form(beam):
    """Rows that say how all of a beam is bent, and those that say where its tip is."""
    x = np.linspace(0.0, beam.length, LOOKS)
    form = np.concatenate([np.asarray(beam.shape(x)).reshape(-1, beam.size),
                           beam.length * np.asarray(beam.turn(x)).reshape(-1, beam.size)])
    twist = beam.length * np.asarray(beam.turn(beam.length))[:1]
    end = np.vstack([beam.shape(beam.length), twist])
    return form, end
