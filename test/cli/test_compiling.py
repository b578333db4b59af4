"""Messages during compilation, tested with a partly filled cache."""

import json
import os
import pty
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tuned_numba import needs_tuned_numba

import flex_robot_sim as frs
from flex_robot_sim.dynamics.integrators import advance_checked
from flex_robot_sim.dynamics.parallel_warmup import progress
from flex_robot_sim.jit.compiled import compiled_callees
from flex_robot_sim.start import run_text

pytestmark = pytest.mark.slow


def test_all_functions_of_a_step_are_compiled_after_one_step():
    frs.Simulation(frs.load('two_link')).step()
    done, of = progress()
    assert done == of > 30


@pytest.fixture
def cache(tmp_path):
    """Return a cache folder that lacks a dozen functions of a step."""
    frs.Simulation(frs.load('single_link')).step()
    source = Path(advance_checked._cache.cache_path).parent
    root = tmp_path / source.parent.name
    root.mkdir(mode=0o700)
    shutil.copy(source.parent / 'CACHEDIR.TAG', root)
    folder = shutil.copytree(
        source, root / source.name, ignore=shutil.ignore_patterns('*.tmp.*')
    )  # of the compiling process
    for function in compiled_callees(advance_checked)[:12]:
        next(folder.rglob(f'{function._cache._impl.filename_base}.nbi')).unlink()
    return tmp_path


OFTEN = """
from flex_robot_sim.cli import main, terminal
terminal.PROGRESS_PERIOD_S = 0.1
main(['simulate', 'single_link', '--seconds', '0.01'])
"""


@pytest.mark.long
@needs_tuned_numba
def test_a_terminal_shows_the_number_of_remaining_functions(cache):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        run_text(OFTEN),
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(cache), 'COLUMNS': '100'},
    )
    os.close(theirs)
    shown = b''
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # its end closes it
            break
    os.close(ours)
    assert process.wait(60) == 0
    counts = [
        (int(done), int(of))
        for done, of in re.findall(rb'compiling: (\d+) of (\d+) functions', shown)
    ]
    assert shown.startswith(b'compiling, once after an installation: ten seconds to a minute\r\n')
    assert len(counts) > 2 and counts == sorted(counts)
    assert counts[0][1] - 12 <= counts[0][0] < counts[-1][0] <= counts[-1][1]
    assert shown.endswith(b'\r')  # and the line disappears


@pytest.mark.long
@needs_tuned_numba
def test_simulate_is_correct_for_any_bit_flip_in_the_cache(tmp_path, mutants):
    """Use a real cache and a real command; 142 bits with --long."""
    frs.Simulation(frs.load('single_link')).step()
    source, cache = Path(advance_checked._cache.cache_path).parent, tmp_path / 'cache'
    root = cache / source.parent.name

    def simulate():
        return subprocess.run(
            [
                sys.executable,
                *shlex.split('-m flex_robot_sim simulate two_link --seconds 0.1 --json'),
            ],
            text=True,
            capture_output=True,
            env={**os.environ, 'NUMBA_CACHE_DIR': str(cache)},
        )

    def numbers(text):
        return [json.loads(text)[name] for name in ('position', 'velocity', 'energy')]

    root.mkdir(parents=True, mode=0o700)
    shutil.copy(source.parent / 'CACHEDIR.TAG', root)
    shutil.copytree(source, root / source.name, ignore=shutil.ignore_patterns('*.tmp.*'))
    first = simulate()  # compiles functions that a single step does not need
    expected, whole = numbers(first.stdout), shutil.copytree(root, tmp_path / 'whole')
    draw = random.Random(34)
    for _ in range(max(1, mutants // 7000)):
        shutil.rmtree(root)
        shutil.copytree(whole, root)
        path = draw.choice(sorted(path for path in root.rglob('*.nb?')))
        data, bit = bytearray(path.read_bytes()), draw.randrange(8 * path.stat().st_size)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        done = simulate()
        assert done.returncode == 0 and numbers(done.stdout) == expected, (path, bit, done.stderr)
        lines = [line for line in done.stderr.splitlines() if 'is damaged' in line]
        assert lines == done.stderr.splitlines() and len(lines) <= 1


@pytest.mark.parametrize(
    'mode, reason',
    [
        (0o755, 'compiling, once after an installation: ten seconds to a minute'),
        (
            0o777,
            'compiling, at every start: other users can write to {}. Name another place by '
            'NUMBA_CACHE_DIR',
        ),
    ],
)
def test_the_reason_for_compiling_at_every_start_is_reported(tmp_path, mode, reason):
    tmp_path.chmod(mode)  # other users could place code there, so it is not used as a cache
    done = subprocess.run(
        [
            sys.executable,
            '-c',
            'from flex_robot_sim.jit.compiled import must_compile as must, '
            'why_compiling as why; print(must(), why())',
        ],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(tmp_path)},
    )
    assert done.stdout == f'True {reason.format(tmp_path)}\n'
