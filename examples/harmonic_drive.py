"""Torque over twist of a harmonic drive with its motor held: the loop of catalogues."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

PERIOD_S, RATED_TORQUE = 20.0, 67.0
arm = frs.load('harmonic_drive', gravity=(0.0, 0.0, 0.0))
sim = frs.Simulation(arm)
sim.prescribe('output', lambda time: (0.0, 0.0))
twist, torque = [], []
for _ in range(round(1.25 * PERIOD_S / 1e-3)):
    torque.append(RATED_TORQUE * np.sin(2 * np.pi * sim.time / PERIOD_S))
    sim.push('tool', moment=(0.0, torque[-1], 0.0))  # about -y it turns the joint upwards
    sim.step()
    twist.append(float(sim.q[arm.motor_q[0]] - sim.q[0]))

cycle = slice(round(0.25 * PERIOD_S / 1e-3), None)
x, y = np.array(twist)[cycle], np.array(torque)[cycle]
x -= (x.max() + x.min()) / 2  # the kinematic error where the motor is held
crossings = x[1:][np.diff(np.sign(y)) != 0]
area = float(np.sum((y[1:] + y[:-1]) / 2 * np.diff(x)))
print(f'largest twist: {1e3 * x.max():.4f} mrad')
print(f'width without torque: {1e3 * np.ptp(crossings):.4f} mrad, area {abs(area):.5f} J')
plt.plot(1e3 * x, y)
plt.xlabel('twist of the gear [mrad]')
plt.ylabel('torque at the output [N m]')
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'harmonic_drive.png', dpi=120)
