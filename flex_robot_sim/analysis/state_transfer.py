"""
State transfer between two arms of equal structure and different parameters.

Shape functions of flexible links depend on masses, so equal coordinates may mean different shapes.
Joint and gear positions remain. The tip of every beam remains, and the other sections as closely
as the new shape functions permit. The same map applies to rates.
"""

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError

BEAM_POSITIONS = 33  # compared positions along a beam
SHAPE_TOLERANCE = 1e-12  # difference of equal shape functions, over the largest displacement


def refuse_other_structure(arm: ArmModel, other: ArmModel) -> None:
    """Raise SettingError if `other` differs from `arm` in more than parameter values."""
    for kind, names, other_names in (
        ('joints', arm.joint_names, other.joint_names),
        ('flexible joints', arm.motor_names, other.motor_names),
        (
            'links',
            *(tuple(link.name for link in model.description.links) for model in (arm, other)),
        ),
        ('flexible links', tuple(arm.segments), tuple(other.segments)),
        ('flex sensors', flex_sensors(arm).names, flex_sensors(other).names),
        ('shapes', arm.coordinate_names, other.coordinate_names),
        ('constraints', _constraints(arm), _constraints(other)),
    ):
        if names != other_names:
            missing = [name for name in names if name not in other_names]
            additional = [name for name in other_names if name not in names]
            difference = (
                f'"{missing[0]}" is missing'
                if missing
                else f'"{additional[0]}" is new'
                if additional
                else 'their order is another'
            )
            raise SettingError(
                f'{other.description.source}: is of another structure: of its '
                f'{kind}, {difference}. Give the same robot with other numbers'
            )
    for joint, other_joint in zip(arm.description.joints, other.description.joints):
        if (joint.kind, joint.parent, joint.child) != (
            other_joint.kind,
            other_joint.parent,
            other_joint.child,
        ):
            raise SettingError(
                f'{other.description.source}: is of another structure: joint "{joint.name}" is '
                'another. Give the same robot with other numbers'
            )


def state_map(arm: ArmModel, other: ArmModel) -> np.ndarray:
    """Return the matrix (n, n) from coordinates of `arm` to those of `other`; also for rates."""
    matrix = np.eye(arm.size)
    for body, beam in arm.beams.items():
        rows = arm.elastic_coordinates(body)
        old_shape, old_tip = _shape_and_tip(beam)
        shape, tip = _shape_and_tip(other.beams[body])
        if np.abs(shape - old_shape).max(initial=0.0) > (
            SHAPE_TOLERANCE * np.abs(shape).max(initial=0.0)
        ):
            from_tip = np.linalg.pinv(tip) @ old_tip
            values, vectors = np.linalg.svd(tip)[1:]
            null_space = vectors[int((values > 1e-9 * values.max(initial=0.0)).sum()) :].T
            matrix[rows, rows] = from_tip + null_space @ np.linalg.pinv(shape @ null_space) @ (
                old_shape - shape @ from_tip
            )
    return matrix


def _constraints(arm):
    """Name, type and links of each constraint, in one text."""
    return tuple(
        f'{name} ({one.kind}, {one.parent} to {one.child})'
        for name, one in ((key, loop.constraint) for key, loop in arm.closed_loops.items())
    )


def _shape_and_tip(beam):
    """Return matrices from coordinates of a beam to its shape, and to the pose of its tip."""
    x = np.linspace(0.0, beam.length, BEAM_POSITIONS)
    shape = np.concatenate(
        [
            np.asarray(beam.shape(x)).reshape(-1, beam.size),
            beam.length * np.asarray(beam.turn(x)).reshape(-1, beam.size),
        ]
    )
    twist = beam.length * np.asarray(beam.turn(beam.length))[:1]
    tip = np.vstack([beam.shape(beam.length), twist])
    return shape, tip
