"""Sliding links: the element sum, fixed beams, Lagrange's equations, energy, the display."""

import functools
import re

import numpy as np
import pytest
from arms import complaint
from scipy.linalg import eigh
from sliding_arms import EI, LENGTH, MASS, MOUTH, sliding_arm, telescope
from walked_urdf import poses

import flex_robot_sim as frs
from flex_robot_sim.analysis.imu_kinematics import imu_motion
from flex_robot_sim.analysis.linear import TIP_COMPONENTS
from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.formulations import make
from flex_robot_sim.formulations.sliding_link import SlidingLink
from flex_robot_sim.viewer.arm_picture import straight_links

GRAVITY = (3.0, -5.0, 7.0)
WEIGHTS = 3 / 4, -3 / 20, 1 / 60  # of a central difference of sixth order


@functools.cache
def arm_of(text, coupling='shortening'):
    """Return the ArmModel of a text."""
    return frs.load(text, coupling=coupling, gravity=GRAVITY)


def state_of(arm, seed=0):
    """Return random q and v with small deflections, within the range of the slide."""
    rng = np.random.default_rng(seed)
    q, v = 0.02 * rng.normal(size=arm.size), rng.normal(size=arm.size)
    q[arm.joint_q] = rng.uniform(0.0, 0.4, size=len(arm.joint_names))
    return q, v


def slope(function, q, k, step=1e-3):
    """Return the derivative of a function by coordinate k."""
    unit = step * np.eye(q.size)[k]
    return (
        sum(
            w * (function(q + (m + 1) * unit) - function(q - (m + 1) * unit))
            for m, w in enumerate(WEIGHTS)
        )
        / step
    )


def potential(arm, q, part):
    """Return a part of the energy at rest [J]."""
    sim = frs.Simulation(arm)
    sim.set_state(q=q)
    return getattr(sim.energy(), part)


ARMS = {
    'boom': sliding_arm(inertia=(2e-3, 3e-3)),
    'gear': sliding_arm(
        gear='<joint name="out" stiffness="1e5" rotor_inertia="1e-3" gear_ratio="30"/>'
    ),
    'telescope': telescope(),
}


@pytest.mark.parametrize('coupling', ['shortening', 'zero_order'])
@pytest.mark.parametrize('name', ARMS)
def test_forces_obey_the_equations_of_lagrange(name, coupling):
    arm = arm_of(ARMS[name], coupling)
    q, v = state_of(arm)
    n = range(arm.size)
    slopes = np.array([slope(lambda x: frs.mass_matrix(arm, x), q, k) for k in n])
    weight = np.array([slope(lambda x: potential(arm, x, 'gravity'), q, k) for k in n])
    strain = np.array([slope(lambda x: potential(arm, x, 'strain'), q, k) for k in n])
    inertial = np.einsum('kij,k,j->i', slopes, v, v) - 0.5 * np.einsum('kij,i,j->k', slopes, v, v)
    found = frs.nonlinear_effects(arm, q, v)
    assert np.allclose(found, inertial + weight, atol=1e-10 * np.abs(inertial).max())
    M, a = frs.mass_matrix(arm, q), frs.forward_dynamics(arm, q, v)
    balance = M @ a + found + strain
    assert np.abs(balance).max() < 1e-10 * np.abs(strain).max()


def test_accelerations_equal_those_of_the_element_sum():
    gravity = 3.0, -5.0
    text = sliding_arm(
        modes='bending_y="3" bending_z="0" torsion="0" boundary="free"',
        point=0.7,
        inertia=(1e-9, 0.0),
        turret=0.3,
    )
    arm = frs.load(text, coupling='zero_order', gravity=(*gravity, 0.0))
    rng = np.random.default_rng(1)
    for elements_inside in (60, 90):
        # an element ends at the mouth, so that the sum converges with even powers
        free = LENGTH * (1 - elements_inside / 150)
        q = np.concatenate([[0.4, free - (LENGTH - MOUTH)], rng.uniform(-0.05, 0.05, size=3)])
        v, force = rng.normal(size=5), rng.normal(size=5)
        found = make('recursion', arm).accelerations(q, v, force)
        values = []
        for count in (150, 300, 600, 1200):
            link = SlidingLink(
                LENGTH, MASS / LENGTH, 2 * EI, elements=count, guide=0.3, tip=0.7, gravity=gravity
            )
            at = np.concatenate([[q[0], free], q[2:]])
            M, h = link.mass_matrix_and_bias(at, v)
            values.append(np.linalg.solve(M, force - h))
        for k in range(1, len(values)):  # Richardson's extrapolation
            values = [b + (b - a) / (4**k - 1) for a, b in zip(values, values[1:])]
        assert np.allclose(found, values[0], rtol=0, atol=1e-9 * np.abs(found).max())
        assert np.isclose(potential(arm, q, 'strain'), link.energy(at, np.zeros(5))[1], rtol=1e-12)


@pytest.mark.parametrize('out', [-0.1, 0.5, 1.05])
def test_at_standstill_it_is_a_fixed_beam_of_the_free_length(out):
    arm, free = arm_of(ARMS['boom']), LENGTH - MOUTH + out
    text = re.sub(' guide="out" mouth="[^"]*"', '', ARMS['boom'])
    thin, share = MASS * free / LENGTH * free**2 / 12, free / LENGTH
    text = text.replace(f'end="{LENGTH} 0 0"', f'end="{free!r} 0 0"')
    text = text.replace(f'xyz="{LENGTH} 0 0"', f'xyz="{free!r} 0 0"')
    text = re.sub(
        '<link name="boom"><inertial>.*?</inertial>',
        f'<link name="boom"><inertial><origin xyz="{free / 2!r} 0 0"/>'
        f'<mass value="{MASS * share!r}"/><inertia ixx="{2e-3 * free!r}" '
        f'iyy="{thin + 3e-3 * free!r}" izz="{thin + 3e-3 * free!r}" ixy="0" ixz="0" iyz="0"/>'
        '</inertial>',
        text,
        flags=re.DOTALL,
    )
    text = text.replace('xyz="-1 0.05 0.4"', f'xyz="{MOUTH - 1!r} 0.05 0.4"')
    fixed = frs.load(text.replace('"prismatic"', '"fixed"'), gravity=GRAVITY)
    found, expected = frs.modes(arm, [0.3, out]), frs.modes(fixed, [0.3])
    assert np.allclose(found.frequencies, expected.frequencies, rtol=1e-9)
    tip = frs.pose(arm, frs.equilibrium(arm, [0.3, out]).q, link='tool')
    assert np.allclose(tip, frs.pose(fixed, frs.equilibrium(fixed, [0.3]).q, link='tool'))


@pytest.mark.parametrize('name', ['boom', 'telescope'])
def test_momentum_follows_from_the_centre_of_mass_and_the_mass_matrix(name):
    arm = arm_of(ARMS[name])
    q, v = state_of(arm)
    sim = frs.Simulation(arm)

    def centre_after(t):
        sim.set_state(q=q + t * v)
        return sim.centre_of_mass

    velocity = slope(lambda t: centre_after(t[0]), np.zeros(1), 0)
    sim.set_state(q=q, v=v)
    momentum, centre = sim.momentum(), sim.centre_of_mass
    mass = 5.0 + MASS + 0.7 + (1.0 if name == 'telescope' else 0.0)
    np.testing.assert_allclose(momentum[3:], mass * velocity, rtol=0, atol=1e-9 * mass)
    # the first joint turns the whole arm about a fixed axis
    about_axis = momentum[2] + centre[0] * momentum[4] - centre[1] * momentum[3]
    turning = (frs.mass_matrix(arm, q) @ v)[arm.idx_q['swing']]
    np.testing.assert_allclose(about_axis, turning, rtol=1e-12)


def test_energy_is_kept_while_links_slide():
    arm = arm_of(ARMS['telescope'])
    q, v = state_of(arm, 3)
    q[3:] *= 0.1
    errors = []
    for steps in (1000, 2000):  # in 5 ms
        settings = frs.SimulationSettings(time_step=5e-3 / steps, scheme='rk4')
        sim = frs.Simulation(arm, settings)
        sim.set_state(q=q, v=0.3 * v)
        start = sim.energy()
        sim.step(steps)
        end = sim.energy()
        changes = np.array([after - before for before, after in zip(start[:3], end[:3])])
        errors.append(abs(changes.sum()) / np.abs(changes).max())
    # only the error of the scheme, of fourth order, is left
    assert errors[1] < 1e-7 and errors[0] > 12 * errors[1]


@pytest.mark.parametrize('name', ['boom', 'gear'])
def test_a_cycle_of_extension_has_a_closed_energy_balance(name):
    text = ARMS[name].replace('torsion="1"/>', 'torsion="1"/><damping time_constant="1e-3"/>')
    arm = frs.load(text)
    times = np.linspace(0.0, 0.5, 9)
    balance = []
    for step in (1e-3, 5e-4):
        sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
        sim.prescribe('out', (times, 0.2 - 0.2 * np.cos(4 * np.pi * times)))
        sim.prescribe('swing', (times, 0.0 * times))
        sim.step(round(0.25 / step))
        kinetic = 0.5 * (MASS + 0.7) * 2.5**2  # of the fastest motion
        assert sim.energy().dissipated > 1e-6
        sim.step(round(0.25 / step))
        balance.append(abs(sim.energy().balance))
    assert balance[0] < 1e-4 * kinetic and balance[1] < 0.5 * balance[0] + 1e-9


def test_the_effort_of_a_prescribed_slide_moves_a_free_one_in_the_same_way():
    arm = arm_of(ARMS['boom'])
    prescribed, driven = frs.Simulation(arm), frs.Simulation(arm)
    times = np.linspace(0.0, 0.2, 41)
    prescribed.prescribe('out', (times, 0.5 * times**3))
    for _ in range(40):
        prescribed.step()
        driven.effort[1] = prescribed.applied_effort[1]
        driven.step()
    assert np.allclose(driven.q, prescribed.q, atol=1e-7)


def test_derivatives_equal_differences():
    text = sliding_arm(damping='<damping time_constant="2e-4"/>', inertia=(2e-3, 3e-3))
    arm = arm_of(text)
    q, v = state_of(arm, 5)
    found = frs.derivatives(arm, q, v)
    for k in range(arm.size):
        expected = slope(lambda x: frs.forward_dynamics(arm, x, v), q, k)
        assert np.allclose(found.da_dq[:, k], expected, atol=1e-7 * np.abs(found.da_dq).max())
        expected = slope(lambda x: frs.forward_dynamics(arm, q, x), v, k)
        assert np.allclose(found.da_dv[:, k], expected, atol=1e-8 * np.abs(found.da_dv).max())


def test_derivatives_hold_for_short_free_lengths():
    arm = arm_of(sliding_arm(limit='lower="-0.22" upper="1.1"'))
    q, v = state_of(arm, 5)
    q[1] = -0.2  # 0.1 m are outside the guide
    found = frs.derivatives(arm, q, v)
    expected = slope(lambda x: frs.forward_dynamics(arm, x, v), q, 1, step=2e-4)
    # the step of the reference itself is 1e-8 off
    assert np.allclose(found.da_dq[:, 1], expected, atol=1e-7 * np.abs(found.da_dq).max())


def test_a_linear_model_has_the_slope_of_the_tip_by_the_slide():
    arm = arm_of(ARMS['telescope'])
    found = frs.linearise(arm, [0.3, 0.2, 0.2, 0.2])
    for link, guide in (('boom', 'out'), ('tip_boom', 'further')):
        k = arm.idx_q[guide]
        expected = slope(lambda x, link=link: frs.deflection(arm, x)[link], found.q, k)
        assert np.abs(expected).max() > 1e-3
        for part, column in (('', k), ('/rate', arm.size + k)):
            rows = [found.outputs.index(f'{link}/tip_{axis}{part}') for axis in TIP_COMPONENTS]
            assert np.allclose(found.C[rows, column], expected, atol=1e-10)


@pytest.mark.parametrize('free', [0.3, 1.2])
def test_a_damping_ratio_holds_at_any_free_length(free):
    text = sliding_arm(damping='<damping ratio="0.02"/>', tip_mass=0.0)
    arm = frs.load(text, gravity=(0, 0, 0))
    found = frs.modes(arm, [0.0, free - (LENGTH - MOUTH)])
    assert np.allclose(found.damping_ratios, 0.02, rtol=1e-9)


def test_kinematics_and_the_display_follow_the_slide():
    arm = arm_of(ARMS['telescope'])
    q, v = state_of(arm, 6)
    display = DisplayJoints(arm)
    found = poses(display_description(arm), dict(zip(display.names, display.positions(q))))
    for frame in arm.frames:
        np.testing.assert_allclose(found[frame], frs.pose(arm, q, link=frame), atol=1e-12)
    bent = BendingShape(arm).bent(q)
    tip = frs.pose(arm, q, link='boom', station='tip')[:3, 3]
    assert np.abs(bent.axis - tip).sum(axis=1).min() < 1e-9


@pytest.mark.parametrize(
    'options', [{'link': 'tool'}, {'link': 'boom'}, {'link': 'boom', 'station': 'tip'}]
)
def test_twists_are_rates_of_poses(options):
    arm = arm_of(ARMS['telescope'])
    q, v = state_of(arm, 6)
    a, form = np.linspace(-1, 1, arm.size), {**options, 'representation': 'mixed'}

    def along(function):
        return slope(lambda t: function(q + t * v), np.zeros(1), 0)

    V, J = frs.twist(arm, q, v, **form), frs.jacobian(arm, q, **form)
    assert np.allclose(J @ v, V, atol=1e-12)
    assert np.allclose(along(lambda x: frs.pose(arm, x, **options)[:3, 3]), V[3:], atol=1e-9)
    rate = along(lambda x: frs.jacobian(arm, x, **form) @ v)
    assert np.allclose(frs.twist_rate(arm, q, v, a, **form), J @ a + rate, atol=1e-8)


def test_a_straight_link_of_the_viewer_has_its_whole_length():
    for solid in straight_links(arm_of(ARMS['telescope'])):
        ends = solid.vertices[:, 0].min(), solid.vertices[:, 0].max()
        assert ends == pytest.approx((0.0, 1.2 if solid.link == 'tip_boom' else LENGTH))


def test_a_tip_deflects_from_its_straight_link():
    arm = arm_of(ARMS['boom'])
    q, _ = state_of(arm, 7)
    straight = np.where(np.arange(arm.size) < 2, q, 0.0)
    ends = [frs.pose(arm, at, link='boom', station='tip') for at in (straight, q)]
    relative = np.linalg.inv(ends[0]) @ ends[1]
    found = frs.deflection(arm, q)['boom']
    assert np.allclose(found[:3], relative[:3, 3], atol=1e-12)
    from scipy.spatial.transform import Rotation

    assert np.allclose(found[3:], Rotation.from_matrix(relative[:3, :3]).as_rotvec(), atol=1e-12)


def test_the_limit_of_deflection_refers_to_the_free_length():
    arm = arm_of(ARMS['boom'])
    row, station = arm.tips['boom'][1], arm.coordinate_names.index('boom/bending_y_1')
    for free, tip, is_reported in ((0.3, 0.05, True), (1.3, 0.05, False), (1.3, 0.15, True)):
        sim, q = frs.Simulation(arm), np.zeros(arm.size)
        q[1] = free - (LENGTH - MOUTH)
        q[station] = tip / arm.arrays.station_shape[row, 0]
        sim.set_state(q)
        sim.step()
        line = 'link "boom" bends by more than 10 % of its free length at 0.001 s. Load it less'
        assert [one[: len(line)] for one in sim.reports] == [line] * is_reported


def test_an_imu_on_the_tool_of_a_telescope_measures_the_acceleration_of_its_poses():
    text = telescope().replace(
        '<flexibility>', '<flexibility><link name="tool"><imu name="head"/></link>', 1
    )
    arm = arm_of(text)
    q, v = state_of(arm, 8)
    a = np.random.default_rng(9).normal(size=arm.size)
    found = imu_motion(arm, q, v, a)
    at, h = frs.pose(arm, q), 2e-3
    places = [frs.pose(arm, q + k * h * v + 0.5 * (k * h) ** 2 * a)[:3, 3] for k in range(-2, 3)]
    second = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * h * h) @ places
    np.testing.assert_allclose(
        found.specific_force, at[:3, :3].T @ (second - GRAVITY), atol=1e-6 * abs(second).max()
    )
    w = frs.twist(arm, q, v, representation='body')[:3]
    np.testing.assert_allclose(found.angular_velocity, w, atol=1e-12)


def element_frequencies(length, count=24):
    """
    First two bending frequencies of a cantilever [Hz], by cubic elements of Euler and Bernoulli.

    It has the mass and stiffness EI of the boom along z, without rotary inertia.
    """
    size, mu, elements = 2 * count + 2, MASS / LENGTH, length / count
    M, K = np.zeros((2, size, size))
    for k in range(count):
        e, part = elements, np.ix_(range(2 * k, 2 * k + 4), range(2 * k, 2 * k + 4))
        K[part] += (EI / e**3) * np.array(
            [
                [12, 6 * e, -12, 6 * e],
                [6 * e, 4 * e * e, -6 * e, 2 * e * e],
                [-12, -6 * e, 12, -6 * e],
                [6 * e, 2 * e * e, -6 * e, 4 * e * e],
            ]
        )
        M[part] += (mu * e / 420) * np.array(
            [
                [156, 22 * e, 54, -13 * e],
                [22 * e, 4 * e * e, 13 * e, -3 * e * e],
                [54, 13 * e, 156, -22 * e],
                [-13 * e, -3 * e * e, -22 * e, 4 * e * e],
            ]
        )
    return np.sqrt(eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)[:2]) / (2 * np.pi)


def held_boom(**options):
    """Return a boom that bends along z alone, without load and weight, on a heavy turret."""
    text = sliding_arm(
        modes='bending_y="0" bending_z="4" torsion="0"',
        inertia=(1e-9, 0.0),
        tip_mass=0.0,
        **options,
    )
    return frs.load(text, gravity=(0, 0, 0))


def test_frequencies_at_ten_extensions_are_those_of_finite_elements():
    arm = held_boom()
    for out in np.linspace(-0.1, 1.1, 10):
        found = frs.modes(arm, [0.0, out]).frequencies[:2]
        expected = element_frequencies(LENGTH - MOUTH + out)
        np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_energy_over_frequency_is_kept_while_a_vibrating_link_extends_slowly():
    arm = held_boom()
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=5e-4))
    start, end, duration = 0.2, 0.8, 3.0
    q = np.zeros(arm.size)
    q[1], q[2] = start, 1e-3
    sim.set_state(q)
    times = np.linspace(0.0, duration, 201)
    share = times / duration
    places = start + (end - start) * share**3 * (10 - 15 * share + 6 * share**2)
    still = np.zeros(times.size)
    sim.prescribe('swing', (times, still))
    sim.prescribe('out', (times, places))
    before = sum(sim.energy()[:2])
    sim.advance_to(duration)
    after = sum(sim.energy()[:2])
    free = LENGTH - MOUTH + np.array([start, end])
    frequency = 1.0 / free**2  # of all modes of a cantilever
    assert after < 0.6 * before
    assert after / before == pytest.approx(frequency[1] / frequency[0], rel=5e-3)


def test_a_batch_and_a_saved_state_take_sliding_links():
    arm = arm_of(ARMS['gear'])
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    sim.effort[:] = batch.effort[:] = [1.0, 50.0]
    sim.step(20)
    state = sim.save_state()
    batch.step(20)
    assert (batch.q == sim.q).all()
    sim.step(5)
    end = sim.q.copy()
    sim.restore_state(state)
    sim.step(5)
    assert (sim.q == end).all()


def test_the_telescopic_boom_sags_as_two_cantilevers():
    arm = frs.load('telescopic_boom')
    found = frs.deflection(arm, frs.equilibrium(arm, [0.0, 0.0, 2.2, 2.0]).q)
    weight, basket = 9.81 * 150.0, 0.35
    middle, inner = 4677633.415, 1809886.482  # EI of the tubes
    line = 9.81 * 22.78721482  # weight of the inner tube per length
    sag = weight * 2.4**3 / 3 + weight * basket * 2.4**2 / 2 + line * 2.4**4 / 8
    assert found['inner_boom'][2] == pytest.approx(-sag / inner, rel=1e-3)
    force, moment = weight + line * 3.3, weight * (2.4 + basket) + line * 3.3 * (2.4 - 1.65)
    line = 9.81 * 37.88006758
    sag = force * 2.5**3 / 3 + moment * 2.5**2 / 2 + line * 2.5**4 / 8
    assert found['middle_boom'][2] == pytest.approx(-sag / middle, rel=1e-3)


def test_a_sliding_strip_bends_without_its_coupling_with_twist():
    strip = sliding_arm().replace('EIz="800.0"', 'EIz="4000"')
    uncoupled = strip.replace('guide="out"', 'twist_coupling="off" guide="out"')
    found, expected = (frs.modes(arm_of(text), [0.3, 0.5]) for text in (strip, uncoupled))
    assert 'EIz="4000"' in strip and np.array_equal(found.frequencies, expected.frequencies)


def test_a_builder_slides_beams():
    builder = frs.ArmBuilder('crane').add_rigid('turret', mass=5, inertia=(0.3, 0.3, 0.2))
    for name in ('boom', 'tip_boom'):
        section = frs.Tube(outer=0.04, wall=0.002)
        builder.add_beam(name, length=1.5, section=section, material='steel')
    builder.add_joint('swing', parent='base', child='turret')
    slide = {'type': 'prismatic', 'axis': 'x', 'lower': 0, 'upper': 1}
    builder.add_joint('out', parent='turret', child='boom', mouth=1.2, **slide)
    place = {'parent': 'boom', 'child': 'tip_boom', 'xyz': (0.3, 0, 0)}
    builder.add_joint('further', mouth=1.2, **place, **slide)
    arm = frs.ArmBuilder('pair').attach(builder, parent='base', prefix='left_').build()
    assert arm.description.beam('left_tip_boom').guide == 'left_further'
    assert (arm.arrays.slide >= 0).sum() == 2
    with pytest.raises(frs.SettingError, match='a prismatic joint to a beam has one'):
        builder.add_rigid('tool', mass=1).add_joint(
            'mount', parent='tip_boom', child='tool', type='fixed', mouth=0.1
        )


MISTAKES: dict[str, dict] = {
    'and 0.06 m of it are outside its guide at the lower limit': {'mouth': 1.34},
    'leaves its guide, of 1.2 m, at the upper limit 1.3': {'limit': 'lower="0" upper="1.3"'},
    'has a guide whose range, 0.1 to 1, does not contain zero': {'limit': 'lower="0.1" upper="1"'},
    'has coordinates of stretch': {'modes': 'stretch="1"'},
    'has segments': {'modes': 'segments="2"'},
    'has twist_coupling="on"': {'swap': ('guide="out"', 'twist_coupling="on" guide="out"')},
    'has a guide and no mouth': {'remove': 'mouth="1.2"'},
    'has a mouth and no guide': {'remove': 'guide="out"'},
    'has the guide "swing", which is not its prismatic joint': {
        'swap': ('guide="out"', 'guide="swing"')
    },
    'does not lie along the axis of joint "out"': {
        'swap': ('<axis xyz="1 0 0"/>', '<axis xyz="-1 0 0"/>')
    },
    'has the child joint "mount" at 1 m of its 1.5 m': {
        'swap': ('xyz="1.5 0 0"/></joint>', 'xyz="1 0 0"/></joint>')
    },
}


CONSTRAINT = (
    '<constraint name="loop" type="spherical"><parent link="base"/>'
    '<child link="tool"/></constraint>'
)
FINGER = (
    '<link name="finger"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="bend" type="continuous"><parent link="tool"/><child link="finger"/>'
    '<axis xyz="0 1 0"/><mimic joint="swing"/></joint>'
)


@pytest.mark.parametrize(
    ('more', 'message'),
    [
        (CONSTRAINT, 'constraint "loop" closes a loop, and link "boom" slides'),
        (FINGER, 'joint "bend" mimics "swing", and link "boom" slides. Write mimic="held"'),
    ],
)
def test_loops_and_mimic_joints_next_to_sliding_links_are_refused(more, message):
    text = sliding_arm().replace('<flexibility>', f'{more}<flexibility>')
    assert message in complaint(text)


@pytest.mark.parametrize(('place', 'is_tip'), [(0.75, False), (LENGTH, True)])
def test_a_held_mimic_joint_is_at_the_tip_of_a_sliding_link(place, is_tip):
    finger = FINGER.replace('<parent link="tool"/>', '<parent link="boom"/>').replace(
        '<axis', f'<origin xyz="{place} 0 0"/><axis'
    )
    text = sliding_arm().replace('<flexibility>', f'{finger}<flexibility mimic="held">')
    if not is_tip:
        message = 'sliding link "boom" has the child joint "bend" at 0.75 m of its 1.5 m. Move the'
        assert message in complaint(text)
        return
    arm = frs.load(text)
    q = state_of(arm)[0]
    found = frs.pose(arm, q, link='finger')
    np.testing.assert_allclose(found, frs.pose(arm, q, link='tool'), atol=1e-14)


def test_a_guide_may_point_backwards_from_beyond_the_tip():
    turned = 'xyz="{} 0 0" rpy="0 0 3.141592653589793"'
    text = telescope().replace('xyz="0.5 0 0" rpy="0.4 0 0"', turned.format(2.5))
    arm = frs.load(text)
    assert text != telescope()
    place = {'out': 0.2, 'further': 0.3}
    q = np.array([place.get(name, 0.0) for name in arm.coordinate_names])
    tip = frs.pose(arm, q, link='tip_boom', station='tip')[:3, 3]
    # from the joint 2.5 m along the boom, back by the link of 1.2 m and the slide
    assert tip[0] == pytest.approx(-1.0 + 0.2 + 2.5 - 1.2 - 0.3, abs=1e-12)
    message = 'joint "further" would ride at 1.6 m on the beam of link "boom", which ends at 1.5 m'
    beyond = telescope().replace('xyz="0.5 0 0" rpy="0.4 0 0"', turned.format(2.6))
    assert 'has the child joint "further" at 1.6 m of its 1.5 m' in complaint(beyond)
    straight = beyond.replace(f' guide="out" mouth="{MOUTH}"', '')
    assert message in complaint(straight)


@pytest.mark.parametrize('message', MISTAKES)
def test_impossible_sliding_links_are_refused(message):
    words = dict(MISTAKES[message])
    old, new = words.pop('swap', (words.pop('remove', ''), ''))
    text = sliding_arm(**words)
    assert old in text
    text = text.replace(old, new) if old else text
    found = complaint(text)
    assert message in found and re.match('<text>:[0-9]+: ', found)


def test_other_features_refuse_sliding_links():
    arm = arm_of(ARMS['boom'])
    with pytest.raises(frs.SettingError, match='its only station is "tip"'):
        frs.pose(arm, np.zeros(arm.size), link='boom', station=0.3)
    with pytest.raises(frs.SettingError, match='has no sliding links, and link "boom" slides'):
        make('wrench_dae', arm)
