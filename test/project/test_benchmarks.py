"""Every module of benchmarks/ in its smallest form: it runs, and what it prints makes sense."""

import importlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from closed_loops import TREES
from node_processes import PATIENCE
from project_files import ROOT
from public_robots import INSTALL, ROBOTS

from flex_robot_sim import read_description
from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.start import run_module

pytestmark = pytest.mark.slow

ENGINES = {
    'chopped_mujoco': 'mujoco',
    'chopped_pinocchio': 'pinocchio',
    'beams_exudyn': 'exudyn',
    'loops': 'pinocchio',
    'links': 'exudyn',
    'bridge_load': 'rclpy',
    'demo_start': 'rclpy',
    'view_load': 'viser',
}
# run by others that are run here
HELPERS = ('chopped', 'limits', 'precision', 'shipped_trees', 'swing', 'timing')
# what is run by a test of its own, and where
ELSEWHERE = {
    'bench_moves': 'control/test_control_benchmark.py',
    'control': 'control/test_control_benchmark.py',
    'core_moves': 'control/test_control_benchmark.py',
    'control_feedback': 'control/test_control_benchmark.py',
    'drift_watch': 'identification/test_drift_watch.py',
    'identification': 'identification/test_identify_benchmark.py',
    'identify': 'identification/test_identify_benchmark.py',
    'found_above_claim': 'control/test_control_benchmark.py',
    'feedback_claims': 'control/test_control_benchmark.py',
    'klipper_method': 'control/test_control_benchmark.py',
    'learning_sensitivity': 'control/test_control_benchmark.py',
    'logs_whole': 'control/test_control_benchmark.py',
    'plan_sensitivity': 'control/test_control_benchmark.py',
    'settles_first': 'control/test_control_benchmark.py',
    'settling_plants': 'control/test_control_benchmark.py',
    'modal_logs': 'control/test_control_benchmark.py',
    'stop_logs': 'control/test_control_benchmark.py',
    'joining_listeners': 'nodes/test_joining_listeners.py',
    'page': 'project/test_benchmark_page.py',
    'real_arm': 'identification/test_real_logs.py',
    'shaper_code_time': 'export/test_generated_code.py',
    'shaped_moves': 'control/test_control_benchmark.py',
    'hidden_arm': 'control/test_control_benchmark.py',
    'tune_hidden_arms': 'control/test_control_benchmark.py',
    'trust': 'project/test_trust.py',
}


@pytest.fixture
def benchmark(monkeypatch):
    """Return a function that imports a module of benchmarks/, or skips where its engine lacks."""
    monkeypatch.syspath_prepend(str(ROOT))

    def find(name):
        if name in ENGINES:
            pytest.importorskip(ENGINES[name])
        return importlib.import_module(f'benchmarks.{name}')

    return find


def test_every_module_is_run_by_a_test():
    modules = {path.stem for path in (ROOT / 'benchmarks').glob('*.py')} - {'__init__'}
    modules |= {path.parent.name for path in (ROOT / 'benchmarks').glob('*/__init__.py')}
    text = (ROOT / 'test/project/test_benchmarks.py').read_text('utf-8')
    run_here = {name for name in modules if f"benchmark('{name}')" in text}
    assert modules == run_here | {*HELPERS} | {*ELSEWHERE} | {'bridge_load', 'view_load'}
    assert all((ROOT / 'test' / path).is_file() for path in ELSEWHERE.values())


def lines_of(module, found):
    """Lines of the table, each of two words or more."""
    lines = [*module.as_text(found)]
    assert lines
    assert all(words and value for words, value in lines)
    return dict(lines)


def test_step_time(benchmark, monkeypatch):
    module = benchmark('step_time')
    monkeypatch.setattr(module, 'CALLS', 50)
    monkeypatch.setattr(module, 'shipped_trees', lambda: ['two_link', 'rig'])
    found = module.measure(quick=True)
    assert set(found['step_us']) == {'two_link', 'rig'}
    assert min(found['step_us'].values()) > 0.0
    assert -100.0 < found['step_call_us'] < 1000.0  # of two calls on a busy machine
    # a call from Python is never less than what it calls
    assert found['forward_dynamics_called_us_16'] > found['forward_dynamics_us_16'] > 0.0
    for name in module.QUERIES:
        assert found[f'{name}_us_16'] > 0.0
        if found[f'pinocchio_{name}_us_16'] is not None:
            assert 0.0 < found[f'ratio_to_pinocchio_{name}'] < 100.0  # on a busy machine
    assert 2.0 < found['links_64_over_8'] < 64.0
    assert 0.1 < min(found['free_over_fixed'].values())
    assert 'one step, two_link' in lines_of(module, found)


def test_derivatives_time(benchmark):
    module = benchmark('derivatives_time')
    found = module.measure(quick=True)['derivatives']
    assert {8, 16, 32} <= {row['coordinates'] for row in found.values()}
    for row in found.values():
        assert 8 <= row['coordinates'] <= 32
        assert row['allowed'] == 0.4 * row['coordinates']
        # forward dynamics is a part of it; the upper bound is lax, for busy machines
        assert 1.0 < row['over_forward_dynamics'] < 5 * row['allowed']
    lines_of(module, {'derivatives': found})


def test_elastic_time(benchmark, monkeypatch):
    module = benchmark('elastic_time')
    monkeypatch.setattr(module, 'CALLS', 50)
    monkeypatch.setattr(module, 'LINKS', (2,))
    found = module.measure(quick=True)
    for row in found['elastic'].values():
        assert row['step_us'] > row['forward_dynamics_us'] > 0.0
        assert row['derivatives_us'] > row['forward_dynamics_us']
    assert found['sliding_step_us'] > found['fixed_step_us'] > 0.0
    lines_of(module, found)


def test_contact_time(benchmark, monkeypatch):
    module = benchmark('contact_time')
    monkeypatch.setattr(module, 'SETTLE_S', 0.5)
    found = module.measure(quick=True)
    first, far, one, four = (row['ratio'] for row in found['contact'].values())
    # the upper bounds are lax, for busy machines
    assert first == 1.0 and far < 2.0 and 1.0 < one < 8.0 and four < 40.0
    lines_of(module, found)


def test_held_robots(benchmark):
    module = benchmark('held_robots')
    found = module.measure(quick=True)
    assert {one.place for one in found.values()} == {'controller', 'drives'}
    for one in found.values():
        assert one.settling < 3.0 and one.error < 0.01
    page = (ROOT / 'docs' / 'tune_controller.md').read_text('utf-8')
    assert all(f'| `{name}` |' in page for name in TREES)
    lines_of(module, found)


def test_manoeuvre(benchmark, monkeypatch):
    module = benchmark('manoeuvre')
    found = module.measure(quick=True)
    assert found['manoeuvre_missed_rad'] < module.THERE
    assert 0.0 < found['manoeuvre_tip_error'] <= 1e-3
    assert found['manoeuvre_times_real_time'] > 1.0
    lines_of(module, found)


@pytest.mark.long
def test_start_time(benchmark):
    module = benchmark('start_time')
    found = module.measure(quick=True)
    assert found['start_warm_s'] > 0.0
    assert found['start_cold_s'] is None
    assert 0.0 < found['start_numba_processor_s'] < found['start_processor_s']
    lines_of(module, found)


@pytest.mark.long
def test_demo_start(benchmark, tmp_path):
    module = benchmark('demo_start')
    demo = [*run_module('flex_robot_sim'), *module.DEMO[1:], str(tmp_path / 'demo.png')]
    # what is compiled already, as the clone of nothing takes minutes
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    found = module.first_demo(demo, ROOT, cache)
    assert 0.0 < found['demo_install_s'] <= found['demo_first_s']
    lines_of(module, found)
    with pytest.raises(RuntimeError, match='--seconds must be above 0 and below '):
        module.first_demo([*demo, '--force', '--seconds', '0'], ROOT, cache)
    assert dict.fromkeys(found) == module.measure(quick=True)


def test_formulations_time(benchmark, monkeypatch):
    module = benchmark('formulations_time')
    monkeypatch.setattr(module, 'LINKS', (1, 2))
    found = module.measure(quick=True)
    assert found['formulation_links'] == [1, 2]
    assert found['formulation_us']['recursion'][0] > 0.0
    assert min(found['formulation_condition']['mass_matrix']) >= 1.0
    lines_of(module, found)


def test_element_sum_sweep(benchmark, tmp_path):
    module = benchmark('element_sum_sweep')
    found = module.measure(quick=True)
    assert set(found) == {'length', 'stiffness', 'payload'}
    lines_of(module, found)
    module.draw(tmp_path / 'sweep.png', found)
    assert (tmp_path / 'sweep.png').stat().st_size > 1000
    # twice the length: eight times the inertia about the axis of a bar, less its own rotary one
    long, usual = (
        read_description(module.varied('length', factor)).link('link_2') for factor in (2.0, 1.0)
    )
    assert long.beam.length == 2.0 * usual.beam.length
    assert long.beam.mass_per_length == pytest.approx(usual.beam.mass_per_length)
    tool = read_description(module.varied('payload', 2.0)).link('tool')
    assert tool.inertial.mass == 0.2


def test_paper_costs(benchmark):
    module = benchmark('paper_costs')
    found = module.measure(quick=True)['paper_costs']
    assert found['geometric'] > 3.0  # 32 evaluations over one
    assert set(found['twists']) == {'body', 'spatial', 'hybrid', 'mixed'}
    assert found['twists']['spatial'] == found['jacobians']['spatial'] == 1.0
    lines_of(module, {'paper_costs': found})


def test_batch_time(benchmark, monkeypatch):
    module = benchmark('batch_time')
    monkeypatch.setattr(module, 'ARMS', 3)
    monkeypatch.setattr(module, 'STEPS', 10)
    found = module.measure(quick=True)
    assert found['batch_steps_per_second_core'] > 0.0
    assert 0.0 < found['batch_efficiency_2_cores'] and 0.0 < found['batch_over_loop']
    assert 0.0 < found['batch_threads_over_hardware']
    lines_of(module, found)


def test_batch_mujoco(benchmark, monkeypatch):
    module = benchmark('batch_mujoco')
    pytest.importorskip('mujoco')
    monkeypatch.setattr(module, 'ARMS', 2)
    monkeypatch.setattr(module, 'SHORT_STEPS', (250,))
    found = module.measure(quick=True)
    assert found['batch_over_mujoco'] > 1.0
    assert found['batch_mujoco']['tip_error'] < 1e-3 > found['batch_mujoco']['mujoco']['tip_error']
    assert 'times ours' in lines_of(module, found)['MuJoCo, rollout']


def test_sweep_time(benchmark, monkeypatch):
    module = benchmark('sweep_time')
    monkeypatch.setattr(module, 'QUICK_RUNS', 20)
    found = module.measure(quick=True)
    assert found['sweep_overhead'] > 0.0 and found['sweep_runs'] == 20
    lines_of(module, found)


def test_scale(benchmark, monkeypatch):
    module = benchmark('scale')
    monkeypatch.setattr(module, 'MANY', 8)
    monkeypatch.setattr(module, 'FEW', 4)
    found = module.measure(quick=True)['scale']
    # all that an arm is made of is numbers of 8 bytes
    assert found['arm_bytes'] % 8 == found['work_bytes'] % 8 == 0
    assert found['part_sent_bytes'] > 10_000 and 50 < found['run_kept_bytes'] < 2000
    lines_of(module, {'scale': found})


def test_controller_time(benchmark, monkeypatch):
    module = benchmark('controller_time')
    monkeypatch.setattr(module, 'CALLS', 2)
    monkeypatch.setattr(module, 'shipped_trees', lambda: ['single_link'])
    found = module.update_times(2)
    assert all(0.0 < least <= longest for least, longest in found.values())
    lines_of(module, found)


def test_loops(benchmark):
    module = benchmark('loops')
    found = module.measure(quick=True, modules=('closing', 'rigid'))
    missed = [words for words, row in found['loops'].items() if not row['holds']]
    assert [words for words in missed if 'step of four_bar over' not in words] == []
    lines_of(module, found)


@pytest.mark.long
def test_flexible_loops_move_as_in_exudyn(benchmark):
    pytest.importorskip('exudyn')
    module = benchmark('loops')
    found = module.measure(quick=True, modules=('flexible', 'bauchau'))
    assert [words for words, row in found['loops'].items() if not row['holds']] == []


@pytest.mark.parametrize('name', ['tapers', 'statics', 'node_sums', 'floating_frame', 'speed'])
def test_links(benchmark, name):
    module = benchmark('links')
    found = module.measure(quick=True, modules=(name,))
    missed = [words for words, row in found['links'].items() if not row['holds']]
    # machines differ in speed
    assert [words for words in missed if not words.startswith('step of')] == []
    lines_of(module, found)


def test_reach(benchmark):
    if ROBOTS is None:
        pytest.skip(f'no example-robot-data: {INSTALL}')
    module = benchmark('reach')
    arms = importlib.import_module('benchmarks.reach.public_arms')
    few = [arms.ARMS[k] for k in (4, 12)]
    found = {one.words: {**one._asdict(), 'holds': one.holds} for one in arms.rows(True, few)}
    missed = [words for words, row in found.items() if not row['holds']]
    assert [words for words in missed if 'time' not in words] == []  # machines differ in speed
    lines_of(module, {'reach': found})


def test_tip_estimate(benchmark):
    module = benchmark('tip_estimate')
    errors = module.misplaced(next(iter(module.MISPLACED.values())))
    assert np.isfinite([*errors.values()]).all()
    found, largest = module.errors(next(iter(module.TRUTHS)), 1)
    assert largest > 0.0
    assert all(0.0 < error < 100.0 for error in found.values())


def test_work_precision_of_ours(benchmark, monkeypatch):
    module = benchmark('work_precision')

    def missing(name):
        raise ImportError(f'no {name}')

    monkeypatch.setattr(module, 'import_module', missing)
    found = module.measure(quick=True)['work_precision']
    assert found['ours']['tip_error'] <= 1e-3
    assert (
        'no benchmarks.chopped_mujoco'
        in lines_of(module, {'work_precision': found})['MuJoCo, chopped']
    )


def test_pieces_in_mujoco_move_like_the_beam(benchmark):
    # an explicit scheme needs short steps
    moves_like_the_beam(benchmark, benchmark('chopped_mujoco'), 'implicitfast', 1600)


def test_pieces_in_pinocchio_move_like_the_beam(benchmark):
    moves_like_the_beam(benchmark, benchmark('chopped_pinocchio'), 'implicit_midpoint', 100)


def moves_like_the_beam(benchmark, module, scheme, steps):
    """Check the first tenth of the swing by an engine that has the links in six pieces each."""
    swing, chopped = benchmark('swing'), benchmark('chopped')
    arm = swing.described()
    chain = module.build(*chopped.chop(arm, 6, swing.servos(arm)))
    path, _ = module.swing(chain, scheme, steps, swing.END / 10, 10)
    ours, _ = swing.swing(build_arm(arm), 20)
    assert np.abs(path[10] - ours[10]).max() < 0.02 * np.linalg.norm(ours[10] - ours[0])


def test_exudyn_moves_like_the_beam(benchmark):
    module, swing = benchmark('beams_exudyn'), benchmark('swing')
    arm = swing.described()
    theirs = module.Arm(arm, 4, swing.servos(arm), GRAVITY)
    path, _ = theirs.swing(40, swing.END / 10, 10)
    ours, _ = swing.swing(build_arm(arm), 20)
    assert np.abs(path[10] - ours[10]).max() < 0.02 * np.linalg.norm(ours[10] - ours[0])


def output_of(*words):
    """Return what `python -m benchmarks.WORDS` prints."""
    done = subprocess.run(
        [sys.executable, '-m', *words],
        timeout=2 * PATIENCE,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.ros
def test_bridge_load():
    assert '"joint_states_hz"' in output_of('benchmarks.bridge_load', '--seconds', '0.5')


@pytest.mark.long
@pytest.mark.ros
def test_view_load():
    pytest.importorskip('viser')
    words = '--seconds', '0.5', '--robots', 'single_link', '--browsers', '1', '--json'
    figures = json.loads(output_of('benchmarks.view_load', *words))['single_link']['1']
    assert 0.0 < figures['core_percent'] < 1000.0 and figures['missed'] >= 0
