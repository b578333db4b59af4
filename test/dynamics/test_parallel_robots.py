"""
The shipped robots with closed loops, compared with the geometry of their mechanisms.

References: parallelograms, the intersection of circles and of spheres, lengths of legs, and an
overhanging beam.
"""

import numpy as np
import pytest
from closed_loops import energy_rise, opening
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from stewart_legs import leg_points

import flex_robot_sim as frs

pytestmark = pytest.mark.slow


def at(name, **positions):
    """Return a Simulation at positions of the driven joints; the other joints close the loops."""
    simulation = frs.Simulation(frs.load(name))
    names = simulation.arm.joint_names
    assert {*positions} <= {*names}
    simulation.set_state([positions.get(joint, 0.0) for joint in names])
    for joint, value in positions.items():
        assert simulation.position[names.index(joint)] == value
    return simulation


def held(simulation, stiffness, damping):
    """Hold the driven joints where they are, and let the arm settle."""
    driven = np.array(
        [joint.effort > 0 for joint in simulation.arm.description.joints if joint.moves]
    )
    simulation.hold(simulation.position, stiffness * driven, damping * driven)
    simulation.advance_to(1.0)
    return simulation


def is_closed(simulation):
    arm, q = simulation.arm, simulation.q
    return all(np.abs(opening(arm, q, name)).max() < 1e-12 for name in arm.closed_loops)


@pytest.mark.parametrize('seed', range(3))
def test_the_palletiser_keeps_its_tool_level(seed):
    waist, shoulder, elbow, turn = np.random.default_rng(seed).uniform(-0.5, 0.5, 4)
    simulation = at(
        'palletiser', waist_joint=waist, shoulder=shoulder, elbow=elbow, tool_rotation=turn
    )
    T = simulation.pose('tool')
    reach = np.sin(shoulder) + 1.1 * np.cos(shoulder + elbow)
    height = 0.5 + np.cos(shoulder) - 1.1 * np.sin(shoulder + elbow) - 0.06 - 0.25
    expected = [reach * np.cos(waist), reach * np.sin(waist), height]
    assert T[:3, 3] == pytest.approx(expected, abs=1e-9)
    level = Rotation.from_euler('z', waist + turn).as_matrix()
    assert T[:3, :3] == pytest.approx(level, abs=1e-9)


def test_the_palletiser_stays_level_when_its_links_bend():
    simulation = held(at('palletiser', shoulder=0.4, elbow=-0.1), 4e4, 4e3)
    slope = frs.pose(simulation.arm, simulation.q, link='forearm', station='tip')[:3, 0]
    rigid = frs.pose(simulation.arm, simulation.q, link='forearm')[:3, 0]
    bent = np.arccos(slope @ rigid)
    tilt = np.linalg.norm(np.cross(simulation.pose('tool')[:3, 2], [0.0, 0.0, 1.0]))
    assert bent > 1e-3
    assert tilt < 0.2 * bent
    assert is_closed(simulation)


BASE, PLATFORM, ARM, ROD = 0.2, 0.05, 0.3, 0.6  # of the deltas [m]


def delta_position(angles):
    """Return the centre of the platform: below, on three spheres about the ends of the arms."""
    turns = 2 * np.pi / 3 * np.arange(3)
    radii = BASE + ARM * np.cos(angles) - PLATFORM
    centres = np.array([radii * np.cos(turns), radii * np.sin(turns), -ARM * np.sin(angles)]).T
    a, b, c = centres
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(x, c - a)
    z /= np.linalg.norm(z)
    y = np.cross(z, x)
    d, i, j = x @ (b - a), x @ (c - a), y @ (c - a)
    u = d / 2
    w = (i**2 + j**2 - 2 * i * u) / (2 * j)
    h = np.sqrt(ROD**2 - u**2 - w**2)
    return min((a + u * x + w * y + s * h * z for s in (-1, 1)), key=lambda p: p[2])


@pytest.mark.parametrize('name', ['delta', 'delta_flexible'])
@pytest.mark.parametrize('seed', range(3))
def test_a_delta_reaches_the_intersection_of_three_spheres(name, seed):
    angles = np.random.default_rng(seed).uniform(-0.4, 0.8, 3)
    simulation = at(name, **{f'arm_{k + 1}_joint': angle for k, angle in enumerate(angles)})
    T = simulation.pose('tool')
    assert T[:3, 3] == pytest.approx(delta_position(angles) - [0.0, 0.0, 0.05], abs=1e-9)
    assert T[:3, :3] == pytest.approx(np.eye(3), abs=1e-8)


def test_the_rods_of_a_delta_carry_the_weight_of_its_platform():
    simulation = held(at('delta'), 40.0, 1.0)
    assert np.abs(simulation.velocity).max() < 1e-6
    height = -simulation.pose('platform')[2, 3]
    # by symmetry, six rods at one angle; the force is that on the platform
    forces = [simulation.constraint_force(name)[3:] for name in simulation.arm.closed_loops]
    assert [force[2] for force in forces] == pytest.approx([0.4 * 9.81 / 6] * 6, rel=1e-3)
    along = [np.linalg.norm(force) for force in forces]
    arm = simulation.position[simulation.arm.joint_names.index('arm_1_joint')]
    share = (height - ARM * np.sin(arm)) / ROD
    assert along == pytest.approx([0.4 * 9.81 / 6 / share] * 6, rel=1e-3)


@pytest.mark.parametrize('seed', range(3))
def test_the_platform_of_a_stewart_is_where_its_legs_have_their_lengths(seed):
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(rng.uniform(-0.15, 0.15, 3)).as_matrix()
    place = [0.0, 0.0, 0.7] + rng.uniform(-0.06, 0.06, 3)
    base, platform = leg_points()
    lengths = np.linalg.norm(place + platform @ turn.T - base, axis=1)
    zero = np.linalg.norm([0.0, 0.0, 0.7] + platform - base, axis=1)
    simulation = at('stewart', **{f'leg_{k + 1}': x for k, x in enumerate(lengths - zero)})
    T = simulation.pose('tool')
    assert T[:3, :3] == pytest.approx(turn, abs=1e-8)
    assert T[:3, 3] - T[:3, 2] * 0.04 == pytest.approx(place, abs=1e-8)


@pytest.mark.parametrize('turn', [-0.8, 0.0, 0.5])
def test_a_four_bar_on_a_slide_turns_its_link_to_the_intersection_of_two_circles(turn):
    simulation = at('slide_four_bar', slide=0.1, crank_joint=turn)
    x, y = 0.08 + 0.12 * np.cos(turn), -0.16 + 0.12 * np.sin(turn)  # end of the crank
    distance = np.hypot(x, y)
    # law of cosines: rocker 0.2 m, coupler 0.16 m
    inner = np.arccos((distance**2 + 0.2**2 - 0.16**2) / (2 * distance * 0.2))
    angle = np.arctan2(y, x) + inner
    expected = [0.3 + np.cos(angle), np.sin(angle), 0.12]
    assert simulation.pose('tool')[:3, 3] == pytest.approx(expected, abs=1e-9)


def test_the_link_on_a_slide_vibrates_as_an_overhanging_beam():
    EI, mass, length, support = 210e9 * 0.03 * 0.003**3 / 12, 0.706, 1.0, 0.2

    def determinant(k):
        """Zero at wave numbers k of a beam on two pivots: w = sin, sinh, and 4 behind them."""
        a, b = k * support, k * length

        def shape(x, order):
            signs = {0: (1, 1), 1: (1, -1), 2: (-1, -1), 3: (-1, 1)}[order]
            trig = (np.sin(x), np.cos(x)) if order % 2 == 0 else (np.cos(x), np.sin(x))
            hyperbolic = (np.sinh(x), np.cosh(x)) if order % 2 == 0 else (np.cosh(x), np.sinh(x))
            return [signs[0] * trig[0], hyperbolic[0], signs[1] * trig[1], hyperbolic[1]]

        first = [shape(a, order)[:2] for order in range(3)]
        beyond = [shape(a, order) for order in range(3)]
        rows = [[*first[0], 0, 0, 0, 0], [0, 0, *beyond[0]]]
        rows += [[*first[k], *(-np.array(beyond[k]))] for k in (1, 2)]
        rows += [[0, 0, *shape(b, order)] for order in (2, 3)]
        return np.linalg.det(np.array(rows))

    wave_numbers = np.linspace(0.5, 9.0, 2000)
    values = [determinant(k) for k in wave_numbers]
    roots = [
        brentq(determinant, *wave_numbers[[i, i + 1]])
        for i in range(len(values) - 1)
        if values[i] * values[i + 1] < 0
    ]
    expected = np.array(roots[:2]) ** 2 * np.sqrt(EI / mass) / (2 * np.pi)
    found = frs.frequencies(frs.load('slide_four_bar'))[:2]  # 5 finite elements
    assert found == pytest.approx(expected, rel=2e-3)
    assert (found >= expected).all()  # by Rayleigh's principle


@pytest.mark.parametrize(
    'name', ['palletiser', 'delta', 'delta_flexible', 'slide_four_bar', 'stewart']
)
def test_a_released_parallel_robot_stays_closed_and_gains_no_energy(name):
    simulation = frs.Simulation(frs.load(name))
    assert energy_rise(simulation, 100) < 1e-10
    assert is_closed(simulation)
