"""Canadarm2 on a free station: frequencies, momentum and motion against the rigid arm."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

WEIGHTLESS = (0.0, 0.0, 0.0)
START = [0.4 * np.pi, -0.4 * np.pi, 0.0, 0.0, 0.0]


@pytest.fixture(scope='module')
def arm():
    return frs.load('space_station')


def test_the_arm_on_the_station_is_canadarm2_without_gravity(arm):
    arm_text, text = (frs.robots()[name].read_text() for name in ('canadarm2', 'space_station'))
    (parts,) = re.findall('<robot[^>]*>(.*)</robot>', arm_text, re.DOTALL)
    head, tail = parts.split('<flexibility>')
    assert f'{head}<flexibility>\n    <gravity xyz="0 0 0"/>{tail}' in text
    sim = frs.Simulation(arm)
    sim.step(100)
    assert not sim.base_twist.any() and not sim.reports


def test_the_arm_vibrates_faster_on_the_free_station(arm):
    fixed = frs.frequencies(frs.load('canadarm2', gravity=WEIGHTLESS), START)
    free = frs.frequencies(arm, START)
    assert not free[:6].any()
    # a free base gives way, which removes inertia: no mode is slower (Rayleigh)
    assert (free[6:] >= fixed[: free.size - 6] * (1 - 1e-9)).all()
    assert free[6] > 1.2 * fixed[0]


def test_a_slow_move_turns_the_station_as_the_rigid_arm_does(arm):
    """Pinocchio integrates the twist of a base without momentum."""
    pin = pytest.importorskip('pinocchio')
    steps, h, duration = 2000, 1e-2, 20.0
    u = np.arange(steps + 1) / steps
    moves = np.array([-1.0, 0.5, 0.0, 0.0, 0.0])
    places = np.array(START) + np.outer(u**3 * (10 - 15 * u + 6 * u**2), moves)
    rates = np.outer(30 * u**2 * (1 - u) ** 2 / duration, moves)
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=h))
    sim.set_state(START)
    sim.follow(places, rates)
    # of the station, with 3500 N m s at most in between
    assert abs(sim.momentum()).max() <= 1e-12 * 3500.0

    text = re.sub('<flexibility>.*</flexibility>', '', arm.description.text, flags=re.DOTALL)
    model = pin.buildModelFromXML(text)
    data, q = model.createData(), pin.neutral(model)
    for k in range(steps):
        middle, rate = (places[k] + places[k + 1]) / 2, (rates[k] + rates[k + 1]) / 2
        q[7:] = middle
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        v = np.concatenate([-np.linalg.solve(M[:6, :6], M[:6, 6:] @ rate), rate])
        q[:7] = pin.integrate(model, q, h * v)[:7]
    turn = Rotation.from_quat(sim.base_pose[3:]) * Rotation.from_quat(q[3:7]).inv()
    assert np.linalg.norm(q[3:6]) > 0.05
    # the joints and booms bend by less than a thousandth
    assert turn.magnitude() <= 1e-3
    np.testing.assert_allclose(sim.base_pose[:3], q[:3], rtol=0, atol=5e-3)
