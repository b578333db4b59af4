"""Fits of gears to noisy logs of an independent integrator: backlash, stiffnesses, error."""

import re

import numpy as np
import pytest
from public_robots import public_robot
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.description.rewriting import edits_of, rewritten
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


def arm_of_one_joint(error):
    """Return a public robot whose first joint alone moves, with a geared motor there."""
    text = public_robot('z1_description/urdf/z1.urdf').read_text('utf-8')
    name, *others = frs.load(text).joint_names
    for other in others:
        text = re.sub(rf'(<joint[^>]*name="{other}"[^>]*type=)"\w+"', r'\1"fixed"', text)
    gear = (
        f'<joint name="{name}" gear_ratio="{RATIO:g}" rotor_inertia="5e-4" stiffness="4000" '
        f'damping="2" kinematic_error="{error}"/>'
    )
    text = text.replace('</robot>', f'<flexibility>{gear}</flexibility></robot>')
    return frs.with_parameters(
        frs.load(text, gravity=(0, 0, 0)), {f'{name}.viscous': 1.5, f'{name}.coulomb': 0.0}
    )


RATIO, CYCLES = 20.0, 2.0


@pytest.mark.long
def test_amplitude_and_phase_of_a_kinematic_error_are_found():
    amplitude, phase = 3e-4, 0.9
    arm = arm_of_one_joint(f'1e-4 {CYCLES:g} 0')
    (name,) = arm.joint_names
    pinocchio = pytest.importorskip('pinocchio')
    model = pinocchio.buildModelFromXML(arm.description.text)
    inertia = pinocchio.crba(model, model.createData(), np.zeros(1))[0, 0]
    wave, rotor = CYCLES * RATIO, 5e-4 * RATIO**2

    def effort(t):
        return 6.0 * np.sin(2 * np.pi * 0.4 * t) * np.clip((t - 0.3) / 0.2, 0.0, 1.0)

    def slope(t, y):
        ratio = 1.0 - amplitude * wave * np.cos(wave * y[1] + phase)
        twist = y[1] - y[0] - amplitude * np.sin(wave * y[1] + phase)
        torque = 4000.0 * twist + 2.0 * (ratio * y[3] - y[2])
        return y[2], y[3], torque / inertia, (effort(t) - 1.5 * y[3] - ratio * torque) / rotor

    times = np.arange(0.0, 4.0, 1.0 / RATE)
    start = [-amplitude * np.sin(phase), 0.0, 0.0, 0.0]  # the gear is relaxed
    out = solve_ivp(
        slope, (0.0, times[-1]), start, 'RK45', times, rtol=1e-8, atol=1e-10, max_step=1e-3
    )
    link, motor = out.y[:2] + np.random.default_rng(3).normal(0.0, NOISE, (2, times.size))
    log = make_log(
        times, {f'position/{name}': link, f'motor/{name}': motor, f'effort/{name}': effort(times)}
    )
    paths = [f'{name}.kinematic_error', f'{name}.kinematic_error_phase']
    found = identify_parameters(arm, log, free=paths)
    # link minus motor has the noise of both encoders; of a sine, N samples leave sqrt(2 / N)
    deviation = NOISE * np.sqrt(2.0) * np.sqrt(2.0 / times.size)
    assert found.values[paths[0]] == pytest.approx(amplitude, abs=4 * deviation)
    assert found.values[paths[1]] == pytest.approx(phase, abs=4 * deviation / amplitude)


@pytest.mark.long
def test_cogging_and_torque_ripple_are_found_within_their_deviations():
    cogging, ripple = (0.03, 0.6), (0.05, -0.8)  # amplitude and phase
    arm = arm_of_one_joint('1e-4 2 0').description
    (name,) = [joint.name for joint in arm.joints if joint.moves]
    text = re.sub(
        'stiffness="4000" damping="2" kinematic_error="[^"]*"',
        f'cogging="0.01 {CYCLES:g} 0" torque_ripple="0.01 {2 * CYCLES:g} 0"',
        arm.text,
    )
    arm = frs.with_parameters(
        frs.load(text, gravity=(0, 0, 0)), {f'{name}.viscous': 1.5, f'{name}.coulomb': 0.0}
    )
    pinocchio = pytest.importorskip('pinocchio')
    model = pinocchio.buildModelFromXML(text)
    inertia = pinocchio.crba(model, model.createData(), np.zeros(1))[0, 0] + 5e-4 * RATIO**2

    def effort(t):
        return 6.0 * np.sin(2 * np.pi * 0.4 * t) * np.clip((t - 0.3) / 0.2, 0.0, 1.0)

    def slope(t, y):
        shaft = RATIO * y[0]
        factor = 1.0 + ripple[0] * np.sin(2 * CYCLES * shaft + ripple[1])
        cogs = RATIO * cogging[0] * np.sin(CYCLES * shaft + cogging[1])
        return y[1], (factor * effort(t) + cogs - 1.5 * y[1]) / inertia

    times = np.arange(0.0, 4.0, 1.0 / RATE)
    out = solve_ivp(
        slope, (0.0, times[-1]), [0.0, 0.0], 'RK45', times, rtol=1e-9, atol=1e-11, max_step=1e-3
    )
    noise = np.random.default_rng(5).normal(0.0, NOISE, times.size)
    log = make_log(times, {f'position/{name}': out.y[0] + noise, f'effort/{name}': effort(times)})
    found = identify_parameters(arm, log, free=['cogging', 'torque_ripple'])
    deviations = {one.path: one.standard_deviation for one in found.estimates}
    for word, truth in (('cogging', cogging), ('torque_ripple', ripple)):
        for end, expected in zip(('', '_phase'), truth):
            path = f'{name}.{word}{end}'
            assert abs(found.values[path] - expected) < 4.0 * deviations[path]
            assert deviations[path] < 0.3 * (1.0 if end else expected)


@pytest.mark.parametrize('word', ['kinematic_error', 'cogging', 'torque_ripple'])
def test_a_fitted_phase_is_written_into_the_harmonics_of_the_file(word, tmp_path):
    harmonics = '0.002 2 0.5 0.001 4 0.25'
    text = arm_of_one_joint('1e-4 2 0').description.text
    text = re.sub('kinematic_error="[^"]*"', f'{word}="{harmonics}"', text)
    arm = frs.load(text)
    (name,) = arm.joint_names
    before, path = arm.description, f'{name}.{word}'
    after = frs.with_parameters(arm, {path: 0.003, f'{path}_phase': -0.75}).description
    edits = [one for end in ('', '_phase') for one in edits_of(before, after, path + end)]
    written = rewritten(text, edits, {})
    assert f'{word}="0.003 2 -0.75 0.001 4 0.25"' in written
    rows = getattr(frs.load(written).description.joint(name), word)
    assert rows == ((0.003, 2.0, -0.75), (0.001, 4.0, 0.25))
