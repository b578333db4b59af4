"""
Real arm: fit to one log and validation with another, as in docs/identification_results.md.

The logs are not part of the project: REAL_LOGS names a folder that holds exp1.csv and exp2.csv.
"""

import importlib
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow

FOLDER = os.environ.get('REAL_LOGS', '')
PAGE = (ROOT / 'docs/identification_results.md').read_text('utf-8')
GAUGES = ('link2/eps21', 'link2/eps22', 'link3/eps31', 'link3/eps32')


@pytest.mark.skipif(not FOLDER, reason='REAL_LOGS names no folder with exp1.csv and exp2.csv')
def test_strain_of_a_validation_log_is_explained_as_on_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r'^flexsim (identify exp1.csv .+)$', PAGE, re.MULTILINE)
    words = command.replace('identified.png', str(tmp_path / 'identified.png')).split()
    words = [str(Path(FOLDER) / word) if word.startswith('exp') else word for word in words]
    assert main([*words, '--json']) == 1  # the strain of the third link is not explained
    found = json.loads(capsys.readouterr().out)['validation_variance']
    said = [
        int(share) for share in re.findall(r'^\| link \d, .+ \| (\d+) % \|$', PAGE, re.MULTILINE)
    ]
    # tolerance for a fit that differs by a standard deviation
    assert [100 * found[name] for name in GAUGES] == pytest.approx(said, abs=1.5)
    assert min(found[name] for name in GAUGES[:2]) > 0.9


def test_regressions_explain_only_effects_of_the_joints(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    real_arm = importlib.import_module('benchmarks.real_arm')

    def table(seed):
        random, t = np.random.default_rng(seed), np.arange(0, 60, real_arm.PERIOD)
        out = np.zeros((t.size, 17))
        for k, rates in ((2, (0.9, 0.35)), (3, (0.7, 0.23))):
            shift = random.uniform(0, 6, 2)
            out[:, k] = sum(0.5 * np.sin(w * t + s) for w, s in zip(rates, shift))
            out[:, k + 3] = np.gradient(out[:, k], t)
        noise = random.normal(0, 1, (t.size, 4))
        weight = np.cos(out[:, 2] + out[:, 3])
        late = np.roll(out[:, 5], 20)  # a velocity, delayed by a fifth of a second
        out[:, 10:14] = np.column_stack([20 * weight, 20 * late, 3 * weight, 0 * t]) + noise
        # slow, so it does not count as gauge noise
        out[:, 13] = np.convolve(random.normal(0, 1, t.size + 49), np.ones(50), 'valid')
        return out

    found = real_arm.of_regression(table(1), table(2))
    assert [*found] == [*GAUGES]
    assert min(found[name] for name in GAUGES[:3]) > 0.95
    assert found['link3/eps32'] < 0.1
