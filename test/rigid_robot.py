"""A rigid robot in Pinocchio, by the names of our joints."""

import numpy as np


class RigidRobot:
    """Pinocchio's model of a robot, in the order of our joints."""

    def __init__(self, pin, text, names, gravity):
        self.pin = pin
        self.model = pin.buildModelFromXML(text)
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        self.rows = [joint.idx_v for joint in self.joints]

    def configuration(self, position):
        """Return Pinocchio's configuration of joint positions."""
        q = self.pin.neutral(self.model)
        for joint, x in zip(self.joints, position):
            values = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            q[joint.idx_q : joint.idx_q + joint.nq] = values
        return q

    def accelerations(self, position, rate, effort):
        """Return accelerations of the joints."""
        v, tau = np.zeros((2, self.model.nv))
        v[self.rows], tau[self.rows] = rate, effort
        q = self.configuration(position)
        return self.pin.aba(self.model, self.data, q, v, tau)[self.rows]

    def inertias(self, position):
        """Return the inertia of each joint with all others locked."""
        M = self.pin.crba(self.model, self.data, self.configuration(position))
        return np.diag(M)[self.rows]
