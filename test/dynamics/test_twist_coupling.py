"""Straight beams whose bending couples with twist: Prandtl's load, and all else as for beams."""

import numpy as np
import pytest
from arms import beam, complaint, flexible_arm
from spatial_arms import cantilever

import flex_robot_sim as frs
from flex_robot_sim.analysis.imu_kinematics import imu_motion
from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.realtime.loop_report import Bending
from flex_robot_sim.util.exceptions import SettingError

WEAK, GJ = 1.0, 0.8  # of a strip of 1 m, 5000 times as stiff in its plane [N m2]
SECTION = f'<section EIy="5000" EIz="{WEAK}" GJ="{GJ}"/>'
PRANDTL = 4.0126 * np.sqrt(WEAK * GJ)  # load of the strip [N]


def strip(modes, more=''):
    return frs.load(cantilever(SECTION + more, (1, 0, 0), modes), gravity=(0, 0, 0))


def jointed(twist_coupling, gravity=(0, 0, 0), segments=1, **options):
    """Return an arm of two strips with sensors and a tool."""
    builder = frs.ArmBuilder()
    options = {
        'section': frs.Rectangle(width=0.004, height=0.03),
        'material': 'steel',
        'twist_coupling': twist_coupling,
        'segments': segments,
        **({} if 'elements' in options else {'bending_y': 2, 'torsion': 1}),
        **options,
    }
    builder.add_beam('upper', length=0.6, **options)
    builder.add_beam('lower', length=0.4, **options)
    builder.add_rigid('tool', mass=0.05, centre=(0.01, 0.02, 0), inertia=(1e-4, 2e-4, 1.5e-4))
    builder.add_joint('shoulder', parent='base', child='upper', axis='z', rpy=(1.2, 0.3, 0))
    place = {'xyz': (0.6, 0.01, 0.02), 'rpy': (0.2, 0.1, 0.3)}
    builder.add_joint('elbow', parent='upper', child='lower', axis=(0, 0.6, 0.8), **place)
    builder.attach('tool', parent='lower')
    builder.add_flex_sensor('upper', 'long', start=0.05, end=0.45, plane='xy')
    builder.add_flex_sensor('lower', 'short', start=0.1, end=0.1, plane='xz')
    builder.add_imu('lower', 'imu', xyz=(0.2, 0.01, 0))
    return builder.build(gravity=gravity)


@pytest.mark.parametrize(
    ('inside', 'is_coupled'),
    [
        ('<section EIy="41" EIz="10" GJ="5"/>', True),
        ('<section EIy="10" EIz="41" GJ="5"/>', True),
        ('<section EIy="39" EIz="10" GJ="5"/>', False),
        ('<section EIy="41" EIz="10" GJ="5"/><modes torsion="0"/>', False),
        ('<section EIy="41" EIz="10" GJ="5"/><modes bending_z="0"/>', False),
        ('<section EIy="41" EIz="10" GJ="5"/><elements count="4"/>', True),
        ('<section EIy="41" EIz="10" GJ="5"/><elements count="5"/>', False),
    ],
)
def test_a_strip_couples_bending_with_twist_by_rule(inside, is_coupled):
    ((name, body),) = frs.load(flexible_arm(beam(inside))).beams.items()
    assert body.is_spatial == is_coupled
    assert 'bending_y_1' in body.names


@pytest.mark.parametrize(
    ('modes', 'counts'),
    [
        ('', (4, 2, 3)),
        ('<modes bending_y="3"/>', (3, 2, 3)),
        ('<modes torsion="1"/>', (4, 2, 1)),
        ('<modes segments="2"/>', (2, 2, 2)),
        ('<modes boundary="free"/>', (2, 2, 1)),
    ],
)
def test_a_strip_has_the_shapes_that_its_buckling_needs(modes, counts):
    arm = frs.load(flexible_arm(beam(f'<section EIy="41" EIz="10" GJ="5"/>{modes}')))
    names = arm.beams[next(iter(arm.beams))].names
    found = [sum(name.startswith(d) for name in names) for d in ('bending_y', 'bending_z', 'tor')]
    assert tuple(found) == counts


def test_twist_coupling_on_and_off_come_before_the_rule():
    for choice, section in (('off', 'EIy="41" EIz="10"'), ('on', 'EIy="10" EIz="10"')):
        text = beam(f'<section {section} GJ="5"/>', more=f' twist_coupling="{choice}"')
        (body,) = frs.load(flexible_arm(text)).beams.values()
        assert body.is_spatial == (choice == 'on')
    assert not jointed(None, section=frs.Rectangle(0.02, 0.03)).beams[0].is_spatial
    assert jointed(None).beams[0].is_spatial


@pytest.mark.parametrize(
    ('inside', 'choice', 'message'),
    [
        (
            '<section EIy="9" EIz="1" GJ="5"/><modes torsion="0"/>',
            'on',
            'has twist_coupling="on", but no coordinates of torsion. Give it torsion="2" in '
            '<modes>, or remove twist_coupling',
        ),
        (
            '<section EIy="9" EIz="1" GJ="5"/><elements count="5"/>',
            'on',
            'has 25 elastic coordinates, and bending and twist of at most 24 can be coupled. Give '
            'it more segments of fewer coordinates, or twist_coupling="off"',
        ),
        (
            '<section EIy="9" EIz="1" GJ="5" EA="100" twist="0.1"/>',
            'off',
            'has twist_coupling="off", but its bending always couples with twist. Remove '
            'twist_coupling',
        ),
    ],
)
def test_twist_coupling_that_cannot_be_ends_in_one_line(inside, choice, message):
    found = complaint(flexible_arm(beam(inside, more=f' twist_coupling="{choice}"')))
    assert found.endswith(f'{message}.') and ':5: ' in found


def softness(arm):
    """Return factors of the elastic coordinates: stiff shapes move less."""
    stiffness = np.concatenate([np.diag(body.stiffness) for body in arm.beams.values()])
    return np.sqrt(stiffness.min() / stiffness)


def largest_deflections(arm, q):
    """Return the deflections of the tips over the limit of validity, as the node reports them."""
    bending = Bending(arm, frs.SimulationSettings())
    bending.note(q)
    return bending.largest


@pytest.mark.parametrize(
    'options',
    [
        {'stretch': 1},
        {'segments': 2},
        pytest.param({'elements': 2}, marks=pytest.mark.long),
        pytest.param({'boundary': 'inertia'}, marks=pytest.mark.long),
        pytest.param(
            {
                'section': (
                    (0.0, frs.Rectangle(0.004, 0.03)),
                    (0.4, frs.Rectangle(0.004, 0.03)),
                    (0.4, frs.Rectangle(0.003, 0.02)),
                    (1.0, frs.Rectangle(0.002, 0.02)),
                )
            },
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_coupled_beam_is_a_beam_to_first_order(options):
    plain, coupled = jointed(False, **options), jointed(True, **options)
    assert coupled.coordinate_names == plain.coordinate_names
    assert coupled.beams[0].is_spatial and not plain.beams[0].is_spatial
    q, size = np.zeros(plain.nq), 1e-7
    scale = np.sqrt(np.diag(frs.mass_matrix(plain, q)))
    difference = frs.mass_matrix(coupled, q) - frs.mass_matrix(plain, q)
    assert np.abs(difference / np.outer(scale, scale)).max() < 1e-12
    q[:2] = 0.3, -0.5
    modes = [frs.modes(arm, q).frequencies for arm in (plain, coupled)]
    assert np.abs(modes[1] / modes[0] - 1)[modes[0] > 1e-3].max() < 1e-9
    e = q.copy()
    e[plain.elastic_q] = size * np.random.default_rng(0).normal(size=plain.nq - 2)
    e[plain.elastic_q] *= softness(plain)
    moved = np.abs(frs.pose(plain, e, link='tool') - frs.pose(plain, q, link='tool')).max()
    for query in (
        lambda arm: frs.pose(arm, e, link='tool'),
        lambda arm: size * frs.jacobian(arm, q, link='tool'),
        lambda arm: np.array([*frs.deflection(arm, e).values()]),
        lambda arm: size * frs.linearise(arm, q).C,
        lambda arm: np.hstack([*imu_motion(arm, q, e - q, e - q)]),
        lambda arm: BendingShape(arm).bent(e).axis,
        lambda arm: largest_deflections(arm, e),
    ):
        assert np.abs(query(coupled) - query(plain)).max() < 1e-4 * moved, query
    # what damps it, and what a fit can free
    for row in ('damping', 'stiffness'):
        values = [getattr(arm.arrays, row) for arm in (plain, coupled)]
        assert np.abs(values[1] - values[0]).max() <= 1e-12 * np.abs(values[0]).max()
    assert [*frs.parameters(coupled)] == [*frs.parameters(plain)]


def lowest_stiffness(arm, load):
    """Return the lowest eigenvalue of the stiffness under a load; below 0 without equilibrium."""
    push = frs.Push('tip', force=(0, 0, -load))
    try:
        rest = frs.equilibrium(arm, pushes=[push])
    except SettingError:
        return -1.0
    K = frs.inverse_dynamics_derivatives(arm, rest.q, pushes=[push]).dtau_dq
    return np.linalg.eigvalsh((K + K.T) / 2)[0]


@pytest.mark.parametrize(
    ('modes', 'tolerance'),
    [
        ('', 0.007),
        ('bending_y="3" torsion="3"', 0.027),
        ('segments="2"', 0.014),
        pytest.param('bending_y="2" torsion="1" segments="4"', 0.017, marks=pytest.mark.long),
    ],
)
def test_a_strip_buckles_sideways_at_the_load_of_prandtl(modes, tolerance):
    arm = strip(modes)
    # assumed shapes are too stiff, never too soft
    assert lowest_stiffness(arm, 0.999 * PRANDTL) > 0.0
    assert lowest_stiffness(arm, (1 + tolerance) * PRANDTL) < 0.0


def ritz_frequency(load):
    """Return the lowest rate of the strip with a load at its tip, by polynomials [rad/s]."""
    x, weights = np.polynomial.legendre.leggauss(40)
    x, weights = 0.5 * (x + 1), 0.5 * weights
    powers = np.arange(1, 9)
    v, slope, curvature = (
        np.array([np.polynomial.polynomial.Polynomial.basis(k + 1).deriv(d)(x) for k in powers])
        if d
        else np.array([x ** (k + 1) for k in powers])
        for d in (0, 1, 2)
    )
    phi = np.array([x**k for k in powers])
    twist = np.array([k * x ** (k - 1) for k in powers])
    end = np.ones((8, 1))

    def integral(a, b):
        return (a * weights) @ b.T

    # moment load * (1 - x) about the strong axis: energy moment phi v''; narrow strip
    bend = integral(load * (1 - x) * phi, curvature)
    weak, torsion = WEAK * integral(curvature, curvature), GJ * integral(twist, twist)
    K = np.block([[weak, bend.T], [bend, torsion]])
    # 1 kg with 0.1 kg m2 about all axes, a tip of 1 g and 1e-6 kg m2
    rotary = 0.1 - 1 / 12
    tip = 1e-3 * end @ end.T + 1e-6 * np.outer(powers + 1, powers + 1)
    lateral = integral(v, v) + rotary * integral(slope, slope) + tip
    zero = np.zeros((8, 8))
    M = np.block([[lateral, zero], [zero, 0.1 * integral(phi, phi) + 1e-6 * end @ end.T]])
    return np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min())


@pytest.mark.parametrize(
    ('modes', 'tolerance'),
    [('bending_y="4" torsion="3"', 5e-3), ('bending_y="6" bending_z="1" torsion="8"', 3e-4)],
)
def test_a_load_lowers_the_frequency_of_the_sideways_mode_as_ritz_has_it(modes, tolerance):
    arm, push = strip(modes), frs.Push('tip', force=(0, 0, -PRANDTL / 2))
    free = frs.modes(arm, np.zeros(arm.nq)).frequencies[0]
    loaded = frs.modes(arm, frs.equilibrium(arm, pushes=[push]).q, pushes=[push]).frequencies[0]
    assert 2 * np.pi * free == pytest.approx(ritz_frequency(0.0), rel=1e-5)
    assert ritz_frequency(PRANDTL / 2) < 0.9 * ritz_frequency(0.0)
    assert 2 * np.pi * loaded == pytest.approx(ritz_frequency(PRANDTL / 2), rel=tolerance)


def test_a_free_swing_of_coupled_strips_keeps_its_energy():
    arm = jointed(True, (0, 0, -9.81))
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=1e-3))
    start = sum(sim.energy())
    sim.advance_to(0.3)
    kinetic = sim.energy()[0]
    assert kinetic > 0.1 and np.abs(sim.q[arm.elastic_q]).max() > 1e-3
    assert sum(sim.energy()) == pytest.approx(start, abs=1e-9 * kinetic)


def test_derivatives_of_coupled_strips_are_those_of_differences():
    arm = jointed(True, (0, 0, -9.81))
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=arm.nq), rng.normal(size=arm.nq)
    q[arm.elastic_q] *= 0.01 * softness(arm)
    found, step = frs.derivatives(arm, q, v), 1e-5
    for slope, direction in ((found.da_dq, (1, 0)), (found.da_dv, (0, 1))):
        for k in rng.permutation(arm.nq)[:4]:
            dq, dv = np.outer(direction, step * np.eye(arm.nq)[k])
            ends = [frs.forward_dynamics(arm, q + s * dq, v + s * dv) for s in (-1, 1)]
            expected = (ends[1] - ends[0]) / (2 * step)
            assert np.abs(slope[:, k] - expected).max() < 1e-5 * np.abs(expected).max()


def test_formulations_from_papers_refuse_twist_coupling():
    with pytest.raises(SettingError, match='does not couple bending with twist, as link "upper"'):
        frs.Simulation(jointed(True), frs.SimulationSettings(formulation='stiffened'))


def test_a_strip_near_lateral_buckling_is_reported_without_twist_coupling():
    modes = 'bending_y="1" bending_z="1" torsion="1"'
    text = cantilever(SECTION + '<damping ratio="0.9"/>', (1, 0, 0), modes)
    text = text.replace('<link name="arm" end', '<link name="arm" twist_coupling="off" end')
    for share, reports in ((0.25, 0), (0.35, 1)):
        sim = frs.Simulation(frs.load(text, gravity=(0, 0, 0)))
        sim.push('tip', force=(0, 0, -share * PRANDTL))
        sim.advance_to(0.2)
        assert len(sim.reports) == reports, sim.reports
    assert sim.reports[0].startswith(
        'link "arm" carries more than 0.3 of its lateral buckling load at '
    )


def test_other_numbers_and_a_batch_keep_the_coupling():
    arm = jointed(None, (0, 0, -9.81))
    changed = frs.with_parameters(arm, {'upper.EIz': arm.description.beam('upper').EIy})
    assert changed.beams[0].is_spatial  # so that a fit is smooth
    assert changed.coordinate_names == arm.coordinate_names
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    sim.step(20)
    batch.step(20)
    for link, deflection in sim.deflection.items():
        assert np.abs(batch.deflection[link] - deflection).max() < 1e-13
    assert np.abs(batch.curvature['upper/long'] - sim.curvature['upper/long']).max() < 1e-13
