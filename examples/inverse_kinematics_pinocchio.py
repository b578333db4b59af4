"""Inverse kinematics with Pinocchio, where links and gears are rigid: damped least squares."""

import matplotlib.pyplot as plt
import numpy as np
import pinocchio as pin

import flex_robot_sim as frs

DAMPING, GOAL = 1e-2, np.array([0.45, 0.25, 0.15])  # of the least squares; of the tool [m]
model = pin.buildModelFromUrdf(str(frs.robots()['two_link']))
data, tool = model.createData(), model.getFrameId('tool')
joints = np.array([0.0, 0.5, -1.0])
errors: list[np.floating] = []
while len(errors) < 12:
    pin.framesForwardKinematics(model, data, joints)
    error = GOAL - data.oMf[tool].translation
    errors.append(np.linalg.norm(error))
    J = pin.computeFrameJacobian(model, data, joints, tool, pin.LOCAL_WORLD_ALIGNED)[:3]
    joints += J.T @ np.linalg.solve(J @ J.T + DAMPING**2 * np.eye(3), error)
print(f'error {1e3 * errors[-1]:.1e} mm after {len(errors)} iterations; joints', joints.round(4))
plt.semilogy(errors, 'o-')
plt.gca().set(xlabel='iteration', ylabel='distance of the tool from its goal [m]')
plt.savefig('inverse_kinematics_pinocchio.png', dpi=120)
