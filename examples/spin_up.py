"""Spin-up of a beam: a model without the shortening by bending loses stiffness, and is wrong."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

SPEED, RISE = 4.0, 15.0  # [rad/s], [s]


def turn(t):
    """Angle and rate of the hub: a speed that rises smoothly, and stays [rad, rad/s]."""
    share = min(t / RISE, 1.0)
    angle = (
        SPEED
        / RISE
        * (share**2 * RISE**2 / 2 + (RISE / (2 * np.pi)) ** 2 * (np.cos(2 * np.pi * share) - 1))
    )
    rate = SPEED * (share - np.sin(2 * np.pi * share) / (2 * np.pi))
    return angle + SPEED * max(t - RISE, 0.0), rate


times = np.linspace(0.0, 20.0, 401)
for coupling in ('shortening', 'zero_order'):
    arm = frs.load('spin_up_8m', coupling=coupling, gravity=(0.0, 0.0, 0.0))
    sim = frs.Simulation(arm)
    sim.prescribe(arm.joint_names[0], turn)
    bent = []
    for t in times:
        sim.advance_to(t)
        bent.append(sim.deflection['beam'][1])
        if abs(bent[-1]) > 2.0:
            print(f'{coupling}: runs away after {t:.1f} s')
            break
    else:
        print(f'{coupling}: lags {-min(bent):.3f} m behind at most, {bent[-1]:+.4f} m at the end')
    plt.plot(times[: len(bent)], bent, label=coupling)

plt.xlabel('time [s]')
plt.ylabel('deflection of the tip [m]')
plt.ylim(-0.8, 0.8)
plt.legend()
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'spin_up.png', dpi=120)
