"""Derivatives of the dynamics of arms with spatial beams, against differences."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from reference import along
from spatial_arms import mass_of, spatial_robot

import flex_robot_sim as frs
from flex_robot_sim.dynamics.loads import Push

GRAVITY = (3.0, -5.0, 7.0)  # not aligned with any axis
# a beam and a rigid branch on the curved link, and what hangs on the beam
BRANCHES = f"""
{mass_of('strip', 0.4, '0.2 0 0', (1e-3, 6e-3, 6e-3))}
{mass_of('weight', 0.3, '0.1 0.02 -0.05', (0.001, 0.002, 0.0015))}
<joint name="side" type="revolute"><parent link="hook"/><child link="strip"/>
  <origin xyz="0.25 0.02 0.03" rpy="0.3 0.1 -0.4"/><axis xyz="0.6 0 0.8"/>
  <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
<joint name="slide" type="prismatic"><parent link="strip"/><child link="weight"/>
  <origin xyz="0.4 0 0"/><axis xyz="0 0.8 0.6"/>
  <limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
<flexibility>
<link name="strip" end="0.4 0 0"><section EIy="40" EIz="20" GJ="15" EA="1e5"/>
  <modes bending_y="2" bending_z="1" torsion="1" stretch="1"/></link>
<joint name="side" stiffness="300" damping="1" rotor_inertia="0.002" gear_ratio="50"/>
"""
MIXED = spatial_robot(3).replace('<flexibility>', BRANCHES)
ROD = """<constraint name="rod" type="distance" length="0.75">
<parent link="base"/><child link="tool"/>
<parent_origin xyz="0.2 0.9 0.3"/><child_origin xyz="0 0 0.05"/></constraint></robot>"""


def state_of(arm, seed, size=0.05):
    """Return q, v and a of an arm whose elastic bodies are bent by a tenth of their length."""
    q, v, a = np.random.default_rng(seed).normal(size=(3, arm.nq))
    q[arm.elastic_q] *= size
    return q, v, a


def without_springs(arm):
    """Return the arm without stiffness, whose large forces take digits of differences."""
    return replace(arm, arrays=arm.arrays._replace(stiffness=0.0 * arm.arrays.stiffness))


def columns(function, at, step):
    """Return derivatives by differences of sixth order, (m, n)."""
    return np.array(
        [along(lambda t, unit=unit: function(at + t * unit), step) for unit in np.eye(at.size)]
    ).T


@pytest.mark.parametrize(
    ('text', 'coupling'),
    [
        (spatial_robot(3), 'shortening'),
        (spatial_robot(3), 'zero_order'),
        pytest.param(spatial_robot(5, 2), 'shortening', marks=pytest.mark.long),
        (MIXED, 'shortening'),
    ],
    ids=['alone', 'zero_order', 'segments', 'mixed'],
)
def test_inverse_dynamics_has_these_derivatives(text, coupling):
    arm = without_springs(frs.load(text, coupling=coupling, gravity=GRAVITY))
    q, v, a = state_of(arm, 2)
    rng = np.random.default_rng(3)
    links = [name for name, frame in arm.frames.items() if frame.body >= 0]
    pushes = [
        Push._make([link, *rng.normal(size=(3, 3)), k % 2 == 0]) for k, link in enumerate(links)
    ]
    found = frs.inverse_dynamics_derivatives(arm, q, v, a, pushes=pushes)
    required = partial(frs.inverse_dynamics, arm, pushes=pushes)
    M = frs.mass_matrix(arm, q)
    unit = np.sqrt(np.diag(M))
    for value, expected in (
        (found.dtau_dq, columns(lambda x: required(x, v, a), q, 5e-4)),
        (found.dtau_dv, columns(lambda x: required(q, x, a), v, 0.1)),
        (found.dtau_da, M),
    ):
        value, expected = (matrix / np.outer(unit, unit) for matrix in (value, expected))
        assert np.abs(value - expected).max() < 1e-9 * np.abs(expected).max()
    np.testing.assert_array_equal(found.dtau_da, found.dtau_da.T)


def test_forward_dynamics_has_these_derivatives():
    arm = frs.load(MIXED, gravity=GRAVITY)
    q, v, _ = state_of(arm, 5, 0.01)
    found = frs.derivatives(arm, q, v, np.ones(len(arm.joint_names)))
    back = frs.inverse_dynamics_derivatives(arm, q, v, found.a)
    M, S = frs.mass_matrix(arm, q), np.eye(arm.nq)[:, arm.motor_q]
    for value, expected in (
        (found.da_dq, -back.dtau_dq),
        (found.da_dv, -back.dtau_dv),
        (found.da_deffort, S),
    ):
        assert np.abs(M @ value - expected).max() < 1e-10 * np.abs(expected).max()


def test_a_loop_with_spatial_beams_has_these_derivatives():
    arm = frs.load(spatial_robot(3).replace('</robot>', ROD), gravity=GRAVITY)
    sim, start = frs.Simulation(arm), np.zeros(arm.nq)
    arm.set_joints(start, [0.5, 0.3])
    sim.set_state(v=start)
    sim.step(20)
    q, v, effort = sim.q, sim.v, np.array([0.3, -0.2])
    assert np.abs(v).max() > 0.1
    found = frs.derivatives(arm, q, v, effort)
    for slopes, expected in (
        (found.da_dq, columns(lambda x: frs.forward_dynamics(arm, x, v, effort), q, 2e-4)),
        (found.da_dv, columns(lambda x: frs.forward_dynamics(arm, q, x, effort), v, 0.1)),
    ):
        assert np.abs(slopes - expected).max() < 1e-7 * np.abs(expected).max()
