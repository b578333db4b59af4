"""Monitors report once where and when a state leaves the validity of the model."""

from math import sqrt

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from moving_arms import BEAM, EI, LEVEL, WEIGHTLESS, clamped_arm

from flex_robot_sim import read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.settings import SimulationSettings


@pytest.mark.slow
def test_a_beam_bent_too_far_is_reported_once():
    simulation = Simulation(clamped_arm(BEAM + LEVEL))
    simulation.push('tool', force=(0.0, 7.0, 0.0))  # oscillates between zero and twice 7 / 90 m
    bent = []
    while simulation.time < 0.3:
        simulation.step()
        bent.append(abs(simulation.deflection['arm'][1]))
    assert max(bent) > 0.1
    first = (np.flatnonzero(np.array(bent) > 0.1)[0] + 1) * 1e-3
    line = (
        f'link "arm" bends by more than 10 % of its length at {first:.4g} s. Give it more segments'
    )
    assert simulation.reports == [line]
    # a single call reports the same, although the beam has returned by its end
    simulation = Simulation(clamped_arm(BEAM + LEVEL))
    simulation.push('tool', force=(0.0, 7.0, 0.0))
    simulation.advance_to(20.0)
    assert simulation.reports == [line]


def test_the_segment_that_bends_too_far_is_named():
    simulation = Simulation(
        clamped_arm(BEAM + '<modes bending_y="2" bending_z="0" torsion="0" segments="2"/>'),
        SimulationSettings(deflection_limit=0.025),
    )
    simulation.push('tool', force=(0.0, 2.0, 0.0))
    simulation.advance_to(2.0)
    # the moment acts on the inner segment, and hardly on the outer one
    (report,) = simulation.reports
    assert report.startswith('link "arm", segment 1, bends by more than 2.5 % of its length at ')


def test_rotation_too_fast_without_shortening_is_reported_once():
    text = robot(
        joint(),
        link(),
        flexibility(
            beam(BEAM + '<modes bending_y="1" bending_z="0" torsion="0" boundary="free"/>'),
            '<joint name="hinge" rotor_inertia="1e9"/>',
        ),
    )
    for coupling, count in (('zero_order', 1), ('shortening', 0)):
        simulation = Simulation(build_arm(read_description(text), coupling, WEIGHTLESS))
        simulation.effort = [2e9]  # 2 rad/s2, independent of the beam
        simulation.advance_to(3.0)
        assert len(simulation.reports) == count
        if count:
            limit = 0.3 * 1.8751040687**2 * sqrt(EI / 2.0)
            # the monitor checks the rate at the end of each step
            time = (np.floor(limit / 2 / 1e-3) + 1) * 1e-3
            assert simulation.reports == [
                f'link "arm" turns faster than {limit:.4g} rad/s, 0.3 of its first natural rate, '
                f'at {time:.4g} s. Take the coupling "shortening"'
            ]
