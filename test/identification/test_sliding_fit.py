"""Stiffness and payload of a sliding link, from a log of its joints while it extends."""

import numpy as np
import pytest
from sliding_arms import EI, sliding_arm

import flex_robot_sim as frs
from flex_robot_sim.identification import identify_parameters, make_log

PERIOD, SECONDS, SCALE, MASS = 2e-3, 2.0, 0.8, 0.7  # [s], [s], of the stiffness, [kg]


def boom(scale, mass):
    """Return an arm that bends sideways, with `scale` times the stiffness."""
    modes = 'bending_y="2" bending_z="0" torsion="0"'
    text = sliding_arm(modes=modes, inertia=(2e-3, 0.0), tip_mass=mass)
    return frs.load(text.replace(f'EIz="{2 * EI}"', f'EIz="{2 * EI * scale}"'))


def extension_log():
    """Return a log of positions and efforts, while the boom swings and extends by 0.8 m."""
    sim, rows = frs.Simulation(boom(SCALE, MASS)), []
    for t in PERIOD * np.arange(round(SECONDS / PERIOD)):
        swing = 0.3 * np.sin(2 * np.pi * (0.5 + 1.5 * t) * t) * (1 - np.exp(-(t**3)))
        target = np.array([swing, 0.4 * (1 - np.cos(np.pi * t))])
        sim.effort[:] = [300.0, 4000.0] * (target - sim.position)
        sim.effort[:] -= [60.0, 300.0] * sim.velocity
        rows.append([t, *sim.position, *sim.effort])
        sim.step(round(PERIOD / sim.settings.time_step))
    t, swing, out, swing_effort, out_effort = np.array(rows).T
    noise = 1e-5 * np.random.default_rng(0).normal(size=(2, t.size))
    return make_log(
        t,
        {
            'position/swing': swing + noise[0],
            'position/out': out + noise[1],
            'effort/swing': swing_effort,
            'effort/out': out_effort,
        },
    )


@pytest.mark.long
def test_a_log_of_an_extension_determines_stiffness_and_payload():
    found = identify_parameters(boom(1.0, 0.5), extension_log(), free=['boom.EIz', 'tool.mass'])
    assert all(one.is_identifiable for one in found.estimates)
    values = {one.path: one.value for one in found.estimates}
    # efforts that are held between samples bias both
    assert values['boom.EIz'] == pytest.approx(SCALE * 2 * EI, rel=0.03)
    assert values['tool.mass'] == pytest.approx(MASS, rel=0.02)
