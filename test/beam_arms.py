"""Arms of one elastic beam on a hinge, for tests against closed forms."""

from math import pi

import numpy as np
from arms import beam, flexibility, joint, link, robot

from flex_robot_sim import read_description
from flex_robot_sim.model.assembly import build_arm

LENGTH, MASS_PER_LENGTH, EI = 0.7, 4.0, 0.6
MASS = MASS_PER_LENGTH * LENGTH
STIFFNESS = {'EIy': EI, 'EIz': EI, 'GJ': 0.9, 'EA': 3e4}
POLAR = 1e-6  # inertia of the section about x, per length [kg m]
RATE = (EI / MASS_PER_LENGTH) ** 0.5 / LENGTH**2  # unit of frequency in the tables [rad/s]


def beam_arm(
    discretisation,
    length=LENGTH,
    mass_per_length=MASS_PER_LENGTH,
    polar=POLAR,
    gear='',
    axis='0 0 1',
    hub=0.0,
    tip_mass=0.0,
    gravity=(0.0, 0.0, 0.0),
    coupling='shortening',
    **stiffness,
):
    """
    Return the ArmModel of a beam along x, with a link called tool fixed to its far end.

    :param discretisation: <modes> or <elements>.
    :param gear: attributes of a <joint> in <flexibility>.
    :param hub: inertia about the hinge of the rigid parent link of the beam [kg m2].
    """
    mass = mass_per_length * length
    section = ''.join(
        f' {name}="{float(value)!r}"' for name, value in {**STIFFNESS, **stiffness}.items()
    )
    hinge = joint(child='hub' if hub else 'arm', inside=f'<axis xyz="{axis}"/>')
    carried = (
        [
            link('hub', mass=1.0, centre='0 0 0', inertia=(hub, hub, hub)),
            joint('flange', 'fixed', 'hub', 'arm', ''),
        ]
        if hub
        else []
    )
    tool = (
        link('tool', mass=tip_mass, centre='0 0 0', inertia=(1e-12,) * 3)
        if tip_mass
        else '<link name="tool"/>'
    )
    return build_arm(
        read_description(
            robot(
                hinge,
                *carried,
                link(
                    mass=mass,
                    centre=f'{length / 2!r} 0 0',
                    inertia=(polar * length, mass * length**2 / 12, mass * length**2 / 12),
                ),
                joint('mount', 'fixed', 'arm', 'tool', f'<origin xyz="{length!r} 0 0"/>'),
                tool,
                flexibility(
                    beam(f'<section{section}/>{discretisation}', f'{length!r} 0 0'),
                    f'<joint name="hinge" {gear}/>' if gear else '',
                ),
            )
        ),
        coupling=coupling,
        gravity=gravity,
    )


def with_modes(bending_y=0, bending_z=0, torsion=0, stretch=0, segments=1, boundary='static'):
    """Return <modes>."""
    return (
        f'<modes bending_y="{bending_y}" bending_z="{bending_z}" torsion="{torsion}" '
        f'stretch="{stretch}" segments="{segments}" boundary="{boundary}"/>'
    )


def with_elements(count, **directions):
    """Return <elements>; flexible directions have 'all' or a number of coordinates."""
    given = {'bending_y': 0, 'bending_z': 0, 'torsion': 0, 'stretch': 0, **directions}
    words = ''.join(f' {name}="{value}"' for name, value in given.items())
    return f'<elements count="{count}"{words}/>'


def as_beta_L(frequencies):
    """Return the roots beta L of a beam in bending that has these frequencies [Hz]."""
    return np.sqrt(2 * pi * frequencies / RATE)
