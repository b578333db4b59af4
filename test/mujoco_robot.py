"""A robot with rigid links in MuJoCo."""

from xml.etree import ElementTree

import numpy as np
import pytest


class MujocoRobot:
    """A robot in MuJoCo, with joints in the order of ArmModel."""

    def __init__(self, text, names, gravity):
        """
        Build it from the text of a URDF.

        :param names: of the joints, in the order of the results; gravity: (3,) [m/s2].
        """
        mujoco = pytest.importorskip('mujoco')
        robot = ElementTree.fromstring(text)
        for link in robot.iterfind('link'):  # meshes are irrelevant
            for part in (*link.findall('visual'), *link.findall('collision')):
                link.remove(part)
        for limit in robot.iterfind('joint/limit'):  # stops are off, see below
            limit.attrib.pop('lower', None), limit.attrib.pop('upper', None)
        self.library = mujoco
        self.text = ElementTree.tostring(robot, 'unicode')
        self.model = mujoco.MjModel.from_xml_string(self.text)
        self.model.opt.gravity[:] = gravity
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(self.model)
        self.rows = [int(self.model.joint(name).dofadr[0]) for name in names]
        assert sorted(self.rows) == list(range(self.model.nv))
        self.damping = self.model.dof_damping[self.rows]
        self.friction = self.model.dof_frictionloss[self.rows]

    def mass_matrix_and_bias(self, q, qd):
        """Return M (n, n), and the velocity and gravity forces (n,)."""
        self.data.qpos[self.rows], self.data.qvel[self.rows] = q, qd
        self.library.mj_forward(self.model, self.data)
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M, np.eye(self.model.nv)):
            self.library.mj_mulM(self.model, self.data, column, unit)
        return M[np.ix_(self.rows, self.rows)], self.data.qfrc_bias[self.rows].copy()
