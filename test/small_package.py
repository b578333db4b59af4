"""A package of two compiled functions, of which one calls the other, with a cache of its own."""

import os
import subprocess
import sys

from flex_robot_sim.jit import cache

CALL = 'from small.dynamics.caller import caller; print(caller(2.0))'
CALL_AND_COUNT = f"""
{CALL}
print(sum(caller.stats.cache_hits.values()), sum(caller.stats.cache_misses.values()))
"""


def write_package(folder):
    for room in ('util', 'jit', 'dynamics'):
        (folder / room).mkdir(parents=True)
    for name in (
        'version',
        'util/exceptions',
        'util/serialization',
        'util/read_only',
        'util/summary',
        'jit/call_marker',
        'jit/checked_files',
        'jit/compiled',
        'jit/array_table',
        'jit/deferred_signals',
        'jit/cache',
        'jit/function_cache',
        'jit/linking',
        'jit/numba_support',
        'jit/table_types',
        'jit/tuned_dispatcher',
        'jit/pipeline',
    ):
        source = (cache.PACKAGE / f'{name}.py').read_text(encoding='utf-8')
        (folder / f'{name}.py').write_text(
            source.replace('from flex_robot_sim.', 'from small.'), encoding='utf-8'
        )
    write_callee(folder, 'x + 1.0')
    (folder / 'dynamics' / 'caller.py').write_text(
        'from small.dynamics.callee import callee\nfrom small.jit.compiled import compiled\n\n\n'
        '@compiled\ndef caller(x):\n    return 10.0 * callee(x)\n'
    )
    return folder


def write_callee(folder, expression):
    (folder / 'dynamics' / 'callee.py').write_text(
        'from small.jit.compiled import compiled\n\n\n'
        f'@compiled\ndef callee(x):\n    return {expression}\n'
    )


def environment_of(package, **environment):
    # two edits within a second have the same age for Python's own cache, so that is left out
    return {
        'PATH': os.environ['PATH'],
        'PYTHONDONTWRITEBYTECODE': '1',
        'XDG_CACHE_HOME': str(package.parent / 'cache'),
        'HOME': '/nowhere',
        **environment,
    }


def start(package, program=CALL_AND_COUNT, **environment):
    """Start a process that calls the package; it prints the result, cache hits and misses."""
    return subprocess.Popen(
        [sys.executable, '-c', program],
        cwd=package.parent,
        text=True,
        env=environment_of(package, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def cache_folders(package):
    root = package.parent / 'cache' / 'small_machine_code'
    return sorted(path for path in root.iterdir() if path.is_dir())


def tree_of(folder):
    """Return all that is in a folder: contents of files, targets of links."""
    return {
        path.relative_to(folder): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob('*')
    }
