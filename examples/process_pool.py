"""A process pool over arms: first frequency and sag over a bending stiffness."""

from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

FACTORS, POSE = np.linspace(0.25, 2.0, 17), [0.0, 0.5, -0.8]


def frequency_and_sag(arm):
    """First natural frequency [Hz], and vertical sag of the tool under its weight [m]."""
    straight = np.zeros(arm.nq)
    arm.set_joints(straight, POSE)
    bent = frs.equilibrium(arm, POSE).q
    return frs.frequencies(arm, POSE)[0], (frs.pose(arm, straight) - frs.pose(arm, bent))[2, 3]


if __name__ == '__main__':
    arm = frs.load('two_link')
    arms = [frs.with_parameters(arm, {'forearm.EIy': ('*', factor)}) for factor in FACTORS]
    with ProcessPoolExecutor() as pool:
        frequencies, sags = np.transpose([*pool.map(frequency_and_sag, arms)])
    print(*frequencies[[0, -1]].round(2), 'Hz, sag', *1e3 * sags[[0, -1]].round(4), 'mm')
    plt.plot(FACTORS, frequencies, 'o-', FACTORS, 1e2 * sags, 's-')
    plt.gca().set(xlabel='factor of EIy of the forearm', ylabel='o first mode [Hz]; s sag [cm]')
    plt.savefig('process_pool.png', dpi=120)
