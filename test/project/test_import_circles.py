"""Modules need each other in one direction only, for types too."""

import ast
from graphlib import TopologicalSorter

import pytest
from project_files import ROOT

PACKAGE = 'flex_robot_sim'


def imports_between_modules():
    """Return {module: modules that it imports} of the package, without its name."""
    paths = {
        '.'.join(path.relative_to(ROOT / PACKAGE).with_suffix('').parts): path
        for path in (ROOT / PACKAGE).rglob('*.py')
    }
    needed = {}
    for module, path in paths.items():
        needed[module] = {
            name
            for node in ast.walk(ast.parse(path.read_text('utf-8')))
            if isinstance(node, ast.ImportFrom) and (node.module or '').startswith(f'{PACKAGE}.')
            for item in node.names
            for name in (
                f'{node.module}.{item.name}'.removeprefix(f'{PACKAGE}.'),
                node.module.removeprefix(f'{PACKAGE}.'),
            )
            if name in paths
        }
    return needed


@pytest.mark.slow
def test_no_modules_import_each_other():
    needed = imports_between_modules()
    assert sum(map(len, needed.values())) > 1000
    TopologicalSorter(needed).prepare()  # CycleError names a circle
