"""Natural frequencies of an arm against its pose."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm = frs.load('two_link')
elbow = np.linspace(-2.0, 0.0, 21)
frequencies = np.array([frs.frequencies(arm, [0.0, 0.5, angle])[:3] for angle in elbow])
print(f'first mode: {frequencies[0, 0]:.2f} Hz folded, {frequencies[-1, 0]:.2f} Hz stretched')

plt.plot(np.degrees(elbow), frequencies, label=['first mode', 'second', 'third'])
plt.xlabel('elbow [deg]')
plt.ylabel('natural frequencies, motors held [Hz]')
plt.ylim(bottom=0.0)
plt.legend()
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'natural_modes.png', dpi=120)
