"""Numba by its documented interfaces only: the choice, the modules, the numbers."""

import json
import logging
import os
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
from public_robots import ROBOTS
from random_cases import is_long

from flex_robot_sim.jit import cache
from flex_robot_sim.jit.numba_support import NEWEST_TESTED_NUMBA, PLAIN_VARIABLE, needs_plain_numba

PRIVATE = re.compile(
    r'^ *(from|import) (llvmlite|numba\.(?!extending|types|typed))|^ *from numba import core', re.M
)


@pytest.fixture
def no_choice(monkeypatch):
    """Remove the variable that chooses the way."""
    monkeypatch.delenv(PLAIN_VARIABLE, raising=False)


@pytest.mark.parametrize(
    'version', ['0.55.1', '{}.{}.9'.format(*NEWEST_TESTED_NUMBA), '0.68.0rc1']
)
def test_tested_versions_of_numba_are_tuned(version, no_choice, caplog):
    assert not needs_plain_numba(version) and not caplog.messages


@pytest.mark.parametrize('version', [f'0.{NEWEST_TESTED_NUMBA[1] + 1}.0', '1.0.0.dev3'])
def test_a_newer_numba_is_used_plainly_and_reported_in_one_line(version, no_choice, caplog):
    with caplog.at_level(logging.WARNING):
        assert needs_plain_numba(version)
    (line,) = caplog.messages
    assert line.startswith(f'Numba {version} is newer than 0.68') and '\n' not in line


@pytest.mark.parametrize('choice, is_plain', [('1', True), ('0', False)])
@pytest.mark.parametrize('version', ['0.60.0', '9.0.0'])
def test_a_variable_chooses_for_any_version(version, choice, is_plain, monkeypatch, caplog):
    monkeypatch.setenv(PLAIN_VARIABLE, choice)
    assert needs_plain_numba(version) == is_plain and not caplog.messages


def test_the_installed_numba_is_tested(no_choice):
    assert not needs_plain_numba(numba.__version__)


def run(program, choice):
    """Run a program with one of the two ways to use Numba; return what it prints."""
    return subprocess.run(
        [sys.executable, '-c', program],
        check=True,
        text=True,
        capture_output=True,
        env={**os.environ, PLAIN_VARIABLE: choice},
    ).stdout


def private_modules():
    """Return the modules of the package that import private modules of Numba."""
    return {
        '.'.join(path.relative_to(cache.PACKAGE.parent).with_suffix('').parts)
        for path in cache.PACKAGE.rglob('*.py')
        if PRIVATE.search(path.read_text(encoding='utf-8'))
    }


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason='about machine code')
def test_the_plain_way_imports_no_module_that_uses_private_ones_of_numba():
    program = (
        'import sys, flex_robot_sim.dynamics.integrators, flex_robot_sim.batch.rows; '
        'print(*sys.modules)'
    )
    private = private_modules()
    assert {f'flex_robot_sim.jit.{name}' for name in ('tuned_dispatcher', 'linking')} <= private
    assert not private & {*run(program, '1').split()}
    assert private <= {*run(program, '0').split()}


NUMBERS = """
import json
import numpy as np
import flex_robot_sim as frs
numbers = {}
for robot in ROBOTS:
    arm = frs.load(robot)
    rng = np.random.default_rng(39)
    numbers[robot] = [*frs.pose(arm, 0.1 * rng.standard_normal(arm.size)).flat]
    if MOVES:
        sim = frs.Simulation(arm)
        q = 0.1 * rng.standard_normal(len(arm.joint_names))
        sim.set_state(q=np.clip(q, arm.arrays.lower, arm.arrays.upper))
        sim.effort = 0.02 * rng.standard_normal(len(sim.effort))
        sim.push(arm.tool, (0.03, -0.02, 0.01))
        sim.step(1000)
        numbers[robot] += [*sim.q, *sim.v, sim.corrected_energy]
print(json.dumps(numbers))
"""


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason='about machine code')
def test_both_ways_compute_the_same_poses_and_motions():
    """Poses of bent arms; with --long a thousand steps, which take minutes to compile plainly."""
    robots = ['two_link', 'single_link', 'rig', 'ella']
    if ROBOTS is not None:
        robots += [
            str(ROBOTS / path)
            for path in (
                'panda_description/urdf/panda.urdf',
                'ur_description/urdf/ur5_robot.urdf',
                'z1_description/urdf/z1.urdf',
            )
        ]
    program = f'ROBOTS, MOVES = {robots}, {is_long()}{NUMBERS}'
    plain, tuned = (json.loads(run(program, choice)) for choice in '10')
    assert list(plain) == robots
    for robot in robots:
        np.testing.assert_allclose(plain[robot], tuned[robot], rtol=1e-12, atol=1e-12)
