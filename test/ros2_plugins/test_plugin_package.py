"""The package `ros2_plugins/` as colcon and pluginlib find it, and its page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from parameter_headers import parameters
from project_files import ROOT
from yaml import safe_load

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.shaping.shaper_file import write_shaper
from flex_robot_sim.shaping.shaper_specification import ShaperSpecification

PLUGINS = ROOT / 'ros2_plugins'
PAGE = (ROOT / 'docs/ros2_plugins.md').read_text('utf-8')
DESCRIPTIONS = sorted(PLUGINS.glob('*.xml'), key=lambda path: path.name)
PARAMETERS = sorted((PLUGINS / 'src').glob('*_parameters.yaml'))


def blocks(kind):
    found = re.findall(r'^```(\w*)\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)
    return [text for one, text in found if one == kind]


# the names that `colcon list` prints; its verb is in a package of its own
LISTED = """
import argparse, sys
from colcon_core.package_discovery import add_package_discovery_arguments, discover_packages
from colcon_core.package_identification import get_package_identification_extensions
parser = argparse.ArgumentParser()
add_package_discovery_arguments(parser)
found = discover_packages(parser.parse_args(sys.argv[1:]), get_package_identification_extensions())
print(*sorted(f'{package.name}:{package.type}' for package in found))
"""


@pytest.mark.slow
def test_colcon_lists_both_packages_with_the_folders_of_the_page(tmp_path):
    pytest.importorskip('colcon_ros', reason='pip install ".[colcon]"')
    (tmp_path / 'src').mkdir()
    (tmp_path / 'src/flex_robot_sim').symlink_to(ROOT)
    (line,) = [line for line in blocks('sh')[0].splitlines() if line.startswith('colcon build ')]
    for words, plugins in (
        (shlex.split(line)[2:], ['flex_shaper_plugins:ros.ament_cmake']),
        (['--base-paths', 'src'], []),  # it does not look inside a package
    ):
        done = subprocess.run(
            [sys.executable, '-c', LISTED, *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stdout.split() == ['flex_robot_sim:ros.ament_python', *plugins], done.stderr


def test_the_manifest_is_that_of_a_package_of_this_project():
    ours, theirs = (
        ElementTree.parse(folder / 'package.xml').getroot() for folder in (PLUGINS, ROOT)
    )
    assert ours.findtext('name') == 'flex_shaper_plugins'
    for word in ('version', 'maintainer', 'license', 'url'):
        assert ours.findtext(word) == theirs.findtext(word), word
    assert (PLUGINS / 'LICENSE').read_bytes() == (ROOT / 'LICENSE').read_bytes()
    # CMake looks for what the manifest names
    lists = ''.join(
        (PLUGINS / name).read_text('utf-8') for name in ('CMakeLists.txt', 'test/CMakeLists.txt')
    )
    found = set(re.findall(r'find_package\((\w+)', lists))
    names = {item.text.replace('-', '_') for item in ours.iter() if 'depend' in item.tag}
    assert {name.removesuffix('_dev') for name in names} | {'flex_shaper'} == found


def test_descriptions_of_plugins_name_the_classes_of_the_sources():
    exported = {
        pair
        for path in (PLUGINS / 'src').glob('*.cpp')
        for pair in re.findall(
            r'PLUGINLIB_EXPORT_CLASS\(([\w:]+),\s*([\w:]+)\)', path.read_text('utf-8')
        )
    }
    described, lists = set(), (PLUGINS / 'CMakeLists.txt').read_text('utf-8')
    for path in DESCRIPTIONS:
        root = ElementTree.parse(path).getroot()
        if root.tag != 'library':
            continue
        assert f'{path.name})' in lists and f'add_library({root.get("path")} SHARED' in lists
        for item in root:
            described.add((item.get('type'), item.get('base_class_type')))
            assert item.get('name', item.get('type')) in PAGE
    assert described == exported and len(exported) == 3


def test_files_that_cmake_names_exist():
    for folder in (PLUGINS, PLUGINS / 'test'):
        text = (folder / 'CMakeLists.txt').read_text('utf-8')
        for name in re.findall(r'(?:\bsrc/)?\w+\.(?:cpp|yaml|xml|json)\b', text):
            assert (folder / name).is_file(), name


@pytest.mark.parametrize('path', PARAMETERS, ids=lambda path: path.stem)
def test_the_page_names_each_parameter(path):
    ((_, tree),) = safe_load(path.read_text('utf-8')).items()
    table = ''.join(line for line in PAGE.splitlines() if line.startswith('| `'))
    for names, _ in parameters(tree):
        assert f'`{names[-1]}`' in table, names


def test_configurations_of_the_page_are_the_shipped_ones():
    names = 'controller_chain', 'moveit_pipeline', 'servo'
    shipped = [safe_load((PLUGINS / f'config/{name}.yaml').read_text('utf-8')) for name in names]
    assert [safe_load(block) for block in blocks('yaml')] == shipped
    order = [name.split('/')[1] for name in shipped[1]['response_adapters']]
    first = order.index('AddTimeOptimalParameterization')
    assert order[first : first + 3][1:] == ['AddInputShaping', 'ValidateSolution']


@pytest.mark.slow
def test_the_command_of_the_page_writes_tables_of_these_joints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (chain,) = (safe_load(blocks('yaml')[0]),)
    joints = chain['input_shaper']['ros__parameters']['joints']
    assert joints == list(frs.load('two_link').joint_names)
    design = ShaperSpecification('zvd', frs.shaping.zvd([2.7, 3.2]))
    write_shaper('arm.json', design, 'two_link', joints)
    _, line = blocks('sh')[1].splitlines()
    assert main(shlex.split(line)[1:]) == 0
    tables = json.loads((tmp_path / 'arm_tables.json').read_text())
    assert tables['joint_names'] == joints
    rate = chain['controller_manager']['ros__parameters']['update_rate']
    assert np.isclose(tables['period'], 1.0 / rate)
