"""Jacobians, twists and their rates, against derivatives of poses, Pinocchio and statics."""

import numpy as np
import pytest
from compare import CASES, COUPLINGS, arm_of, in_pinocchio, reference_case
from moving_arms import ROD, WEIGHTLESS, rigid_arm, swinging_arm
from random_arms import random_robot, random_state
from reference import along
from refusals import refusal

from flex_robot_sim.analysis.jacobians import jacobian, pose, twist, twist_rate
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.analysis.twists import REPRESENTATIONS
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.dynamics.stability import spring_matrices
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)
couplings = pytest.mark.parametrize('coupling', COUPLINGS)
ROUNDING: dict = {'rtol': 0.0, 'atol': 1e-12}  # of poses and twists of the size 1
DIFFERENCES: dict = {'rtol': 0.0, 'atol': 1e-9}  # finite, of sixth order, with steps of 1e-3


def links_and_sections(arm):
    """Return the last link, and a section and the tip of every flexible link."""
    found: list = [(list(arm.frames)[-1], None)]
    for link, bodies in arm.segments.items():
        found += [(link, 0.37 * arm.beams[bodies[0]].length * len(bodies)), (link, 'tip')]
    return found


def hybrid_rate(function):
    """Return the hybrid twist (6,) at time 0 of a pose as a function of time."""
    T, dT = function(0.0), along(function)
    turning = dT[:3, :3] @ T[:3, :3].T
    return np.array([turning[2, 1], turning[0, 2], turning[1, 0], *dT[:3, 3]])


@pytest.mark.long(after=5)
@cases
@couplings
def test_the_jacobian_of_every_link_equals_that_of_the_reference(case, coupling):
    sample = reference_case(case, coupling)
    for link in sample.arm.frames:
        np.testing.assert_allclose(
            jacobian(sample.arm, sample.q, link=link),
            sample.reference.jacobian(sample.q, link),
            **ROUNDING,
        )


@cases
@couplings
def test_every_section_has_the_pose_of_the_reference(case, coupling):
    sample = reference_case(case, coupling)
    _, roots = sample.reference.place(sample.q)
    for link, bodies in sample.arm.segments.items():
        for number in range(len(bodies)):
            R, p = roots[link, number]
            piece = sample.reference.pieces[link, number]
            for share in (0.0, 0.21, 0.64, 0.99):
                turned, moved = piece.section(sample.q, share * piece.length)
                T = pose(sample.arm, sample.q, link=link, station=(number + share) * piece.length)
                np.testing.assert_allclose(T[:3, :3], R @ turned, **ROUNDING)
                np.testing.assert_allclose(T[:3, 3], R @ moved + p, **ROUNDING)


@cases
def test_the_tip_has_the_deflection_of_the_link(case):
    sample = reference_case(case)
    simulation = Simulation(sample.arm)
    simulation.set_state(q=sample.q)
    for link, moved in simulation.deflection.items():
        beam = sample.arm.description.link(link).beam
        root, tip = simulation.pose(link, station=0.0), simulation.pose(link, station='tip')
        np.testing.assert_allclose(
            root[:3, :3], simulation.pose(link)[:3, :3] @ beam.axes, **ROUNDING
        )
        np.testing.assert_allclose(
            np.linalg.solve(root, tip)[:3, 3], moved[:3] + [beam.length, 0.0, 0.0], **ROUNDING
        )
        np.testing.assert_allclose(tip, simulation.pose(link, station=beam.length), **ROUNDING)


@pytest.mark.long(after=3)
@cases
def test_every_column_is_the_derivative_of_the_pose(case):
    sample = reference_case(case)
    simulation = Simulation(sample.arm)

    def moved(q, link, station):
        simulation.set_state(q=q)
        return simulation.pose(link, station=station)

    for link, station in links_and_sections(sample.arm):
        expected = [
            hybrid_rate(
                lambda t, unit=unit, where=(link, station): moved(sample.q + t * unit, *where)
            )
            for unit in np.eye(sample.arm.size)
        ]
        simulation.set_state(q=sample.q)
        J = simulation.jacobian(link, representation='hybrid', station=station)
        np.testing.assert_allclose(J, np.transpose(expected), **DIFFERENCES)


@cases
@couplings
def test_a_twist_is_the_jacobian_times_the_rates(case, coupling):
    sample = reference_case(case, coupling)
    arm, q, qd = sample.arm, sample.q, sample.qd
    for link, station in links_and_sections(arm):
        for representation in REPRESENTATIONS:
            V = twist(arm, q, qd, link=link, representation=representation, station=station)
            J = jacobian(arm, q, link=link, representation=representation, station=station)
            # a dozen terms of up to 30 m/s
            np.testing.assert_allclose(V, J @ qd, rtol=0.0, atol=1e-11)


@cases
def test_the_rate_of_a_twist_is_its_derivative_along_the_motion(case):
    sample = reference_case(case)
    arm, q, qd = sample.arm, sample.q, sample.qd
    qdd = np.random.default_rng(7).normal(size=arm.size)

    def twists_at(t, link, station):
        motion = q + t * qd + t**2 / 2 * qdd, qd + t * qdd
        return np.array(
            [
                twist(arm, *motion, link=link, representation=name, station=station)
                for name in REPRESENTATIONS
            ]
        )

    for place in links_and_sections(arm):
        expected = along(lambda t, place=place: twists_at(t, *place))
        found = [
            twist_rate(arm, q, qd, qdd, link=place[0], representation=name, station=place[1])
            for name in REPRESENTATIONS
        ]
        # at 10 rad/s the seventh derivative is some 1e7 times the first
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize('seed', range(6))
def test_a_rigid_arm_has_the_frames_of_pinocchio(seed):
    pin = pytest.importorskip('pinocchio')
    text = random_robot(seed, 9, kinds=('rigid',), gears=False)
    arm = arm_of(text)
    q, qd = random_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=arm.size)
    model, data, theirs, order = in_pinocchio(pin, arm, text, q)
    pin.forwardKinematics(model, data, theirs, qd[order], qdd[order])
    pin.computeJointJacobians(model, data, theirs)
    pin.updateFramePlacements(model, data)
    swapped, back = [3, 4, 5, 0, 1, 2], np.argsort(order)  # Pinocchio: linear part first
    for link in arm.frames:
        frame = model.getFrameId(link)
        np.testing.assert_allclose(
            pose(arm, q, link=link), data.oMf[frame].homogeneous, **ROUNDING
        )
        for name, seen_from in (
            ('body', pin.LOCAL),
            ('spatial', pin.WORLD),
            ('hybrid', pin.LOCAL_WORLD_ALIGNED),
        ):
            J = pin.getFrameJacobian(model, data, frame, seen_from)[swapped][:, back]
            frame_of = {'link': link, 'representation': name}
            np.testing.assert_allclose(jacobian(arm, q, **frame_of), J, **ROUNDING)
            V = pin.getFrameVelocity(model, data, frame, seen_from).vector[swapped]
            np.testing.assert_allclose(twist(arm, q, qd, **frame_of), V, rtol=0.0, atol=1e-11)
            of = (
                pin.getFrameClassicalAcceleration if name == 'hybrid' else pin.getFrameAcceleration
            )
            dV = of(model, data, frame, seen_from).vector[swapped]
            # accelerations of up to 1e3 m/s2
            np.testing.assert_allclose(
                twist_rate(arm, q, qd, qdd, **frame_of), dV, rtol=1e-11, atol=1e-10
            )


def test_motors_behind_flexible_gears_have_zero_columns():
    arm = swinging_arm(gear='stiffness="400" rotor_inertia="1" gear_ratio="1"')
    q = np.random.default_rng(1).uniform(-0.1, 0.1, arm.size)
    assert arm.coordinate_names[2:4] == ('waist/motor', 'elbow/motor')
    J = jacobian(arm, q, link='tool')
    assert not J[:, 2:4].any()
    assert np.linalg.norm(J, axis=0)[[0, 1, 4, 5, 6, 7]].min() > 0.01


def test_the_transposed_jacobian_is_the_virtual_work_of_a_push():
    # without gravity, joints and bent links balance only the push
    arm, pushed = swinging_arm(gravity=WEIGHTLESS), Push('tool', (0.4, -0.6, 0.5), (0.1, 0.2, 0.3))
    rest = equilibrium(arm, [0.4, -0.3], pushes=[pushed])
    J = jacobian(arm, rest.q, link='tool', representation='hybrid')
    strain, _ = spring_matrices(arm.arrays)
    internal_forces = strain @ rest.q
    internal_forces[:2] -= rest.effort
    # the equilibrium solver stops at about 1e-10
    np.testing.assert_allclose(
        J.T @ np.hstack([pushed.moment, pushed.force]), internal_forces, atol=1e-8
    )


def test_the_end_of_a_rotating_rod_accelerates_inwards():
    simulation = Simulation(rigid_arm(gravity=WEIGHTLESS))
    simulation.set_state(q=[0.3], v=[2.0])
    simulation.effort = [ROD * 5.0]
    out = np.array([np.cos(0.3), np.sin(0.3), 0.0])
    across = np.array([-np.sin(0.3), np.cos(0.3), 0.0])
    np.testing.assert_allclose(
        simulation.twist('tool', representation='hybrid'), [0, 0, 2, *(2 * across)], atol=1e-14
    )
    np.testing.assert_allclose(
        simulation.twist('tool', representation='spatial'), [0, 0, 2, 0, 0, 0], atol=1e-14
    )
    np.testing.assert_allclose(simulation.twist('tool'), [0, 0, 2, 0, 2, 0], atol=1e-14)
    rate = simulation.twist_rate('tool', representation='hybrid')
    np.testing.assert_allclose(rate, [0, 0, 5, *(5 * across - 4 * out)], atol=1e-12)
    simulation.push('tool', moment=(0.0, 0.0, ROD))
    np.testing.assert_allclose(simulation.twist_rate('tool'), [0, 0, 6, 0, 6, 0], atol=1e-12)


def test_the_base_does_not_move():
    arm = swinging_arm()
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, arm.size))
    for representation in REPRESENTATIONS:
        assert not jacobian(arm, q, link='base', representation=representation).any()
        assert not twist(arm, q, qd, link='base', representation=representation).any()
        assert not twist_rate(arm, q, qd, qdd, link='base', representation=representation).any()


def test_queries_do_not_change_the_arm():
    runs = [Simulation(swinging_arm()) for _ in range(2)]
    for run in runs:
        run.set_state(v=[1.0, -0.5])
        run.effort = [2.0, 1.0]
    for _ in range(20):
        runs[0].twist_rate('tool', representation='mixed')
        runs[0].jacobian('arm', station=0.4)
        for run in runs:
            run.step(5)
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


NUMBERS = (
    'must be 6 finite numbers, in this order: waist, elbow, arm/bending_y_1, arm/bending_z_1, '
    'forearm/bending_y_1, forearm/bending_z_1'
)
FRAMES = 'must be one of body, spatial, hybrid, mixed'
STATIONS = 'of link "arm" must be "tip", or a distance from its root of 0 to 1 m'
LINKS = 'no link "hand". Known: base, arm, forearm, tool'
RIGID = 'link "tool" is rigid and has no stations. Flexible links: arm, forearm'


@pytest.mark.parametrize(
    'function, states, options, expected',
    [
        (jacobian, 'q', {'link': 'hand'}, LINKS),
        (jacobian, 'q', {'representation': 'world'}, f"representation = 'world' {FRAMES}"),
        (twist_rate, 'qqq', {'representation': 'world'}, f"representation = 'world' {FRAMES}"),
        (twist, 'qq', {'representation': ['body']}, f"representation = ['body'] {FRAMES}"),
        (jacobian, 'q', {'link': 'tool', 'station': 0.1}, RIGID),
        (pose, 'q', {'link': 'arm', 'station': -0.1}, f'station = -0.1 {STATIONS}'),
        (pose, 'q', {'link': 'arm', 'station': 1.1}, f'station = 1.1 {STATIONS}'),
        (pose, 'q', {'link': 'arm', 'station': 'middle'}, f"station = 'middle' {STATIONS}"),
        (pose, '0', {}, f'q {NUMBERS}'),
        (pose, 's', {}, f'q {NUMBERS}'),
        (jacobian, 'i', {'link': 'arm', 'station': 0.1}, f'q {NUMBERS}'),
        (twist, 'q0', {}, f'v {NUMBERS}'),
        (twist, 'qi', {}, f'v {NUMBERS}'),
        (twist_rate, 'qqs', {}, f'a {NUMBERS}'),
    ],
)
def test_an_invalid_argument_is_rejected(function, states, options, expected):
    arm = swinging_arm()
    q = np.zeros(arm.size)
    of_kind = {'q': q, '0': None, 's': q[1:], 'i': np.full_like(q, np.inf)}
    arguments = [of_kind[kind] for kind in states]
    assert refusal(SettingError, function, arm, *arguments, **options) == expected
