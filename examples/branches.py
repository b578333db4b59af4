"""Save, branch and restore: effect of the same push at six instants of a move."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm = frs.load('two_link')
move = frs.planning.minimum_jerk_motion([0.0, 0.5, -0.8], [0.8, 0.2, -0.4], duration=1.0)
law = frs.control.PdControl(arm, reference=move, gains=(400.0, 20.0))
sim, worst = frs.Simulation(arm), []
controller = frs.feedback.sensor_feedback(arm, law.step)
sim.set_state(frs.equilibrium(arm, move.sample(0.0)[0]).q)
for _ in range(6):
    saved, heights = sim.save_state(), []
    for force in (0.0, 5.0):  # [N], for 50 ms
        sim.restore_state(saved)
        sim.push('tool', force=[0.0, 0.0, force])
        frs.rollout(sim, duration=0.05, controller=controller)
        sim.push('tool')
        log = frs.rollout(sim, duration=1.0, controller=controller, record='pose')
        heights.append(log.pose[:, 2, 3])
        plt.plot(log.time, 1e3 * heights[-1], color='C1' if force else 'k', linewidth=1.0)
    sim.restore_state(saved)
    worst.append(1e3 * np.abs(heights[1] - heights[0]).max())
    frs.rollout(sim, duration=0.2, controller=controller)
print('the push moves the tool by', *np.round([min(worst), max(worst)], 1), 'mm at most')
plt.gca().set(xlabel='time [s]', ylabel='height of the tool, black without a push [mm]')
plt.savefig('branches.png', dpi=120)
