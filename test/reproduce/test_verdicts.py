"""Verdicts of all experiments in full length; all tests here share one run."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from project_files import ROOT

from flex_robot_sim.cli.reproduce_together import reproduce_together
from flex_robot_sim.reproduce import EXPERIMENTS, module_of
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.pages import COMPARISONS, PAGES
from flex_robot_sim.reproduce.sensitivity import changed_verdicts, scaled_options

pytestmark = pytest.mark.long
A, D, N = 'agrees', 'differs', 'not comparable'
# {experiment: {beginning of the comparison: verdict}}; each beginning is unique
VERDICTS = {
    'spin_up': {
        'first frequency': D,
        'zero order against high order at 0.6': D,
        'zero order against high order at 2': A,
        'the same difference': A,
        'zero order at 3': A,
        'high order at 3': A,
        'zero order at 8': A,
        'high order at 8': A,
        'zero order at 10': A,
        'high order at 10': A,
        'vibration after the spin-up': D,
        'curves of': N,
    },
    'canadarm2': {
        'twist of joint 1': A,
        'u_x of': D,
        'v_y of the upper boom, least': D,
        'w_z of': D,
        'theta_x of': D,
        'v_y of the upper boom, zero order': A,
        'bending stiffness': A,
        'axial stiffness': D,
        'joint angles': N,
        'the falling arm': N,
    },
    'ella': {
        'theta_y1': A,
        'theta_z1': A,
        'theta_z2': A,
        'dominant frequency of the displacement of the endpoint, x': D,
        'dominant frequency of the displacement of the endpoint, y': D,
        'dominant frequency of the displacement of the endpoint, z': D,
        'its secondary component': A,
        'largest displacement': A,
        'force at the base': A,
        'forward Euler': A,
        'tip deflection by forward Euler': D,
        'longest step': D,
        'start of the tip': N,
        'measured joints': N,
    },
    'rcm': {
        'poses in three ways': A,
        'Jacobians in four forms': A,
        'joint rates': A,
        'axes of joints 4, 5': A,
        'remote centre while': A,
        'geometry of the mechanism': N,
    },
    'rig': {
        'prismatic joint in steady state': A,
        'revolute joint in steady state': A,
        'strip at 0.4 L': D,
        'tip of the strip': D,
        'frequency of the strip': A,
        'a real bench': N,
        'values of': N,
    },
    'element_sum_1': {
        'slide, proposed method with 4 ': A,
        'slide, proposed method with 32': A,
        'revolute joint, proposed method with 4 ': D,
        'revolute joint, proposed method with 32': A,
        'tip, proposed method with 4 ': D,
        'tip, proposed method with 32': A,
        'highest rate': D,
        'mass that the force': A,
        'values of': N,
    },
    'element_sum_2': {
        'joint 1, proposed method with 4 ': D,
        'joint 1, proposed method with 32': A,
        'joint 2, proposed method with 4 ': A,
        'joint 2, proposed method with 32': A,
        'tip, proposed method with 4 ': D,
        'tip, proposed method with 32': A,
        'slope, proposed method with 4 ': D,
        'slope, proposed method with 32': A,
        'highest rate': D,
        'payload, by the inertia': A,
        'values of': N,
    },
    'dual_screw': {
        'joint angles': A,
        'joint rates': A,
        'bending in the xy planes, coordinates': A,
        'bending in the xy planes, rates': A,
        'torsion, coordinates': A,
        'torsion, rates': A,
        'bending in the xz planes, coordinates': A,
        'bending in the xz planes, rates': A,
        'torques': A,
        'torsion before 3 s': A,
        'bending out of plane before 3 s': A,
        'CPU time, nonlinear': N,
        'CPU time, linearised': N,
        'CPU time, linearised, generated': N,
        'values of the curves': N,
    },
}
# a parameter of each robot, a factor that changes a verdict, and the shortest run that shows it
SENSITIVE_PARAMETERS = {
    'spin_up': ('beam.EIz', 1.2, None),  # 3 rad/s is below its first frequency
    'canadarm2': ('upper_boom.EIz', 1.2, 0.02),  # section 4.2 prints it
    'ella': ('payload.mass', 1.2, None),  # the base carries it
    'dual_screw': ('link_3.GJ', 1.2, None),  # only in the linearised model
    'rcm': ('joint_5.origin_z', 1.2, 1.0),  # its axis meets the other axes elsewhere
    'rig': ('strip.stiffness', 1.2, None),  # it vibrates faster than on the bench
    'element_sum_1': ('link_2.mass', 1.2, 0.01),  # section 3.1 prints it
    'element_sum_2': ('payload.mass', 1.2, 0.01),  # section 3.2 prints it
}


@pytest.fixture(scope='module')
def full(tmp_path_factory):
    """Return {experiment: summary} of all experiments in full length."""
    folder = tmp_path_factory.mktemp('reproduced')
    return {
        facts['experiment']: facts
        for facts in reproduce_together(
            EXPERIMENTS, folder, lambda name, fraction: None, ['--no-formulations']
        )
    }


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_every_verdict_agrees_with_the_expected_one(full, name):
    rows = full[name]['comparisons']
    expected = VERDICTS[name]
    assert len(rows) == len(expected)
    assert [(row['what'], row['verdict']) for row in rows] == [
        (row['what'], verdict) for row, verdict in zip(rows, expected.values())
    ]
    assert all(row['what'].startswith(words) for row, words in zip(rows, expected))


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_a_verdict_has_a_place_bounds_and_possibly_a_reason(full, name):
    for row in full[name]['comparisons']:
        assert row['place'] and row['paper'] not in ('', None)
        if row['verdict'] == N:
            assert row['reason']
        else:
            assert row['tolerance'] and (row['lower'], row['upper']) != (None, None)
    assert Counter(row['what'] for row in full[name]['comparisons']).most_common(1)[0][1] == 1


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_the_page_has_the_verdicts_of_the_run(full, name):
    page = (ROOT / 'docs/papers' / PAGES[name]).read_text(encoding='utf-8')
    table = page.split(f'<!-- {COMPARISONS} of {name} -->')[1].split('<!-- end -->')[0]
    cells = [
        line.strip('|').split(' | ')
        for line in table.splitlines()
        if line.startswith('|') and '*' in line
    ]
    assert [(row[0].strip(), row[1], re.findall(r'\*(.+?)\*', row[-1])[0]) for row in cells] == [
        (row['place'], row['what'], row['verdict']) for row in full[name]['comparisons']
    ]


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_figures_have_numbers_of_the_paper_or_a_description(full, name):
    stems = {
        path.rsplit('/', 1)[1].removeprefix(f'{name}_').rsplit('.', 1)[0]
        for path in full[name]['figures']
    }
    named_stems = {stem for stem in stems if not stem.startswith('figure')}
    assert named_stems <= {'beam_of_kane', 'schemes'} and stems - named_stems


@pytest.mark.parametrize('name', SENSITIVE_PARAMETERS)
def test_a_parameter_error_of_20_percent_changes_a_verdict(name):
    number, factor, seconds = SENSITIVE_PARAMETERS[name]
    module = module_of(name)
    rows = module.run(lambda fraction: None, Options(seconds, runs_formulations=False)).comparisons
    changes = changed_verdicts(
        module, replace(scaled_options(module)[number](factor), seconds=seconds), rows
    )
    assert changes and all(old != new and new != N for _, old, new in changes)
