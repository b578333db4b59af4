"""
Arms with links whose section varies.

References: integrals over the sections, Bessel functions, and the same arm with uniform sections.
"""

import re

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from refusals import refusal
from scipy.integrate import quad

import flex_robot_sim as frs
from flex_robot_sim.description import read_text
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.description.robot_summary import as_text, summarise
from flex_robot_sim.display.drawn_sections import drawn_sections
from flex_robot_sim.formulations import make
from flex_robot_sim.util.exceptions import SettingError, UsageError

MATERIAL = frs.Material(E=7e10, G=2.6e10, density=2700.0)


def random_sections(kind, seed):
    """Return pairs (at, section) with a step."""
    random = np.random.default_rng(seed)
    step = float(random.uniform(0.2, 0.8))

    def section():
        if kind is frs.Tube:
            return frs.Tube(float(random.uniform(0.03, 0.05)), float(random.uniform(2e-3, 9e-3)))
        count = 1 if kind is frs.Rod else 2
        return kind(*random.uniform(0.01, 0.05, count).tolist())

    return [(at, section()) for at in (0.0, step, step, 1.0)]


def moments(section):
    """Area and second moments about y and z of a section, from textbooks."""
    if isinstance(section, frs.Rectangle):
        y, z = section.size
        return y * z, y * z**3 / 12, z * y**3 / 12
    inner = section.outer - 2 * section.wall if isinstance(section, frs.Tube) else 0.0
    outer = section[0]
    second = np.pi / 64 * (outer**4 - inner**4)
    return np.pi / 4 * (outer**2 - inner**2), second, second


def between(first, last, part):
    """Return the section at a part of the way from the first one to the last."""
    sizes = [(1 - part) * one + part * two for one, two in zip(first, last) if one is not None]
    return type(first)(*sizes)


def integral(pairs, function):
    """Integral over the share s of the length of function(s, area, Iy, Iz)."""
    total = 0.0
    for (low, first), (high, last) in zip(pairs[:-1], pairs[1:]):
        if high > low:

            def value(s, low=low, high=high, first=first, last=last):
                part = (s - low) / (high - low)
                return function(s, *moments(between(first, last, part)))

            total += quad(value, low, high, epsabs=0, epsrel=1e-12)[0]
    return total


def share(pair):
    return pair[0]


def at(pairs, s):
    """Return the section at the share s of the length, between stations."""
    for (low, first), (high, last) in zip(pairs[:-1], pairs[1:]):
        if low < s < high:
            part = (s - low) / (high - low)
            return between(first, last, part)
    raise AssertionError(s)


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('kind', [frs.Tube, frs.Rod, frs.Rectangle])
def test_a_varying_beam_from_code_has_the_inertia_of_its_sections(kind, seed):
    pairs, length = random_sections(kind, seed), 1.7
    builder = frs.ArmBuilder().add_beam(
        'boom', section=pairs, material=MATERIAL, length=length, twist_coupling=False
    )
    arm = builder.add_joint('hinge', parent='base', child='boom', axis='y').build()
    assert arm.description.warnings == ()
    inertial = arm.description.link('boom').inertial
    mass = 2700 * length * integral(pairs, lambda s, A, *_: A)
    first = 2700 * length**2 * integral(pairs, lambda s, A, *_: A * s)
    across = 2700 * length**3 * integral(pairs, lambda s, A, *_: A * s * s) - first**2 / mass
    Iy, Iz = (2700 * length * integral(pairs, lambda s, A, *I, k=k: I[k]) for k in (0, 1))
    assert inertial.mass == pytest.approx(mass, rel=1e-9)
    assert inertial.centre == pytest.approx([first / mass, 0.0, 0.0], rel=1e-9)
    assert np.diag(inertial.inertia) == pytest.approx(
        [Iy + Iz, across + Iy, across + Iz], rel=1e-9
    )
    # the same in the simulated beam
    beam_of_link = arm.beams[arm.segments['boom'][0]]
    assert beam_of_link.station_mass.sum() == pytest.approx(mass, rel=1e-9)
    assert beam_of_link.section_moments == pytest.approx([Iy + Iz, Iy, Iz], rel=1e-6)


@pytest.mark.parametrize('segments', [1, 3])
def test_a_load_at_the_tip_bends_a_varying_link_by_the_integral_of_the_compliance(segments):
    pairs, length = random_sections(frs.Rectangle, 5), 0.8
    builder = frs.ArmBuilder().add_beam(
        'boom', section=pairs, material=MATERIAL, length=length, segments=segments
    )
    builder.add_rigid('tool', mass=0.2).attach('tool', parent='boom')
    builder.add_flex_sensor('boom', 'gauge', start=0.1, end=0.3, plane='xz')
    arm = builder.add_joint('hinge', parent='base', child='boom', axis='x').build()
    # small enough for linear bending; the links themselves have weight, the difference has none
    tips, gauges = [], []
    for mass in (0.2, 0.21):
        loaded = frs.with_parameters(arm, {'tool.mass': mass})
        q = frs.equilibrium(loaded, np.zeros(1)).q
        tips.append(frs.pose(loaded, q, link='tool')[:3, 3])
        gauges.append(frs.curvatures(loaded, q)['boom/gauge'])
    force = 0.01 * 9.81
    expected = (
        -force * length**3 * integral(pairs, lambda s, A, Iy, Iz: (1 - s) ** 2 / (7e10 * Iy))
    )
    assert (tips[1] - tips[0])[2] == pytest.approx(expected, rel=2e-4)

    def curvature(s, A, Iy, Iz):
        return -force * length * (1 - s) / (7e10 * Iy) if 0.1 < s * length < 0.3 else 0.0

    split = sorted([*pairs, *((x / length, at(pairs, x / length)) for x in (0.1, 0.3))], key=share)
    mean = length * integral(split, curvature) / 0.2
    assert gauges[1] - gauges[0] == pytest.approx(mean, rel=2e-4)


@pytest.mark.parametrize(
    ('sections', 'roots'),
    [
        # Kirchhoff (1879), Mabie & Rogers (1972): wedges and cones, pointed and 2:1
        ([frs.Rectangle(0.02, 0.004), frs.Rectangle(0.02, 0.002)], [3.82378, 18.3173]),
        ([frs.Rectangle(0.02, 0.004), frs.Rectangle(0.02, 1e-6)], [5.31510, 15.20717]),
        ([frs.Rod(0.004), frs.Rod(0.002)], [4.62515, 19.5476]),
        ([frs.Rod(0.004), frs.Rod(4e-8)], [8.71926, 21.1457]),
    ],
    ids=['wedge 2:1', 'wedge', 'cone 2:1', 'cone'],
)
def test_a_taper_has_two_frequencies_of_bessel_functions_by_default(sections, roots):
    builder = frs.ArmBuilder().add_beam(
        'boom', section=[*zip((0.0, 1.0), sections)], material=MATERIAL, length=0.7
    )
    arm = builder.add_joint('clamp', parent='base', child='boom', type='fixed').build()
    A, Iy, _ = moments(sections[0])
    unit = np.sqrt(7e10 * Iy / (2700 * A * 0.7**4)) / (2 * np.pi)
    found = frs.modes(arm, np.zeros(arm.nq)).frequencies
    for root in roots:
        assert np.abs(found / (root * unit) - 1).min() < 1e-3


def test_sections_that_shear_in_one_plane_have_more_shapes_there_by_default():
    section = '<section EIy="20" EIz="30" GJ="10" EA="1e6" kGAy="1e5"/>'
    for modes, bending_y in (
        ('', 4),
        ('<modes torsion="0"/>', 4),
        ('<modes bending_y="2"/>', 2),
        ('<modes segments="2"/>', 2),
        ('<modes boundary="free"/>', 2),
    ):
        arm = frs.load(robot(link(), joint(), flexibility(beam(inside=section + modes))))
        found = arm.description.beam('arm').coordinates
        assert (found['bending_y'], found['bending_z']) == (bending_y, 2)


def test_equal_sections_at_all_stations_are_a_uniform_link():
    uniform, stations = frs.Tube(0.03, 2e-3), (0.0, 0.4, 0.4, 1.0)
    arms = [
        frs.ArmBuilder()
        .add_beam('boom', section=section, material=MATERIAL, length=0.9, bending_y=3, bending_z=2)
        .add_joint('hinge', parent='base', child='boom')
        .build()
        for section in (uniform, [(at, uniform) for at in stations])
    ]
    first, second = (frs.frequencies(arm) for arm in arms)
    # free modes of the uniform link have no rotary inertia
    assert second == pytest.approx(first, rel=1e-3)


def wedge(more=''):
    """Return an arm of one link of 1 m whose height halves; EIz ~ height^3."""
    # moments of the mass distribution 1 - s/2
    mass, first, second = 0.75, 0.5 - 1 / 6, 1 / 3 - 1 / 8
    middle = first / mass
    across = 2.0 * (second / mass - middle**2)
    return robot(
        link(centre=f'{middle!r} 0 0', inertia=(1e-3, across, across)),
        joint(),
        flexibility(
            beam(
                '<rectangle at="0" width="0.02" height="0.01"/>'
                '<rectangle at="1" width="0.01" height="0.01"/>'
                f'<material E="2e11"/><modes torsion="0" bending_y="4"/>{more}'
            )
        ),
    )


def test_check_prints_the_sections_and_the_first_frequency_of_a_taper():
    description = read_text(wedge())
    assert description.warnings == ()
    summary = summarise(description)
    taper = summary['links'][1]['beam']
    # 3.82378: root of Bessel functions for 2:1, see test/elastic/test_varying_beams.py
    mass = 2.0 / 0.75
    rate = 3.82378 * np.sqrt(2e11 * 0.01 * 0.02**3 / 12 / mass)
    assert taper['first_clamped_frequency']['bending_y'] == pytest.approx(
        rate / (2 * np.pi), rel=1e-2
    )
    assert [row['at'] for row in taper['sections']] == [0.0, 1.0]
    assert taper['sections'][1]['EIz'] == pytest.approx(taper['EIz'] / 8)
    assert taper['sections'][1]['mass_per_length'] == pytest.approx(mass / 2)
    text = '\n'.join(as_text(summary))
    assert re.search(r'^    section at 1: EIy 166\.7 N m2, .*1\.333 kg/m$', text, re.MULTILINE)


def test_a_varying_link_is_drawn_with_its_sizes():
    sections = drawn_sections(frs.load(wedge()))
    assert sections['arm'].sizes(np.array([0.0, 0.5, 1.0])) == pytest.approx(
        np.array([[0.02, 0.01], [0.015, 0.01], [0.01, 0.01]])
    )
    # by stiffnesses: a rectangle of EI / EA = size^2 / 12
    stations = ''.join(
        f'<section at="{at}" EIy="{EA / 12e4}" EIz="{EA * size**2 / 12}" GJ="1" EA="{EA}"/>'
        for at, size, EA in ((0, 0.02, 1e6), (0.5, 0.02, 1e6), (0.5, 0.01, 1e6), (1, 0.01, 1e6))
    )
    drawn = drawn_sections(frs.load(robot(link(), joint(), flexibility(beam(stations)))))['arm']
    assert drawn.sizes(np.array([0.2, 0.8])) == pytest.approx(
        np.array([[0.02, 0.01], [0.01, 0.01]]), rel=1e-6
    )


SHEARING = robot(
    link(),
    joint(),
    flexibility(
        beam(
            '<rod diameter="0.02"/><material E="2e11" G="8e10" shear_factor="0.9"/>'
            '<modes torsion="0"/>'
        )
    ),
)


@pytest.mark.parametrize(('text', 'verb'), [(wedge(), 'varies'), (SHEARING, 'shears')])
def test_formulations_of_papers_refuse_a_section_that_varies_or_shears(text, verb):
    assert refusal(SettingError, make, 'wrench_dae', frs.load(text)) == (
        "formulation 'wrench_dae' has uniform beams that do not shear, and the section of link "
        f'"arm" {verb}: use Simulation'
    )


def test_a_fit_writes_the_modulus_of_a_varying_outline_and_refuses_varying_stiffnesses():
    before = read_text(wedge())
    after = with_parameters(before, {'arm.stiffness': 1.2})
    text = rewritten(before.text, edits_of(before, after, 'arm.stiffness'), {})
    assert read_text(text).beam('arm').EIz == pytest.approx(1.2 * before.beam('arm').EIz)
    sections = '<section at="0" EIy="9" EIz="9" GJ="9"/><section at="1" EIy="3" EIz="3" GJ="3"/>'
    before = read_text(robot(link(), joint(), flexibility(beam(sections))))
    after = with_parameters(before, {'arm.EIz': 9.9})
    assert refusal(UsageError, edits_of, before, after, 'arm.EIz') == (
        'arm.EIz cannot be written: the <section> of "arm" varies. Multiply EIz of all its '
        'stations by 1.1.'
    )


KINDS = 'a Rectangle, a Tube, a Rod, a SectionStiffness or a CompositeSection'
CONTRADICTIONS = {
    'section of link "x": give its stations in order from at = 0 to at = 1': [(0, frs.Rod(0.01))],
    'section = (1, Tube(outer=0.02, wall=0.001)) of link "x" must be a pair (at, section), all of '
    f'one kind: {KINDS}': [(0, frs.Rod(0.01)), (1, frs.Tube(0.02, 1e-3))],
    'at = -1 of link "x" must be a finite number >= 0': [(0, frs.Rod(0.01)), (-1, frs.Rod(0.01))],
}


@pytest.mark.parametrize(('message', 'section'), CONTRADICTIONS.items())
def test_contradicting_stations_from_code_are_one_line(message, section):
    call = frs.ArmBuilder().add_beam
    assert refusal(SettingError, call, 'x', length=1.0, section=section, material='steel') == (
        message
    )


@pytest.mark.slow
def test_a_varying_arm_keeps_its_energy():
    text = frs.robots()['tapered_boom'].read_text()
    arm = frs.load(
        text.replace('ratio="0.01"', 'ratio="0"').replace('damping="20"', 'damping="0"')
    )
    sim = frs.Simulation(arm)
    sim.set_state(q=0.05 * np.sin(np.arange(arm.nq)), v=0.1 * np.cos(np.arange(arm.nv)))
    kinetic = sim.energy().kinetic
    sim.step(1000)
    assert abs(sim.energy().balance) < 1e-9 * kinetic
