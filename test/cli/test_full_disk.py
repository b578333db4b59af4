"""On a full disk, a command keeps an older result and leaves no partial file."""

import os
import re

import pytest
from small_disk import small_disk
from written_runs import write_run

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path):
    """Mount a small file system."""
    with small_disk(tmp_path / 'disk') as disk:
        yield disk


def fill(disk):
    """Fill the disk except for two pages: a file can be started but not completed."""
    with open(disk / 'filling', 'wb', buffering=0) as file:
        while os.statvfs(disk).f_bavail > 2:
            file.write(bytes(1024))


SIMULATE = ['simulate', 'two_link', '--seconds', '0.5', '--rate', '1000']
COMMANDS = {
    'report': ['report', 'RUN', '--output', 'DISK/old.html'],
    'figures': ['report', 'RUN', '--output', 'OUT/new.html', '--figures', 'DISK/figures'],
    'compare': ['compare', 'RUN', 'RUN', '--output', 'DISK/old.html'],
    'csv': ['export', 'RUN', '--output', 'DISK/new'],
    'numpy': ['export', 'RUN', '--format', 'numpy', '--output', 'DISK/new.npz'],
    'parquet': ['export', 'RUN', '--format', 'parquet', '--output', 'DISK/new'],
    'simulate csv': [*SIMULATE, '--output', 'DISK/old.csv'],
    'simulate mcap': [*SIMULATE, '--output', 'DISK/old.mcap'],
    'shape plot': ['shape', 'two_link', '--plot', 'DISK/old.png'],
}


FORCE = {word: ['--force'] for word in ('report', 'compare', 'simulate', 'shape')}


@pytest.mark.long(after=3)
@pytest.mark.parametrize('words', COMMANDS.values(), ids=COMMANDS)
def test_a_full_disk_keeps_the_older_result_and_no_partial_file(disk, tmp_path, words, capsys):
    if 'parquet' in words:
        pytest.importorskip('pyarrow')
    for name in ('old.html', 'old.csv', 'old.mcap', 'old.png'):
        (disk / name).write_text('an older result')
    run = write_run(tmp_path / 'run.mcap')
    fill(disk)
    before = {path.name: path.read_bytes() for path in disk.iterdir()}
    places = {'RUN': run, 'DISK': disk, 'OUT': tmp_path}
    words = [re.sub('RUN|DISK|OUT', lambda found: str(places[found[0]]), word) for word in words]
    assert main([*words, *FORCE.get(words[0], ())]) == 2
    error = capsys.readouterr().err
    assert 'cannot be written: No space left on device' in error and error.count('\n') == 1
    left = {path.name: path.read_bytes() for path in disk.iterdir() if path.is_file()}
    assert left == before
    assert not [path for path in disk.iterdir() if path.is_dir() and [*path.iterdir()]]
