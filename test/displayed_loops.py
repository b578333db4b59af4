"""The gap of the displayed four-bar, by Pinocchio's kinematics of its display description."""

import numpy as np
import pytest

from flex_robot_sim.display.description import display_description


def displayed_gap(arm, names, positions):
    """Return the distance between the tips of coupler and rocker [m]."""
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromXML(display_description(arm))
    data, q = model.createData(), pin.neutral(model)
    for name, position in zip(names, positions):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q] = position
        if joint.nq == 2:  # continuous
            q[joint.idx_q : joint.idx_q + 2] = np.cos(position), np.sin(position)
    pin.framesForwardKinematics(model, data, q)
    coupler, rocker = (data.oMf[model.getFrameId(link)] for link in ('tool', 'rocker'))
    return np.linalg.norm(coupler.translation - rocker.act(np.array([0.0, 0.0, 0.4])))
