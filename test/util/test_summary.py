"""Representations of large objects in an interpreter and a notebook have a few lines."""

import copy
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from arms import Z, beam, flexibility, joint, link, robot

import flex_robot_sim as frs

MOST_LINES = 20
MOST_LETTERS = 190


def long_robot(count=60):
    """Return a chain of many links with long names, half of which bend."""
    names = [f'link_with_a_long_name_{k}' for k in range(count)]
    parts = [
        part
        for k, name in enumerate(names)
        for part in (
            joint(f'joint_{k}', 'continuous', names[k - 1] if k else 'base', name, Z),
            link(name),
        )
    ]
    return robot(
        *parts,
        flexibility(
            *(
                beam('<section EIy="60" EIz="90"/><modes torsion="0"/>', name=name)
                for name in names[::2]
            )
        ),
    )


@pytest.fixture(scope='module')
def objects():
    """Return public objects of a small and of a large arm, by name."""
    found = {}
    for size, arm in (('small', frs.load('two_link')), ('large', frs.load(long_robot()))):
        sim, batch = frs.Simulation(arm), frs.Batch(arm, 3)
        sim.prescribe(arm.joint_names[0], lambda time: (1.0, 0.0))
        for moving in (sim, batch):
            moving.push([*arm.frames][-1], (0.0, 0.1, 0.0))
            moving.set_payload([*arm.frames][-1], 0.1)
        assert sim.reports
        locked = frs.modes(arm, np.zeros(arm.size))
        model = frs.linearise(arm, np.zeros(arm.size))
        found.update(
            {
                f'{name} {size}': thing
                for name, thing in {
                    'arm': arm,
                    'description': arm.description,
                    'simulation': sim,
                    'batch': batch,
                    'state': batch.save_state(),
                    'energies': batch.energy(),
                    'energy': sim.energy(),
                    'modes': locked,
                    'model': model,
                    'deflection': sim.deflection,
                    'equilibrium': frs.Equilibrium(*np.zeros((3, arm.size))),
                    'beam': next(iter(arm.beams.values())),
                    'arrays': arm.arrays,
                    'settings': sim.settings,
                    'manoeuvre': frs.sweeps.Manoeuvre(),
                }.items()
            }
        )
    return found


@pytest.mark.slow
def test_a_text_has_twenty_lines_at_most(objects):
    for name, thing in objects.items():
        lines = repr(thing).splitlines()
        assert len(lines) <= MOST_LINES and max(map(len, lines)) <= 2 * MOST_LETTERS, name
        assert repr(thing) == str(thing)


def test_a_notebook_shows_the_same_words(objects):
    shown = 0
    for thing in objects.values():
        if not hasattr(thing, '_repr_html_'):
            continue
        shown += 1
        page = ElementTree.fromstring(thing._repr_html_())
        assert ' '.join(' '.join(page.itertext()).split()) == ' '.join(repr(thing).split())
    assert shown == 2 * 10


def test_the_text_of_an_arm_says_what_it_is():
    arm = frs.load('two_link', gravity=(0.0, 0.0, -1.62))
    lines = repr(arm).splitlines()
    assert lines[0] == f'ArmModel of "two_link": 3 joints, {arm.size} coordinates'
    assert any(line.split() == ['joints', 'waist,', 'shoulder,', 'elbow'] for line in lines)
    assert any(line.split() == ['gravity', '0,', '0,', '-1.62', 'm/s2'] for line in lines)
    # the description of a flexible link also has the mass of its beam
    masses = [
        link.inertial.mass for link in arm.description.links[1:] if link.inertial and not link.beam
    ]
    masses += [
        link.beam.mass_per_length * link.beam.length for link in arm.description.links if link.beam
    ]
    shown = next(float(line.split()[1]) for line in lines if line.split()[0] == 'mass')
    assert shown == pytest.approx(sum(masses), rel=1e-3)  # four digits are shown


def test_the_text_of_a_simulation_says_where_it_is():
    sim = frs.Simulation(frs.load('two_link'))
    sim.set_state(q=[0.25, 0.5, -0.75])
    sim.step(3)
    sim.push('tool', (1.0, 0.0, 0.0))
    text = repr(sim)
    assert text.startswith('Simulation of "two_link" at 0.003 s\n')
    assert 'waist 0.25 rad, shoulder 0.5' in text and 'pushes' in text


def test_an_object_without_rows_of_its_own_shows_its_fields():
    text = repr(frs.Equilibrium(np.arange(30.0), np.zeros(30), np.array([0.25])))
    assert text == (
        'Equilibrium\n'
        '  q       0, 1, 2, 3, 4, 5, 6, 7 and 22 more\n'
        '  v       0, 0, 0, 0, 0, 0, 0, 0 and 22 more\n'
        '  effort  0.25'
    )


def test_names_of_a_robot_cannot_write_into_a_notebook():
    arm = copy.copy(frs.load('single_link'))
    evil: Any = replace(arm, description=replace(arm.description, name='<script>&\n"'))
    assert '<script>' not in evil._repr_html_() and '&lt;script&gt;' in evil._repr_html_()
    assert len(repr(evil).splitlines()) == len(repr(arm).splitlines())
