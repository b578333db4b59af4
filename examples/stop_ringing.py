"""The same move twice: unshaped, and shaped so that no vibration remains after it."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

PERIOD, SERVO = 1e-3, (400.0, 20.0)  # [s], gains of the motor

arm = frs.load('single_link')
mode = frs.modes(arm, gains=SERVO)
shaper = frs.shaping.zvd(mode.frequencies[0], damping_ratios=mode.damping_ratios[0])
times = np.arange(0.0, 4.0, PERIOD)
move = np.minimum(times / 0.5, 1.0)[:, None]  # one radian within half a second

for label, target in (('unshaped', move), ('shaped', shaper.shape(times, move).positions)):
    sim, swing = frs.Simulation(arm), []
    for set_point, t in zip(target[: len(times)], times):
        sim.hold(set_point, stiffness=SERVO[0], damping=SERVO[1])
        sim.advance_to(t)
        swing.append(sim.deflection['arm'][1])
    print(
        f'{label}: the tip vibrates by {1e3 * np.ptp(swing[len(times) // 2 :]) / 2:.2f} mm '
        'after the move'
    )
    plt.plot(times, 1e3 * np.array(swing), label=label)

plt.xlabel('time [s]')
plt.ylabel('bending at the tip [mm]')
plt.legend()
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'stop_ringing.png', dpi=120)
