"""Programs around generated code: the C99 headers and the C++ core, compiled for tests."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from project_files import ROOT
from shaper_cases import PERIOD, shaper_cases

from flex_robot_sim.export.c_code import c_code
from flex_robot_sim.export.shaper_tables import shaper_tables

HERE = Path(__file__).parent
MISSING = [name for name in ('gcc', 'g++') if not shutil.which(name)]
needs_compiler = pytest.mark.skipif(
    bool(MISSING), reason=f'{", ".join(MISSING)} cannot be found: sudo apt install gcc g++'
)
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']
EXACT = ['-O2', '-ffp-contract=off']
SANITIZED = ['-O1', '-g', '-ffp-contract=off', '-fsanitize=address,undefined']
SANITIZED += ['-fno-sanitize-recover=all']
CASES = """\
struct golden_case {{
    const char *name;
    const struct flex_shaper_tables *tables;
    int32_t (*reset)(const double *);
    int32_t (*step)(const double *, double *);
}};
static const struct golden_case CASES[] = {{
{rows}
}};
enum {{ COUNT = {count} }};
"""
CASE = """\
static {0}_state {0}_memory;
static int32_t reset_{0}(const double *p) {{ return {0}_reset(&{0}_memory, p, 0); }}
static int32_t step_{0}(const double *p, double *q) {{ return {0}_step(&{0}_memory, p, q); }}
"""


@functools.cache
def sources():
    """Return a folder with the headers of all cases."""
    folder = Path(tempfile.mkdtemp(prefix='shaper-code-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    names = []
    for case in shaper_cases():
        tables = shaper_tables(case.specification, case.joints, PERIOD, case.name, 'arm')
        (folder / f'{case.name}.h').write_text(c_code(tables, 'for a test'))
        names.append(case.name)
    lines = [f'#include "{name}.h"\n' for name in names]
    lines += [CASE.format(name) for name in names]
    rows = ',\n'.join(
        f'    {{"{name}", &{name}_tables, reset_{name}, step_{name}}}' for name in names
    )
    lines.append(CASES.format(rows=rows, count=len(names)))
    (folder / 'cases.h').write_text(''.join(lines))
    return folder


@functools.cache
def program(language, sanitized=False, source=''):
    """Build golden.c, golden.cpp or another source, and return the path of the program."""
    folder = sources()
    compiler = ['g++', '-std=c++17'] if language == 'cpp' else ['gcc', '-std=c99']
    source = source or f'golden.{language}'
    path = folder / f'{source}{"-sanitized" * sanitized}.program'
    subprocess.run(
        [
            *compiler,
            *(SANITIZED if sanitized else EXACT),
            *WARNINGS,
            f'-I{folder}',
            f'-I{ROOT / "cpp/flex_shaper/include"}',
            str(HERE / source),
            '-o',
            str(path),
            '-lm',
        ],
        check=True,
    )
    return path


def shaped_by(language, case, samples, *words, sanitized=False, before=(), source=''):
    """Return codes (k - 1,) and shaped positions (k - 1, joints) of set points (k, joints)."""
    samples = np.ascontiguousarray(samples, float)
    done = subprocess.run(
        [*before, program(language, sanitized, source), case, *map(str, words)],
        input=samples.tobytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = np.frombuffer(done.stdout).reshape(-1, samples.shape[1] + 1)
    return rows[:, 0], rows[:, 1:]


class StreamedShaper:
    """A program that shapes set points, piece by piece, without a reset between them."""

    def __init__(self, language: str, case: str, position: np.ndarray) -> None:
        """Start it, and reset the shaper to a position (joints,)."""
        words = [program(language), case]
        self._columns = position.size + 1
        self._program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._write(position)

    def run(self, samples: np.ndarray) -> np.ndarray:
        """Return rows (k, 1 + joints) of a code and positions; k is a multiple of 1000."""
        writer = threading.Thread(target=self._write, args=(samples,))
        writer.start()
        assert self._program.stdout is not None
        data = self._program.stdout.read(8 * len(samples) * self._columns)
        writer.join()
        return np.frombuffer(data).reshape(-1, self._columns)

    def close(self) -> None:
        """End the input, and wait for the end of the program."""
        self._program.communicate()
        assert self._program.returncode == 0

    def _write(self, values):
        self._program.stdin.write(np.ascontiguousarray(values).tobytes())
        self._program.stdin.flush()
