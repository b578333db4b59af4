"""Reserved memory causes no page faults."""

import platform
import resource
import subprocess
import sys

import pytest

needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != 'glibc', reason='needs glibc')
pytestmark = [pytest.mark.slow, needs_glibc]

SIZE, COUNT = 5_000_000, 3
PROGRAM = f"""
import resource
from flex_robot_sim.realtime.memory import reserve_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def touch():
    before = faults()
    blocks = [b'\\2' * {SIZE} for _ in range({COUNT})]
    return faults() - before

first = touch()
reserve_memory({SIZE}, {COUNT})
print(first, *(touch() for _ in range(3)))
"""


def test_reserved_blocks_cost_no_page_faults():
    run = subprocess.run(
        [sys.executable, '-c', PROGRAM], check=True, capture_output=True, text=True
    )
    first, *later = map(int, run.stdout.split())
    assert first > 0.9 * COUNT * SIZE / resource.getpagesize() and max(later) < 0.1 * first
