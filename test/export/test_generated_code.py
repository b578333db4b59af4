"""Generated C99 and the C++ core against OnlineShaper, and what both do with bad input."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from built_code import EXACT, StreamedShaper, needs_compiler, program, shaped_by, sources
from project_files import ROOT
from shaper_cases import (
    PERIOD,
    REPLACEMENTS,
    GoldenShaper,
    golden,
    random_moves,
    replaced,
    shaper_cases,
)

from flex_robot_sim.export.c_tables import shared_declarations
from flex_robot_sim.shaping.shaped_reference import FADE_DURATIONS, MIN_FADE_S, _fading
from flex_robot_sim.shaping.velocity_limiter import VelocityLimiter

pytestmark = [pytest.mark.slow, needs_compiler]

CASES = {case.name: case for case in shaper_cases()}
LANGUAGES = 'c', 'cpp'
# the order of operations is the same: on most processors the numbers are equal bit for bit
ROUNDING = 1e-12
OK, NOT_FINITE, JUMP, CHANGING = 0, 2, 3, 8


def moves_for(case, count, seed, begin=None):
    """Return set points for a case, faster than its velocity limits at times."""
    limits = case.specification.velocity_limits
    speed = 1.0 if limits is None else 1.7 * min(limits)
    return random_moves(count, len(case.joints), seed, speed, begin)


@pytest.mark.parametrize('language', LANGUAGES)
@pytest.mark.parametrize('name', CASES)
def test_code_equals_the_compiled_law_of_the_library(language, name):
    samples = moves_for(CASES[name], 100_000, 1)
    codes, shaped = shaped_by(language, name, samples)
    assert not codes.any()
    expected = golden(CASES[name], samples)
    assert np.abs(shaped - expected).max() <= ROUNDING * np.abs(expected).max()


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_code_equals_the_compiled_law_for_1e8_samples(name):
    case, worst = CASES[name], 0.0
    samples = np.zeros((1, len(case.joints)))
    library = GoldenShaper(case, samples[0])
    streams = [StreamedShaper(language, name, samples[0]) for language in LANGUAGES]
    # streams without a reset; the case with all parts is the longest
    for seed in range(100 if name == 'six_joints' else 10):
        samples = moves_for(case, 1_000_000, seed, samples[-1])
        expected = library.run(samples)
        for stream in streams:
            codes, shaped = np.split(stream.run(samples), [1], axis=1)
            assert not codes.any()
            worst = max(worst, np.abs(shaped - expected).max() / np.abs(expected).max())
            assert worst <= ROUNDING
    for stream in streams:
        stream.close()
    print(f'{name}: largest difference {worst:.1e}')


@pytest.mark.parametrize('name', ['by_pose', 'limited'])
def test_random_moves_keep_the_limits_and_end_exactly(name, request):
    moves = 500_000 if request.config.getoption('--long') else 1000
    limits = CASES[name].specification.velocity_limits
    limits = np.full(len(CASES[name].joints), np.inf) if limits is None else limits
    words = [program('cpp', source='random_moves.cpp'), name, str(moves), *map(str, limits)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    print(f'{name}: {moves} moves, {done.stdout}')


@pytest.mark.parametrize('language', LANGUAGES)
def test_bad_set_points_hold_the_last_good_one(language):
    case = CASES['limited']
    samples = moves_for(case, 3000, 2)
    good = samples.copy()
    samples[500:505] = np.nan
    samples[700, 1] = np.inf
    samples[900:910, 0] += 0.5
    expected = np.zeros(len(samples) - 1)
    for begin, end, code in ((500, 505, NOT_FINITE), (700, 701, NOT_FINITE), (900, 910, JUMP)):
        good[begin:end] = good[begin - 1]
        expected[begin - 1 : end - 1] = code
    codes, shaped = shaped_by(language, 'limited', samples)
    # after some samples the set points are further from the held one than a jump
    assert np.array_equal(codes[codes != expected], np.full((codes != expected).sum(), JUMP))
    held = good.copy()
    for row in np.flatnonzero(codes) + 1:
        held[row] = held[row - 1]
    assert np.abs(shaped - golden(case, held)).max() <= ROUNDING
    assert np.abs(np.diff(shaped, axis=0)).max() <= 1.2 * PERIOD * (1 + 1e-9)


def test_a_reset_in_motion_is_refused_as_by_the_core(tmp_path):
    (tmp_path / 'resets.cpp').write_text(RESETS)
    words = [f'-I{ROOT / "cpp/flex_shaper/include"}', f'-I{sources()}', '-o', 'program']
    command = ['g++', '-std=c++17', *EXACT, 'resets.cpp', *words]
    subprocess.run(command, check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / 'program'], capture_output=True, text=True, check=True)
    core, header = done.stdout.splitlines()
    assert core == '1 7 7 7 2 0 0 0 7 0.2 0.2 0 0.3 0 0.1'
    assert header == core


RESETS = """\
#include <cmath>
#include <cstdio>
#include <flex_shaper/input_shaper.hpp>
#include "limited.h"

template <class Reset, class Step> void run(Reset reset, Step step)
{
    const double low[] = {0.1, 0.1}, mid[] = {0.2, 0.2}, high[] = {0.3, 0.3}, bad[] = {0.1, NAN};
    const double fast[] = {0.0, 1.01e-3}, back[] = {-0.1, 0.0}, unknown[] = {0.0, NAN};
    const double slow[] = {-1e-3, 1e-3}, fast_joint[] = {0.0, 1.0};
    double out[2] = {-1.0, -1.0};
    std::printf("%d ", step(low, out));
    for (const double *velocity : {fast, back, unknown})
        std::printf("%d ", reset(low, velocity));
    // the first joint is good, the second one is bad in both
    std::printf("%d ", reset(bad, fast_joint));
    std::printf("%d ", reset(mid, slow));
    std::printf("%d %d ", step(mid, out), step(mid, out));
    // the last good set point is held
    std::printf("%d ", reset(high, fast));
    step(high, out);
    std::printf("%g %g ", out[0], out[1]);
    std::printf("%d ", reset(high, slow));
    step(high, out);
    std::printf("%g %d ", out[0], reset(low, nullptr));
    step(low, out);
    std::printf("%g\\n", out[0]);
}

int main()
{
    flex_shaper::InputShaper core(limited_tables);
    static limited_state state;
    run([&](const double *p, const double *v) { return int(core.reset(p, v)); },
        [&](const double *p, double *out) {
            const int code = core.step(p);
            std::copy_n(core.position(), 2, out);
            return code;
        });
    run([&](const double *p, const double *v) { return int(limited_reset(&state, p, v)); },
        [&](const double *p, double *out) { return int(limited_step(&state, p, out)); });
}
"""


def test_a_change_of_the_design_in_motion_has_no_jump():
    samples = moves_for(CASES['limited'], 6000, 3)
    words = {1000: 1, 1010: 2, 3000: 2}
    codes, shaped = shaped_by(
        'cpp', 'changing', samples, *(word for pair in words.items() for word in pair)
    )
    # the second change comes before the end of the first
    assert np.flatnonzero(codes).tolist() == [1009] and codes[1009] == 100 * CHANGING
    expected = _changed(samples, {1000: 'limited_slow', 3000: 'limited_fast'})
    assert np.abs(shaped - expected).max() <= ROUNDING * np.abs(expected).max()
    limits = CASES['limited'].specification.velocity_limits
    assert (np.abs(np.diff(shaped, axis=0)) <= limits * PERIOD * (1 + 1e-9)).all()


@pytest.mark.parametrize('row', [900, 1100])
@pytest.mark.parametrize('old, new', REPLACEMENTS)
def test_a_replacement_of_a_design_in_c_is_that_of_the_library(old, new, row):
    samples = moves_for(CASES['limited'], 4000, 3)
    samples[-2000:] = samples[-2000]
    codes, shaped = shaped_by('c', old, samples, new, row, source='replacing.c')
    assert not codes.any()
    expected = replaced(samples, row, CASES[old], CASES[new])
    assert np.abs(shaped - expected).max() <= ROUNDING * np.abs(expected).max()
    assert np.array_equal(shaped[-1], samples[-1])
    limits = CASES[new].specification.velocity_limits
    if limits is not None:
        steps = np.abs(np.diff(shaped[row - 2 :], axis=0))
        assert (steps[1:] <= limits * PERIOD * (1 + 1e-9)).all()


def _changed(samples, changes, first='limited'):
    """Mixture (S11) of shapers of the library, within the velocity limits of the first one."""
    designs = {}
    for name in (first, *changes.values()):
        specification = CASES[name].specification._replace(velocity_limits=None)
        designs[name] = specification.online(2, PERIOD)
    limits = CASES[first].specification.velocity_limits
    longest = max(design.duration for design in designs.values())
    limiter = VelocityLimiter(np.full(2, np.inf) if limits is None else limits, PERIOD, longest)
    limiter.reset(samples[0])
    new = old = designs[first]
    new.reset(samples[0])
    age, fade, out = 1.0, 1.0, []
    for row, sample in enumerate(samples[1:], 1):
        if row in changes:
            old, new = new, designs[changes[row]]
            new.reset(samples[row - 1])
            fade = max(MIN_FADE_S, FADE_DURATIONS * max(old.duration, new.duration))
            age = -new.duration / fade
        position = new.step(sample).copy()
        if age < 1.0:
            age += PERIOD / fade
            position += _fading(max(age, 0.0))[0] * (old.step(sample) - position)
        limiter.step(position)
        out.append(limiter.position.copy())
    return np.array(out)


@pytest.mark.long(after=1)
@pytest.mark.parametrize('language', LANGUAGES)
def test_code_is_clean_under_the_sanitizers(language):
    for name in ('two_modes', 'six_joints'):
        samples = moves_for(CASES[name], 8000, 4)
        samples[3000] = np.nan
        shaped_by(language, name, samples, sanitized=True)
    if language == 'c':
        samples = moves_for(CASES['limited'], 8000, 4)
        for old, new in REPLACEMENTS:
            shaped_by('c', old, samples, new, 900, source='replacing.c', sanitized=True)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which('valgrind'), reason='sudo apt install valgrind')
@pytest.mark.parametrize('language', LANGUAGES)
def test_code_is_clean_under_valgrind(language):
    words = ['valgrind', '-q', '--error-exitcode=9', '--leak-check=full']
    samples = moves_for(CASES['six_joints'], 8000, 4)
    shaped_by(language, 'six_joints', samples, before=words)


def test_a_step_allocates_nothing_and_the_core_needs_only_the_standard_library(tmp_path):
    source = tmp_path / 'allocations.cpp'
    source.write_text(ALLOCATIONS)
    words = [f'-I{ROOT / "cpp/flex_shaper/include"}', f'-I{sources()}', '-o', tmp_path / 'program']
    # without exceptions and run-time types, as on many controllers
    flags = [*EXACT, '-fno-exceptions', '-fno-rtti']
    subprocess.run(['g++', '-std=c++17', *flags, source, *words], check=True)
    done = subprocess.run([tmp_path / 'program'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, CODES_OF_CHECKS)


ALLOCATIONS = """\
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <flex_shaper/input_shaper.hpp>
#include <new>
#include "limited.h"
#include "limited_slow.h"
#include "six_joints.h"

static bool is_allowed = true;
void *operator new(std::size_t size) { if (!is_allowed) std::abort(); return std::malloc(size); }
void operator delete(void *data) noexcept { std::free(data); }
void operator delete(void *data, std::size_t) noexcept { std::free(data); }

static void print(std::initializer_list<int> codes)
{
    for (int code : codes)
        std::printf("%d ", code);
}

int main()
{
    flex_shaper::InputShaper shaper({&limited_tables, &limited_slow_tables});
    flex_shaper::InputShaper mixed({&limited_tables, &six_joints_tables});
    is_allowed = false;
    const char *names[] = {"swing", "lift"}, *swapped[] = {"lift", "swing"};
    const double start[] = {0.1, 0.2}, speed[] = {0.0, 0.1}, nothing[] = {NAN, 0.0};
    const double moved[] = {0.1005, 0.2005};
    print({shaper.check(1e-3, names, 2), shaper.check(2e-3, names, 2),
           shaper.check(1e-3, swapped, 2), shaper.check(1e-3, names, 1),
           shaper.check(1e-3, names, 2, "arm"), shaper.check(1e-3, names, 2, "another")});
    print({shaper.step(start), shaper.reset(start, speed), shaper.reset(nothing),
           mixed.reset(start)});
    print({shaper.reset(start), shaper.step(start), shaper.step(moved)});
    print({shaper.change(1), shaper.change(2)});
    for (int k = 0; k < 2000; ++k)
        shaper.step(moved);
    print({shaper.is_settled(), shaper.is_changing(), shaper.position()[0] == moved[0]});
}
"""
CODES_OF_CHECKS = '0 4 6 6 0 5 1 7 2 6 0 0 0 0 5 1 0 1 '


@pytest.mark.long
@pytest.mark.skipif(not shutil.which('cmake'), reason='sudo apt install cmake')
def test_the_core_is_found_by_cmake(tmp_path):
    (tmp_path / 'main.cpp').write_text(
        '#include <flex_shaper/input_shaper.hpp>\n#include "two_modes.h"\n'
        'int main() { return flex_shaper::InputShaper(two_modes_tables).joints() - 2; }\n'
    )
    lists = (
        'cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES CXX)\n'
        'find_package(flex_shaper 0.1 REQUIRED)\nadd_executable(user main.cpp)\n'
        f'target_include_directories(user PRIVATE {sources()})\n'
        'target_link_libraries(user PRIVATE flex_shaper::flex_shaper)\n'
    )
    (tmp_path / 'CMakeLists.txt').write_text(lists)
    core, build = tmp_path / 'core', tmp_path / 'build'
    for words in (
        ['-S', ROOT / 'cpp/flex_shaper', '-B', core, f'-DCMAKE_INSTALL_PREFIX={tmp_path}'],
        ['--install', core],
        ['-S', tmp_path, '-B', build, f'-DCMAKE_PREFIX_PATH={tmp_path}'],
        ['--build', build],
    ):
        subprocess.run(['cmake', *words], check=True, capture_output=True)
    assert subprocess.run([build / 'user'], check=False).returncode == 0


def test_the_tables_of_the_core_are_those_of_generated_headers():
    text = (ROOT / 'cpp/flex_shaper/include/flex_shaper/tables.h').read_text('utf-8')
    assert shared_declarations() in text, 'copy c_tables.shared_declarations() into tables.h'


@pytest.mark.long
def test_the_benchmark_measures_the_time_of_a_sample(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.shaper_code_time import times

    found = times(flags=['-O2'])
    # far above what any machine needs
    assert all(0.0 < time < 1e5 for time in found.values())
