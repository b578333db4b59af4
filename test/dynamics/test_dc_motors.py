"""DC motors: current limit, back-EMF and inductance."""

import numpy as np
import pytest
from public_robots import public_robot
from scipy.integrate import quad, solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.dynamics.joint_laws.dc_motor import dc_motor_current, dc_motor_force
from flex_robot_sim.motion.limits import effort_limits

K, RESISTANCE, INDUCTANCE, VOLTAGE = 0.05, 0.5, 1e-3, 24.0
RATIO, ROTOR, LINK = 20.0, 2e-5, 0.012
MOTOR = {'motorconst': K, 'resistance': RESISTANCE, 'voltage': VOLTAGE}
HUGE = 1e9  # effort that takes the voltage to its limit


def hinge(link=LINK, gear=None, viscous=0.0, **motor):
    """Return an arm of one joint about z, with a DC motor."""
    builder = frs.ArmBuilder('hinge').add_rigid('arm', mass=1.0, inertia=[link] * 3)
    builder.add_joint('hinge', parent='base', child='arm', viscous_friction=viscous)
    builder.add_gear('hinge', gear_ratio=RATIO, rotor_inertia=ROTOR, **(gear or {}))
    return builder.add_dc_motor('hinge', **{**MOTOR, **motor}).build()


def simulation(arm, step=1e-3, effort=HUGE):
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    sim.effort = [effort]
    return sim


def followed_current(v, h, wanted, motor):
    """Return mean, end and mean square of the current, by DOP853 with an event."""
    constant, resistance, inductance, voltage, limit, start = motor
    wanted = np.clip(wanted, -limit, limit)

    def slope(u):
        return lambda _, y: [(u - resistance * y[0] - constant * v) / inductance, y[0], y[0] ** 2]

    def is_reached(_, y):
        return y[0] - wanted

    vars(is_reached)['terminal'] = True  # ends the integration
    u, y, time = (voltage if wanted >= start else -voltage), [start, 0.0, 0.0], 0.0
    for events in (is_reached, None):
        out = solve_ivp(slope(u), (time, h), y, 'DOP853', rtol=1e-11, atol=1e-12, events=events)
        u, y, time = resistance * wanted + constant * v, out.y[:, -1], out.t[-1]
        u = np.clip(u, -voltage, voltage)  # the voltage that holds the current
    return y[1] / h, y[0], y[2] / h


def random_motors(count):
    random = np.random.default_rng(1)
    for _ in range(count):
        numbers = random.uniform([0.5, 0.2, 1e-4, 10.0, 5.0], [2.0, 1.0, 3e-3, 50.0, 40.0])
        motor = (*numbers, random.uniform(-1, 1) * numbers[4])
        yield (
            motor,
            random.normal() * motor[3] / motor[0],
            10 ** random.uniform(-4, -2),
            (random.normal() * 30.0),
        )


def test_current_is_that_of_another_integrator():
    for motor, v, h, wanted in random_motors(60):
        mean, _, end, square = dc_motor_current(v, h, wanted, 0.0, motor)
        expected = followed_current(v, h, wanted, motor)
        assert [mean, end, square] == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_force_never_rises_with_the_rate_and_has_its_slope():
    for motor, v, h, demand in random_motors(300):
        for inductance in (0.0, motor[2]):
            numbers = (*motor[:2], inductance, *motor[3:])
            forces = [
                dc_motor_force(v + d, h, demand - 0.3 * d, 0.3, numbers)[0] for d in (-1e-5, 1e-5)
            ]
            slope = dc_motor_force(v, h, demand, 0.3, numbers)[1]
            assert forces[1] <= forces[0] + 1e-9
            found = (forces[0] - forces[1]) / 2e-5
            assert slope >= 0.0 and slope == pytest.approx(found, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize('step', [1e-4, 1e-3, 7e-3])
def test_current_of_a_held_motor_has_the_electrical_time_constant(step):
    sim = simulation(hinge(link=1e12, inductance=INDUCTANCE), step)
    for _ in range(5):
        sim.step()
        expected = VOLTAGE / RESISTANCE * -np.expm1(-sim.time * RESISTANCE / INDUCTANCE)
        assert sim.motor_current[0] == pytest.approx(expected, rel=1e-11)
    sim.step(100 + int(0.1 / step))
    assert sim.mean_effort[0] == pytest.approx(RATIO * K * VOLTAGE / RESISTANCE, rel=1e-9)


def test_free_motor_has_the_mechanical_time_constant_and_the_no_load_speed():
    time = (LINK + ROTOR * RATIO**2) * RESISTANCE / (K * RATIO) ** 2  # J R / K^2
    speed = VOLTAGE / (K * RATIO)
    errors = []
    for steps in (50, 100):
        sim = simulation(hinge(), time / steps)
        sim.step(steps)
        errors.append(abs(sim.velocity[0] / (speed * -np.expm1(-1.0)) - 1))
    assert errors[0] < 3e-5 and errors[1] < errors[0] / 3.9
    sim.step(40 * steps)
    assert sim.velocity[0] == pytest.approx(speed, rel=1e-12)
    assert abs(sim.motor_current[0]) < 1e-9


def test_motor_with_inductance_runs_up_as_in_mujoco():
    mujoco = pytest.importorskip('mujoco')
    inertia = LINK + ROTOR * RATIO**2
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0" timestep="2e-6"/><worldbody><body><joint name="j" '
        f'damping="0.3"/><inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} '
        f'{inertia}"/></body></worldbody><actuator><dcmotor joint="j" motorconst="{K}" '
        f'resistance="{RESISTANCE}" inductance="{INDUCTANCE}" gear="{RATIO}"/></actuator></mujoco>'
    )
    data = mujoco.MjData(model)
    sim = simulation(hinge(viscous=0.3, inductance=INDUCTANCE), 2e-4)
    for sign in (1.0, -1.0):  # the second part brakes against the back-EMF
        data.ctrl[0], sim.effort = sign * VOLTAGE, [sign * HUGE]
        for _ in range(4):
            mujoco.mj_step(model, data, 2500)
            sim.step(25)
            assert sim.velocity[0] == pytest.approx(data.qvel[0], rel=1e-3, abs=2e-3)
            assert sim.motor_current[0] == pytest.approx(data.act[0], abs=0.05)


def test_run_up_converges_to_that_of_another_integrator_with_the_square_of_the_step():
    inertia = LINK + ROTOR * RATIO**2

    def slope(_, y):
        current = (VOLTAGE - RESISTANCE * y[0] - K * RATIO * y[1]) / INDUCTANCE
        return [current, (K * RATIO * y[0] - 0.3 * y[1]) / inertia, y[1]]

    out = solve_ivp(slope, (0.0, 0.02), np.zeros(3), 'DOP853', rtol=1e-11, atol=1e-12)
    errors = []
    for step in (5e-4, 2.5e-4):
        sim = simulation(hinge(viscous=0.3, inductance=INDUCTANCE), step)
        sim.step(round(0.02 / step))
        found = np.array([sim.motor_current[0], sim.velocity[0], sim.position[0]])
        errors.append(np.abs(found / out.y[:, -1] - 1).max())
    assert errors[0] < 5e-3 and errors[1] < errors[0] / 3.5


@pytest.mark.parametrize('step', [1e-4, 1e-3, 4e-3])
def test_electrical_energy_is_heat_and_work_and_that_of_the_current(step):
    random = np.random.default_rng(2)
    gear = {'stiffness': 800.0, 'damping': 0.2, 'torque_ripple': [(0.1, 6.0, 0.3)]}
    sim = simulation(hinge(gear=gear, inductance=INDUCTANCE, current=30.0), step)
    last = 0.0
    for _ in range(200):
        sim.effort = random.normal(0.0, 40.0, 1)
        sim.step()
        assert sim.motor_heat[0] > last
        last = sim.motor_heat[0]
    energy = sim.energy()
    stored = 0.5 * INDUCTANCE * sim.motor_current[0] ** 2
    assert sim.electrical_energy[0] == pytest.approx(last + energy.work + stored, rel=1e-12)
    assert abs(energy.balance) < 1e-12 * (abs(energy.work) + energy.kinetic)


def test_electrical_energy_is_the_integral_of_voltage_and_current():
    inertia = LINK + ROTOR * RATIO**2
    sim = simulation(hinge(), 1e-4)
    sim.step(100)
    time = inertia * RESISTANCE / (K * RATIO) ** 2
    charge = quad(lambda t: VOLTAGE / RESISTANCE * np.exp(-t / time), 0.0, 0.01)[0]
    assert sim.electrical_energy[0] == pytest.approx(VOLTAGE * charge, rel=1e-5)


def test_motor_within_its_limits_delivers_the_demand():
    limited = simulation(hinge(gear={'stiffness': 800.0}), effort=0.0)
    text = limited.arm.description.text
    start, end = text.index('<dcmotor'), text.index('/>', text.index('<dcmotor')) + 2
    ideal = simulation(frs.load(text[:start] + text[end:]), effort=0.0)
    for sim in (limited, ideal):
        sim.hold([0.3], 30.0, 2.0)
        sim.step(300)
    assert limited.q == pytest.approx(ideal.q, abs=1e-12)
    assert limited.motor_current[0] == pytest.approx(limited.mean_effort[0] / (K * RATIO))


def test_motors_of_a_public_robot_stay_below_their_torque_speed_line():
    random = np.random.default_rng(5)
    text = public_robot('z1_description/urdf/z1.urdf').read_text('utf-8')
    motors = ''.join(
        f'<joint name="{name}" rotor_inertia="4e-5" gear_ratio="50">'
        '<dcmotor motorconst="0.05" resistance="0.8" voltage="24" current="25"/></joint>'
        for name in frs.load(text).joint_names
    )
    arm = frs.load(text.replace('</robot>', f'<flexibility>{motors}</flexibility></robot>'))
    sim = frs.Simulation(arm)
    largest = np.zeros(len(arm.joint_names))
    for _ in range(40):
        sim.effort = random.normal(0.0, 200.0, largest.size)
        for _ in range(10):
            start = sim.velocity
            sim.step()
            mean = 0.5 * (start + sim.velocity)
            u = 0.8 * sim.mean_effort / 2.5 + 2.5 * mean  # R i + K v
            assert np.all(np.abs(u) < 24.0 * 1.01)
            assert np.all(np.abs(sim.mean_effort) <= 2.5 * 25.0 * (1 + 1e-12))
            largest = np.maximum(largest, np.abs(u))
    assert largest.max() > 23.9  # a motor reaches its line


def test_state_is_saved_and_equal_in_a_batch():
    arm = hinge(gear={'stiffness': 800.0}, inductance=INDUCTANCE, current=30.0)
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    sim.effort, batch.effort[:] = [20.0], 20.0
    sim.step(4)
    batch.step(4)
    state = sim.save_state()
    sim.step(6)
    batch.step(6)
    end, current = sim.q.copy(), sim.motor_current
    assert np.array_equal(batch.q[0], end) and np.array_equal(batch.q[1], end)
    for name in ('motor_current', 'motor_heat', 'electrical_energy'):
        assert np.array_equal(getattr(batch, name)[1], getattr(sim, name)) and getattr(sim, name)
    sim.restore_state(state)
    sim.step(6)
    assert np.array_equal(sim.q, end) and np.array_equal(sim.motor_current, current)
    sim.set_state()
    assert sim.motor_current[0] == sim.motor_heat[0] == 0.0
    log = frs.rollout(sim, duration=0.01, record='motor_current')
    assert log['motor_current'][-1] == sim.motor_current


def test_linear_model_and_limits_are_those_of_a_motor_within_its_limits():
    arm = hinge(gear={'stiffness': 800.0}, inductance=INDUCTANCE)
    plain = frs.with_parameters(arm, {})
    assert effort_limits(arm)[0] == pytest.approx(RATIO * K * VOLTAGE / RESISTANCE)
    assert effort_limits(hinge(current=10.0))[0] == pytest.approx(RATIO * K * 10.0)
    assert np.array_equal(frs.linearise(arm).A, frs.linearise(plain).A)
    again = frs.load(arm.description.text)
    assert again.description.joint('hinge').dc_motor == arm.description.joint('hinge').dc_motor


def test_prescribed_motor_has_the_current_of_its_effort():
    arm = hinge(inductance=INDUCTANCE)
    sim = frs.Simulation(arm)
    sim.prescribe('hinge', lambda t: (0.1 * t * t, 0.2 * t))
    sim.step(10)
    assert sim.motor_current[0] == pytest.approx(sim.mean_effort[0] / (K * RATIO), rel=1e-12)


@pytest.mark.parametrize('settings', [{'scheme': 'rk4'}, {'formulation': 'stiffened'}])
def test_other_schemes_and_formulations_are_refused(settings):
    message = (
        'the DC motors of hinge need the scheme implicit_midpoint and the formulation recursion: '
        'use these settings'
    )
    with pytest.raises(frs.SettingError) as error:
        frs.Simulation(hinge(), frs.SimulationSettings(**settings))
    assert str(error.value) == message


def urdf(flexibility):
    """Return a robot of a joint and a fixed one, with <flexibility> in line 4."""
    return (
        '<robot name="m"><link name="base"/><link name="arm"><inertial><mass value="1"/><inertia '
        'ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="tip"/>\n'
        '<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis '
        'xyz="0 0 1"/><limit effort="5" velocity="1"/></joint>\n'
        '<joint name="wrist" type="fixed"><parent link="arm"/><child link="tip"/></joint>\n'
        f'<flexibility>{flexibility}</flexibility></robot>'
    )


BAD = {
    'motorconst="0" resistance="1" voltage="9"': 'motorconst = 0 must be > 0. Give motorconst [N '
    'm/A]: torque constant, which in SI units is also the back-EMF constant; voltage / no-load '
    'speed in a data sheet.',
    'motorconst="1" resistance="-1" voltage="9"': 'resistance = -1 must be > 0. Give resistance '
    '[Ohm]: of the winding, between the terminals; motorconst * voltage / stall torque in a data '
    'sheet.',
    'motorconst="1" inductance="1" voltage="9"': '<dcmotor> has no resistance. Give resistance '
    '[Ohm]: of the winding, between the terminals; motorconst * voltage / stall torque in a data '
    'sheet.',
}


@pytest.mark.parametrize('attributes', BAD)
def test_unusable_motor_is_refused_in_one_line(attributes):
    with pytest.raises(frs.DescriptionError) as error:
        frs.load(urdf(f'<joint name="hinge"><dcmotor {attributes}/></joint>'))
    assert str(error.value) == f'<text>:4: {BAD[attributes]}'


def test_joint_without_a_motor_of_its_own_has_no_dc_motor():
    motor = '<dcmotor motorconst="1" resistance="1" voltage="9"/></joint>'
    with pytest.raises(frs.DescriptionError) as error:
        frs.load(urdf(f'<joint name="wrist" type="spherical">{motor}'))
    assert str(error.value) == (
        '<text>:4: joint "wrist" has no motor of its own, so it has no <dcmotor>. Remove the '
        '<dcmotor>.'
    )


def test_velocity_beyond_the_no_load_speed_is_a_warning():
    motor = '<joint name="hinge" gear_ratio="10"><dcmotor motorconst="1" resistance="1" '
    description = frs.load(urdf(f'{motor} voltage="5"/></joint>')).description
    assert [str(line) for line in description.warnings] == [
        '<text>:4: joint "hinge" may move at 1 rad/s, but its motor reaches only 0.5 rad/s '
        'without load: voltage / (motorconst * gear_ratio). Correct one of them, or reduce the '
        "velocity of the joint's <limit>."
    ]
