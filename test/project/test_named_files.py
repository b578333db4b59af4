"""Files that the pages for developers name exist where these say."""

import re

import pytest
from project_files import ROOT

ENDINGS = '|'.join(('py', 'md', 'rst', 'yaml', 'toml', 'txt', 'h', 'c', 'js', 'css', 'urdf'))
PATH = re.compile(rf'`((?:[\w.-]+/)*[\w.-]+\.(?:{ENDINGS})|(?:[\w.-]+/)+)`')
PACKAGE = ROOT / 'flex_robot_sim'


def named_files(page):
    """Return the paths that stand in backquotes, without examples such as `cli/NAME.py`."""
    text = re.sub(r'```.*?```', '', (ROOT / page).read_text('utf-8'), flags=re.DOTALL)
    return sorted({path for path in PATH.findall(text) if 'NAME' not in path})


def is_there(path):
    """Whether a path is one of the project, of the package, or, without a folder, of any room."""
    return (
        (ROOT / path).exists()
        or (PACKAGE / path).exists()
        or ('/' not in path and any(PACKAGE.rglob(path)))
    )


@pytest.mark.parametrize('page', ['CONTRIBUTING.md', 'docs/architecture.md'])
def test_files_that_a_page_names_exist(page):
    paths = named_files(page)
    assert len(paths) > 20 and [path for path in paths if not is_there(path)] == []


def steps_of(change):
    """Return the list of steps of one change, as CONTRIBUTING.md has it."""
    text = (ROOT / 'CONTRIBUTING.md').read_text('utf-8')
    return re.findall(rf'^### {change}\n(.*?)(?=^##|\Z)', text, re.DOTALL | re.MULTILINE)[0]


CHANGES = (
    'Friction law',
    'Stop',
    'Shape family of a beam',
    'Frame of the wire',
    'Topic',
    'Parameter of a node',
    'Shaper',
    'Joint type',
    'Command',
    'Figure of a report',
    'Word of the description',
)
NO_CODE = {'si', 'run', 'shaper', 'type', 'boundary', 'live'}  # words of users


@pytest.mark.parametrize('change', CHANGES)
def test_each_change_has_a_list_of_files_and_of_tests_that_exist(change):
    steps = steps_of(change)
    tests = re.findall(r'test/[\w./]+', ' '.join(re.findall(r'`(./run test [^`]*)`', steps)))
    assert PATH.findall(steps) and tests
    assert [path for path in tests if not (ROOT / path).exists()] == []


@pytest.mark.parametrize('change', CHANGES)
def test_each_name_of_a_list_is_in_a_file_of_this_list(change):
    steps = steps_of(change)
    texts = [
        found.read_text('utf-8')
        for path in set(PATH.findall(steps))
        if 'NAME' not in path
        for found in (ROOT / path, PACKAGE / path)
        if found.is_file()
    ]
    names = set(re.findall(r'`([A-Za-z_]\w*(?:\.\w+)?)`', steps)) - NO_CODE
    assert [
        name
        for name in sorted(names)
        if not any(re.search(rf'\b{name.rpartition(".")[2]}\b', text) for text in texts)
    ] == []


def test_a_file_that_does_not_exist_is_found():
    assert (
        is_there('dynamics/joint_laws/stops.py')
        and is_there('docs/')
        and not is_there('core/joint_laws/stops.py')
        and not is_there('nowhere.py')
    )
