"""The plants of `flexsim benchmark identify` have the parameters that they claim."""

import importlib

import numpy as np
import pytest
from project_files import ROOT

import flex_robot_sim as frs
from flex_robot_sim.analysis.equations import mass_matrix, nonlinear_effects

pytest.importorskip('mujoco')


@pytest.fixture
def plants(monkeypatch):
    """Return the modules of the plants by name."""
    monkeypatch.syspath_prepend(str(ROOT))
    names = 'planar_arm', 'mujoco_plant', 'own_plant', 'bench_log'
    return {name: importlib.import_module(f'benchmarks.identification.{name}') for name in names}


def arm_of(plants, *, rotor=0.05, stiffness=400.0, coulomb=0.0, hysteresis=0.0, tip=0.25):
    planar = plants['planar_arm']
    drive = planar.Drive(rotor, stiffness, 0.3, coulomb, 0.0, hysteresis, 6.0)
    return planar.PlanarArm((drive,), (planar.Link(0.6, 20.0, 0.3, 4e-4, tip),))


def undamped(arm):
    (drive,), (link,) = arm.drives, arm.links
    return type(arm)((drive._replace(damping=0.0),), (link._replace(damping_time=0.0),))


def test_frequencies_of_the_chain_are_those_of_a_clamped_beam(plants):
    # a heavy rotor and a stiff gear clamp the beam: (1.8751 / L)^2 sqrt(EI / density)
    arm = arm_of(plants, rotor=1e6, stiffness=1e9, tip=1e-9)
    found = plants['mujoco_plant'].chain_frequencies(
        plants['mujoco_plant'].MujocoPlant(arm, pieces=24).model
    )[1]
    expected = (1.8751040687 / 0.6) ** 2 * np.sqrt(20.0 / 0.3) / (2 * np.pi)
    assert found == pytest.approx(expected, rel=2e-3)


def test_frequencies_of_the_chain_are_those_of_the_model(plants):
    arm = undamped(arm_of(plants))
    chain = plants['mujoco_plant'].MujocoPlant(arm, pieces=12)
    found = plants['mujoco_plant'].chain_frequencies(chain.model)[1:3]
    model = frs.modes(arm.model(modes=8), [0.0], joints='free').frequencies[1:3]
    assert found == pytest.approx(model, rel=2e-4)


def test_tip_of_the_chain_is_as_stiff_as_that_of_the_beam(plants):
    # a heavy tip on a clamped light beam: sqrt(3 EI / (m L^3))
    arm = arm_of(plants, rotor=1e9, stiffness=1e9, tip=300.0)
    chain = plants['mujoco_plant'].MujocoPlant(arm, pieces=12)
    found = plants['mujoco_plant'].chain_frequencies(chain.model)[1]
    mass = 300.0 + 33 / 140 * 0.3 * 0.6  # of the beam, by Rayleigh
    expected = np.sqrt(3 * 20.0 / (mass * 0.6**3)) / (2 * np.pi)
    assert found == pytest.approx(expected, rel=2e-5)


def test_momentum_of_the_chain_is_the_impulse_of_the_effort(plants):
    plant, effort, count = plants['mujoco_plant'].MujocoPlant(arm_of(plants), pieces=4), 1e-3, 20
    row, mujoco = plant.motors[0], pytest.importorskip('mujoco')
    unit, inertia = np.eye(plant.model.nv)[row], np.zeros(plant.model.nv)
    mujoco.mj_forward(plant.model, plant.data)
    mujoco.mj_mulM(plant.model, plant.data, inertia, unit)
    for _ in range(count):
        plant.advance(np.array([effort]))
    # the integral of the momentum of a constant effort from rest: no step early or late
    time = count * plant.substeps * plant.model.opt.timestep
    assert inertia @ plant.data.qpos == pytest.approx(0.5 * effort * time**2, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ur5', 'fr3'])
def test_elastic_robot_has_the_inertia_of_its_description(plants, name):
    module = importlib.import_module('benchmarks.identification.elastic_robot')
    robot = module.ElasticRobot(name, np.random.default_rng(0))
    n, M = len(robot.names), np.zeros((robot.model.nv, robot.model.nv))
    mujoco = pytest.importorskip('mujoco')
    mujoco.mj_forward(robot.model, robot.data)
    for row, unit in zip(M, np.eye(robot.model.nv)):
        mujoco.mj_mulM(robot.model, robot.data, row, unit)
    factors = dict.fromkeys(module.QUANTITIES, np.ones(n))
    arm = robot.described(factors)
    assert arm.joint_names == tuple(robot.names)
    motor, gear = (robot.data.qpos[rows] for rows in (robot.motors, robot.gears))
    q = np.zeros(arm.size)
    q[:n], q[arm.motor_q] = motor + gear, motor
    found = mass_matrix(arm, q)[:n, :n]
    assert found == pytest.approx(M[np.ix_(robot.gears, robot.gears)], abs=1e-5)
    # at rest in equilibrium: the gears carry the weight
    force = nonlinear_effects(arm, q, np.zeros(arm.size))
    assert force[:n] == pytest.approx(robot.data.qfrc_bias[robot.gears], abs=1e-3)
    parameters = frs.parameters(arm)
    for path, value in robot.truth.items():
        assert parameters[path].value == pytest.approx(value, rel=1e-6), path


@pytest.mark.slow
@pytest.mark.parametrize('friction', ['slip', 'lugre', 'creep', 'frictionloss'])
def test_effort_at_constant_speed_is_the_dry_friction(plants, friction):
    arm = arm_of(plants, coulomb=0.3)
    plant, efforts = plants['mujoco_plant'].MujocoPlant(arm, friction, pieces=4), []
    effort = np.zeros(1)
    for k in range(1500):
        error = 0.2 * k * 1e-3 - plant.motor_positions
        effort = 100.0 * error + 8.0 * (0.2 - plant.motor_rates)
        plant.advance(effort)
        efforts.append(effort[0])
    assert np.mean(efforts[-500:]) == pytest.approx(0.3, rel=0.01)


def test_drive_that_creeps_moves_in_proportion_to_its_load(plants):
    # MuJoCo: R f = -b v, with R = (1 - d) / (d J) and b = 2 / (d time constant)
    arm, d, time_constant = arm_of(plants, coulomb=0.3), 0.005, 0.01
    creep_rate = 0.3 / 0.05 * (1 - d) / d * d * time_constant / 2
    plant = plants['mujoco_plant'].MujocoPlant(arm, 'creep', pieces=4)
    for share in (0.5, -0.8):
        for _ in range(1500):  # the link comes to rest on its gear
            plant.advance(np.array([share * 0.3]))
        assert plant.motor_rates[0] == pytest.approx(share * creep_rate, rel=2e-3)


def test_gear_loses_the_energy_of_its_hysteresis(plants):
    arm = arm_of(plants, hysteresis=0.1)
    plant = plants['mujoco_plant'].MujocoPlant(arm, pieces=4)
    elements, amplitude = plant.gear_elements, 0.3 * 6.0 / 400.0
    turn = amplitude * np.sin(np.linspace(0.0, 4 * np.pi, 4001))
    forces = np.array([elements.force(np.array([d]))[0] for d in np.diff(turn)])
    loss = (forces * np.diff(turn))[2000:].sum()
    assert loss / (0.5 * 400.0 * amplitude**2) == pytest.approx(0.1, rel=0.1)


def test_log_is_late_and_rounded_to_encoder_counts(plants):
    bench_log = plants['bench_log']
    plant = plants['own_plant'].OwnPlant(arm_of(plants))
    times, columns = bench_log.recorded(
        plant, lambda t: (np.array([0.1 * t]), np.array([0.1])), 0.4, (50.0, 4.0)
    )
    log = bench_log.log_of(times, columns, delay=0.01)
    motor, count = log.columns['motor/joint1'].values, 2 * np.pi / 65536
    assert (abs(motor / count - np.round(motor / count)) < 1e-9).all()
    assert motor[5:] == pytest.approx(columns['motor/joint1'][:-5], abs=count)
    assert 'twist/joint1' not in log.columns
