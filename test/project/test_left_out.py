"""Tests of ROS that cannot be collected on this machine are counted, one by one, as skipped."""

import ast

import pytest
from project_files import ROOT
from ros_here import NO_LAUNCH, NO_ROS

REASONS = {'nodes': NO_ROS, 'launch': NO_LAUNCH}


def names_of(path):
    """Names of the test functions of a file, which need not be imported for that."""
    return [
        node.name
        for node in ast.parse(path.read_text('utf-8')).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_')
    ]


FOUND = [
    (folder, f'{folder}/{path.name}::{name}')
    for folder in REASONS
    for path in sorted((ROOT / 'test' / folder).glob('test_*.py'))
    for name in names_of(path)
]


@pytest.mark.parametrize('folder', REASONS)
def test_folders_have_tests(folder):
    assert sum(found == folder for found, _ in FOUND) > 5


@pytest.mark.parametrize(
    'name, reason',
    [pytest.param(name, REASONS[folder], id=name) for folder, name in FOUND if REASONS[folder]]
    or [pytest.param('', '', id='none')],
)
def test_is_left_out(name, reason):
    if reason:
        pytest.skip(reason)
