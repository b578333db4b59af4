"""C++ programs of the tests of `ros2_plugins/`, compiled against its stubs of ROS."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from parameter_headers import parameter_header
from project_files import ROOT

HERE = Path(__file__).parent
PLUGINS = ROOT / 'ros2_plugins'
JSON_HEADER = 'nlohmann/json.hpp'
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']
FLAGS = ['-std=c++17', '-O0', '-ffp-contract=off', *WARNINGS]
INCLUDE = [
    f'-I{PLUGINS / "include"}',
    f'-I{ROOT / "cpp/flex_shaper/include"}',
    f'-I{PLUGINS / "test/stubs"}',
]


def _missing():
    """Return what the programs need and this machine lacks."""
    if not shutil.which('g++'):
        return 'g++'
    words = ['g++', '-fsyntax-only', '-x', 'c++', '-include', JSON_HEADER, '/dev/null']
    has_json = not subprocess.run(words, capture_output=True).returncode
    return '' if has_json else 'nlohmann-json3-dev'


MISSING = _missing()
needs_plugins_compiler = pytest.mark.skipif(
    bool(MISSING), reason=f'{MISSING} cannot be found: sudo apt install g++ nlohmann-json3-dev'
)


@functools.cache
def build_folder():
    """Return a folder for programs and tables; it is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix='ros2-plugins-'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def parameter_headers():
    """Write the headers of all parameter files, and return the folder to include."""
    folder = build_folder() / 'generated'
    (folder / 'flex_shaper_plugins').mkdir(parents=True)
    for path in sorted((PLUGINS / 'src').glob('*_parameters.yaml')):
        _, text = parameter_header(path.read_text('utf-8'))
        (folder / 'flex_shaper_plugins' / path.with_suffix('.hpp').name).write_text(text)
    return folder


@functools.cache
def built_plugin(name, program):
    """Compile a plugin of `ros2_plugins/src/` with a program of this folder."""
    # as one source: the compiler reads the headers of the standard library once
    flags = f'-I{parameter_headers()}', '-include', PLUGINS / f'src/{name}.cpp'
    return built(program, HERE / f'{program}.cpp', flags=flags)


@functools.cache
def built(name, *sources, flags=()):
    """Compile sources, with the reader of tables, and return the program."""
    path = build_folder() / name
    compile_with(*flags, *sources, reader_of_tables(), '-o', path)
    return path


@functools.cache
def reader_of_tables():
    """Compile the only file that includes the header of JSON, which takes long."""
    path = build_folder() / 'shaper_tables.o'
    compile_with('-c', PLUGINS / 'src/shaper_tables.cpp', '-o', path)
    return path


def compile_with(*words):
    """Call the compiler, and fail with its messages."""
    words = ['g++', *FLAGS, *INCLUDE, *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:5000]
