"""Effect of a payload on an arm: sag and first natural frequency."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm, pose = frs.load('two_link'), [0.0, 0.5, -0.8]
masses = np.linspace(0.0, 0.5, 11)
frequencies, sags = [], []
for mass in masses:
    loaded = frs.with_payload(arm, 'tool', mass) if mass else arm
    rest = frs.equilibrium(loaded, pose).q
    frequencies.append(frs.frequencies(loaded, pose)[0])
    sags.append(frs.pose(loaded, rest, link='tool')[2, 3])
print(
    f'{masses[-1]:g} kg: {1e3 * (sags[0] - sags[-1]):.1f} mm lower, '
    f'{frequencies[-1]:.2f} instead of {frequencies[0]:.2f} Hz'
)

figure, (above, below) = plt.subplots(2, sharex=True)
above.plot(masses, 1e3 * (np.array(sags) - sags[0]))
above.set_ylabel('height of the tool [mm]')
below.plot(masses, frequencies)
below.set_ylabel('first mode [Hz]')
below.set_ylim(bottom=0.0)
below.set_xlabel('payload [kg]')
for axes in (above, below):
    axes.grid(True)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else 'payloads.png', dpi=120)
