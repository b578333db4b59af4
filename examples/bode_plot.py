"""The linear model of an arm with a servo: from the target of a joint to the tip of its link."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm = frs.load('single_link')
model = frs.linearise(arm, gains=(40.0, 4.0))  # of a servo [N m/rad, N m s/rad]
path = model.part(['motor/target'], ['arm/tip_y'])
frequency = np.logspace(-1, 2, 2000)  # [Hz]
response = np.array(
    [
        (
            path.C @ np.linalg.solve(2j * np.pi * f * np.eye(len(path.A)) - path.A, path.B)
            + path.D
        ).item()
        for f in frequency
    ]
)
gain, phase = 20 * np.log10(np.abs(response)), np.degrees(np.unwrap(np.angle(response)))
print(f'highest gain {gain.max():.1f} dB at {frequency[gain.argmax()]:.2f} Hz')

figure, (above, below) = plt.subplots(2, sharex=True)
above.semilogx(frequency, gain)
above.set_ylabel('gain [dB, m/rad]')
below.semilogx(frequency, phase)
below.set_ylabel('phase [deg]')
below.set_xlabel('frequency [Hz]')
for axes in (above, below):
    axes.grid(True)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else 'bode_plot.png', dpi=120)
