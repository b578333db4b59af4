"""Labels of a log: the number under each matches its meaning, by closed forms."""

import numpy as np
import pytest
from beam_arms import EI, LENGTH, beam_arm, with_modes

import flex_robot_sim as frs

SENSOR = '<flex_sensor name="root" from="0" to="0.2" plane="xy"/>'
RECORD = (
    *('q', 'v', 'position', 'velocity', 'motor_position', 'motor_velocity', 'effort'),
    *('deflection', 'curvature', 'pose:tool', 'twist:tool', 'wrench:hinge'),
)


def columns_of(simulation, record=RECORD):
    """Return {label: number} of a single sample."""
    log = simulation.record(*record)  # several samples in one call
    return {label: column[0] for label, column in log.columns().items()}


@pytest.fixture
def arm():
    return beam_arm(with_modes(bending_y=2, bending_z=2, torsion=1) + SENSOR)


def test_a_turning_beam_has_its_numbers_under_the_labels_of_their_axes(arm):
    simulation, angle, rate = frs.Simulation(arm), 0.3, 2.0
    simulation.set_state([angle], [rate])
    simulation.effort = [0.7]
    found = columns_of(simulation)
    expected = {
        'hinge/q': angle,
        'hinge/v': rate,
        'hinge/position': angle,
        'hinge/velocity': rate,
        'hinge/motor/position': angle,
        'hinge/motor/velocity': rate,
        'hinge/effort': 0.7,
        'pose:tool/x': LENGTH * np.cos(angle),
        'pose:tool/y': LENGTH * np.sin(angle),
        'tool/twist_angular_z': rate,
        'tool/twist_linear_y': rate * LENGTH,  # in the turned link
    }
    for label, value in expected.items():
        assert found.pop(label) == pytest.approx(value, rel=1e-12), label
    assert 'arm/tip_y' in found and any(label.startswith('arm/bending_y_1') for label in found)
    wrenches = {label for label in found if '/wrench_' in label}
    assert wrenches == {
        f'hinge/wrench_{kind}_{axis}' for kind in ('moment', 'force') for axis in 'xyz'
    }
    others = {label: value for label, value in found.items() if label not in wrenches}
    assert not np.any([*others.values()]), others


def test_a_bent_beam_has_its_deflection_and_wrench_under_the_labels_of_their_axes(arm):
    force = 1e-5 * EI / LENGTH**2 * np.array([0.0, 1.0, -2.0])
    simulation = frs.Simulation(arm)
    at_rest = frs.equilibrium(arm, pushes=[frs.Push('tool', force)])
    simulation.set_state(at_rest.q)
    simulation.effort = at_rest.effort
    simulation.push('tool', force)
    found = columns_of(simulation)
    _, y, z = force
    slope = LENGTH**2 / (2 * EI)
    expected = {
        'arm/tip_y': y * LENGTH**3 / (3 * EI),
        'arm/tip_z': z * LENGTH**3 / (3 * EI),
        'arm/tip_turn_z': y * slope,  # a turn about z raises y
        'arm/tip_turn_y': -z * slope,
        'arm/root': y * (LENGTH - 0.1) / EI,
        'pose:tool/y': y * LENGTH**3 / (3 * EI),
    }
    for label, value in expected.items():
        assert found[label] == pytest.approx(value, rel=1e-6), label
    # at rest, the joint balances the push
    wrench = {'force_y': -y, 'force_z': -z, 'moment_y': z * LENGTH, 'moment_z': -y * LENGTH}
    for label, value in wrench.items():
        assert found[f'hinge/wrench_{label}'] == pytest.approx(value, rel=1e-5), label


def test_labels_of_a_batch_hold_a_column_for_each_member(arm):
    batch = frs.Batch(arm, 3)
    angles = np.array([0.1, -0.2, 0.3])
    batch.set_state(angles[:, None])
    log = batch.record('pose:tool', 'position')
    columns = log.columns()
    assert columns['hinge/position'].shape == (1, 3)
    np.testing.assert_allclose(columns['pose:tool/x'][0], LENGTH * np.cos(angles), rtol=1e-6)
    np.testing.assert_allclose(columns['hinge/position'][0], angles, atol=1e-9)
