"""A thousand random payloads at once: residual vibration of the tip after the same move."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

COUNT, PERIOD, SERVO = 1000, 5e-3, (400.0, 20.0)  # arms; between two targets [s]; of the drives
arm = frs.load('single_link')
rng = np.random.default_rng(1)
masses, centres = rng.uniform(0.0, 0.2, COUNT), rng.uniform(-0.05, 0.05, (COUNT, 3))
batch = frs.Batch(arm, COUNT)
batch.set_payload('tool', masses, centre=centres)
move, tips = frs.planning.minimum_jerk_motion([0.0], [0.2], duration=1.0), []
while batch.time < 3.0:
    position, velocity, _ = move.sample(batch.time)
    batch.hold(position, *SERVO, rate=velocity)
    batch.advance_to(batch.time + PERIOD)
    if batch.time > 1.5:
        tips.append(batch.deflection['arm'][:, 1])
residual = 1e3 * np.ptp(tips, axis=0) / 2
percentiles = np.percentile(residual, [5, 50, 95]).round(2)
print('5th, 50th and 95th percentiles of the residual vibration:', *percentiles, 'mm')
plt.plot(masses, residual, '.', markersize=3)
plt.xlabel('payload [kg]')
plt.ylabel('residual vibration of the tip [mm]')
plt.grid(True)
plt.savefig('random_payloads.png', dpi=120)
