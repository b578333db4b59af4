"""Pinocchio's model of a rigid arm with closed loops."""

from typing import Any, NamedTuple

import numpy as np


class PinocchioLoops(NamedTuple):
    """Model, constraints and their data, and the row of each of its joints in the arm."""

    model: Any
    data: Any
    constraints: Any
    constraint_data: Any
    settings: Any
    order: np.ndarray


def pinocchio_loops(pin, arm):
    """Return the PinocchioLoops of a rigid arm with constraints of type spherical or fixed."""
    model = pin.buildModelFromXML(arm.description.text)
    contact = {'fixed': pin.ContactType.CONTACT_6D, 'spherical': pin.ContactType.CONTACT_3D}
    constraints, constraint_data = (
        pin.StdVec_RigidConstraintModel(),
        pin.StdVec_RigidConstraintData(),
    )
    for loop in arm.closed_loops.values():
        one, sides = loop.constraint, []
        for link, R, p in (
            (one.parent, one.parent_rotation, one.parent_position),
            (one.child, one.child_rotation, one.child_position),
        ):
            frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
            sides += [frame.parentJoint, frame.placement * pin.SE3(R, p)]
        row = pin.RigidConstraintModel(contact[one.kind], model, *sides, pin.ReferenceFrame.LOCAL)
        constraints.append(row)
        constraint_data.append(row.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, constraints, constraint_data)
    names = [name for name in model.names if name in arm.joint_names]  # not a free base
    order = np.array([arm.joint_names.index(name) for name in names])
    return PinocchioLoops(
        model, data, constraints, constraint_data, pin.ProximalSettings(1e-14, 1e-10, 20), order
    )
