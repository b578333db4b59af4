"""A payload that changes during a run."""

from math import pi, sqrt

import numpy as np
import pytest
from moving_arms import BEAM, EI, LEVEL, PLAIN, clamped_arm, swinging_text

from flex_robot_sim import read_description
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation


def measured_frequency(simulation, seconds):
    """Return the mean frequency [Hz] from the first to the last upward zero crossing."""
    times, tips = [], []
    for _ in range(round(seconds / simulation.settings.time_step)):
        simulation.step()
        times.append(simulation.time)
        tips.append(simulation.deflection['arm'][1])
    times, tips = np.array(times), np.array(tips)
    rises = np.flatnonzero((tips[:-1] < 0) & (tips[1:] >= 0))
    zeros = times[rises] - tips[rises] / (tips[rises + 1] - tips[rises]) * 1e-3
    return (zeros.size - 1) / (zeros[-1] - zeros[0])


@pytest.mark.slow
def test_a_payload_changes_the_frequency_in_the_middle_of_a_run():
    simulation = Simulation(clamped_arm(BEAM + LEVEL))
    simulation.push('tool', force=(0.0, 1.0, 0.0))
    unit = sqrt(EI / 2.0) / (2 * pi)
    # mass ratios 0, 1, 0.5; the higher modes shift a zero crossing by less than 1e-3 of
    # these ten periods
    for mass, root in ((0.0, 1.875104), (2.0, 1.247917), (1.0, 1.419964)):
        simulation.set_payload('tool', mass)
        simulation.set_state(
            q=equilibrium(simulation.arm, pushes=[Push('tool', (0.0, 0.3, 0.0))]).q
        )
        simulation.push('tool')
        expected = root**2 * unit
        assert measured_frequency(simulation, 10 / expected) == pytest.approx(expected, rel=1e-3)


def test_a_payload_is_equivalent_to_one_in_the_description():
    # with shapes that do not depend on the end load in the description
    inertia = np.diag([2e-3, 3e-3, 4e-3])
    text = swinging_text(modes=PLAIN.replace('/>', ' boundary="free"/>'))
    inertial = text[text.index('<link name="tool">') :]
    bare = text.replace(inertial[: inertial.index('</link>')], '<link name="tool">')
    runs = [Simulation(build_arm(read_description(source))) for source in (text, bare)]
    runs[1].set_payload('tool', 1.0, (0.05, 0.0, 0.02), inertia)
    for run in runs:
        run.set_state(v=[1.0, -0.5])
        run.step(500)
    np.testing.assert_allclose(runs[1].position, runs[0].position, atol=1e-12)
    np.testing.assert_allclose(runs[1].wrench('elbow'), runs[0].wrench('elbow'), atol=1e-9)
    runs[1].set_payload('tool', 0.0)
    assert runs[1].energy().balance == pytest.approx(runs[0].energy().balance, abs=1e-10)
