"""What CI makes of the exit codes of ./run test, judged by one that plays them."""

import re
import subprocess

import pytest
from project_files import ROOT

# what the first and the second call print, and with which code they end
CRASHED = 'Fatal Python error: Segmentation fault\n..replacing crashed worker gw0'
PLAYED = """#!/bin/sh
echo "$@" >>calls
if [ -e again ]; then cat second; exit "$(cat second_code)"; fi
touch again; cat first; exit "$(cat first_code)"
"""


@pytest.mark.parametrize(
    'first, second, code, calls',
    [
        ((0, ''), None, 0, 1),
        ((1, 'F'), (0, '.'), 0, 2),  # passes by itself
        ((1, 'F'), (1, 'F'), 1, 2),
        ((1, CRASHED), (5, ''), 0, 2),  # passed in another process
        ((1, CRASHED), (1, 'F'), 1, 2),
        ((1, 'F'), (5, ''), 5, 2),  # something fails, and nobody knows what
        ((69, ''), None, 69, 1),  # no such Python
        ((2, 'interrupted'), None, 2, 1),
    ],
    ids=[
        'passes',
        'passes the second time',
        'fails',
        'crashes once',
        'crashes and fails',
        'is lost',
        'cannot be',
        'is interrupted',
    ],
)
def test_what_fails_counts_by_its_second_run(tmp_path, first, second, code, calls):
    text = (ROOT / '.ci' / 'run').read_text()
    (judge,) = re.findall(r'^judge\(\) \{.*?^\}', text, re.M | re.S)
    (tmp_path / 'run').write_text(PLAYED)
    (tmp_path / 'run').chmod(0o755)
    for name, played in (('first', first), ('second', second or (99, ''))):
        (tmp_path / f'{name}_code').write_text(str(played[0]))
        (tmp_path / name).write_text(f'{played[1]}\n')
    run = subprocess.run(
        ['bash', '-c', f'set -euo pipefail\n{judge}\njudge --oldest -m "a b"'],
        cwd=tmp_path,
        env={'PATH': '/usr/bin:/bin', 'TMPDIR': str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == code, run.stderr
    assert len((tmp_path / 'calls').read_text().splitlines()) == calls
    assert ('Fatal Python error' in run.stderr) == ('Fatal' in first[1])
    assert not list(tmp_path.glob('tmp.*'))
