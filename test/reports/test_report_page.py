"""The commands of docs/report.md run in their order."""

import re
import shlex

import pytest
from project_files import ROOT

pytest.importorskip('mcap')

from flex_robot_sim.cli import main

pytestmark = pytest.mark.slow

PAGE = (ROOT / 'docs' / 'report.md').read_text('utf-8')


@pytest.mark.long
def test_the_commands_of_the_page_leave_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        line
        for block in re.findall(r'^```sh\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]
    assert len(lines) == 6
    rows = [f'{k / 100},{k % 7}' for k in range(300)]  # of the user
    (tmp_path / 'my_log.csv').write_text('\n'.join(['time [s],strain', *rows]))
    for line in lines:
        assert main(shlex.split(line, comments=True)[1:]) == 0, line
        said = line.partition('#')[2].strip()
        assert not said or (tmp_path / said).exists(), line
    assert (tmp_path / 'page.html').exists() and list((tmp_path / 'figures').glob('*.svg'))
    capsys.readouterr()
