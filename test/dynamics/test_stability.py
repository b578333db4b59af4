"""Springs and dampers of an arm, and the longest steps of explicit schemes with them."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sliding_arms import LENGTH, MOUTH, sliding_arm, telescope

import flex_robot_sim as frs
from flex_robot_sim.dynamics.stability import longest_step, spring_matrices
from flex_robot_sim.feedback.pose_model import pose_model

TIME = 2e-4
KELVIN_VOIGT = f'<damping time_constant="{TIME}"/>'


def arm_with(damping, **options):
    return frs.load(sliding_arm(damping=damping, **options), gravity=(0.0, 0.0, 0.0))


def position_of(arm, out, swing=0.3):
    q = np.zeros(arm.size)
    q[:2] = swing, out
    return q


@pytest.mark.parametrize('damping', ['<damping ratio="0.02"/>', KELVIN_VOIGT])
@pytest.mark.parametrize('out', [-0.1, 0.0, 0.7])
@pytest.mark.parametrize('bend', [0.0, 0.02])
def test_damping_of_a_sliding_link_is_the_slope_of_its_forces(damping, out, bend):
    arm = arm_with(damping)
    q = position_of(arm, out)
    q[2:] = bend
    M, D = frs.mass_matrix(arm, q), np.zeros((arm.size, arm.size))
    for k, v in enumerate(np.eye(arm.size)):
        # the other forces are even in the rates
        D[:, k] = M @ (frs.forward_dynamics(arm, q, -v) - frs.forward_dynamics(arm, q, v)) / 2
    found = spring_matrices(arm.arrays, q)[1]
    assert np.abs(found).max() > 1e-3
    np.testing.assert_allclose(found, D, rtol=0, atol=1e-9 * np.abs(D).max())
    np.testing.assert_allclose(D, D.T, rtol=0, atol=1e-9 * np.abs(D).max())
    assert np.linalg.eigvalsh(found).min() > -1e-12 * np.abs(D).max()  # it never feeds energy


@pytest.mark.parametrize('out', [-0.1, 0.0, 0.7])
def test_stiffness_and_damping_of_a_sliding_link_scale_with_its_free_length(out):
    arm, share = arm_with(KELVIN_VOIGT), (LENGTH - MOUTH + out) / LENGTH
    K, D = spring_matrices(arm.arrays, position_of(arm, out))
    full = spring_matrices(arm.arrays, position_of(arm, MOUTH))[0]
    bending, torsion = slice(2, 6), slice(6, 7)
    for part, power in ((bending, 3), (torsion, 1)):
        np.testing.assert_allclose(K[part, part], full[part, part] / share**power, rtol=1e-12)
    np.testing.assert_allclose(D, TIME * K, rtol=1e-12, atol=1e-15)  # Kelvin and Voigt


@pytest.mark.parametrize('out', [-0.1, 0.5, 1.1])
def test_the_model_of_a_pose_has_the_damping_ratio_at_every_length(out):
    arm = arm_with('<damping ratio="0.02"/>', tip_mass=0.0)
    model = pose_model(arm, [0.0, out])
    elastic = np.ix_(range(2, arm.size), range(2, arm.size))
    squares, shapes = eigh(model.K[elastic], model.M[elastic])
    ratios = np.diag(shapes.T @ model.D[elastic] @ shapes) / (2 * np.sqrt(squares))
    np.testing.assert_allclose(ratios, 0.02, rtol=1e-8)


def growth(rates, step, scheme):
    """Largest growth of a step, from eigenvalues (k,)."""
    z = step * rates
    factor = 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24 if scheme == 'rk4' else 1 + z
    return np.abs(factor).max()


@pytest.mark.parametrize('text', [sliding_arm(damping=KELVIN_VOIGT), telescope()])
@pytest.mark.parametrize('gap', [0.0, 0.3])
def test_the_longest_step_is_stable_with_the_shortest_links(text, gap):
    arm = frs.load(text, gravity=(0.0, 0.0, 0.0))
    position = [
        arm.arrays.lower[k] + gap if arm.units[k] == 'm' else 0.0
        for k in range(len(arm.joint_names))
    ]
    rates = np.linalg.eigvals(frs.linearise(arm, position).A)
    step = longest_step(arm.arrays, 'rk4')
    assert growth(rates, step, 'rk4') < 1 + 1e-6  # rigid motion has rates of some 1e-5
    if not gap:
        assert growth(rates, 1.02 * step, 'rk4') > 1.01  # and it is not shorter than needed


def test_a_kinematic_error_steepens_spring_and_damper_of_its_gear():
    error, cycles, ratio = 2e-3, 2.0, 60.0
    law = f'kinematic_error="{error} {cycles} 0.4" damping="500" stiffness="2e4"'
    text = f"""<robot name="arm"><link name="base"/>
      <link name="turret"><inertial><mass value="5"/>
        <inertia ixx="50" iyy="50" izz="50" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="turret"/>
        <axis xyz="0 0 1"/></joint>
      <flexibility><joint name="turn" {law} gear_ratio="{ratio}" rotor_inertia="1e-4"/>
      </flexibility></robot>"""
    arm = frs.load(text)
    link, motor = 0, int(arm.motor_q[0])
    M, a = frs.mass_matrix(arm, np.zeros(2)), arm.arrays.kinematic_error[0]
    slopes = []
    for angle in np.linspace(0.0, 2 * np.pi / a[0, 1], 400):
        q = np.zeros(2)
        q[motor] = angle
        g = 1.0 - a[0, 0] * a[0, 1] * np.cos(a[0, 1] * angle + a[0, 2])  # of the twist by motor
        K, D = spring_matrices(arm.arrays, q)
        twist = np.zeros(2)
        twist[link], twist[motor] = -1.0, g
        np.testing.assert_allclose(K, 2e4 * np.outer(twist, twist), rtol=1e-12)
        np.testing.assert_allclose(D, 500.0 * np.outer(twist, twist), rtol=1e-12)
        inverse = np.linalg.inv(M)
        A = np.block([[0 * M, np.eye(2)], [-inverse @ K, -inverse @ D]])
        slopes.append(np.linalg.eigvals(A))
    step = longest_step(arm.arrays, 'rk4')
    largest = max(growth(rates, step, 'rk4') for rates in slopes)
    assert largest < 1 + 1e-6
    assert max(growth(rates, 1.02 * step, 'rk4') for rates in slopes) > 1.01
