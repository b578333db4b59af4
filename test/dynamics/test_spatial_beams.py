"""Motion of arms with spatial beams, against sums over mass points and closed forms."""

import numpy as np
import pytest
from spatial_arms import PointSum, cantilever, spatial_robot, upper_triangle

import flex_robot_sim as frs


def random_state(arm, seed, size=0.03):
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=arm.nq), rng.normal(size=arm.nq)
    q[arm.elastic_q] *= size
    v[arm.elastic_q] *= 0.3
    return q, v


@pytest.mark.parametrize(
    ('count', 'segments'), [(2, 1), pytest.param(3, 2, marks=pytest.mark.long)]
)
def test_accelerations_are_those_of_lagrange_for_a_sum_over_points(count, segments):
    gravity = (1.0, -2.0, -9.81)
    arm = frs.load(spatial_robot(count, segments), gravity=gravity)
    q, v = random_state(arm, 1)
    effort = np.array([0.4, -0.3])
    reference = PointSum(arm, gravity)
    found = frs.forward_dynamics(arm, q, v, effort)
    applied = reference.strain_force(q)
    applied[:2] = effort
    required = reference.required_force(q, v, found)
    inertia = np.abs(reference.mass_matrix(q)) @ np.abs(found)
    assert (np.abs(required - applied) < 1e-10 * inertia).all()
    applied[2:] = 0.0  # as are the forces beyond those of the springs
    assert np.abs(frs.inverse_dynamics(arm, q, v, found) - applied).max() < 1e-14 * inertia.max()


def test_a_free_swing_keeps_its_energy():
    arm = frs.load(spatial_robot(4))
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-3))
    start = sum(sim.energy())
    sim.advance_to(0.3)
    kinetic = sim.energy()[0]
    assert kinetic > 1.0 and np.abs(sim.position).max() > 0.1
    assert sum(sim.energy()) == pytest.approx(start, abs=1e-9 * kinetic)


def tip_displacement(arm, force):
    straight = frs.pose(arm, np.zeros(arm.nq), link='tip')[:3, 3]
    rest = frs.equilibrium(arm, pushes=[frs.Push('tip', force=force)])
    return frs.pose(arm, rest.q, link='tip')[:3, 3] - straight


def relative(found, expected):
    """Distance of two vectors over the size of the second."""
    return np.linalg.norm(found - np.array(expected)) / np.linalg.norm(expected)


def test_a_twisted_beam_bends_as_published():
    # Wang et al. 2017, BeamDyn; stiffness and load over 1000
    C = upper_triangle(
        np.diag([2.5e7, 8.2604167e6, 8.2604167e6, 141872.656, 520833.0, 130208.333])
    )
    stations = ''.join(
        f'<section at="{at}" stiffness="{C}" twist="{at * np.pi / 2!r}"/>' for at in (0.0, 1.0)
    )
    text = cantilever(stations, (10, 0, 0), 'count="8" segments="8"')
    found = tip_displacement(frs.load(text, gravity=(0, 0, 0)), (0, 0, -4000.0))
    assert relative(found, [-1.1415260, -1.7180533, -3.5932132]) < 1e-3


def test_a_composite_beam_bends_as_published():
    # Wang et al. 2017; lb and inch
    C = 1e3 * np.diag([1368.17, 88.56, 38.78, 16.96, 59.12, 141.47])
    C[3, 4], C[3, 5], C[4, 5] = 17610.0, -351.0, -370.0
    text = cantilever(
        f'<section stiffness="{upper_triangle(C)}"/>', (10, 0, 0), 'count="8" segments="8"'
    )
    found = tip_displacement(frs.load(text, gravity=(0, 0, 0)), (0, 0, 150.0))
    assert relative(found, [-0.0902727, -0.0647488, 1.2297365]) < 1e-4


def test_the_45_degree_bend_is_between_its_published_values():
    angle, E = np.linspace(0.0, np.pi / 4, 9), 1e7
    points = 100 * np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    shear = f'kGAy="{E / 2 * 5 / 6}" kGAz="{E / 2 * 5 / 6}"'
    section = f'<section EIy="{E / 12}" EIz="{E / 12}" GJ="{E / 12}" EA="{E}" {shear}/>'
    text = cantilever(section, points[-1], 'count="8" segments="8"', points)
    found = tip_displacement(frs.load(text, gravity=(0, 0, 0)), (0, 0, 600.0))
    assert relative(found, [-23.575, -13.59, 53.465]) < 5e-3  # middle of the published ranges


@pytest.mark.parametrize(('modes', 'tolerance'), [('count="10"', 0.006), ('count="14"', 3e-4)])
def test_one_body_buckles_sideways_at_the_load_of_prandtl(modes, tolerance):
    weak, GJ = 1.0, 0.8
    section = f'<section EIy="5000" EIz="{weak}" GJ="{GJ}" EA="1e6" twist="0"/>'
    arm = frs.load(cantilever(section, (1, 0, 0), modes), gravity=(0, 0, 0))

    def square(load):
        """Return the lowest stiffness of small motions, over that without load."""
        push = frs.Push('tip', force=(0, 0, -load))
        rest = frs.equilibrium(arm, pushes=[push])
        K = frs.inverse_dynamics_derivatives(arm, rest.q, pushes=[push]).dtau_dq
        return np.linalg.eigvalsh((K + K.T) / 2)[0]

    load = 4.0126 * np.sqrt(weak * GJ)
    low, high = square((1 - 2 * tolerance) * load), square((1 - tolerance) * load)
    # the lowest eigenvalue falls almost linearly to zero at the critical load
    critical = (1 - tolerance) * load + tolerance * load * high / (low - high)
    assert critical == pytest.approx(load, rel=tolerance)
