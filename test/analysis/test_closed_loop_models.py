"""
Equilibria, modes and linear models of closed loops.

References: closed forms, other cuts of the same mechanism, and the motion of `Simulation`.
"""

import numpy as np
import pytest
from arms import joint, link, robot
from closed_loops import ONE_LOOP, closed_robot, opening, without_loops
from cut_loops import DRIVES, cut_loop
from refusals import refusal

import flex_robot_sim as frs

pytestmark = pytest.mark.slow

G = 9.81
PASSIVE = '<limit lower="-9" upper="9" effort="0" velocity="9"/>'


def hanging_mass(*anchors, gravity=(0.0, 0.0, -G)):
    """Return a mass of 2 kg at the origin that rods from some points hold."""
    parts, parent = [], 'base'
    for name, axis in (('x', '1 0 0'), ('y', '0 1 0'), ('z', '0 0 1')):
        child, mass = (name, 2.0) if name == 'z' else (f'{name}_slide', 1e-12)
        inside = f'<axis xyz="{axis}"/>{PASSIVE}'
        parts.append(link(child, mass, '0 0 0', (0.0, 0.0, 0.0)))
        parts.append(joint(name, 'prismatic', parent, child, inside))
        parent = child
    for k, point in enumerate(anchors):
        xyz, length = ' '.join(map(str, point)), float(np.linalg.norm(point))
        parts.append(
            f'<constraint name="rod_{k}" type="distance" length="{length!r}">'
            f'<parent link="base"/><parent_origin xyz="{xyz}"/><child link="z"/></constraint>'
        )
    return frs.load(robot(*parts), gravity=gravity)


def test_the_tension_of_a_rod_gives_the_frequencies_of_a_pendulum():
    found = frs.frequencies(hanging_mass((0.0, 0.0, 0.7)))
    assert found == pytest.approx(np.sqrt(G / 0.7) / (2 * np.pi), rel=1e-9)


def test_two_rods_swing_about_the_line_of_their_ends():
    # only the swing out of their plane is left, with the height as length
    found = frs.frequencies(hanging_mass((0.6, 0.0, 0.4), (-0.3, 0.0, 0.4)))
    assert found == pytest.approx([np.sqrt(G / 0.4) / (2 * np.pi)], rel=1e-9)


def test_a_mass_on_a_rod_finds_its_lowest_position():
    rest = frs.equilibrium(hanging_mass((0.0, 0.0, 0.7)), [0.4, -0.3, 0.1])
    assert rest.q == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert not rest.effort.any()


@pytest.fixture(scope='module', params=[(0, ()), (1, (1,)), (2, (1, 2))])
def cuts(request):
    """Return the same mechanism cut at three joints."""
    seed, beams = request.param
    return [frs.load(cut_loop(seed, cut, beams=beams)) for cut in (5, 7, 9)]


def test_modes_and_efforts_do_not_depend_on_the_cut(cuts):
    first, *others = (
        (frs.modes(arm), frs.modes(arm, gains=(200.0, 4.0)), held_by(arm)) for arm in cuts
    )
    for other in others:
        for mine, same in zip(first[:2], other[:2]):
            assert same.frequencies == pytest.approx(mine.frequencies, rel=1e-9)
            assert same.damping_ratios == pytest.approx(mine.damping_ratios, abs=1e-9)
        assert other[2] == pytest.approx(first[2], rel=1e-8)


def held_by(arm):
    effort = frs.equilibrium(arm).effort
    assert effort[~arm.actuated].tolist() == [0.0] * (~arm.actuated).sum()
    return effort[[arm.joint_names.index(name) for name in DRIVES]]


def test_linear_models_do_not_depend_on_the_cut(cuts):
    outputs = [f'{name}/{part}' for name in DRIVES for part in ('position', 'velocity')]
    first, *others = (
        response(frs.linearise(arm).part([f'{name}/effort' for name in DRIVES], outputs))
        for arm in cuts
    )
    for other in others:
        assert other == pytest.approx(first, abs=1e-7 * np.abs(first).max())


def response(model, frequency=3.0):
    s = 2j * np.pi * frequency * np.eye(len(model.A))
    return model.C @ np.linalg.solve(s - model.A, model.B) + model.D


@pytest.mark.parametrize('joints', ['locked', 'free', ['joint_1']])
def test_modes_are_the_eigenvalues_of_the_linear_model(cuts, joints):
    for arm in cuts:
        model, found = frs.linearise(arm, joints=joints), frs.modes(arm, joints=joints)
        assert len(model.states) == 2 * (len(arm.coordinate_names) - 5 - locked_count(joints))
        rates = np.linalg.eigvals(model.A)
        rates = np.sort(np.abs(rates[rates.imag >= 0])) / (2 * np.pi)
        assert found.frequencies == pytest.approx(rates, rel=1e-6)


def locked_count(joints):
    return {'locked': 2, 'free': 0}[joints] if isinstance(joints, str) else len(joints)


@pytest.mark.parametrize('kind', ONE_LOOP)
def test_modes_of_a_random_loop_have_the_curvature_of_its_potential_energy(kind):
    arm = frs.load(closed_robot(3, kind, links=5))
    rest, free, step = frs.equilibrium(arm), arm.passive_q, 2e-5
    found, M = frs.modes(arm), frs.mass_matrix(arm, rest.q)
    J = np.array(
        [
            (gap(arm, rest.q + step * e) - gap(arm, rest.q - step * e)) / (2 * step)
            for e in np.eye(arm.size)[free]
        ]
    ).T
    energy = energy_on_the_loop(arm, rest.q, free, np.linalg.pinv(J, rcond=1e-7))
    for k in range(min(6, found.frequencies.size)):
        shape = np.real(found.shapes[:, k])
        assert np.abs(J @ shape[free]).max() < 1e-7
        ends = [energy(s * step * shape[free]) for s in (1, 0, -1)]
        curvature = (ends[0] - 2 * ends[1] + ends[2]) / step**2
        rate = np.sqrt(curvature / (shape @ M @ shape))
        assert found.frequencies[k] == pytest.approx(rate / (2 * np.pi), rel=2e-3)


def gap(arm, q):
    return np.array(opening(arm, q, 'loop'))


def energy_on_the_loop(arm, start, free, inverse):
    """Return the potential energy as a function of changes of free coordinates, then closed."""
    tree = frs.Simulation(without_loops(arm))

    def energy(change):
        q = start.copy()
        q[free] += change
        for _ in range(8):
            q[free] -= inverse @ gap(arm, q)
        tree.set_state(q)
        return sum(tree.energy()[1:3])

    return energy


def test_an_arm_with_loops_stays_at_its_equilibrium():
    arm = frs.load('four_bar')
    rest, sim = frs.equilibrium(arm, [0.7, 0.0, 0.0]), frs.Simulation(arm)
    sim.set_state(rest.q, rest.v)
    sim.effort = rest.effort
    sim.step(200)
    assert sim.q == pytest.approx(rest.q, abs=1e-9)
    assert rest.q[0] == 0.7 and rest.effort[0] > 0.1


def test_a_servo_lets_a_loop_sag_until_its_torque_holds_the_weight():
    arm = frs.load('four_bar')
    rest = frs.equilibrium(arm, [0.7, 0.0, 0.0], gains=(5.0, 0.1))
    assert rest.effort[0] == pytest.approx(5.0 * (0.7 - rest.q[0]), rel=1e-12)
    assert frs.equilibrium(arm, rest.q[:3]).effort == pytest.approx(rest.effort, rel=1e-9)
    free = frs.equilibrium(arm, rest.q[:3], joints='free', effort=rest.effort - [0.1, 0, 0])
    assert free.q[0] < rest.q[0]


def test_a_loop_with_free_drives_falls_into_the_lowest_position():
    arm = frs.load('four_bar')
    rest = frs.equilibrium(arm, [-1.0, 0.0, 0.0], joints='free')
    heights = [
        potential(arm, frs.equilibrium(arm, [crank, 0.0, 0.0]).q)
        for crank in rest.q[0] + np.linspace(-0.3, 0.3, 7)
    ]
    assert int(np.argmin(heights)) == 3
    assert rest.effort == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)


def potential(arm, q):
    sim = frs.Simulation(arm)
    sim.set_state(q)
    return sum(sim.energy()[1:3])


def test_a_released_loop_vibrates_at_the_frequency_of_its_mode():
    arm = frs.load('four_bar', gravity=(0.0, 0.0, 0.0))
    gains = (60.0, 0.0)
    found = frs.modes(arm, [0.7, 0.0, 0.0], gains=gains)
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-4, drive_limits=False))
    rest = frs.equilibrium(arm, [0.7, 0.0, 0.0], gains=gains)
    shape = np.real(found.shapes[:, 0])
    sim.set_state(rest.q, 1e-3 * shape)
    sim.hold([0.7, 0.0, 0.0], [60.0, 0.0, 0.0], [0.0] * 3)
    crossings: list = []
    last = sim.q[0] - 0.7
    while len(crossings) < 9:
        sim.step()
        now = sim.q[0] - 0.7
        if last < 0.0 <= now:
            crossings.append(sim.time - 1e-4 * now / (now - last))
        last = now
    frequency = 8 / (crossings[-1] - crossings[0])
    damped = found.frequencies[0] * np.sqrt(1 - found.damping_ratios[0] ** 2)
    assert frequency == pytest.approx(damped, rel=1e-3)


def test_a_linear_model_about_a_moving_loop_is_the_slope_of_its_motion():
    arm, effort = frs.load('four_bar'), [0.4, 0.0, 0.0]
    sim = frs.Simulation(arm)
    sim.set_state([0.5, 0.0, 0.0], [4.0, 0.0, 0.0])
    sim.step(20)
    model = frs.linearise(arm, sim.q, sim.v, effort)
    n = len(model.states) // 2
    free = [arm.coordinate_names.index(name[:-2]) for name in model.states[:n]]

    def accelerations(x, torque=0.4):
        q, v = on_the_loop(arm, sim.q, free, x[:n], x[n:])
        return frs.forward_dynamics(arm, q, v, [torque, 0.0, 0.0])[free]

    x = np.concatenate([sim.q[free], sim.v[free]])
    slopes = [
        (accelerations(x + step) - accelerations(x - step)) / 2e-6 for step in 1e-6 * np.eye(2 * n)
    ]
    by_torque = (accelerations(x, 0.4 + 1e-3) - accelerations(x, 0.4 - 1e-3)) / 2e-3
    largest = np.abs(model.A[n:]).max(axis=0)
    assert (np.abs(model.A[n:] - np.array(slopes).T) < 1e-6 * largest).all()
    assert model.B[n:, 0] == pytest.approx(by_torque, rel=1e-7)


def on_the_loop(arm, start, free, position, rates):
    """Coordinates and rates with independent ones as given, by Newton's method on poses."""
    q = start.copy()
    q[free] = position
    others = [k for k in range(arm.size) if k not in free]
    for _ in range(6):
        gap, W = gap_and_jacobian(arm, q)
        q[others] -= np.linalg.lstsq(W[:, others], gap, rcond=1e-9)[0]
    v = np.zeros(arm.size)
    v[free] = rates
    v[others] = -np.linalg.lstsq(W[:, others], W[:, free] @ rates, rcond=1e-9)[0]
    return q, v


def gap_and_jacobian(arm, q):
    """Gap of the hinge of four_bar, position and two rotations, from poses and Jacobians."""
    coupler, rocker = (frs.pose(arm, q, link=name) for name in ('tool', 'rocker'))
    J, J_rocker = (
        frs.jacobian(arm, q, link=name, representation='mixed') for name in ('tool', 'rocker')
    )
    lever = rocker[:3, :3] @ [0.0, 0.0, 0.4]
    gap, relative = coupler[:3, 3] - rocker[:3, 3] - lever, J - J_rocker
    linear = relative[3:] + np.cross(lever, J_rocker[:3].T).T
    y = coupler[:3, 1]
    turn = np.cross(y, rocker[:3, 1])
    return np.concatenate([gap, turn[[0, 2]]]), np.vstack([linear, -relative[[0, 2]]])


MISUSE = {
    'q opens the constraint "coupler_end" by': lambda arm: frs.modes(arm, np.ones(8)),
    'v opens the constraint "coupler_end" at': lambda arm: frs.modes(
        arm, frs.equilibrium(arm).q, np.ones(8)
    ),
    'v moves a closed loop': lambda arm: frs.equilibrium(arm, [0.0] * 3, [1.0, 0.0, 0.0]),
    'joint "rocker_joint" is passive': lambda arm: frs.modes(arm, joints=['rocker_joint']),
    'effort of joint "coupler_joint" must be 0': lambda arm: frs.equilibrium(
        arm, effort=[0.0, 1.0, 0.0]
    ),
    'stiffness of joint "rocker_joint" must be 0': lambda arm: frs.modes(
        arm, gains=([1.0, 0.0, 1.0], 1.0)
    ),
}


@pytest.mark.parametrize('start', MISUSE)
def test_misuse_of_a_loop_is_reported(start):
    line = refusal(frs.SettingError, MISUSE[start], frs.load('four_bar'))
    assert line.startswith(start) and '\n' not in line
