"""The page docs/ros.md has the arguments and parameters of the code; test/nodes/ asks topics."""

import re
from dataclasses import fields

import pytest
from project_files import ROOT

from flex_robot_sim.nodes.settings import (
    CONTROLLER_SETTINGS,
    DYNAMICS_SETTINGS,
    DriftSettings,
    ShaperSettings,
    ViewSettings,
)
from flex_robot_sim.system.launch_arguments import ShaperArguments, SimulationArguments

PAGE = (ROOT / 'docs' / 'ros.md').read_text('utf-8')
BOTH = [kind for kind in DYNAMICS_SETTINGS if kind in CONTROLLER_SETTINGS]
GROUPS = {
    'Both nodes': BOTH,
    '`dynamics`': [kind for kind in DYNAMICS_SETTINGS if kind not in BOTH],
    '`controller`': [kind for kind in CONTROLLER_SETTINGS if kind not in BOTH],
    '`shaper`': [ShaperSettings],
    '`view`': [ViewSettings],
    '`drift`': [DriftSettings],
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
    if about['at_most'] is not None:
        lowest = f'> {about["above"]:g}' if about['at_least'] is None else f'{about["at_least"]:g}'
        bounds = f'{lowest} to {about["at_most"]:g}'
    return (f'| `{item.name}` | {kind} | {code(written(item.default))} | {bounds} | '
            f'{"live" if about["live"] else ""} | {about["help"]}{unit} |').replace('<', r'\<')


def test_the_page_lists_exactly_the_arguments_of_the_launch_file():
    assert rows(section('## Arguments of the launch file')) == [
        argument_row(item) for item in fields(SimulationArguments)]


def test_the_page_lists_exactly_the_arguments_of_the_launch_file_of_the_shaper():
    assert rows(section('### Arguments of `shaper.launch.py`')) == [
        argument_row(item) for item in fields(ShaperArguments)]


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


def test_rates_of_topics_are_the_defaults_of_their_parameters():
    default = {item.name: item.default for kind in DYNAMICS_SETTINGS for item in fields(kind)}
    found = re.findall(r'\| (\d+) Hz \(`(\w+)`\)', section('## Topics'))
    assert len(found) == 10 and all(float(rate) == default[name] for rate, name in found)
