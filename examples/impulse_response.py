"""Impulse response of an arm at its tool, and its spectrum next to the natural frequencies."""

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

POSE, SERVO = [0.0, 0.5, -0.8], (400.0, 4.0)  # [rad]; stiffness and damping of the drives
arm = frs.load('two_link')
sim = frs.Simulation(arm)
sim.set_state(frs.equilibrium(arm, POSE, gains=SERVO).q)
sim.hold(POSE, *SERVO)
sim.push('tool', force=[0.0, 0.0, 10.0])
sim.step()  # 10 N for 1 ms: an impulse of 0.01 N s
sim.push('tool')
log = frs.rollout(sim, duration=16.0, record='deflection')
bending = log.deflection['forearm'][:, 2] - sim.deflection['forearm'][2]
spectrum = np.abs(np.fft.rfft(bending))
frequencies = np.fft.rfftfreq(len(bending), 1e-3)
modes = frs.modes(arm, POSE, gains=SERVO).frequencies
print(f'peak at {frequencies[spectrum.argmax()]:.2f} Hz, modes at', *modes[:2].round(2), 'Hz')
figure, (above, below) = plt.subplots(2, layout='constrained')
above.plot(log.time, 1e3 * bending)
above.set(xlabel='time [s]', ylabel='bending at the tip [mm]', xlim=(0.0, 8.0))
below.semilogy(frequencies, spectrum)
below.vlines(modes, *below.get_ylim(), colors='C1', linestyles=':')
below.set(xlabel='frequency [Hz]', ylabel='spectrum; dots: modes', xlim=(0.0, 30.0))
figure.savefig('impulse_response.png', dpi=120)
