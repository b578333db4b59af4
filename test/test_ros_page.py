"""The page docs/ros.md has the arguments and parameters of the code; test/nodes/ asks topics."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from flex_robot_sim.nodes.settings import CONTROLLER_SETTINGS, DYNAMICS_SETTINGS
from flex_robot_sim.system import SimulationArguments

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / 'docs' / 'ros.md').read_text('utf-8')
BOTH = [kind for kind in DYNAMICS_SETTINGS if kind in CONTROLLER_SETTINGS]
GROUPS = {
    'Both nodes': BOTH,
    '`dynamics`': [kind for kind in DYNAMICS_SETTINGS if kind not in BOTH],
    '`controller`': [kind for kind in CONTROLLER_SETTINGS if kind not in BOTH],
}
KINDS = {bool: 'true or false', int: 'whole number', float: 'number', str: 'text'}


def section(heading):
    """Return what follows a heading, up to the next one of its depth or less."""
    mark = heading.split()[0]
    match = re.search(rf'^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(mark)}}} |\Z)', PAGE,
                      re.MULTILINE | re.DOTALL)
    return match[1]


def rows(text):
    return [line for line in text.splitlines() if line.startswith('| `')]


def written(value):
    if isinstance(value, tuple):
        return f'[{", ".join(map(written, value))}]'
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def code(text):
    return f'`{text}`' if text else ''


def argument_row(item):
    choices = ('true', 'false') if isinstance(item.default, bool) else item.metadata['choices']
    return (f'| `{item.name}` | {code(written(item.default))} | {", ".join(map(code, choices))} | '
            f'{item.metadata["help"]} |')


def parameter_row(item):
    about = item.metadata
    kind = KINDS[type(item.default)] if about['of'] is None else {
        float: 'numbers', str: 'texts'}[about['of']]
    unit = f' [{about["unit"]}]' if about['unit'] else ''
    bounds = ', '.join(map(code, about['choices']))
    if about['above'] is not None:
        bounds = f'> {about["above"]:g}'
    if about['at_least'] is not None:
        bounds = f'>= {about["at_least"]:g}'
    return (f'| `{item.name}` | {kind} | {code(written(item.default))} | {bounds} | '
            f'{"live" if about["live"] else ""} | {about["help"]}{unit} |').replace('<', r'\<')


def test_the_page_lists_exactly_the_arguments_of_the_launch_file():
    assert rows(section('## Arguments of the launch file')) == [
        argument_row(item) for item in fields(SimulationArguments)]


@pytest.mark.parametrize('group', GROUPS)
def test_the_page_lists_exactly_the_parameters_that_a_node_accepts(group):
    assert rows(section(f'### {group}')) == [
        parameter_row(item) for kind in GROUPS[group] for item in fields(kind)]


def test_every_link_of_the_page_leads_somewhere():
    for target in re.findall(r'\]\((?!https:)([^)]+)\)', PAGE):
        path, _, anchor = target.partition('#')
        assert (ROOT / 'docs' / path).exists(), target
        headings = {re.sub(r'[^a-z0-9_ -]', '', heading.lower()).replace(' ', '-')
                    for heading in re.findall(r'^#+ (.*)', PAGE, re.MULTILINE)}
        assert not anchor or anchor in headings, target


def test_parameters_in_backticks_exist():
    known = {item.name for kind in (*DYNAMICS_SETTINGS, *CONTROLLER_SETTINGS)
             for item in fields(kind)}
    for line in rows(section('## Topics')):
        for name in re.findall(r'\(`(\w+)`\)', line):
            assert name in known, line
