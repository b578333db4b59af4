"""C++ programs of the tests of `ros2_plugins/`, compiled against its stubs of ROS."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from project_files import ROOT

HERE = Path(__file__).parent
PLUGINS = ROOT / 'ros2_plugins'
JSON_HEADER = 'nlohmann/json.hpp'
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror']
FLAGS = ['-std=c++17', '-O1', '-ffp-contract=off', *WARNINGS]
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
def built(name, *sources, flags=()):
    """Compile sources and return the program."""
    path = build_folder() / name
    words = ['g++', *FLAGS, *flags, *INCLUDE, *map(str, sources), '-o', str(path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:5000]
    return path
