"""Shortened experiments of the papers: files, summaries and results."""

import json

import numpy as np
import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.cli.reproduce_together import ORDER, reproduce_together
from flex_robot_sim.reproduce import EXPERIMENTS, reproduce
from flex_robot_sim.reproduce.courses import PAPER_FORMULATIONS
from flex_robot_sim.reproduce.simulated_motion import integrate
from flex_robot_sim.reproduce.spin_up import hub_motion, kane_text, solve_linear_model
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.plots import Chart, Curve, draw_charts, write_charts

pytestmark = pytest.mark.slow

KEYS = {
    *('experiment', 'variant', 'comparisons', 'findings', 'effects', 'figures', 'formulations'),
    *('largest_disagreement', 'disagreement_of', 'wall_s', 'cpu_s', 'numbers', 'chosen'),
}
SHORT = {
    'dual_screw': 0.02,
    'element_sum_1': 0.05,
    'element_sum_2': 0.05,
    'rig': 0.5,
    'ella': 0.03,
    'rcm': 1.0,
    'spin_up': 1.0,
    'canadarm2': 0.02,
}


def run(name, folder, capsys):
    """Return the JSON output of `flexsim reproduce`."""
    words = '--output', str(folder), '--seconds', str(SHORT[name]), '--json'
    assert main(['reproduce', name, *words]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.long(after=2)
@pytest.mark.parametrize('name', SHORT)
def test_an_experiment_writes_figures_and_returns_all_keys(name, tmp_path, capsys):
    facts = run(name, tmp_path, capsys)
    assert set(facts) == KEYS
    assert facts['experiment'] == name
    assert facts['comparisons'] and facts['chosen'] and not facts['findings']
    assert sorted(facts['figures']) == sorted(map(str, tmp_path.iterdir()))
    for path in map(str, facts['figures']):
        start = b'\x89PNG' if path.endswith('png') else b'<?xml'
        with open(path, 'rb') as file:
            assert file.read(5).startswith(start)
    assert isinstance(facts['largest_disagreement'], float) and facts['wall_s'] > 0.0
    results = facts['formulations']
    assert {result['ran'] for result in results.values()} == {'through'}
    assert set(results) == set(PAPER_FORMULATIONS)
    for formulation in ('wrench_dae', 'stiffened'):
        # both are equivalent to the recursion
        assert results[formulation]['accelerations'] < 1e-9
        # the recursion corrects its energy, of the order of h^3 in a step (T44), and its dry
        # friction sticks (T33); formulations in plain Python smooth the friction
        assert results[formulation]['trajectories'] < (0.03 if name == 'rig' else 1e-3)
    # 64 elements per beam, in motions with an abrupt start
    assert results['element_sum']['accelerations'] < 0.1
    assert facts['largest_disagreement'] >= results['element_sum']['trajectories']


@pytest.mark.long
def test_parallel_experiments_give_the_results_of_single_runs(tmp_path):
    fractions: dict = {}
    results = {
        facts['experiment']: facts
        for facts in reproduce_together(
            ['rcm', 'spin_up'],
            tmp_path,
            lambda name, fraction: fractions.setdefault(name, []).append(fraction),
            ['--seconds', '0.2'],
        )
    }
    assert set(results) == set(fractions) == {'rcm', 'spin_up'}
    for name, facts in results.items():
        assert set(facts) == KEYS
        assert facts['cpu_s'] > 0.0
        assert fractions[name] == sorted(fractions[name]) and 0.0 <= fractions[name][-1] <= 1.0
    assert len(list(tmp_path.iterdir())) == 2 * (1 + 4)


def test_an_error_of_one_experiment_ends_the_command(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(UsageError) as caught:
        list(reproduce_together(['rcm', 'rig'], tmp_path / 'file', lambda name, fraction: None))
    assert str(caught.value) == (
        f'{tmp_path / "file"}: File exists. Name a folder that can be written.'
    )


def test_the_queue_and_the_short_runs_have_all_experiments():
    assert sorted(ORDER) == sorted(EXPERIMENTS)
    assert set(SHORT) == set(EXPERIMENTS)


def test_the_linear_model_of_a_beam_at_rest_keeps_its_shape():
    from flex_robot_sim.model.assembly import load

    beam = next(iter(load('spin_up_8m').beams.values()))
    times, lags = solve_linear_model(beam, 0.0, 5.0, True)
    assert times[-1] == 5.0 and not lags.any()


@pytest.mark.parametrize('w0, max_lag', [(0.6, 0.0855), (2.0, 0.2801), (3.0, 0.4111)])
def test_first_order_has_the_converged_lag(w0, max_lag):
    from flex_robot_sim.model.assembly import load

    beam = next(iter(load('spin_up_8m').beams.values()))
    _, lags = solve_linear_model(beam, w0, 9.0, True)
    # within 0.5 %: three shapes of a beam in one segment, see test_spin_up.py
    assert lags.max() == pytest.approx(max_lag, rel=5e-3)


def test_the_hub_accelerates_as_in_the_paper():
    t = np.linspace(0.0, 16.0, 200)
    rates, accelerations = np.array([hub_motion(time, 3.0) for time in t]).T
    assert rates[0] == 0.0 and rates[-1] == 3.0
    # central differences on a grid of 0.08 s
    np.testing.assert_allclose(np.gradient(rates, t)[1:-1], accelerations[1:-1], atol=2e-4)


def test_the_beam_of_kane_has_its_length_and_mass():
    from flex_robot_sim.model.assembly import load

    arm = load(kane_text())
    beams = list(arm.beams.values())
    assert sum(beam.length for beam in beams) == pytest.approx(10.0)
    assert beams[0].section.mass_per_length == pytest.approx(1.2)
    assert beams[0].section.EIz == 1.4e4


@pytest.mark.parametrize('scheme, order', [('rk4', 4), ('forward_euler', 1)])
def test_integration_has_its_order_of_convergence(scheme, order):
    errors = []
    for step in (0.02, 0.01):
        motion = integrate(
            lambda q, qd, force: force,
            lambda q, qd, t: -q,
            np.array([1.0]),
            np.array([0.0]),
            step,
            1.0,
            scheme=scheme,
        )
        errors.append(abs(motion.q[-1, 0] - np.cos(1.0)))
    # the next order is still visible at these steps
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_an_unbounded_motion_ends_early():
    motion = integrate(
        lambda q, qd, force: force,
        lambda q, qd, t: 1e6 * q,
        np.array([1.0]),
        np.array([0.0]),
        0.01,
        10.0,
    )
    assert motion.time[-1] < 1.0 and np.isfinite(motion.q).all()


def test_an_unknown_experiment_is_a_one_line_error(tmp_path, capsys):
    assert main(['reproduce', 'nonsense', '--output', str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f'flexsim reproduce: no experiment "nonsense". Known: '
        f'{", ".join([*EXPERIMENTS, "all"])}.\n'
    )


def test_a_folder_that_cannot_be_created_is_a_one_line_error(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(UsageError) as caught:
        reproduce('spin_up', tmp_path / 'file')
    assert str(caught.value) == (
        f'{tmp_path / "file"}: File exists. Name a folder that can be written.'
    )


def test_seconds_must_be_positive(capsys):
    assert main(['reproduce', 'ella', '--seconds', '0']) == 2
    assert capsys.readouterr().err == (
        'flexsim reproduce: --seconds must be above 0 and below 1000.\n'
    )


def test_charts_have_titles_labels_and_legends(tmp_path):
    time = np.linspace(0.0, 1.0, 20)
    charts = (
        Chart('Fig. 1: one', 'time [s]', 'a [m]', (Curve('only', time, time),)),
        Chart(
            'Fig. 2: two',
            'x [m]',
            'y [m]',
            (Curve('left', time, time), Curve('right', time, -time, 1, 1)),
            has_equal_scales=True,
        ),
        Chart('Fig. 3: three', 'time [s]', 'b [m]', (Curve('only', time, time),)),
    )
    axes = draw_charts('all', charts).axes
    assert [panel.get_title(loc='left') for panel in axes[:3]] == [chart.title for chart in charts]
    assert [panel.get_xlabel() for panel in axes[:3]] == [chart.across for chart in charts]
    assert axes[0].get_legend() is None
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ['left', 'right']
    assert axes[1].get_aspect() == 1.0
    assert not axes[3].axison
    write_charts(tmp_path / 'all.svg', 'all', charts)
    assert (tmp_path / 'all.svg').stat().st_size > 1000
