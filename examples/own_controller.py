"""Your own controller in ten lines, without ROS."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm = frs.load('two_link')
sim = frs.Simulation(arm)
target = np.array([0.5, 0.5, -0.8])
weight = frs.equilibrium(arm, target).effort  # of the motors at rest there
times, tips, angles = np.arange(0.0, 3.0, 2e-3), [], []
for t in times:
    sim.effort = weight + 40.0 * (target - sim.position) - 4.0 * sim.velocity
    sim.advance_to(t)
    tips.append(sim.deflection['forearm'][2])
    angles.append(sim.position)
print(f'off by {np.abs(sim.position - target).max():.1e} rad after {times[-1]:.1f} s')

figure, (above, below) = plt.subplots(2, sharex=True)
above.plot(times, angles, label=arm.joint_names)
above.set_ylabel('joints [rad]')
above.legend()
below.plot(times, 1e3 * np.array(tips))
below.set_ylabel('tip of the forearm, bent [mm]')
below.set_xlabel('time [s]')
for axes in (above, below):
    axes.grid(True)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else 'own_controller.png', dpi=120)
