"""Friction that creeps: closed forms, MuJoCo, energy, derivatives, and the other frictions."""

import numpy as np
import pytest
from public_robots import public_robot
from reference import along

import flex_robot_sim as frs

INERTIA, FRICTION = 0.05, 1.0


def hinge(creep_rate=None, gear=False, **numbers):
    """Return an arm of one joint about the vertical."""
    builder = frs.ArmBuilder('hinge')
    builder.add_rigid('arm', mass=1.0, centre=(0.0, 0.0, 0.0), inertia=[INERTIA] * 3)
    builder.add_joint(
        'hinge',
        parent='base',
        child='arm',
        coulomb_friction=numbers.pop('coulomb_friction', FRICTION),
        creep_rate=creep_rate,
        **numbers,
    )
    if gear:
        builder.add_gear('hinge', rotor_inertia=0.02, stiffness=500.0, damping=0.1)
    return builder.build()


def simulation(arm, step=1e-3, **settings):
    return frs.Simulation(arm, frs.SimulationSettings(time_step=step, **settings))


@pytest.mark.parametrize('step', [1e-4, 1e-3, 2e-2])
@pytest.mark.parametrize('creep_rate', [0.1, 5.0])
def test_a_mass_decelerates_exponentially_below_the_creep_rate(creep_rate, step):
    sim, duration = simulation(hinge(creep_rate), step), INERTIA * creep_rate / FRICTION
    start = 0.9 * creep_rate
    sim.set_state([0.0], [start])
    for _ in range(30):
        sim.step()
        expected = start * np.exp(-sim.time / duration)
        assert sim.v[0] == pytest.approx(expected, rel=1e-9, abs=1e-7 * start)
    assert sim.energy().dissipated == pytest.approx(0.5 * INERTIA * (start**2 - sim.v[0] ** 2))


def test_a_mass_decelerates_linearly_above_the_creep_rate():
    sim = simulation(hinge(0.1))
    sim.set_state([0.0], [2.0])
    sim.advance_to(0.05)
    assert sim.v[0] == pytest.approx(2.0 - 0.05 * FRICTION / INERTIA, rel=1e-12)


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4', 'reference'])
def test_a_joint_creeps_in_proportion_to_a_load_below_its_friction(scheme):
    sim = simulation(hinge(0.1), scheme=scheme)
    sim.effort = [-0.3 * FRICTION]
    sim.advance_to(0.3)  # 60 time constants
    assert sim.v[0] == pytest.approx(-0.03, rel=1e-9)
    assert sim.twist_rate('arm')[2] == pytest.approx(0.0, abs=1e-6)


def test_a_small_creep_rate_is_dry_friction_that_sticks():
    motions = []
    for creep_rate in (None, 1e-7):
        sim, places = simulation(hinge(creep_rate, gear=True)), []
        for k in range(600):
            sim.effort = [2.5 * np.sin(0.02 * k)]
            sim.step()
            places.append(sim.q.copy())
        motions.append(np.array(places))
    assert np.abs(motions[0] - motions[1]).max() < 1e-4 * np.ptp(motions[0])


@pytest.mark.slow
def test_a_joint_creeps_as_that_of_mujoco():
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 0" timestep="1e-4" integrator="implicitfast"/><worldbody>'
        f'<body><inertial pos="0 0 0" mass="1" diaginertia="1 1 {INERTIA}"/>'
        f'<joint axis="0 0 1" frictionloss="{FRICTION}"/></body></worldbody></mujoco>'
    )

    def rate(torque):
        data = mujoco.MjData(model)
        data.qfrc_applied[0] = torque
        mujoco.mj_step(model, data, 5000)
        return data.qvel[0]

    creep_rate = rate(0.5 * FRICTION) / 0.5
    arm = hinge(creep_rate)
    for share in (-0.9, 0.2):
        sim = simulation(arm)
        sim.effort = [share * FRICTION]
        sim.advance_to(0.5)
        assert sim.v[0] == pytest.approx(rate(share * FRICTION), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    'path', ['z1_description/urdf/z1.urdf', 'ur_description/urdf/ur10_robot.urdf']
)
def test_public_robot_that_creeps_never_gains_energy(path):
    arm = frs.load(public_robot(path).read_text('utf-8'))
    for seed in range(3):
        random, numbers = np.random.default_rng(seed), {}
        for name in arm.joint_names:
            numbers[f'{name}.coulomb'] = 10.0 ** random.uniform(-1, 2)
            numbers[f'{name}.static_friction'] = 1.5 * numbers[f'{name}.coulomb']
            numbers[f'{name}.creep_rate'] = 10.0 ** random.uniform(-4, 0)
        sim = simulation(frs.with_parameters(arm, numbers), 10.0 ** random.uniform(-4, -2))
        sim.set_state(np.zeros(arm.nq), random.normal(0.0, 0.5, arm.nq))
        last = start = sum(sim.energy()[:3])
        scale = abs(start) + sim.energy().kinetic
        for _ in range(200):
            sim.step()
            energy = sum(sim.energy()[:3])
            assert energy <= last + 1e-11 * scale
            last = energy
        assert last < start


@pytest.mark.parametrize('rate', [0.0, 0.03, -0.06, 0.4])
def test_derivatives_and_linear_models_are_those_of_finite_differences(rate):
    arm = hinge(0.1, gear=True, static_friction=1.4, stribeck_rate=0.2)
    q, v = np.array([0.1, 0.12]), np.array([0.2, rate])
    unit = np.array([0.0, 1.0])
    expected = along(lambda t: frs.forward_dynamics(arm, q, v + t * unit), 1e-5)
    found = frs.derivatives(arm, q, v)
    assert found.is_smooth
    assert found.da_dv[:, 1] == pytest.approx(expected, rel=1e-8)
    assert frs.linearise(arm, q, v, joints='free').A[2:, 3] == pytest.approx(expected, rel=1e-8)


def test_state_of_a_joint_that_creeps_is_saved_and_equal_in_a_batch():
    arm = hinge(0.05, gear=True)
    sim, batch = simulation(arm), frs.Batch(arm, 2)
    for one in (sim, batch):
        one.set_state(np.zeros(2), np.array([0.3, -0.2]))
        one.step(40)
    assert np.array_equal(batch.q[1], sim.q) and np.array_equal(batch.v[0], sim.v)
    state = sim.save_state()
    sim.step(40)
    end = sim.q.copy()
    sim.restore_state(state)
    sim.step(40)
    assert np.array_equal(sim.q, end)


def test_a_batch_varies_the_creep_rate():
    arm, rates = hinge(0.05), [0.0, 0.02, 0.5]
    batch = frs.Batch([frs.with_parameters(arm, {'hinge.creep_rate': rate}) for rate in rates])
    batch.effort[:] = 0.5 * FRICTION
    batch.step(400)
    for row, rate in enumerate(rates):
        expected = 0.5 * rate * (1 - np.exp(-0.4 * FRICTION / (INERTIA * max(rate, 1e-9))))
        assert batch.v[row, 0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_presliding_and_creep_exclude_each_other():
    arm = frs.with_parameters(hinge(), {'hinge.presliding': 1e-3})
    with pytest.raises(frs.SettingError) as caught:
        frs.with_parameters(arm, {'hinge.creep_rate': 0.1})
    assert str(caught.value) == (
        'joint "hinge" would have a presliding and a creep_rate, which exclude each other. '
        'Set one of them to 0.'
    )
    both = {'hinge.presliding': 0.0, 'hinge.creep_rate': 0.1}
    assert frs.parameters(frs.with_parameters(arm, both))['hinge.creep_rate'].value == 0.1
