"""Contradicting arguments of an arm from code cause one-line errors."""

import pytest
from refusals import refusal

import flex_robot_sim as frs

ROD = {'section': frs.Rod(0.01), 'material': 'steel'}


def arm():
    """Return a rigid link on a hinge."""
    builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
    return builder.add_joint('hinge', parent='base', child='arm')


CALLS = {
    'joint "hinge" has a gear: call add_gear once for each joint': lambda: (
        arm().add_gear('hinge', rotor_inertia=1e-5).add_gear('hinge', rotor_inertia=1e-5)
    ),
    'xyz and station of joint "tool_mount": give one of them': lambda: (
        arm()
        .add_rigid('tool', mass=0.1)
        .attach('tool', parent='arm', xyz=(0.1, 0, 0), station=0.1)
    ),
    'station of joint "tool_mount": link "arm" is rigid. Give xyz': lambda: (
        arm().add_rigid('tool', mass=0.1).attach('tool', parent='arm', station=0.1)
    ),
    'prefix = 3 must be a text': lambda: arm().attach(arm(), parent='arm', prefix=3),
    'damping_ratio and damping_time of link "x": give one of them': lambda: arm().add_beam(
        'x', length=1.0, **ROD, damping_ratio=0.01, damping_time=1e-3
    ),
    'end of link "x" must differ from zero [m]': lambda: arm().add_beam('x', end=(0, 0, 0), **ROD),
    'section_inertia of link "x" must be >= 0 [kg m]': lambda: arm().add_beam(
        'x', length=1.0, **ROD, section_inertia=(-1e-6, 0, 0)
    ),
    'density of link "x" needs a shape': lambda: arm().add_rigid('x', density=2700.0),
    "coupling = 'none' must be one of: shortening, zero_order": lambda: frs.load(
        'single_link', coupling='none'
    ),
    'tool = 3 must be the name of a link': lambda: frs.load('single_link', tool=3),
}


@pytest.mark.parametrize('message, call', CALLS.items())
def test_a_contradiction_is_one_line(message, call):
    assert refusal(frs.SettingError, call) == message
