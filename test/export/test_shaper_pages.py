"""Pages about code of shapers: their commands run, and their code compiles and shapes."""

import re
import shlex
import subprocess

import numpy as np
import pytest
from built_code import EXACT, WARNINGS, needs_compiler
from project_files import ROOT
from structured_text_interpreter import FunctionBlock

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.shaping.shaper_file import read_shaper, write_shaper
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

pytestmark = pytest.mark.slow

CODE, KLIPPER = (
    (ROOT / f'docs/shaper_{name}.md').read_text('utf-8') for name in ('code', 'klipper')
)
JOINTS = 'waist', 'shoulder', 'elbow'
MAIN = """
#include <cstdio>
int main() {
    double row[3], command[3];
    if (std::fread(row, 8, 3, stdin) != 3 || set_up(row) != FLEX_SHAPER_OK)
        return 1;
    while (std::fread(row, 8, 3, stdin) == 3) {
        if (cycle(row, command) != FLEX_SHAPER_OK)
            return 2;
        std::fwrite(command, 8, 3, stdout);
    }
}
"""
REPLACING = """
#include <cstdio>
int main() {
    double row[3], command[3];
    if (std::fread(row, 8, 3, stdin) != 3 || arm_reset(&old, row, nullptr) != FLEX_SHAPER_OK)
        return 1;
    for (int k = 1; std::fread(row, 8, 3, stdin) == 3; k++) {
        if (k == 400 && change(command) != FLEX_SHAPER_OK)
            return 2;
        if ((k < 400 ? arm_step(&old, row, command) : cycle(row, command)) != FLEX_SHAPER_OK)
            return 3;
        std::fwrite(command, 8, 3, stdout);
    }
}
"""


def blocks(page, kind):
    found = re.findall(r'^```(\w*)\n(.*?)^```$', page, re.DOTALL | re.MULTILINE)
    return [text for one, text in found if one == kind]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, with arm.json and what the page makes of it."""
    monkeypatch.chdir(tmp_path)
    limits = np.full(3, 1.5)
    design = ShaperSpecification('zvd', frs.shaping.zvd([2.7, 3.2]), velocity_limits=limits)
    write_shaper('arm.json', design, 'two_link', JOINTS)
    _, *rest = blocks(CODE, 'sh')[0].splitlines()
    for line in rest:
        assert main(shlex.split(line)[1:]) == 0
    return tmp_path


def shape_by_page(folder, kind):
    """Shape a move by the code of the page, and compare it with the library."""
    block = blocks(CODE, kind)[0]
    # C is C++, too
    (folder / 'main.cpp').write_text(block + MAIN)
    words = [f'-I{folder}', f'-I{ROOT / "cpp/flex_shaper/include"}', 'main.cpp', '-o', 'main']
    subprocess.run(['g++', '-std=c++17', *EXACT, *WARNINGS, *words], check=True)
    u = np.clip(np.arange(6000) / 800, 0.0, 1.0)[:, None]
    samples = (3 * u**2 - 2 * u**3) * [0.5, -0.4, 0.3]
    done = subprocess.run(['./main'], input=samples.tobytes(), stdout=subprocess.PIPE, check=True)
    shaped = np.frombuffer(done.stdout).reshape(-1, 3)
    online = read_shaper('arm.json').online(3, 1e-3)
    online.reset(samples[0])
    expected = np.array([online.step(sample).copy() for sample in samples[1:]])
    assert np.abs(shaped - expected).max() <= 1e-12
    assert np.array_equal(shaped[-1], samples[-1])


@needs_compiler
@pytest.mark.parametrize('kind', ['c', 'cpp'])
def test_code_of_the_page_compiles_and_shapes(folder, kind):
    shape_by_page(folder, kind)


@needs_compiler
def test_a_design_replaces_another_one_as_on_the_page(folder):
    loaded = ShaperSpecification('zv', frs.shaping.zv(2.1), velocity_limits=np.full(3, 1.5))
    write_shaper('loaded.json', loaded, 'two_link', JOINTS)
    assert main(shlex.split('shape --design loaded.json --code c --output loaded.h')) == 0
    (folder / 'main.cpp').write_text(blocks(CODE, 'c')[1] + REPLACING)
    words = [f'-I{folder}', 'main.cpp', '-o', 'main']
    subprocess.run(['g++', '-std=c++17', *EXACT, *WARNINGS, *words], check=True)
    u = np.clip(np.arange(4000) / 800, 0.0, 1.0)[:, None]
    samples = (3 * u**2 - 2 * u**3) * [0.5, -0.4, 0.3]
    done = subprocess.run(['./main'], input=samples.tobytes(), stdout=subprocess.PIPE, check=True)
    shaped = np.frombuffer(done.stdout).reshape(-1, 3)
    assert np.array_equal(shaped[-1], samples[-1])
    # no faster than the move, whose velocity changes by 5e-6 in a sample
    assert np.abs(np.diff(shaped, axis=0)).max() < np.abs(np.diff(samples, axis=0)).max()
    assert np.abs(np.diff(shaped, 2, axis=0)).max() < 5e-6


def test_the_program_of_the_page_uses_the_block_as_it_is(folder):
    block = FunctionBlock((folder / 'arm.st').read_text())
    text = next(one for one in blocks(CODE, '') if 'PROGRAM' in one)
    assert f': {block.name};' in text
    inputs = re.findall(r'(\w+) :=', text)
    assert {*inputs, *re.findall(r'shaper\.(\w+)', text)} <= block.values.keys()
    block(set_point=[0.1, 0.2, 0.3], cycle_time=0.001, reset=True)
    assert (block.values['shaped'], block.values['code']) == ([0.1, 0.2, 0.3], 0)


def test_a_block_replaces_another_one_as_on_the_page(folder):
    loaded = ShaperSpecification('zv', frs.shaping.zv(2.1), velocity_limits=np.full(3, 1.5))
    write_shaper('loaded.json', loaded, 'two_link', JOINTS)
    assert main(shlex.split('shape --design loaded.json --code st --output loaded.st')) == 0
    _, text = (one for one in blocks(CODE, '') if 'PROGRAM' in one)
    instances = {
        name: FunctionBlock((folder / f'{kind}.st').read_text())
        for name, kind in re.findall(r'(\w+) : FB_(\w+);', text)
    }
    assert {block.name for block in instances.values()} == {'FB_arm', 'FB_loaded'}
    u = np.clip(np.arange(3000) / 800, 0.0, 1.0)[:, None]
    samples = (3 * u**2 - 2 * u**3) * [0.5, -0.4, 0.3]
    shaped = []
    for k, sample in enumerate(samples):
        variables = {'positions': sample.tolist(), 'velocities': [0.0] * 3}
        run_calls(text, instances, {**variables, 'is_enabled': k > 0, 'is_loaded': k >= 400})
        assert [block.values['code'] for block in instances.values()] == [0, 0]
        shaped.append(list(instances['now'].values['shaped']))
    assert np.array_equal(shaped[-1], samples[-1])
    # no faster than the move, whose velocity changes by 5e-6 in a sample
    assert np.abs(np.diff(shaped, axis=0)).max() < np.abs(np.diff(samples, axis=0)).max()
    assert np.abs(np.diff(shaped, 2, axis=0)).max() < 5e-6


def run_calls(text, instances, variables):
    """Call function blocks as a program does; inputs are variables, outputs and numbers."""
    for name, inputs in re.findall(r'^(\w+)\((.*?)\);', text, re.DOTALL | re.MULTILINE):
        values = {}
        for one in inputs.split(','):
            target, value = one.split(':=')
            is_inverted, block, word = re.fullmatch(
                r'(NOT )?(?:([a-z]\w*)\.)?([\w.]+)', value.strip()
            ).groups()
            if word[0].isdigit():
                found = float(word)
            else:
                found = instances[block].values[word] if block else variables[word]
            values[target.strip()] = not found if is_inverted else found
        instances[name](**values)


@pytest.mark.long
@needs_compiler
def test_the_design_of_the_page_is_shaped_by_its_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in blocks(CODE, 'sh')[0].splitlines():
        assert main(shlex.split(line)[1:]) == 0
    for kind in ('c', 'cpp'):
        shape_by_page(tmp_path, kind)


@pytest.mark.long
def test_the_klipper_page_writes_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, rate = np.random.default_rng(5), 3200.0
    time = np.arange(0.0, 30.0, 1 / rate)
    rising = np.sin(2 * np.pi * (5.0 * time + 0.5 * 3.2 * time**2))
    columns = []
    for _ in range(3):
        answer = 0.02 * rng.normal(size=time.size)
        for frequency, ratio in ((41.0, 0.04), (67.0, 0.05)):
            answer += rng.uniform(0.5, 1.0) * _resonator(rising, frequency, ratio, rate)
        columns.append(1000.0 * answer)
    np.savetxt(
        'raw_data_x.csv',
        np.column_stack([time, *columns]),
        fmt='%.6f',
        delimiter=',',
        header='time,accel_x,accel_y,accel_z',
        comments='#',
    )
    (line,) = blocks(KLIPPER, 'sh')[0].splitlines()
    assert main(shlex.split(line)[1:]) == 0
    text = (tmp_path / 'shaper_x.cfg').read_text()
    (shown,) = (one for one in blocks(KLIPPER, '') if '[input_shaper]' in one)
    for one in shown.splitlines():
        assert re.search(re.escape(one).replace(r'\.\.\.', '.+'), text), one
    # both modes of the recording are in the bands of the file
    bands = re.findall(r'([\d.]+) to ([\d.]+) Hz', text)
    for frequency in (41.0, 67.0):
        assert any(float(low) < frequency < float(high) for low, high in bands)


def _resonator(force, frequency, ratio, rate):
    """Acceleration of a mass on a spring under a force, by scipy."""
    from scipy.signal import bilinear, lfilter

    w = 2 * np.pi * frequency
    return lfilter(*bilinear([1.0, 0.0, 0.0], [1.0, 2 * ratio * w, w**2], rate), force)


@pytest.mark.parametrize('page', [CODE, KLIPPER])
def test_a_page_says_in_bold_what_has_never_been_tried(page):
    assert re.search(r'\*\*[^*]* never [^*]*\*\*', page)
