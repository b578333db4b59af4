"""Fits of backlash and of three stiffnesses to noisy logs of an independent integrator."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.identification import identify_parameters, make_log

ROTOR, LINK, RATE, NOISE = 0.05, 0.08, 500.0, 2e-5  # of encoders on both sides [rad]
LAWS = {
    'backlash': {'stiffness': [800.0], 'at': [], 'backlash': 2e-3},
    'stiffness': {'stiffness': [600.0, 1100.0, 1700.0], 'at': [1.2, 3.5], 'backlash': 0.0},
}


def described(stiffness, at, backlash):
    builder = frs.ArmBuilder('bench')
    builder.add_rigid('arm', mass=1.0, centre=(0.0, 0.0, 0.0), inertia=[LINK] * 3)
    builder.add_joint('hinge', parent='base', child='arm', effort=20.0, viscous_friction=0.4)
    builder.add_gear(
        'hinge',
        rotor_inertia=ROTOR,
        stiffness=stiffness,
        at=at or None,
        backlash=backlash,
        damping=0.6,
    )
    return builder.build(gravity=(0.0, 0.0, 0.0))


def measured(stiffness, at, backlash):
    """Return a log of rotor and link."""
    corners = np.concatenate([[0.0], np.cumsum(np.diff([0.0, *at]) / stiffness[: len(at)])])

    def effort(t):
        wave = sum(np.sin(2 * np.pi * f * t + f) for f in (0.7, 1.9, 4.3, 9.7, 17.0))
        return 2.2 * wave * np.clip((t - 0.3) / 0.2, 0.0, 1.0)  # after rest

    def slope(t, y):
        twist = y[1] - y[0]
        stretch = max(abs(twist) - backlash / 2, 0.0)
        pieces = np.diff([*np.minimum(stretch, corners), stretch])
        torque = np.sign(twist) * pieces @ np.array(stiffness)
        if backlash == 0.0 or stretch > 0.0:
            damped = torque + 0.6 * (y[3] - y[2])
            torque = 0.0 if backlash and damped * twist < 0.0 else damped
        return y[2], y[3], torque / LINK, (effort(t) - torque - 0.4 * y[3]) / ROTOR

    times = np.arange(0.0, 3.0, 1.0 / RATE)
    out = solve_ivp(
        slope, (0.0, times[-1]), np.zeros(4), 'RK45', times, rtol=1e-7, atol=1e-9, max_step=1e-3
    )
    noise = np.random.default_rng(7).normal(0.0, NOISE, (2, times.size))
    link, rotor = out.y[:2] + noise
    signals = {'position/hinge': link, 'motor/hinge': rotor, 'effort/hinge': effort(times)}
    return make_log(times, signals)


@pytest.mark.long
def test_backlash_is_found():
    truth = LAWS['backlash']
    arm = described(stiffness=[650.0], at=[], backlash=1e-3)
    found = identify_parameters(
        arm, measured(**truth), free=['hinge.backlash', 'hinge.stiffness']
    ).values
    assert found['hinge.backlash'] == pytest.approx(2e-3, rel=0.02)
    assert found['hinge.stiffness'] == pytest.approx(800.0, rel=0.01)


@pytest.mark.long
def test_three_stiffnesses_are_found():
    truth = LAWS['stiffness']
    arm = described(stiffness=[800.0, 900.0, 1300.0], at=truth['at'], backlash=0.0)
    paths = ['hinge.stiffness', 'hinge.stiffness_2', 'hinge.stiffness_3']
    found = identify_parameters(arm, measured(**truth), free=paths).values
    assert [found[path] for path in paths] == pytest.approx(truth['stiffness'], rel=0.02)
