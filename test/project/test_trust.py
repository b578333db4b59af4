"""Trust figures: every check holds in a few cases, detects an error, and is on the page."""

import json

import numpy as np
import pytest
from project_files import ROOT
from random_cases import is_long

import flex_robot_sim as frs
from flex_robot_sim.cli import main

pytest.importorskip('mcap')
pytest.importorskip('mujoco')
pytest.importorskip('pinocchio')

pytestmark = pytest.mark.slow
PAGE = ROOT / 'docs/trust.md'


@pytest.fixture(scope='module')
def trust():
    """Package of the checks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        from benchmarks import trust

        yield trust


def names():
    """Return the names of the checks, as on the page."""
    return [
        line.split('`')[1] for line in PAGE.read_text('utf-8').splitlines() if line[:3] == '| `'
    ]


@pytest.mark.long(after=10)
@pytest.mark.parametrize('name', names())
def test_the_check_holds(trust, name):
    if name.startswith('public_') and not trust.has_public_robots():
        pytest.skip('no example-robot-data')
    seed = 1_000_000 if is_long() else trust.SEED
    figure = trust.measure(quick=not is_long(), only=name, seed=seed)['trust'][name]
    assert figure['holds'], figure
    assert all(figure['checked'].values())


def test_the_page_has_a_passing_row_for_every_check(trust):
    from benchmarks.trust.table import problems

    assert problems(PAGE.read_text('utf-8'), trust.checks()) == []


def test_a_wrong_result_fails(trust, monkeypatch, capsys):
    exact = frs.mass_matrix
    monkeypatch.setattr(frs, 'mass_matrix', lambda arm, q: (1 + 1e-6) * exact(arm, q))
    words = ['benchmark', 'trust', 'rigid_mass_matrix', '--count', '2', '--json']
    assert main([*words, '--seed', '7']) == 1
    figure = json.loads(capsys.readouterr().out)['trust']['rigid_mass_matrix']
    assert not figure['holds'] and figure['error'] == pytest.approx(1e-6, rel=0.01)
    assert figure['seed'] == 7 and figure['worst'] in (7, 8) and figure['cases'] == 2
    assert main(words[:-1]) == 1
    assert 'FAILS: --seed' in capsys.readouterr().out


def test_a_number_that_is_not_finite_is_no_small_error():
    from benchmarks.trust.check import Case, Check, run

    check = Check('x', 1.0, 1, 1, lambda seed: Case(np.nan if seed == 3 else 0.5, {'cases': 1}))
    figure = run(check, 2, 3, '2026-01-01')
    assert figure.error == np.inf and figure.worst == 3 and not figure.holds


def test_a_row_goes_into_its_page_and_the_others_stay(trust, tmp_path, capsys):
    from benchmarks.trust.table import problems, read_rows

    path = tmp_path / 'page.md'
    path.write_text(PAGE.read_text('utf-8'))
    before = read_rows(path.read_text('utf-8'))
    words = ['benchmark', 'trust', 'frames', '--seed', '5', '--count', '1', '--page', str(path)]
    assert main(words) == 0
    after = read_rows(path.read_text('utf-8'))
    assert [*after] == [*before]
    assert after.pop('frames') != before.pop('frames') and after == before
    lines = problems(path.read_text('utf-8'), trust.checks(), version='99.0')
    assert f'frames: has 1 cases instead of {trust.checks()["frames"].page_cases}' in lines
    assert f'frames: is of version {frs.__version__}' in lines


@pytest.mark.parametrize(
    'words, message',
    [
        (['trust', 'no_check'], 'there is no check "no_check". Known: '),
        (['step_time', '--seed', '1'], 'CHECK, --seed and --count belong to the part trust.'),
        (['trust', '--count', '0'], '--count must be at least 1'),
    ],
)
def test_wrong_use_is_one_line(words, message, capsys):
    assert main(['benchmark', *words]) == 2
    errors = capsys.readouterr().err
    assert message in errors and errors.count('\n') == 1
