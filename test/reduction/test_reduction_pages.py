"""Pages about reduced links: their commands are understood, and print what the pages show."""

import re
import shlex

import numpy as np
import pytest
from project_files import ROOT

from flex_robot_sim.cli import main
from flex_robot_sim.cli.parser import Parser
from flex_robot_sim.cli.reduce import add_arguments

ARM = """<robot name="arm"><link name="base"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper_arm"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
<link name="upper_arm"><inertial><origin xyz="0.2 0 0"/><mass value="0.855"/>
<inertia ixx="0.001" iyy="0.015" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="fixed"><origin xyz="0.4 0 0"/><parent link="upper_arm"/>
<child link="tool"/></joint><link name="tool"/></robot>"""


def page(name):
    return (ROOT / 'docs' / f'{name}.md').read_text('utf-8')


def commands(name):
    blocks = re.findall(r'^```sh\n(.*?)^```', page(name), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith('flexsim reduce')]


@pytest.mark.parametrize('name', ['casting', 'calculix', 'elastic_links'])
def test_commands_of_the_pages_have_options_that_exist(name):
    parser = Parser()
    add_arguments(parser)
    assert commands(name)
    for words in commands(name):
        parser.parse_args(words[2:])
    known = parser.format_help()
    for option in re.findall(r'`(--\w+)', page(name)):
        assert option in known or option == '--force', option


@pytest.mark.long
def test_the_tube_of_the_page_has_its_frequencies(tmp_path, monkeypatch, capsys):
    occ = pytest.importorskip('netgen.occ')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.chdir(tmp_path)
    outer = occ.Cylinder(occ.Pnt(0, 0, 0), occ.X, 30, 400)
    flanges = [occ.Cylinder(occ.Pnt(x, 0, 0), occ.X, 40, 8) for x in (0, 392)]
    tube = outer + flanges[0] + flanges[1] - occ.Cylinder(occ.Pnt(-1, 0, 0), occ.X, 26, 402)
    tube.WriteStep('upper_arm.step')
    (tmp_path / 'arm.urdf').write_text(ARM)
    [words] = commands('casting')
    assert main(words[1:]) == 0
    printed, shown = capsys.readouterr().out, page('casting')
    for label in ('this file', 'the mesh', 'interfaces of the other kind'):
        found, expected = (
            np.array(re.findall(rf'^    {label} +(.*)$', text, re.MULTILINE)[0].split(), float)
            for text in (printed, shown)
        )
        np.testing.assert_allclose(found, expected, rtol=0.02)
    assert (tmp_path / 'interfaces.png').exists()
