"""Modes, equilibria and linear models of arms on free bases, against closed forms."""

import numpy as np
import pytest
from compare import arm_of
from contact_arms import block
from free_arms import SPACE_ARM
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

NO_GRAVITY = (0.0, 0.0, 0.0)


def wheel_on_a_bus(kind='floating', stiffness=50.0):
    """Return a bus with a wheel on an elastic gear, all centres of mass on its axis."""
    builder = frs.ArmBuilder('reaction_wheel')
    builder.add_rigid('bus', mass=10.0, inertia=(2.0, 2.5, 3.0))
    builder.add_rigid('wheel', mass=1.0, inertia=(0.1, 0.1, 0.2))
    builder.add_joint('anchor', parent='base', child='bus', type=kind)
    builder.add_joint('axle', parent='bus', child='wheel', axis='z', xyz=(0, 0, 0.3))
    return builder.add_gear('axle', stiffness=stiffness, gear_ratio=1, rotor_inertia=1e-3)


@pytest.mark.parametrize(('kind', 'zeros', 'inertia'), [
    ('floating', 6, 1 / (1 / 3.0 + 1 / 0.2)),
    ('planar', 3, 1 / (1 / 3.0 + 1 / 0.2)),
    ('fixed', 0, 0.2),
])  # fmt: skip
def test_a_wheel_and_a_free_bus_turn_against_each_other(kind, zeros, inertia):
    arm = wheel_on_a_bus(kind).build(gravity=NO_GRAVITY)
    found = frs.modes(arm)
    assert not found.frequencies[:zeros].any()
    # the locked rotor turns with the bus, of which it is no part
    assert found.frequencies[zeros:] == pytest.approx(
        [np.sqrt(50.0 / inertia) / (2 * np.pi)], rel=1e-9
    )


def test_a_beam_without_supports_has_the_frequencies_of_the_textbook():
    builder = frs.ArmBuilder('beam')
    length, mass, EI = 1.0, 2.0, 300.0
    builder.add_rigid('root', mass=1e-9, inertia=(1e-12, 1e-12, 1e-12))
    section = frs.SectionStiffness(EIy=EI, EIz=4 * EI, GJ=1e4, EA=1e8)
    builder.add_beam(
        'beam', length=length, mass=mass, section=section, section_inertia=(0.01, 0, 0), elements=6
    )
    builder.add_joint('anchor', parent='base', child='root', type='floating')
    builder.add_joint('weld', parent='root', child='beam', type='fixed')
    found = frs.frequencies(builder.build(gravity=NO_GRAVITY))
    # Blevins, Formulas for Natural Frequency and Mode Shape (1979), table 8-1: free-free
    unit = np.sqrt(EI / (mass * length**3)) / (2 * np.pi)
    first, second = 4.73004074**2 * unit, 7.85320462**2 * unit
    assert abs(found[:6]).max() <= 1e-3 * first
    assert found[6:9] == pytest.approx(sorted([first, 2 * first, second]), rel=2e-3)


def test_an_arm_without_gravity_rests_on_a_free_base_and_not_under_gravity():
    arm = arm_of(SPACE_ARM, gravity=NO_GRAVITY)
    rest = frs.equilibrium(arm, [0.3, -0.5])
    assert not rest.effort.any() and not rest.q[arm.elastic_q].any()
    pair = [frs.Push('bus', (1.0, 2.0, 3.0))]
    for one, pushes in ((arm_of(SPACE_ARM), ()), (arm, pair)):
        with pytest.raises(SettingError) as caught:
            frs.equilibrium(one, [0.3, -0.5], pushes=pushes)
        assert str(caught.value) == (
            'the base of "space_arm" is free, and gravity, loads or rates accelerate it: there is '
            'no equilibrium. Use gravity=(0, 0, 0) (--gravity 0,0,0) and no pushes, or give all '
            'coordinates of a state'
        )


def test_a_plane_carries_the_weight_of_an_arm_as_a_fixed_base_does():
    """The base is free in a horizontal plane only."""
    planar = SPACE_ARM.replace('type="floating">', 'type="planar"><axis xyz="0 0 1"/>')
    arm, fixed = (
        arm_of(text.replace('rpy="0.1 0.2 0.3"', ''), gravity=(0.0, 0.0, -9.81))
        for text in (planar, SPACE_ARM.replace('type="floating"', 'type="fixed"'))
    )
    elastic, theirs = frs.equilibrium(arm, [0.3, -0.5]), frs.equilibrium(fixed, [0.3, -0.5])
    np.testing.assert_allclose(elastic.effort, theirs.effort, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        elastic.q[arm.elastic_q], theirs.q[fixed.elastic_q], rtol=0, atol=1e-12
    )


def test_the_linear_model_of_a_moving_base_has_its_kinematics():
    arm = arm_of(SPACE_ARM, gravity=NO_GRAVITY)
    v = np.zeros(arm.nv)
    v[arm.base_q] = twist = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -1.0])
    model = frs.linearise(arm, np.zeros(arm.nq), v)
    rows = np.arange(arm.nv)[arm.base_q]

    def matrix(V):
        X = np.zeros((4, 4))
        X[:3, :3], X[:3, 3] = np.cross(np.eye(3), V[:3]), V[3:]
        return X

    rng, h = np.random.default_rng(0), 1e-5
    small, change = 1e-4 * rng.normal(size=(2, 6))

    def motion(t):
        """Small motion (6,) from the base to another one, after a time."""
        other = expm(matrix(small)) @ expm(t * matrix(twist + change))
        X = logm(np.linalg.solve(expm(t * matrix(twist)), other)).real
        return np.array([X[2, 1], X[0, 2], X[1, 0], *X[:3, 3]])

    rate = (motion(h) - motion(-h)) / (2 * h)
    block = np.ix_(rows, rows)
    expected = model.A[: arm.nv, : arm.nv][block] @ small + change
    np.testing.assert_allclose(rate, expected, rtol=0, atol=1e-6 * abs(rate).max() + 1e-7)
    with pytest.raises(SettingError, match='modes need a free base at rest'):
        frs.modes(arm, np.zeros(arm.nq), v)


def test_a_linear_model_moves_as_the_simulation_does():
    gains = 40.0, 4.0
    arm = arm_of(SPACE_ARM, gravity=NO_GRAVITY)
    rest = frs.equilibrium(arm, [0.3, -0.5])
    model = frs.linearise(arm, rest.q, gains=gains)
    x = np.zeros(2 * arm.nv)
    x[arm.nv : arm.nv + len(arm.joint_names)] = size = 1e-4
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-4))
    sim.set_state(rest.q, x[arm.nv :])
    sim.hold([0.3, -0.5], *gains)
    sim.step(1000)
    end = expm(0.1 * model.A) @ x
    base = end[: arm.nv][arm.base_q]
    # of second order in the rates, and in the step
    np.testing.assert_allclose(sim.q[arm.base_q], base, rtol=0, atol=2e-3 * abs(base).max())
    np.testing.assert_allclose(sim.v[:2], end[arm.nv : arm.nv + 2], rtol=0, atol=5e-3 * size)


def test_the_linear_model_of_a_block_on_the_ground_is_the_slope_of_its_motion():
    arm = frs.load(block('stiffness="1e4" damping="30" friction="0.3"'))
    sim, rng = frs.Simulation(arm), np.random.default_rng(1)
    start = Rotation.from_rotvec([0.02, -0.03, 1.2])
    place, twist = np.array([0.3, -0.2, 0.03]), rng.normal(size=6) * 0.02

    def acceleration(move, change):
        """That of the base after a small motion in its own axes, and a change of its twist."""
        turn = (start * Rotation.from_rotvec(move[:3])).as_quat()
        sim.set_state(
            base_pose=[*(place + start.apply(move[3:])), *turn], base_twist=twist + change
        )
        return frs.forward_dynamics(arm, sim.q, sim.v)

    acceleration(np.zeros(6), np.zeros(6))
    assert sim.contact('box').gap < -1e-3
    A, h = frs.linearise(arm, sim.q, sim.v, []).A[6:], 1e-6
    for k, unit in enumerate(np.eye(6) * h):
        for column, pair in ((k, (unit, 0 * unit)), (6 + k, (0 * unit, unit))):
            slope = (acceleration(*pair) - acceleration(*(-x for x in pair))) / (2 * h)
            bound = 1e-5 * abs(A[:, column]).max()
            np.testing.assert_allclose(A[:, column], slope, rtol=0, atol=bound)
