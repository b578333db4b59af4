"""
Stops, dry friction, hysteresis and slip on joints of random closed loops.

Without efforts the energy never rises, what is lost is accounted for, and the loop stays closed.
"""

import re

import numpy as np
import pytest
from closed_loops import ONE_LOOP, closed_robot, energy_rise, opening

import flex_robot_sim as frs

pytestmark = pytest.mark.slow


def loop_with_joint_laws(seed, kind, rng, friction):
    """Return a random loop whose joints have close stops, and all laws of friction and gears."""
    text = closed_robot(seed, kind, links=5, damping=friction)
    laws = iter(('hysteresis="0.3"', 'slip="40 0.05"', 'slip="20 0.1 60 0.02"') * 4)
    text = re.sub(
        r'(<joint name="\w+" stiffness="[^"]+")', lambda gear: f'{gear[1]} {next(laws)}', text
    )
    text = re.sub(
        r'(type="continuous">)(.*?)(</joint>)',
        r'\1\2<limit effort="10" velocity="10"/>\3',
        text,
        flags=re.DOTALL,
    )
    arm = frs.load(text)
    known, start = frs.parameters(arm), frs.Simulation(arm).position
    values: dict[str, float] = {}
    for k, name in enumerate(arm.joint_names):
        if f'{name}.lower' in known:
            width = rng.uniform(0.01, 0.1)
            values |= {f'{name}.lower': start[k] - width, f'{name}.upper': start[k] + width / 2}
        if friction:
            values[f'{name}.static_friction'] = 0.6
            onset = ('presliding', 'creep_rate', 'stribeck_rate')[rng.integers(3)]
            values[f'{name}.{onset}'] = 10 ** rng.uniform(-3, -1)
    return frs.with_parameters(arm, values)


@pytest.mark.parametrize('friction', [True, False], ids=['friction', 'stops'])
@pytest.mark.parametrize('kind', ONE_LOOP)
def test_energy_never_rises(kind, friction):
    for seed in range(3):
        rng = np.random.default_rng([seed, 11])
        arm = loop_with_joint_laws(seed, kind, rng, friction)
        step = (1e-4, 1e-3, 5e-3)[seed]
        simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
        v = np.zeros(arm.size)
        arm.set_joints(v, 3 * rng.normal(size=len(arm.joint_names)))
        simulation.set_state(simulation.q, v)
        assert energy_rise(simulation, 150) < 1e-10
        scale = 1 + abs(sum(simulation.energy()[:3]))
        assert abs(simulation.energy().balance) < 1e-10 * scale
        assert np.abs(opening(arm, simulation.q, 'loop')).max() < 1e-12
