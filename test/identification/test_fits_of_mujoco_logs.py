"""Fits to logs of MuJoCo: tilt of a base, friction that creeps, wrong initial values."""

import importlib

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set

pytestmark = pytest.mark.slow
pytest.importorskip('mujoco')

PIECES, STEP = 6, 2e-3  # of the chain; of a fit [s]
SETTLING, SECONDS = 4.0, 8.0  # before the motion, and of it [s]
GAINS = np.array([60.0]), np.array([6.0])  # of the servo [N m/rad], [N m s/rad]
DELAY = 4e-3  # [s]
ROLL, PITCH = 0.2, -0.3  # of the base [rad]
ROUNDING = 1e-5  # of estimates: both simulations integrate in steps of milliseconds


@pytest.fixture
def plants(monkeypatch):
    """Return the modules of the plants by name."""
    monkeypatch.syspath_prepend(str(ROOT))
    names = 'planar_arm', 'mujoco_plant', 'bench_log'
    return {name: importlib.import_module(f'benchmarks.identification.{name}') for name in names}


def arm_of(plants, coulomb, *, EI=20.0, stiffness=400.0, viscous=0.2):
    planar = plants['planar_arm']
    drive = planar.Drive(0.05, stiffness, 0.3, coulomb, viscous, 0.0, 6.0)
    return planar.PlanarArm((drive,), (planar.Link(0.6, EI, 0.3, 4e-4, 0.25),), DELAY)


def motion(t):
    """Return position and rate (1,) of two sines after a rest."""
    t = max(t - SETTLING, 0.0)
    grown, slope = 1 - np.exp(-(t**3)), 3 * t**2 * np.exp(-(t**3))
    sizes, rates = np.array([0.3, 0.06]), 2 * np.pi * np.array([0.4, 2.3])
    wave, change = sizes @ np.sin(rates * t), (sizes * rates) @ np.cos(rates * t)
    return np.array([grown * wave]), np.array([slope * wave + grown * change])


def recorded(plants, plant):
    """Return the Log of a motion that begins at rest."""
    bench = plants['bench_log']
    times, columns = bench.recorded(plant, motion, SETTLING + SECONDS, GAINS)
    log = bench.log_of(times, columns, delay=DELAY)
    is_used = times >= SETTLING - 0.3
    return Log(
        'mujoco',
        {
            name: Column(times[is_used], column.values[is_used])
            for name, column in log.columns.items()
        },
        [],
    )


def fitted(log, model, free):
    """Return the Identification of a log."""
    return identify(Setup(model.description, make_data_set([log], model), time_step=STEP), free)


def expect_values(found, values, rel):
    """Compare estimates with true values, and these with the intervals."""
    estimates = {one.path: one for one in found.estimates}
    for path, value in values.items():
        one = estimates[path]
        assert one.is_identifiable, path
        assert one.value == pytest.approx(value, rel=rel), path
        assert one.interval[0] - ROUNDING <= value <= one.interval[1] + ROUNDING, path


@pytest.fixture
def tilted_log(plants):
    """Return the log of an arm without dry friction on a tilted base."""
    plant = plants['mujoco_plant'].MujocoPlant(arm_of(plants, 0.0), 'frictionloss', PIECES)
    c, s = np.cos([ROLL, PITCH]), np.sin([ROLL, PITCH])
    about_x = np.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    about_y = np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
    plant.model.opt.gravity[:] = (about_y @ about_x).T @ [0.0, 0.0, -9.81]
    return recorded(plants, plant)


@pytest.mark.long
def test_the_tilt_of_a_base_is_found(plants, tilted_log):
    model = arm_of(plants, 0.0).model(pieces=PIECES)
    found = fitted(tilted_log, model, ['link1.EIz', 'gravity', 'delay'])
    assert found.is_good
    expect_values(found, {'base.roll': ROLL, 'base.pitch': PITCH}, 0.02)
    without = fitted(tilted_log, model, ['link1.EIz', 'delay'])
    assert not without.is_good


@pytest.mark.long
def test_the_creep_rate_of_friction_is_found(plants):
    coulomb = 0.3
    plant = plants['mujoco_plant'].MujocoPlant(arm_of(plants, coulomb), 'creep', PIECES)
    log = recorded(plants, plant)
    # MuJoCo: R f = -b v, with R = (1 - d) / (d J) and b = 2 / (d time constant)
    d, time_constant, rotor = 0.005, 0.01, 0.05
    creep_rate = coulomb / rotor * (1 - d) / d * d * time_constant / 2
    model = arm_of(plants, 0.2).model(pieces=PIECES, creep_rate=0.01)
    free = ['joint1.coulomb', 'joint1.creep_rate', 'link1.EIz', 'delay']
    found = fitted(log, model, free)
    assert found.is_good
    expect_values(found, {'joint1.coulomb': coulomb, 'joint1.creep_rate': creep_rate}, 0.05)


@pytest.mark.long
@pytest.mark.parametrize('seed', range(6))
def test_initial_values_wrong_by_a_factor_of_two_end_at_the_true_ones(plants, seed):
    coulomb, random = 0.3, np.random.default_rng(seed)
    plant = plants['mujoco_plant'].MujocoPlant(arm_of(plants, coulomb), 'creep', 12)
    log = recorded(plants, plant)
    EI, stiffness, dry, viscous = 2.0 ** random.choice([-1, 1], 4)
    wrong = arm_of(
        plants, dry * coulomb, EI=EI * 20.0, stiffness=stiffness * 400.0, viscous=viscous * 0.2
    )
    model = wrong.model(pieces=12, creep_rate=0.02)
    free = ['link1.EIz', 'joint1.stiffness', 'friction', 'joint1.creep_rate', 'delay']
    found = fitted(log, model, free)
    assert found.is_good
    for path, value, rel in (
        ('link1.EIz', 20.0, 0.01),
        ('joint1.stiffness', 400.0, 0.02),
        ('joint1.coulomb', coulomb, 0.03),
        ('joint1.viscous', 0.2, 0.03),
        ('delay', DELAY, 0.05),
    ):
        assert found.values[path] == pytest.approx(value, rel=rel), path
