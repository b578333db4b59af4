"""An arm from code: two tubes, an elastic gear and a tool, and its vibration after an impact."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm = (
    frs.ArmBuilder('lamp')
    .add_beam('rod', length=0.5, section=frs.Tube(outer=0.02, wall=0.001), material='aluminium')
    .add_beam('neck', length=0.4, section=frs.Tube(outer=0.01, wall=0.001), material='steel')
    .add_rigid('tool', shape=frs.Sphere(radius=0.03), density=2700)
    .add_joint('shoulder', parent='base', child='rod', axis='y')
    .add_joint('elbow', parent='rod', child='neck', axis='y', rpy=(0.0, 0.5, 0.0))
    .attach('tool', parent='neck')
    .add_gear('shoulder', gear_ratio=100, rotor_inertia=2e-5, stiffness=900, damping=0.5)
    .build(gravity=(0.0, 0.0, 0.0))
)
sim, times, bent = frs.Simulation(arm), np.arange(0.0, 4.0, 1e-3), []
sim.hold([0.0, 0.0], stiffness=1e5, damping=100.0)  # the drives stand still
for t in times:
    sim.push('tool', force=(0.0, 0.0, 1.0 if t < 0.02 else 0.0))
    sim.advance_to(t)
    bent.append(1e3 * sim.deflection['neck'][2])
spectrum, scale = np.abs(np.fft.rfft(bent, n=2**16)), np.fft.rfftfreq(2**16, 1e-3)
modes = frs.frequencies(arm, [0.0, 0.0])[:2].round(2)
print(f'vibrates at {scale[spectrum.argmax()]:.2f} Hz; the linear model has {modes} Hz')
plt.plot(times, bent)
plt.gca().set(xlabel='time [s]', ylabel='deflection of the neck [mm]')
plt.savefig('arm_from_code.png', dpi=120)
