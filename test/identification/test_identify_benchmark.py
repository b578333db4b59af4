"""`flexsim benchmark identify` in its smallest form: its keys and its error targets."""

import importlib

import pytest
from project_files import ROOT

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_small_benchmark_has_its_keys_and_small_errors(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    benchmark = importlib.import_module('benchmarks.identify')
    found = benchmark.measure(True, ('synthetic_errors', 'seconds'))
    errors = found['synthetic_errors']['single_link']
    assert abs(errors['arm.stiffness']) < 0.01 and abs(errors['delay']) < 1e-3
    assert found['seconds']['numbers'] == 4
    assert len([*benchmark.as_text(found)]) == 5
    assert {*benchmark.PARTS} == {
        'synthetic_errors',
        'coverage',
        'coverage_across_logs',
        'wrong_start',
        'excitation_gain',
        'seconds',
        'parameter_errors',
        'far_starts',
        'excitation_scatter',
        'long_log',
        'long_log_distance',
        'logs_alone',
        'million_rows',
        'verdicts',
        'real_data',
    }
