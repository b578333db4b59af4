"""Outputs along a sequence in parts and in halves, against one simulation of the whole."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from test_identify import setup_of

from flex_robot_sim.identification import log_simulation, response
from flex_robot_sim.identification.log_simulation import as_logged, channels_of, move
from flex_robot_sim.identification.prediction import Setup, SoftServo, soft_servo
from flex_robot_sim.identification.response import middle, respond, respond_in_halves
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.model.arm_model import ArmModel

pytestmark = pytest.mark.slow

CHANNELS = 'position/motor', 'arm/tip', 'gyro/tip_mass/z', 'acceleration/tip_mass/y'
DELAY = 7e-3  # [s]


@cache
def setup():
    """Return a Setup with gauges and an IMU."""
    described = setup_of()
    data = described.data._replace(channels=CHANNELS)
    return Setup(described.description, data, time_step=5e-3)


def inputs(stiffness: float = 1.0) -> tuple[Setup, SoftServo, ArmModel, Sequence, float]:
    """Return the arguments of a simulation with a factor of the described stiffness."""
    arm = setup().arm({'arm.stiffness': stiffness})
    return setup(), soft_servo(setup()), arm, setup().data.sequences[0], DELAY


def whole():
    """Return the channels of one simulation of the whole sequence."""
    motion = move(*inputs())
    described, _, arm, sequence, delay = inputs()
    return channels_of(described, arm, sequence, motion, delay)


@pytest.mark.parametrize('samples', [100, 239])  # the last part has many samples, or five
def test_parts_of_a_simulation_equal_the_whole(monkeypatch, samples):
    monkeypatch.setattr(response, 'PART_SAMPLES', samples)
    found = respond(*inputs())
    np.testing.assert_allclose(found.channels, whole(), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.servo_effort, move(*inputs()).servo_effort)
    motion, k = move(*inputs()), middle(1200)
    expected = np.concatenate([motion.coordinates[k], motion.velocities[k]])
    np.testing.assert_array_equal(found.states[k], expected)


@pytest.mark.parametrize('delay', [-0.0137, 3e-4, 0.0137, 0.1])
def test_delayed_outputs_are_those_of_scipys_hermite_spline(monkeypatch, delay):
    monkeypatch.setattr(log_simulation, 'DELAYED_ROWS', 7)
    time, random = 5e-3 * np.arange(200), np.random.default_rng(0)
    values, rates = random.normal(size=(2, 200, 2))
    described = replace(
        setup(), data=setup().data._replace(channels=('position/motor', 'arm/tip'))
    )
    expected = CubicHermiteSpline(time, values, rates)(np.clip(time - delay, 0.0, time[-1]))
    found = as_logged(described, values.copy(), rates.copy(), delay, 5e-3, 200)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_halves_join_where_they_agree(monkeypatch):
    monkeypatch.setattr(response, 'PART_SAMPLES', 50)
    size = whole().std(axis=0)
    state = respond(*inputs(1.01)).states[middle(1200)]
    found = respond_in_halves(
        *inputs(), start=None, middle_state=state, deviations=20 * size
    ).channels
    error = np.sqrt(((found - whole())[600:] ** 2).mean(axis=0)) / size
    # they agree within a thousandth of the deviations, and did not stem from one simulation
    assert (error < 0.02).all() and (error > 1e-9).any()


def test_the_first_half_continues_to_the_end_if_they_disagree(monkeypatch):
    monkeypatch.setattr(response, 'PART_SAMPLES', 50)
    state = respond(*inputs(1.01)).states[middle(1200)]
    found = respond_in_halves(
        *inputs(), start=None, middle_state=state, deviations=np.full(4, 1e-12)
    )
    np.testing.assert_allclose(found.channels, whole(), rtol=1e-9, atol=1e-9)
