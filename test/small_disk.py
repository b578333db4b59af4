"""A disk of a few kB, to fill it; only root can mount one."""

import os
import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def small_disk(folder, size='64k'):
    """Mount an empty disk at a new or empty folder; skip the test where nothing can be mounted."""
    folder.mkdir(exist_ok=True)
    mount = ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip('only root can mount a small disk, and not on every machine')
    try:
        yield folder
    finally:
        subprocess.run(['umount', folder], check=True)
