"""
Picture of Canadarm2 on a free station, and its angular momenta: images/space_station.png.

    python docs/free_base_picture.py

The shoulder turns by 60 degrees in 30 s; the other drives hold.
"""

from pathlib import Path

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

ROOT = Path(__file__).resolve().parents[1]
TURN, DURATION, STEP, STEPS_PER_SAMPLE = np.pi / 3, 30.0, 5e-3, 20
START = {'shoulder_pitch': 0.4 * np.pi, 'elbow_pitch': -0.4 * np.pi}
INERTIA, MASS = np.array([50625.0, 191979.0, 191979.0]), 20000.0  # of the module [kg m2, kg]
SIZE, DPI = (6.4, 4.4), 110


def motion():
    """
    Return times (k,), and of each: shoulder angle, turn of the station, angular momenta.

    The momenta are those of the station about the centre of mass of all, and of all, (k, 3) each.
    """
    arm = frs.load('space_station')
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=STEP))
    start = np.array([START.get(joint, 0.0) for joint in arm.joint_names])
    sim.set_state(start)
    home, rows = Rotation.from_quat(sim.base_pose[3:]), []
    times = STEP * np.arange(round(DURATION / STEP) + 1)
    u = times / DURATION
    moves = np.eye(start.size)[arm.joint_names.index('shoulder_pitch')]
    places = start - np.outer(TURN * u**3 * (10 - 15 * u + 6 * u**2), moves)
    rates = -np.outer(TURN / DURATION * 30 * u**2 * (1 - u) ** 2, moves)
    for k in range(0, len(times) - 1, STEPS_PER_SAMPLE):
        part = slice(k, k + STEPS_PER_SAMPLE + 1)
        sim.follow(places[part], rates[part])
        R, twist = Rotation.from_quat(sim.base_pose[3:]), sim.base_twist
        lever = sim.base_pose[:3] - sim.centre_of_mass
        station = R.apply(INERTIA * twist[:3]) + MASS * np.cross(lever, R.apply(twist[3:]))
        turn = np.degrees((R * home.inv()).magnitude())
        rows.append((sim.time, sim.position[0], turn, station, sim.momentum()[:3]))
    return [np.array(column) for column in zip(*rows)]


def main():
    """Draw the picture."""
    time, shoulder, turn, station, total = motion()
    print(
        f'station turns by {turn[-1]:.1f} degrees, exchanges {abs(station).max():.0f} N m s; '
        f'the sum is at most {abs(total).max():.0e} N m s'
    )
    figure, (upper, lower) = plt.subplots(2, 1, figsize=SIZE, sharex=True, layout='constrained')
    upper.plot(time, np.degrees(shoulder - shoulder[0]), label='shoulder', color='#2f81f7')
    upper.plot(time, turn, label='station', color='#d29922')
    upper.set_ylabel('turn [deg]')
    lower.plot(time, (total - station)[:, 1], label='arm', color='#2f81f7')
    lower.plot(time, station[:, 1], label='station', color='#d29922')
    lower.plot(time, total[:, 1], label='sum', color='#7d8590')
    lower.set(xlabel='time [s]', ylabel='angular momentum [N m s]')
    for axes in (upper, lower):
        axes.legend(frameon=False)
        axes.grid(alpha=0.3)
    figure.savefig(ROOT / 'docs' / 'images' / 'space_station.png', dpi=DPI)


if __name__ == '__main__':
    main()
