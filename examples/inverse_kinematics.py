"""Inverse kinematics of a sagging arm: damped least squares on its tool in equilibrium."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

DAMPING, GOAL = 1e-2, np.array([0.45, 0.25, 0.15])  # of the least squares; of the tool [m]
arm = frs.with_payload(frs.load('two_link'), 'tool', 0.3)
joints = np.array([0.0, 0.5, -1.0])
errors: list[np.floating] = []
while len(errors) < 12:
    q = frs.equilibrium(arm, joints).q  # sagging under its weight
    error = GOAL - frs.pose(arm, q)[:3, 3]
    errors.append(np.linalg.norm(error))
    J = frs.jacobian(arm, q, representation='mixed')[3:, arm.joint_q]
    joints += J.T @ np.linalg.solve(J @ J.T + DAMPING**2 * np.eye(3), error)
straight = np.zeros(arm.nq)
arm.set_joints(straight, joints)
sag = 1e3 * (frs.pose(arm, straight)[2, 3] - GOAL[2])
print(f'error {1e3 * errors[-1]:.1e} mm after {len(errors)} iterations; sag {sag:.1f} mm')
plt.semilogy(errors, 'o-')
plt.xlabel('iteration')
plt.ylabel('distance of the tool from its goal [m]')
plt.grid(True)
plt.savefig('inverse_kinematics.png', dpi=120)
