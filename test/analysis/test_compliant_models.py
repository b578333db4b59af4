"""
Equilibria, modes and linear models of constraints with `<compliance>`.

References: closed forms, finite differences, and MuJoCo's spatial tendon, a spring between links.
"""

import numpy as np
import pytest
from arms import joint, link, robot
from closed_loops import closed_robot
from compliant_carts import carts, compliant
from random_arms import random_robot

import flex_robot_sim as frs

FREE = {'gravity': (0.0, 0.0, 0.0)}
RANGE = '<limit lower="-9" upper="9" effort="0" velocity="9"/>'


@pytest.mark.parametrize('kind, prefix', [('prismatic', ''), ('revolute', 'rotational_')])
def test_two_masses_on_a_spring_have_the_mode_of_their_reduced_mass(kind, prefix):
    text = carts(f'{prefix}stiffness="400" {prefix}damping="12"', kind)
    if prefix:  # wheels at one place: the translation stays rigid
        text = text.replace('<axis xyz="1 0 0"/>', '<axis xyz="0 0 1"/>')
    arm, mass = frs.load(text, **FREE), 2.0 * 5.0 / 7.0
    found = frs.modes(arm, joints='free')
    assert found.frequencies == pytest.approx([0.0, np.sqrt(400 / mass) / (2 * np.pi)], rel=1e-9)
    assert found.damping_ratios[1] == pytest.approx(12 / (2 * np.sqrt(400 * mass)), rel=1e-9)
    model = frs.linearise(arm)
    assert model.A[2:] == pytest.approx(
        np.array([[-200, 200, -6, 6], [80, -80, 2.4, -2.4]]), rel=1e-9
    )


def test_a_weight_on_a_slack_rope_hangs_where_its_weight_stretches_it():
    slide = joint('lift', 'prismatic', 'base', 'arm', f'<axis xyz="0 0 1"/>{RANGE}')
    ends = '<parent link="base"/><parent_origin xyz="0.3 0 0.4"/><child link="arm"/>'
    loop = f'<constraint name="rope" type="distance" length="0.5">{ends}</constraint>'
    arm = frs.load(compliant(robot(link(), slide, loop), 'stiffness="500" damping="8"'))
    rest, m, g, k = frs.equilibrium(arm), 2.0, 9.81, 500.0
    length = np.hypot(0.3, 0.4 - rest.q[0])
    share = (0.4 - rest.q[0]) / length
    tension = k * (length - 0.5)
    assert tension * share == pytest.approx(m * g, rel=1e-9)
    # stiffness along the slide: that of the rope, and that of its tension
    stiffness = k * share**2 + tension / length * (1 - share**2)
    found = frs.modes(arm)
    rate = np.sqrt(stiffness / m)
    assert found.frequencies == pytest.approx([rate / (2 * np.pi)], rel=1e-9)
    assert found.damping_ratios == pytest.approx([8 * share**2 / (2 * m * rate)], rel=1e-9)
    assert frs.inverse_dynamics(arm, rest.q) == pytest.approx([0.0], abs=1e-8)


@pytest.mark.slow
def test_linear_models_of_a_spring_in_motion_are_those_of_a_tendon_of_mujoco():
    mujoco = pytest.importorskip('mujoco')
    text = random_robot(3, 4, ('rigid',), ('revolute', 'continuous'), gears=False)
    ends = '<parent link="base"/><parent_origin xyz="0.9 0.2 0.1"/><child link="link_3"/>'
    ends += '<child_origin xyz="0.1 -0.2 0.3"/>'
    loop = f'<constraint name="rope" type="distance" length="0.4">{ends}</constraint>'
    arm = frs.load(
        compliant(text.replace('</robot>', f'{loop}</robot>'), 'stiffness="90" damping="7"')
    )
    spec = mujoco.MjSpec.from_string(text)
    spec.worldbody.add_site(name='a', pos=[0.9, 0.2, 0.1])
    spec.body('link_3').add_site(name='b', pos=[0.1, -0.2, 0.3])
    tendon = spec.add_tendon(stiffness=[90.0], damping=[7.0], springlength=[0.4, 0.4])
    tendon.wrap_site('a')
    tendon.wrap_site('b')
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    rows = [int(model.joint(name).dofadr[0]) for name in arm.joint_names]

    def accelerations(q, v):
        data.qpos[rows], data.qvel[rows] = q, v
        mujoco.mj_forward(model, data)
        return data.qacc[rows].copy()

    rng, n, step = np.random.default_rng(2), arm.size, 1e-5
    q, v = rng.normal(size=n), rng.normal(size=n)
    expected = accelerations(q, v)
    assert frs.forward_dynamics(arm, q, v) == pytest.approx(expected, rel=1e-9)
    A = frs.linearise(arm, q, v, effort=np.zeros(n)).A
    slopes = [
        (accelerations(q + x, v + y) - accelerations(q - x, v - y)) / (2 * step)
        for x, y in (step * np.eye(2 * n)).reshape(-1, 2, n)
    ]
    assert A[n:] == pytest.approx(np.array(slopes).T, abs=1e-7 * np.abs(A).max())


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['universal', 'prismatic'])
def test_derivatives_are_those_of_the_accelerations(kind):
    text = compliant(closed_robot(4, kind, links=4), 'stiffness="900" damping="7"')
    arm, rng = frs.load(text), np.random.default_rng(4)
    simulation = frs.Simulation(arm)
    v = np.zeros(arm.size)
    arm.set_joints(v, rng.normal(size=len(arm.joint_names)))
    simulation.set_state(v=v)
    simulation.step(20)
    q, v, step = simulation.q, simulation.v, 1e-5
    found = frs.derivatives(arm, q, v)
    for slopes, function in (
        (found.da_dq, lambda x: frs.forward_dynamics(arm, q + x, v)),
        (found.da_dv, lambda x: frs.forward_dynamics(arm, q, v + x)),
    ):
        expected = [
            (function(one) - function(-one)) / (2 * step) for one in step * np.eye(arm.size)
        ]
        largest = np.abs(slopes).max(axis=0) + 1e-6 * np.abs(slopes).max()
        assert (np.abs(slopes - np.array(expected).T) < 1e-5 * largest).all()


@pytest.mark.slow
def test_an_arm_with_springs_comes_to_rest_at_its_equilibrium():
    text = compliant(frs.read_description('four_bar').text, 'stiffness="2e3" damping="40"')
    text = text.replace('damping ratio="0.005"', 'damping ratio="0.2"')
    arm = frs.load(text)
    rest = frs.equilibrium(arm, gains=(40.0, 4.0))
    simulation = frs.Simulation(arm)
    simulation.hold(np.zeros(3), 40.0, 4.0)
    simulation.advance_to(6.0)
    assert simulation.q == pytest.approx(rest.q, abs=1e-6)
