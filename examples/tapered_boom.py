"""Sag and first natural frequency of a tapered boom and of a uniform one with the same mass."""

import sys

import matplotlib.pyplot as plt
import numpy as np

import flex_robot_sim as frs

TAPERED = [(0.0, frs.Tube(outer=0.16, wall=0.004)), (1.0, frs.Tube(outer=0.08, wall=0.004))]
BOOMS: dict = {'tapered': TAPERED, 'uniform': frs.Tube(outer=0.12, wall=0.004)}
x = np.linspace(0.0, 6.0, 61)
for name, section in BOOMS.items():
    builder = frs.ArmBuilder(name).add_rigid('head', mass=20.0)
    builder.add_beam('boom', length=6.0, section=section, material='aluminium', bending_z=4)
    builder.add_joint('luff', parent='base', child='boom', axis='y').attach('head', parent='boom')
    arm = builder.build()
    inertial = arm.description.link('boom').inertial
    assert inertial is not None
    mass, first = inertial.mass, frs.frequencies(arm)[0]
    rest = frs.equilibrium(arm, [0.0]).q
    z = [frs.pose(arm, rest, link='boom', station=station)[2, 3] for station in x]
    print(f'{name}: {mass:.3f} kg, sags by {-1e3 * z[-1]:.2f} mm, swings at {first:.3f} Hz')
    plt.plot(x, 1e3 * np.array(z), label=f'{name}, {first:.2f} Hz')

plt.xlabel('along the boom [m]')
plt.ylabel('height under its weight and 20 kg at the tip [mm]')
plt.legend()
plt.grid(True)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else 'tapered_boom.png', dpi=120)
