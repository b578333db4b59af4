"""A boom on a ship: roll of the deck, sag of the boom, and torque of its lifting motor."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

arm = frs.load('ship_boom')
sim = frs.Simulation(arm)
hold = [0.5, 0.6]  # slew and luff [rad]
rest = frs.equilibrium(arm, hold)
sim.set_state(rest.q)
sim.effort = rest.effort
sim.hold(hold, stiffness=2e5, damping=2e4)
recorded = ['base_pose', 'deflection', 'applied_effort']
log = frs.rollout(sim, duration=60.0, record=recorded, record_period=0.05)
roll = 2.0 * np.degrees(np.arcsin(log['base_pose'][:, 3]))
sag = 1e3 * log['deflection']['boom'][:, :3]
energy = sim.energy()
print(f'roll {abs(roll).max():.1f} degrees; sideways {np.ptp(sag[:, 1]):.0f} mm')
print(f'balance {energy.balance:.1e} J, work {energy.work:.0f} J')
figure, rows = plt.subplots(3, sharex=True)
for axes, values, label in zip(
    rows,
    (roll, sag[:, 1], log['applied_effort'][:, 1]),
    ('roll [deg]', 'tip, sideways [mm]', 'lifting [N m]'),
):
    axes.plot(log.time, values)
    axes.set_ylabel(label)
    axes.grid(True)
rows[-1].set_xlabel('time [s]')
figure.tight_layout()
figure.savefig('ship_boom.png', dpi=120)
