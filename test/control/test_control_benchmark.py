"""`flexsim benchmark control` in its smallest form: its keys and its targets."""

import json
import shutil

import pytest

from flex_robot_sim import cli
from flex_robot_sim.util.share import share_folder

needs_benchmarks = pytest.mark.skipif(
    not (share_folder() / 'benchmarks').is_dir(),
    reason='the benchmarks are part of the source tree only',
)
pytestmark = [pytest.mark.slow, needs_benchmarks]


@pytest.fixture
def benchmark(monkeypatch):
    pytest.importorskip('mujoco')
    monkeypatch.syspath_prepend(str(share_folder()))
    from benchmarks import control

    return control


def test_the_command_prints_the_figures_of_each_key(benchmark, monkeypatch, capsys):
    few = ('linear_residual', 'moving_residual', 'shaper_tick_us')
    monkeypatch.setattr(benchmark, 'PARTS', {key: benchmark.PARTS[key] for key in few})
    assert cli.main(['benchmark', 'control', '--quick', '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['linear_residual']['zeros'] <= 1e-6
    assert found['linear_residual']['beyond_tolerance'] <= 1e-3
    assert found['moving_residual']['ei2'] <= 0.05 and found['moving_residual']['end'] <= 1e-12
    assert set(few) <= set(found) and found['shaper_tick_us']['median'] > 0.0


@pytest.mark.long
def test_feedback_and_learning_keep_their_targets(benchmark):
    learnt = benchmark.PARTS['learning'][0](True)
    assert all(row['after 5'] <= 1 / 10 and row['after 15'] <= 1 / 30 for row in learnt.values())
    settled = benchmark.PARTS['lqg_settling_periods'][0](True)
    assert settled and dict(benchmark.PARTS['lqg_settling_periods'][1](settled))


@pytest.mark.long
def test_the_true_tip_of_the_bench_is_left_with_little(benchmark):
    """Profiles through the bridge on a pseudo terminal, and set points on the wire."""
    found = benchmark.PARTS['bench_residual'][0](True)
    for how in ('by_profile', 'by_set_points'):
        assert 0.0 < found[how]['shaped'] <= 0.1 and 0.0 < found[how]['planned'] <= 0.1
    lines = dict(benchmark.PARTS['bench_residual'][1](found))
    assert len(lines) == 5


@pytest.mark.long
def test_moves_say_which_shaper_was_recommended(benchmark):
    """One move of one robot, with the shaper that the rule of `flexsim shape` chooses."""
    rows = benchmark.residuals(1, robots=('ella',))
    found = benchmark._summed(rows, False)
    assert found['shapers'] == {'ella': benchmark.recommended('ella').name}
    assert found['recommended']['worst'] <= 0.05 < found['zv, one frequency']['worst']
    assert 'recommended' in dict(benchmark._moves_text(found))


@pytest.mark.long
@pytest.mark.skipif(not shutil.which('g++'), reason='sudo apt install g++')
def test_the_core_moves_the_arms_as_the_library(benchmark):
    found = benchmark.PARTS['core_residual'][0](True)
    assert found['set_points'] <= 1e-12
    # at a reach of 10 m, over an unshaped vibration of 1 mm
    assert found['figures'] <= 1e-8
    assert dict(benchmark.PARTS['core_residual'][1](found))


@pytest.mark.long(after=1)
@pytest.mark.parametrize('row', range(3))
def test_every_turn_of_the_bench_can_be_planned(benchmark, row):
    # forty samples of a path miss a velocity peak of its slow screw
    start, end, duration = benchmark.bench_moves.MOVES[row]
    angles = benchmark.bench_moves.turns(start, end, duration)['planned']
    assert angles[0] == start and angles[-1] == pytest.approx(end, abs=1e-9)


@pytest.mark.long
def test_modes_are_found_in_logs_with_the_move(benchmark):
    pytest.importorskip('mujoco')
    found = benchmark.PARTS['logs_whole'][0](True)
    assert found['found'] == found['logs'] == 4
    assert found['second_found'] == found['second_modes']
    assert dict(benchmark.PARTS['logs_whole'][1](found))


@pytest.mark.long
def test_arms_with_hidden_stiffness_are_tuned_by_logs(benchmark):
    pytest.importorskip('mujoco')
    found = benchmark.PARTS['tune_hidden_arms'][0](True)
    assert found['frequency_error'] <= 0.02
    assert found['left'] <= 0.1
    assert dict(benchmark.PARTS['tune_hidden_arms'][1](found))


@pytest.mark.long
def test_standard_deviations_of_modes_are_those_of_their_errors(benchmark):
    found = benchmark.PARTS['deviations_covered'][0](True)
    assert found['with_modes'] >= found['logs'] - 1 and found['false_modes'] <= 1
    # 95 % of about 35; fewer than 85 % have a probability of 2 %
    assert found['frequencies_within_2'] >= 0.85 and found['ratios_within_2'] >= 0.85
    assert dict(benchmark.PARTS['deviations_covered'][1](found))


@pytest.mark.long
def test_shapers_for_sweeps_leave_no_more_than_they_claim(benchmark):
    found = benchmark.PARTS['sweep_left'][0](True)
    assert found['both_modes'] == found['sweeps'] == 4
    assert found['worst_above_claim'] <= 0.0
    assert dict(benchmark.PARTS['sweep_left'][1](found))


@pytest.mark.long
def test_shapers_for_logs_leave_no_more_than_the_stated_interval(benchmark):
    found = benchmark.PARTS['found_above_claim'][0](True)
    assert found['cases'] >= 3 and found['above'] == 0.0
    assert dict(benchmark.PARTS['found_above_claim'][1](found))


@pytest.mark.long
def test_a_fit_of_modes_leaves_less_of_a_sweep_than_a_spectrum(benchmark):
    found = benchmark.PARTS['klipper_method'][0](True)
    assert found['fit_left']['worst'] < found['spectrum_left']['worst']
    assert dict(benchmark.PARTS['klipper_method'][1](found))


@pytest.mark.long
def test_plans_and_learning_keep_their_targets_with_other_frequencies(benchmark):
    planned = benchmark.PARTS['plan_10_percent_off'][0](True)
    assert planned['median'] <= planned['worst'] <= 0.15
    assert planned['planned without uncertainty: least'] > planned['worst']
    assert dict(benchmark.PARTS['plan_10_percent_off'][1](planned))
    learnt = benchmark.PARTS['learning_20_percent_off'][0](True)
    assert all(row['largest'] == 1.0 and row['last'] < 0.15 for row in learnt.values())


@pytest.mark.long
def test_feedback_reaches_both_planes_and_finds_an_unknown_payload(benchmark):
    planes = benchmark.PARTS['two_planes'][0](True)
    for kind in ('strain', 'ppf'):
        row = planes[f'{kind}, modes = None']
        assert max(row['sideways'], row['up and down']) < 0.03 and row['warning'] == 'none'
        assert 'keeps' in planes[f'{kind}, modes = 1']['warning']
    (row,) = benchmark.PARTS['unknown_payload'][0](True).values()
    assert row['warns'] and abs(row['payload [kg]'] / 0.3 - 1) < 0.05
    assert row['periods when redesigned'] < 0.3 * row['periods to 2 %']


@pytest.mark.long
def test_the_recommended_shaper_rests_first_on_other_plants(benchmark):
    pytest.importorskip('mujoco')
    found = benchmark.PARTS['settles_first'][0](True)
    assert found['moves'] == 3 and found['largest_delay'] <= 0.1
    assert dict(benchmark.PARTS['settles_first'][1](found))
