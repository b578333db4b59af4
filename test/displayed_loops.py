"""The gap of the displayed four-bar, by Pinocchio's kinematics of its display description."""

import numpy as np
import pytest

from flex_robot_sim.display.description import display_description


def displayed_gaps(arm, names, rows):
    """Return the distances between the tips of coupler and rocker in rows of positions [m]."""
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromXML(display_description(arm))
    data, gaps = model.createData(), []
    for row in rows:
        q = pin.neutral(model)
        for name, position in zip(names, row):
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q] = position
            if joint.nq == 2:  # continuous
                q[joint.idx_q : joint.idx_q + 2] = np.cos(position), np.sin(position)
        pin.framesForwardKinematics(model, data, q)
        coupler, rocker = (data.oMf[model.getFrameId(link)] for link in ('tool', 'rocker'))
        gaps.append(np.linalg.norm(coupler.translation - rocker.act(np.array([0.0, 0.0, 0.4]))))
    return gaps
