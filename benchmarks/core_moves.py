"""
Residual vibration of the moves of `shaped_moves`, shaped by the C++ core and by the library.

The core is compiled with the tables of all designs. It receives the set points of the moves, and
the simulated arms follow its output.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import flex_robot_sim as frs
from benchmarks.shaped_moves import (
    DESIGNS,
    PERIOD,
    ROBOTS,
    designs_for,
    residuals,
    shaped_by_library,
    summed,
)
from flex_robot_sim.export.c_code import c_code
from flex_robot_sim.export.shaper_tables import shaper_tables

CORE = Path(__file__).parent.parent / 'cpp/flex_shaper/include'
SOURCE = """\
// usage: program CASE   raw doubles: set points to shaped ones, after a reset at the first
#include <cstdio>
#include <cstdlib>
#include <flex_shaper/input_shaper.hpp>
#include <vector>
{includes}

static const flex_shaper_tables *const tables[] = {{{tables}}};

int main(int, char **words) {{
    flex_shaper::InputShaper shaper(*tables[std::atoi(words[1])]);
    std::vector<double> row(static_cast<std::size_t>(shaper.joints()));
    for (bool is_first = true; std::fread(row.data(), 8, row.size(), stdin) == row.size();) {{
        if ((is_first ? shaper.reset(row.data()) : shaper.step(row.data())) != FLEX_SHAPER_OK)
            return 1;
        std::fwrite(shaper.position(), 8, row.size(), stdout);
        is_first = false;
    }}
}}
"""


class CoreShaper:
    """Shapes set points by the compiled core, for the designs of some robots."""

    def __init__(self, folder, robots=ROBOTS, designs=DESIGNS):
        """Compile the core with the tables of all designs in a folder."""
        self._program, self._cases = Path(folder) / 'core', []
        names: list[str] = []
        for robot in robots:
            joints = frs.load(robot).joint_names
            for design in designs:
                specification, name = (
                    designs_for(robot, False, False)[design],
                    f'design_{len(names)}',
                )
                tables = shaper_tables(specification, joints, PERIOD, name, robot)
                (Path(folder) / f'{name}.h').write_text(c_code(tables, 'for a benchmark'))
                self._cases.append(specification)
                names.append(name)
        (Path(folder) / 'main.cpp').write_text(
            SOURCE.format(
                includes='\n'.join(f'#include "{name}.h"' for name in names),
                tables=', '.join(f'&{name}_tables' for name in names),
            )
        )
        words = ['-O2', '-ffp-contract=off', f'-I{folder}', f'-I{CORE}', f'{folder}/main.cpp']
        subprocess.run(['g++', '-std=c++17', *words, '-o', self._program], check=True)
        self.largest_difference = 0.0  # from the library                              [rad, m]

    def __call__(self, specification, samples):
        """Shape set points (k, joints) until they have arrived."""
        (case,) = (k for k, one in enumerate(self._cases) if one is specification)
        expected = shaped_by_library(specification, samples)
        rest = np.repeat(samples[-1:], len(expected) - len(samples) + 100, axis=0)
        done = subprocess.run(
            [self._program, str(case)],
            input=np.concatenate([samples, rest]).tobytes(),
            stdout=subprocess.PIPE,
            check=True,
        )
        shaped = np.frombuffer(done.stdout).reshape(-1, samples.shape[1])
        # one row at the goal is the last one of the move
        arrived = (shaped == samples[-1]).all(axis=1)
        arrived[: len(samples) - 1] = False
        shaped = shaped[: int(np.argmax(arrived)) + 1]
        rows = min(len(shaped), len(expected))
        difference = np.abs(shaped[:rows] - expected[:rows]).max()
        self.largest_difference = max(self.largest_difference, float(difference))
        return shaped


def core_residual(quick, seed=0, robots=ROBOTS, designs=DESIGNS):
    """Figures of the designs with the core, and their largest differences from the library."""
    if not shutil.which('g++'):
        return {'reason': 'g++ cannot be found: sudo apt install g++'}
    count = len(robots) * (1 if quick else 20)
    expected = residuals(count, designs=designs, seed=seed, robots=robots)
    with tempfile.TemporaryDirectory() as folder:
        core = CoreShaper(folder, robots, designs)
        rows = residuals(count, designs=designs, seed=seed, shaped_by=core, robots=robots)
    found, shares = {}, []
    for design in designs:
        mine, theirs = summed(rows, design), summed(expected, design)
        found[design] = mine
        shares += [abs(mine[what] - theirs[what]) for what in mine]
    return {**found, 'set_points': core.largest_difference, 'figures': max(shares)}


def as_lines(found):
    """Lines of the figures."""
    if 'reason' in found:
        yield 'not measured', found['reason']
        return
    for design, one in found.items():
        if isinstance(one, dict):
            yield f'C++, {design}', f'median {one["median"]:.2%}, worst {one["worst"]:.2%}'
    yield 'C++, Python: set points', f'differ by {found["set_points"]:.1e} rad or m at most'
    yield 'C++, Python: figures', f'differ by {found["figures"]:.1e} at most'
