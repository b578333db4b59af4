"""Four representations of a twist, against derivatives of a pose and each other."""

from itertools import product

import numpy as np
import pytest
from reference import STEP, along, hat, turn
from refusals import refusal

from flex_robot_sim.analysis.twists import (
    REPRESENTATIONS,
    convert_rate,
    convert_twist,
    convert_wrench,
)
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

PAIRS = list(product(REPRESENTATIONS, repeat=2))
pairs = pytest.mark.parametrize('source, target', PAIRS)
ROUNDING: dict = {'rtol': 0.0, 'atol': 1e-13}  # of products of numbers of the size 1


def moving(t):
    """Return rotation and translation of a tumbling frame at a time."""
    return (
        turn(np.array([0.4, -1.1, 0.7]) + t * np.array([0.8, 0.5, -0.9]) * (1 + t)),
        np.array([0.3, -0.6, 0.9]) + t * np.array([1.2, -0.7, 0.4]) + t**2,
    )


def pose_at(t):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = moving(t)
    return T


def twist_at(t, representation):
    """
    Twist by its definition, from the derivative of the pose by a complex step.

    The spatial velocity is that of the point of the body that is at the origin of the base.
    """
    R, p = moving(t + STEP * 1j)
    dR, dp, R, p = R.imag / STEP, p.imag / STEP, R.real, p.real
    in_body, in_base = R.T @ dR, dR @ R.T
    at_origin = -R.T @ p
    turning, v = {
        'body': (in_body, R.T @ dp),
        'spatial': (in_base, dR @ at_origin + dp),
        'hybrid': (in_base, dp),
        'mixed': (in_body, dp),
    }[representation]
    omega = np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
    np.testing.assert_allclose(turning, hat(omega), **ROUNDING)
    return np.concatenate([omega, v])


@pairs
def test_every_twist_converts_to_every_other(source, target):
    np.testing.assert_allclose(
        convert_twist(twist_at(0.3, source), pose_at(0.3), source, target),
        twist_at(0.3, target),
        **ROUNDING,
    )


@pairs
def test_conversion_and_its_inverse_give_the_identity(source, target):
    rng, T = np.random.default_rng(4), pose_at(0.3)
    for function in (convert_twist, convert_wrench):
        given = rng.normal(size=(6, 5))
        found = function(function(given, T, source, target), T, target, source)
        np.testing.assert_allclose(found, given, **ROUNDING)
    V, rate = rng.normal(size=(2, 6))
    moved = convert_twist(V, T, source, target)
    found = convert_rate(convert_rate(rate, V, T, source, target), moved, T, target, source)
    np.testing.assert_allclose(found, rate, **ROUNDING)


@pairs
def test_a_jacobian_converts_column_by_column(source, target):
    J, T = np.random.default_rng(5).normal(size=(6, 4)), pose_at(-0.2)
    columns = [convert_twist(column, T, source, target) for column in J.T]
    np.testing.assert_allclose(
        convert_twist(J, T, source, target), np.transpose(columns), **ROUNDING
    )


@pairs
def test_the_power_of_a_wrench_is_the_same_in_all_representations(source, target):
    V, F = np.random.default_rng(6).normal(size=(2, 6))
    T = pose_at(0.1)
    power = convert_wrench(F, T, source, target) @ convert_twist(V, T, source, target)
    assert power == pytest.approx(F @ V, abs=1e-13)


def test_a_force_at_a_point_has_the_wrenches_of_statics():
    # a force at the origin of the frame, in base coordinates
    T, force = pose_at(0.3), np.array([1.0, -2.0, 3.0])
    R, p, nothing = T[:3, :3], T[:3, 3], np.zeros(3)
    wrenches = {
        'body': [nothing, R.T @ force],
        'spatial': [np.cross(p, force), force],
        'hybrid': [nothing, force],
        'mixed': [nothing, force],
    }
    for source, target in PAIRS:
        found = convert_wrench(np.concatenate(wrenches[source]), T, source, target)
        np.testing.assert_allclose(found, np.concatenate(wrenches[target]), **ROUNDING)


@pairs
def test_rates_are_derivatives_of_the_components(source, target):
    rates = {
        name: along(lambda t, name=name: twist_at(0.3 + t, name)) for name in (source, target)
    }
    found = convert_rate(rates[source], twist_at(0.3, source), pose_at(0.3), source, target)
    # finite differences of sixth order with steps of 1e-3
    np.testing.assert_allclose(found, rates[target], rtol=0.0, atol=1e-10)


POSE = 'a pose must be (4, 4): a rotation, a translation [m] and the row 0 0 0 1'
TWIST = 'a twist must be (6,) or (6, n) finite numbers, angular part first'
NAME = "representation = 'world' must be one of body, spatial, hybrid, mixed"
MIRROR = np.diag([1.0, 1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    'function, arguments, expected',
    [
        (convert_twist, (np.zeros(6), np.eye(4), 'world', 'body'), NAME),
        (convert_twist, (np.zeros(6), np.eye(4), 'body', 'world'), NAME),
        (convert_wrench, (np.zeros(6), np.eye(4), 'world', 'body'), NAME),
        (convert_rate, (np.zeros(6), np.zeros(6), np.eye(4), 'body', 'world'), NAME),
        (convert_twist, (np.zeros(5), np.eye(4), 'body', 'mixed'), TWIST),
        (convert_twist, (np.zeros((5, 6)), np.eye(4), 'body', 'mixed'), TWIST),
        (convert_twist, ([0, 0, 0, 0, 0, np.nan], np.eye(4), 'body', 'mixed'), TWIST),
        (convert_twist, ('fast', np.eye(4), 'body', 'mixed'), TWIST),
        (
            convert_wrench,
            (np.zeros(3), np.eye(4), 'body', 'mixed'),
            TWIST.replace('twist', 'wrench'),
        ),
        (
            convert_rate,
            (np.zeros((6, 2)), np.zeros(6), np.eye(4), 'body', 'mixed'),
            'a rate and its twist must be (6,)',
        ),
        (convert_twist, (np.zeros(6), np.eye(3), 'body', 'mixed'), POSE),
        (convert_twist, (np.zeros(6), 2 * np.eye(4), 'body', 'mixed'), POSE),
        (convert_twist, (np.zeros(6), MIRROR, 'body', 'mixed'), POSE),
        (convert_twist, (np.zeros(6), np.full((4, 4), np.nan), 'body', 'mixed'), POSE),
    ],
)
def test_an_invalid_argument_is_rejected(function, arguments, expected):
    assert refusal(SettingError, function, *arguments) == expected
