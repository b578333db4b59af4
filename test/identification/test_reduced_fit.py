"""The stiffness scale of a reduced link, from the gauge and encoder of a beam in its place."""

import numpy as np
import pytest
from reduced_bar import (
    BEAM,
    DENSITY,
    HEIGHT,
    LENGTH,
    REDUCED,
    TOOL_MASS,
    WIDTH,
    E,
    bar_robot,
    write_bar,
)
from scipy.linalg import eigh
from scipy.signal import lsim

import flex_robot_sim as frs
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.identification import identify_parameters, make_log

SCALE = 0.85  # of the stiffness of the arm in the log
PERIOD, SECONDS = 4e-3, 3.0  # [s]
GAUGE = f'<strain_gauge name="root" at="0.1 {-WIDTH / 2} 0" along="1 0 0" distance="{WIDTH / 2}"/>'
SENSOR = '<flex_sensor name="root" from="0.1" to="0.1" plane="xy"/>'
DAMPING = '<damping ratio="0.01"/>'


@pytest.fixture(scope='module')
def log():
    """Motion of the beam about the vertical axis, under a controller."""
    softer = BEAM.replace('E="7e10" G="3.5e10"', f'E="{SCALE * 7e10}" G="{SCALE * 3.5e10}"')
    arm = frs.load(bar_robot(softer + DAMPING + SENSOR, axis='0 0 1'))
    sim, rows = frs.Simulation(arm), []
    for k in range(round(SECONDS / PERIOD)):
        t = k * PERIOD
        target = 0.3 * (1 - np.exp(-(t**3))) * np.sin(2 * np.pi * (0.5 + t) * t)
        sim.effort[0] = 40.0 * (target - sim.position[0]) - 4.0 * sim.velocity[0]
        rows.append([t, sim.position[0], sim.effort[0], sim.curvature['arm/root']])
        sim.step(round(PERIOD / sim.settings.time_step))
    t, position, effort, gauge = np.array(rows).T
    noise = np.random.default_rng(1).normal(size=(2, t.size))
    return make_log(
        t,
        {
            'position/hinge': position + 1e-5 * noise[0],
            'effort/hinge': effort,
            'arm/root': gauge + 2e-4 * noise[1],
        },
    )


@pytest.mark.long
def test_the_stiffness_of_a_reduced_link_is_that_of_a_beam_in_its_place(log, tmp_path):
    fits = []
    for arm in (
        frs.load(write_bar(tmp_path, REDUCED + DAMPING + GAUGE, axis='0 0 1')),
        frs.load(bar_robot(BEAM + DAMPING + SENSOR, axis='0 0 1')),
    ):
        found = identify_parameters(arm, log, free=['arm.stiffness', 'arm.damping_ratio'])
        (number,) = (one for one in found.estimates if one.path == 'arm.stiffness')
        assert number.is_identifiable
        fits.append(number.value)
    # efforts that are held between samples bias both fits; the coarse mesh is up to 0.4 % faster
    # than the beam, and its gauge reads 1 % less
    assert fits[0] == pytest.approx(fits[1], rel=0.025)
    assert fits[1] == pytest.approx(SCALE, rel=0.04)


def test_a_fitted_scale_is_written_to_the_urdf(tmp_path):
    path = write_bar(tmp_path, REDUCED + DAMPING)
    before = frs.load(path)
    after = frs.with_parameters(before, {'arm.stiffness': 0.8})
    edits = edits_of(before.description, after.description, 'arm.stiffness')
    path.write_text(rewritten(before.description.text, edits, {}))
    assert 'stiffness_scale="0.8"' in path.read_text()
    found, expected = (frs.frequencies(arm, [0.0]) for arm in (frs.load(path), after))
    assert np.array_equal(found, expected)
    assert found[:2] == pytest.approx(
        0.8**0.5 * frs.frequencies(before, [0.0])[:2], rel=1e-4
    )  # gravity


def driven_beam(elements, turn, time, damping):
    """
    Strain at x = 0.1 m over half the width of the bar, on a hub with the angle `turn` (k,).

    Cubic finite elements with the mass of the tool; its modes are integrated one by one. The
    slow motion has no centrifugal stiffening.
    """
    h, EI = LENGTH / elements, SCALE * E * HEIGHT * WIDTH**3 / 12
    k = np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2]]
        + [[-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
    )
    m = np.array(
        [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2]]
        + [[54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]
    )
    n = 2 * elements + 2
    K, M = np.zeros((n, n)), np.zeros((n, n))
    for i in range(0, n - 2, 2):
        K[i : i + 4, i : i + 4] += EI / h**3 * k
        M[i : i + 4, i : i + 4] += DENSITY * WIDTH * HEIGHT * h / 420 * m
    # the tool: its centre is 0.05 m ahead of the tip, its moment about z there is 0.0015 kg m2
    lever = np.array([1.0, 0.05])
    M[-2:, -2:] += TOOL_MASS * np.outer(lever, lever) + np.diag([0.0, 0.0015])
    rigid = np.zeros(n)
    rigid[::2], rigid[1::2] = np.linspace(0.0, LENGTH, elements + 1), 1.0
    squares, shapes = eigh(K[2:, 2:], M[2:, 2:])
    row = np.zeros(n)  # curvature at x = 0.1, the end of an element
    i = 2 * round(0.1 / h)
    row[i - 2 : i + 2] = np.array([6, 2 * h, -6, 4 * h]) / h**2
    acceleration = np.gradient(np.gradient(turn, time), time)
    loads = -(shapes.T @ (M @ rigid)[2:])
    curvature = np.zeros(time.size)
    for square, shape, load in zip(squares[:6], shapes.T, loads):
        rate = 2 * damping * np.sqrt(square)
        system = ([load], [1.0, rate, square])
        curvature += (row[2:] @ shape) * lsim(system, acceleration, time)[1]
    return curvature


@pytest.mark.long
def test_a_fit_by_motion_finds_the_stiffness_of_independent_finite_elements(tmp_path):
    time = np.arange(0.0, SECONDS, 1e-3)
    turn = 0.1 * (1 - np.exp(-(time**3))) * np.sin(2 * np.pi * (0.5 + time) * time)
    noise = np.random.default_rng(1).normal(size=(2, time.size))
    log = make_log(
        time,
        {
            'position/hinge': turn + 1e-5 * noise[0],
            'arm/root': driven_beam(20, turn, time, 0.01) + 2e-4 * noise[1],
        },
    )
    arm = frs.load(write_bar(tmp_path, REDUCED + DAMPING + GAUGE, axis='0 0 1'))
    # the group has the reduced link
    found = identify_parameters(arm, log, free=['stiffness'], by_motion=True)
    (number,) = found.estimates[:1]
    assert number.path == 'arm.stiffness' and number.is_identifiable
    # the coarse mesh is stiffer, see above
    assert number.value == pytest.approx(SCALE, rel=0.025)
