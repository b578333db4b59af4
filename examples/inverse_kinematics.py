"""Inverse kinematics of a sagging arm: motor positions that keep its tool on a line."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

START, GOAL = np.array([0.45, -0.25, 0.15]), np.array([0.45, 0.25, 0.15])  # of the tool [m]
arm = frs.with_payload(frs.load('two_link'), 'tool', 0.3)
found = frs.inverse_kinematics(arm, START, [0.0, 0.5, -1.0])
share, errors, sags = np.linspace(0.0, 1.0, 41), [], []
for target in START + share[:, None] * (GOAL - START):
    found = frs.inverse_kinematics(arm, target, found.joints)
    straight = np.zeros(arm.nq)
    arm.set_joints(straight, found.joints)
    errors.append(found.distance)
    sags.append(1e3 * (frs.pose(arm, straight)[2, 3] - target[2]))
print(f'error {1e3 * max(errors):.1e} mm at {len(errors)} places; sag {max(sags):.1f} mm')
plt.plot(100.0 * share, sags)
plt.xlabel('position along the line [%]')
plt.ylabel('sag that the motors compensate [mm]')
plt.grid(True)
plt.savefig('inverse_kinematics.png', dpi=120)
