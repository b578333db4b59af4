"""
Processor time of a set point in generated code: six joints, constant delays and stages by pose.

`python -m benchmarks.shaper_code_time`
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from flex_robot_sim.analysis.mode_table import ModeTable
from flex_robot_sim.export.c_code import c_code
from flex_robot_sim.export.shaper_tables import shaper_tables
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.textbook_shapers import zvd

ROOT = Path(__file__).parent.parent
PERIOD = 1e-3
JOINTS = tuple(f'joint_{j}' for j in range(6))
MODES = 5.0, 8.0, 13.0, 21.0  # of the stages                                         [Hz]
SOURCE = """\
#include <flex_shaper/input_shaper.hpp>
#include <cstdio>
#include <ctime>
#include "six_joints.h"

static double now() {{
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}}

int main() {{
    {setup}
    double best = 1e9, set_point[6] = {{0.0}}, shaped[6], sum = 0.0;
    {reset};
    for (int round = 0; round < 300; ++round) {{
        const double begin = now();
        for (int k = 0; k < 1000; ++k) {{
            for (int j = 0; j < 6; ++j)
                set_point[j] = 0.8 * std::sin(1e-3 * (1000 * round + k) * (1.0 + 0.1 * j));
            {step};
            sum += shaped[0];
        }}
        best = std::min(best, (now() - begin) / 1000);
    }}
    std::printf("%.0f\\n", best);
    return sum == 0.123;
}}
"""
PROGRAMS = {
    'C++': {
        'setup': 'static flex_shaper::InputShaper shaper(six_joints_tables);',
        'reset': 'shaper.reset(set_point)',
        'step': 'shaper.step(set_point); std::copy_n(shaper.position(), 6, shaped)',
    },
    'C': {
        'setup': 'static six_joints_state shaper;',
        'reset': 'six_joints_reset(&shaper, set_point, nullptr)',
        'step': 'six_joints_step(&shaper, set_point, shaped)',
    },
}


def design():
    """Return a ShaperSpecification with all that takes time."""
    axes = np.linspace(-1.0, 1.0, 81), np.linspace(-1.0, 1.0, 25)
    grids = np.meshgrid(*axes, indexing='ij')
    slope = 1.0 + 0.25 * grids[0].ravel() + 0.4 * grids[1].ravel()
    table = ModeTable((1, 0), axes, np.outer(slope, MODES), np.full((slope.size, 4), 0.01))
    stages = stages_of(table, 'zvd')
    return ShaperSpecification(
        'zvd', zvd(47.0), table, tuple(stages), velocity_limits=np.full(6, 2.0)
    )


def times(programs=tuple(PROGRAMS), flags=('-O2', '-O3')):
    """Return {(program, flag): processor time of a set point [ns], least of 300 rounds}."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = shaper_tables(design(), JOINTS, PERIOD, 'six_joints')
        (folder / 'six_joints.h').write_text(c_code(tables, 'for a benchmark'))
        for program in programs:
            (folder / 'main.cpp').write_text(SOURCE.format(**PROGRAMS[program]))
            for flag in flags:
                subprocess.run(
                    ['g++', '-std=c++17', flag, f'-I{ROOT / "cpp/flex_shaper/include"}']
                    + [f'-I{folder}', folder / 'main.cpp', '-o', folder / 'main'],
                    check=True,
                )
                done = subprocess.run([folder / 'main'], stdout=subprocess.PIPE, check=False)
                found[program, flag] = int(done.stdout)
    return found


if __name__ == '__main__':
    if not shutil.which('g++'):
        raise SystemExit('g++ cannot be found: sudo apt install g++')
    print('program   flag   time of a set point [ns]')
    for (program, flag), time in times().items():
        print(f'{program:9s} {flag}   {time:6d}')
