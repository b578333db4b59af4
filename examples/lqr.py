"""LQR in closed loop: a pushed arm, held by a servo and by a linear quadratic regulator."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

POSE = [0.0, 0.5, -0.8]  # [rad]
arm = frs.load('two_link')
rest = frs.equilibrium(arm, POSE)
height = frs.pose(arm, rest.q)[2, 3]
for label, law in (
    ('servo', frs.control.PdControl(arm, reference=POSE, gains=(400.0, 20.0))),
    ('LQR', frs.feedback.Lqr(arm, POSE, period=1e-3)),
):
    controller = frs.feedback.sensor_feedback(arm, law.step)
    sim = frs.Simulation(arm)
    sim.set_state(rest.q)
    sim.push('tool', force=[0.0, 0.0, 2.0])
    frs.rollout(sim, duration=0.1, controller=controller)
    sim.push('tool')
    log = frs.rollout(sim, duration=4.0, controller=controller, record='pose')
    error = 1e3 * (log.pose[:, 2, 3] - height)
    print(f'{label}: {np.ptp(error[log.time > 1.0]):.2f} mm of vibration after a second')
    plt.plot(log.time, error, label=label)
plt.xlabel('time [s]')
plt.ylabel('height of the tool, off its equilibrium [mm]')
plt.legend()
plt.savefig('lqr.png', dpi=120)
